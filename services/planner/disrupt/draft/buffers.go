package draft

// noteBufferPods notes where the pods of buffers are, and says how many are on each host. Those with pod rules do not
// move.
func (dr *Draft) noteBufferPods() (held []int) {
	dr.Buffered, dr.BuffersFixed, held = make([][]int, len(dr.View.Hosts)), make([]bool, len(dr.View.Hosts)), make([]int, len(dr.View.Hosts))
	for _, a := range dr.BufferPods {
		if a.Claim != nil {
			continue
		}
		held[a.Host]++
		if dr.Scheduler.Rules().Constrained(dr.View.Pods[a.Pod].Class) {
			dr.BuffersFixed[a.Host] = true
			continue
		}
		dr.Buffered[a.Host] = append(dr.Buffered[a.Host], a.Pod)
	}
	return held
}

// BufferPodsOn are the pods of buffers on some hosts that are to move along.
func (dr *Draft) BufferPodsOn(hosts []int) []int {
	var out []int
	for _, h := range hosts {
		out = append(out, dr.Buffered[h]...)
	}
	return out
}
