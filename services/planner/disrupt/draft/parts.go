package draft

// Parts takes a decision apart into those that share no replacement.
func (dr *Draft) Parts(d Decision) []Decision {
	group := make(map[int]int, len(d.Hosts)) // the first host of each one's part
	for _, h := range d.Hosts {
		group[h] = h
	}
	find := func(h int) int {
		for group[h] != h {
			h = group[h]
		}
		return h
	}
	hostOf := dr.PodHosts(d.Hosts)
	source := func(pod int) int { return find(hostOf[pod]) }
	for _, b := range d.Replacements {
		first := -1
		for _, it := range b.Items {
			for _, p := range it.Pods {
				h := source(p)
				if first < 0 {
					first = h
				}
				first = find(first)
				low, high := min(first, h), max(first, h)
				group[high] = low
			}
		}
	}
	at := make(map[int]int)
	var out []Decision
	for _, h := range d.Hosts {
		root := find(h)
		if _, known := at[root]; !known {
			at[root] = len(out)
			out = append(out, Decision{})
		}
		p := &out[at[root]]
		p.Hosts = append(p.Hosts, h)
	}
	for i := range out {
		out[i].Evicted = dr.Movable(out[i].Hosts...)
	}
	for _, a := range d.Destinations {
		p := &out[at[source(a.Pod)]]
		p.Destinations = append(p.Destinations, a)
	}
	for _, b := range d.Replacements {
		p := &out[at[source(b.Items[0].Pods[0])]]
		p.Replacements = append(p.Replacements, b)
	}
	return out
}

// PodHosts says on which of some hosts each pod is, those of buffers included.
func (dr *Draft) PodHosts(hosts []int) map[int]int {
	out := make(map[int]int)
	for _, h := range hosts {
		for _, p := range dr.Moving[h] {
			out[p] = h
		}
		for _, p := range dr.Buffered[h] {
			out[p] = h
		}
	}
	return out
}
