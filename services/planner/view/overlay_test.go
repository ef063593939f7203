package view_test

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// fuse is a resource that no catalogue knows.
const fuse model.Resource = "example.com/fuse"

// fused is a cluster with an overlay that gives nodes in zone b ten fuses, and lets them cost a tenth.
func fused(claim model.Claim) model.Snapshot {
	tenth := int64(10)
	claim.ID, claim.NodePool, claim.NodeClass = "c-1", "default", "default"
	box := model.InstanceType{
		Name: "box", Capacity: model.Amounts{{Resource: "cpu", Value: 4000}}, Allocatable: model.Amounts{{Resource: "cpu", Value: 3900}},
	}
	return model.Snapshot{
		PodClasses:  []model.PodClass{{ID: "k", Namespace: "shop", Requests: model.Amounts{{Resource: "cpu", Value: 1000}, {Resource: fuse, Value: 1}}}},
		Catalogs:    []model.Catalog{{ID: "k-1", InstanceTypes: []model.InstanceType{box}}},
		NodeClasses: []model.NodeClass{{Name: "default", Catalog: "k-1", Zones: []string{"us-east-1a", "us-east-1b"}}},
		NodePools:   []model.NodePool{{Name: "default", NodeClass: "default"}},
		Offerings: []model.Offering{
			{InstanceType: "box", Zone: "us-east-1a", CapacityType: model.OnDemand, Price: 100},
			{InstanceType: "box", Zone: "us-east-1b", CapacityType: model.OnDemand, Price: 100},
		},
		Claims: []model.Claim{claim},
		NodeOverlays: []model.NodeOverlay{{
			Name: "fuse", Price: &tenth, Capacity: model.Amounts{{Resource: fuse, Value: 10}},
			Requirements: []model.Requirement{{Key: labels.Zone, Operator: model.In, Values: []string{"us-east-1b"}}},
		}},
	}
}

func ranked(zone string, price int64) model.RankedOffering {
	o := model.RankedOffering{InstanceType: "box", Zone: zone, CapacityType: model.OnDemand, Price: 100}
	if price != o.Price {
		o.Overlaid, o.OverlaidPrice = true, price
	}
	return o
}

func TestAClaimHasWhatOverlaysSayUntilItsNodeTellsItself(t *testing.T) {
	launched := model.Claim{
		State: model.ClaimLaunched, InstanceType: "box", Zone: "us-east-1b", CapacityType: model.OnDemand, Price: 100,
		Capacity: model.Amounts{{Resource: "cpu", Value: 4000}}, Allocatable: model.Amounts{{Resource: "cpu", Value: 3900}},
	}
	joined := launched
	joined.State, joined.Node = model.ClaimRegistered, "n1"
	settled := joined
	settled.State = model.ClaimInitialized
	tests := map[string]struct {
		claim          model.Claim
		free, capacity int64
		weighed        int64
	}{
		"before the launch, where all that it may become has it": {
			model.Claim{State: model.ClaimPlanned, Offerings: []model.RankedOffering{ranked("us-east-1b", 10)}}, 10, 10, 10,
		},
		"before the launch, where it may become what has none": {
			model.Claim{State: model.ClaimPlanned, Offerings: []model.RankedOffering{ranked("us-east-1b", 10), ranked("us-east-1a", 100)}}, 0, 10, 10,
		},
		"after the launch":                         {launched, 10, 10, 10},
		"once its node is there, and has not said": {joined, 10, 10, 10},
		"not against what the node says":           {settled, 0, 10, 10},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := fused(tt.claim)
			if n := tt.claim.Node; n != "" {
				s.Nodes = []model.Node{{Name: n, Ready: true, Allocatable: model.Amounts{{Resource: "cpu", Value: 3900}}}}
			}
			w, err := view.NewWorld(&s, model.Policy{}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			at, _ := w.Index.Place(fuse)
			claim := &s.Claims[0]
			if got := view.NewView(w).Free(0)[at]; got != tt.free {
				t.Errorf("capacity for %d fuses, want %d", got, tt.free)
			}
			if got := w.ClaimCapacity(claim)[at]; got != tt.capacity {
				t.Errorf("it counts %d fuses, want %d", got, tt.capacity)
			}
			if price, weighed := w.Price(claim), w.WeighedPrice(claim); price != 100 || weighed != tt.weighed {
				t.Errorf("price %d, weighed at %d; want 100 and %d", price, weighed, tt.weighed)
			}
		})
	}
}
