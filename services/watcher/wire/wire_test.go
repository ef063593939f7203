package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func node(i int) string { return fmt.Sprintf("n-%04d", i) }

func pod(i int, node string) snapshot.Object {
	class := wire.Class(&clusterpb.PodClass{Namespace: "shop"})
	id := fmt.Sprintf("shop/web-%04d", i)
	o := wire.Object(snapshot.Pod, id, &clusterpb.Pod{Id: id, ClassId: class.ID, Node: node})
	o.Class = class
	return o
}

// world holds n pods, their nodes and an inventory.
func world(n int) snapshot.Snapshot {
	var events []snapshot.Event
	for i := range n {
		events = append(events, snapshot.Put(start(), pod(i, "")),
			snapshot.Put(start(), wire.Object(snapshot.Node, node(i), &clusterpb.Node{Name: node(i)})))
	}
	for _, o := range wire.InventoryObjects(&clusterpb.Snapshot{
		Claims: []*clusterpb.Claim{{Id: "c1"}}, Catalogs: []*clusterpb.Catalog{{Id: "k1"}},
		Offerings: []*clusterpb.Offering{{InstanceType: "m5.large", Zone: "a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_SPOT}},
	}) {
		events = append(events, snapshot.Put(start(), o))
	}
	return snapshot.Fold(snapshot.Snapshot{}, append(events, snapshot.Inventory(start(), 9)))
}

func TestPartsAddUpToTheWhole(t *testing.T) {
	s, h := world(500), wire.Header{Cluster: "demo"}
	const most = 4096
	got, i, ended := &clusterpb.Snapshot{}, 0, false
	for p, last := range wire.Parts(s, h, most) {
		if ended {
			t.Errorf("part %d comes after the last", i)
		}
		ended = last
		if size := proto.Size(p); size > most+64 {
			t.Errorf("part %d has %d bytes, want at most %d and a header", i, size, most)
		}
		if (p.GetRevision() != 0) != (i == 0) {
			t.Errorf("part %d says revision %d: only the first has the header", i, p.GetRevision())
		}
		proto.Merge(got, p)
		i++
	}
	if i < 10 || !ended {
		t.Errorf("%d parts, ended: %v", i, ended)
	}
	if diff := cmp.Diff(wire.Whole(s, h), got, protocmp.Transform()); diff != "" {
		t.Errorf("parts together (-want +got):\n%s", diff)
	}
	if got.GetRevision() != 1 || got.GetInventoryRevision() != 9 || got.GetCluster() != "demo" || len(got.GetPods()) != 500 {
		t.Errorf("header and pods: %d %d %q %d", got.GetRevision(), got.GetInventoryRevision(), got.GetCluster(), len(got.GetPods()))
	}
}

func TestAnObjectLargerThanAPartTravelsAlone(t *testing.T) {
	huge := &clusterpb.Catalog{Id: strings.Repeat("k", 5000)}
	s := world(3)
	for _, o := range wire.InventoryObjects(&clusterpb.Snapshot{Catalogs: []*clusterpb.Catalog{huge}}) {
		s = snapshot.Fold(s, []snapshot.Event{snapshot.Put(start(), o)})
	}
	alone := false
	for p := range wire.Parts(s, wire.Header{}, 1000) {
		if len(p.GetCatalogs()) == 1 && p.GetCatalogs()[0].GetId() == huge.GetId() {
			alone = len(p.GetOfferings())+len(p.GetNodes())+len(p.GetPods())+len(p.GetClaims()) == 0
		}
	}
	if !alone {
		t.Error("the large catalog shares its part")
	}
}

func TestDeltaParts(t *testing.T) {
	before := world(400)
	events := []snapshot.Event{snapshot.Inventory(start(), 10)}
	for i := range 400 {
		events = append(events, snapshot.Delete(start(), snapshot.Node, node(i)))
		events = append(events, snapshot.Put(start(), pod(i, "n")))
	}
	after := snapshot.Fold(before, events)
	for name, tc := range map[string]struct {
		base         snapshot.Snapshot
		parts        int
		up, removed  int
		revisionFrom uint64
	}{
		"much changed":    {before, 2, 400, 400, 1},
		"nothing changed": {after, 1, 0, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			parts := wire.DeltaParts(snapshot.Diff(tc.base, after), wire.Header{Cluster: "demo"}, 4096)
			if len(parts) < tc.parts {
				t.Fatalf("%d parts, want at least %d", len(parts), tc.parts)
			}
			all := &clusterpb.Delta{}
			for i, p := range parts {
				if size := proto.Size(p); size > 4096+96 {
					t.Errorf("part %d has %d bytes", i, size)
				}
				if p.GetBaseRevision() != tc.revisionFrom || p.GetRevision() != after.Revision {
					t.Errorf("part %d leads from %d to %d", i, p.GetBaseRevision(), p.GetRevision())
				}
				if (p.GetUpserted().GetRevision() == after.Revision) != (i == 0) {
					t.Errorf("part %d has the header: %v", i, p.GetUpserted().GetRevision())
				}
				proto.Merge(all, p)
			}
			if up, removed := len(all.GetUpserted().GetPods()), len(all.GetRemoved().GetNodes()); up != tc.up || removed != tc.removed {
				t.Errorf("%d pods and %d removed nodes, want %d and %d", up, removed, tc.up, tc.removed)
			}
			if all.GetUpserted().GetInventoryRevision() != 10 {
				t.Errorf("inventory revision %d", all.GetUpserted().GetInventoryRevision())
			}
		})
	}
}

func TestInventoryIsNamedAsRemovedNamesIt(t *testing.T) {
	message := &clusterpb.Snapshot{
		NodeClasses: []*clusterpb.NodeClass{{Name: "default"}}, Catalogs: []*clusterpb.Catalog{{Id: "k1"}},
		Offerings: []*clusterpb.Offering{
			{InstanceType: "m5.large", Zone: "a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND},
			{InstanceType: "m5.large", Zone: "a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_RESERVED, ReservationId: "cr-1"},
		},
		Claims: []*clusterpb.Claim{{Id: "c1"}}, Notices: []*clusterpb.Notice{{Id: "m1"}}, Disruptions: []*clusterpb.DisruptionRecord{{Id: "d1"}},
	}
	removed := wire.InventoryRemoved(&clusterpb.Removed{
		NodeClasses: []string{"default"}, Catalogs: []string{"k1"},
		Offerings: []*clusterpb.OfferingRef{
			{InstanceType: "m5.large", Zone: "a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND},
			{InstanceType: "m5.large", Zone: "a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_RESERVED, ReservationId: "cr-1"},
		},
		Claims: []string{"c1"}, Notices: []string{"m1"}, Disruptions: []string{"d1"}, Pods: []string{"not/ours"},
	})
	var got []snapshot.Key
	for _, o := range wire.InventoryObjects(message) {
		got = append(got, snapshot.Key{Kind: o.Kind, ID: o.ID})
	}
	if diff := cmp.Diff(got, removed); diff != "" {
		t.Errorf("removed (-objects +removed):\n%s", diff)
	}
}

func TestACatalogComesOutAsItWentIn(t *testing.T) {
	in := &clusterpb.Catalog{Id: "c", InstanceTypes: []*clusterpb.InstanceType{{Name: "m5.large", Labels: []*clusterpb.Label{{Key: "a", Value: "b"}}}}}
	var events []snapshot.Event
	for _, o := range wire.InventoryObjects(&clusterpb.Snapshot{Catalogs: []*clusterpb.Catalog{in}}) {
		events = append(events, snapshot.Put(time.Time{}, o))
	}
	s := snapshot.Fold(snapshot.Snapshot{}, events)
	if diff := cmp.Diff([]*clusterpb.Catalog{in}, wire.Whole(s, wire.Header{}).GetCatalogs(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
