package gen

// Restarts is the feature of kubelets that pods of cases may need.
const Restarts = "RestartAllContainersOnContainerExits"

// lacks has the driver of all volumes keep their pods off nodes without it, and pods of some classes need a feature of the
// kubelet. Half of the nodes have either.
func (b *builder) lacks() {
	if !b.has(Needs) {
		return
	}
	keepsOff := b.needs.IntN(3) > 0
	for i := range b.in.Snapshot.PodClasses {
		c := &b.in.Snapshot.PodClasses[i]
		if keepsOff && len(c.Volumes) > 0 {
			c.NeededDrivers = []string{EBS}
		}
		if b.needs.IntN(2) == 0 {
			c.NeededFeatures = []string{Restarts}
		}
	}
	for i := range b.in.Snapshot.Nodes {
		n := &b.in.Snapshot.Nodes[i]
		if len(n.VolumeLimits) > 0 || b.needs.IntN(2) == 0 { // a limit is that of a driver which runs there
			n.Drivers = []string{EBS}
		}
		if b.needs.IntN(2) == 0 {
			n.Features = []string{"ExtendWebSocketsToKubelet", Restarts}
		}
	}
}
