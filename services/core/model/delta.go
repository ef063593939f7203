package model

// Delta is a change of a Snapshot.
type Delta struct {
	// Upserted are objects that are new or changed, whole. The header fields are those of the new snapshot.
	Upserted Snapshot
	// Removed are objects that are no more. One that is upserted as well is there.
	Removed Removed
}

// Removed are ids by kind of object. Offerings are named "instance-type/zone/capacity-type/reservation".
type Removed struct {
	PodClasses, Pods, DaemonSets, Nodes, Namespaces, PodDisruptionBudgets, NodePools, NodeClasses []string

	Catalogs, Offerings, Claims, Notices, Disruptions, NodeOverlays, CapacityBuffers []string
}

// Append adds the objects of another part of the same delta, whose header fields are those that hold.
func (d *Delta) Append(part *Delta) {
	d.Upserted.Append(&part.Upserted)
	to, from := d.Removed.lists(), part.Removed.lists()
	for i := range to {
		*to[i] = append(*to[i], *from[i]...)
	}
}

func (r *Removed) lists() []*[]string {
	return []*[]string{
		&r.PodClasses, &r.Pods, &r.DaemonSets, &r.Nodes, &r.Namespaces, &r.PodDisruptionBudgets, &r.NodePools, &r.NodeClasses,
		&r.Catalogs, &r.Offerings, &r.Claims, &r.Notices, &r.Disruptions, &r.NodeOverlays, &r.CapacityBuffers,
	}
}

// Append adds the objects of another part of the same snapshot. Of the header fields those hold that came last.
func (s *Snapshot) Append(part *Snapshot) {
	if part.Revision != 0 {
		s.Revision = part.Revision
	}
	if part.InventoryRevision != 0 {
		s.InventoryRevision = part.InventoryRevision
	}
	if part.Cluster != "" {
		s.Cluster = part.Cluster
	}
	if !part.ObserveTime.IsZero() {
		s.ObserveTime = part.ObserveTime
	}
	s.PodClasses = append(s.PodClasses, part.PodClasses...)
	s.Pods = append(s.Pods, part.Pods...)
	s.DaemonSets = append(s.DaemonSets, part.DaemonSets...)
	s.Nodes = append(s.Nodes, part.Nodes...)
	s.Namespaces = append(s.Namespaces, part.Namespaces...)
	s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, part.PodDisruptionBudgets...)
	s.NodePools = append(s.NodePools, part.NodePools...)
	s.NodeClasses = append(s.NodeClasses, part.NodeClasses...)
	s.Catalogs = append(s.Catalogs, part.Catalogs...)
	s.Offerings = append(s.Offerings, part.Offerings...)
	s.Claims = append(s.Claims, part.Claims...)
	s.Notices = append(s.Notices, part.Notices...)
	s.Disruptions = append(s.Disruptions, part.Disruptions...)
	s.NodeOverlays = append(s.NodeOverlays, part.NodeOverlays...)
	s.CapacityBuffers = append(s.CapacityBuffers, part.CapacityBuffers...)
}
