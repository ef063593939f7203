package convert

import (
	"google.golang.org/protobuf/proto"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// MaxPart is about how large a part of an inventory becomes, in bytes. An object larger than that travels alone.
const MaxPart = 512 << 10

// Whole cuts an inventory into messages of about MaxPart bytes. There is always at least one.
func Whole(s model.Snapshot) []*actuatorpb.InventoryPart {
	cut := cut(s)
	out := make([]*actuatorpb.InventoryPart, len(cut))
	for i, s := range cut {
		part := &clusterpb.SnapshotPart{Snapshot: s, Last: i == len(cut)-1}
		out[i] = &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Whole{Whole: part}}
	}
	return out
}

// Change cuts a change of an inventory into messages of about MaxPart bytes. There is always at least one.
func Change(d model.Delta) []*actuatorpb.InventoryPart {
	cut := cut(d.Upserted)
	out := make([]*actuatorpb.InventoryPart, len(cut))
	for i, s := range cut {
		part := &clusterpb.DeltaPart{Delta: &clusterpb.Delta{Upserted: s}, Last: i == len(cut)-1}
		if part.GetLast() {
			part.Delta.Removed = writeRemoved(d.Removed)
		}
		out[i] = &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Change{Change: part}}
	}
	return out
}

// cut divides the actuator's part of a snapshot.
func cut(s model.Snapshot) []*clusterpb.Snapshot {
	p := parts{revision: s.InventoryRevision}
	add(&p, s.NodeClasses, writeNodeClass, func(s *clusterpb.Snapshot) *[]*clusterpb.NodeClass { return &s.NodeClasses })
	add(&p, s.Catalogs, Catalog, func(s *clusterpb.Snapshot) *[]*clusterpb.Catalog { return &s.Catalogs })
	add(&p, s.Offerings, writeOffering, func(s *clusterpb.Snapshot) *[]*clusterpb.Offering { return &s.Offerings })
	add(&p, s.Claims, Claim, func(s *clusterpb.Snapshot) *[]*clusterpb.Claim { return &s.Claims })
	add(&p, s.Notices, Notice, func(s *clusterpb.Snapshot) *[]*clusterpb.Notice { return &s.Notices })
	add(&p, s.Disruptions, Record, func(s *clusterpb.Snapshot) *[]*clusterpb.DisruptionRecord { return &s.Disruptions })
	if len(p.out) == 0 {
		p.next()
	}
	return p.out
}

// parts fills one message after the other.
type parts struct {
	revision int64
	out      []*clusterpb.Snapshot
	size     int
}

func (p *parts) next() {
	p.out = append(p.out, &clusterpb.Snapshot{InventoryRevision: p.revision})
	p.size = 0
}

// part returns the part that the message goes into.
func (p *parts) part(m proto.Message) *clusterpb.Snapshot {
	n := proto.Size(m)
	if len(p.out) == 0 || (p.size > 0 && p.size+n > MaxPart) {
		p.next()
	}
	p.size += n
	return p.out[len(p.out)-1]
}

func add[M any, P proto.Message](p *parts, in []M, one func(M) P, list func(*clusterpb.Snapshot) *[]P) {
	for _, x := range in {
		m := one(x)
		to := list(p.part(m))
		*to = append(*to, m)
	}
}

func writeRemoved(r model.Removed) *clusterpb.Removed {
	m := &clusterpb.Removed{
		PodClasses: r.PodClasses, Pods: r.Pods, DaemonSets: r.DaemonSets, Nodes: r.Nodes, Namespaces: r.Namespaces,
		PodDisruptionBudgets: r.PodDisruptionBudgets, NodePools: r.NodePools, NodeClasses: r.NodeClasses, Catalogs: r.Catalogs,
		Offerings: write(r.Offerings, OfferingRef), Claims: r.Claims, Notices: r.Notices, Disruptions: r.Disruptions, NodeOverlays: r.NodeOverlays,
		CapacityBuffers: r.CapacityBuffers,
	}
	if proto.Size(m) == 0 {
		return nil
	}
	return m
}
