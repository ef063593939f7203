package draft

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

func TestPartsShareNoReplacement(t *testing.T) {
	// Hosts 0 to 3 have a pod each, of the same number; host 2 has one of a buffer, too.
	dr := &Draft{Moving: [][]int{{0}, {1}, {2}, {3}}, Buffered: [][]int{nil, nil, {9}, nil}}
	one := &purchase.NewClaim{Items: []market.Item{{Pods: []int{0, 9}}}}
	two := &purchase.NewClaim{Items: []market.Item{{Pods: []int{3}}}}
	d := Decision{Hosts: []int{0, 1, 2, 3}, Destinations: []pack.Assignment{{Pod: 1, Host: 7}, {Pod: 2, Host: 7}}, Replacements: []*purchase.NewClaim{one, two}}
	parts := dr.Parts(d)
	want := [][]int{{0, 2}, {1}, {3}}
	if len(parts) != len(want) {
		t.Fatalf("%d parts, want %d", len(parts), len(want))
	}
	for i, p := range parts {
		if !slices.Equal(p.Hosts, want[i]) || !slices.Equal(p.Evicted, want[i]) {
			t.Errorf("part %d: hosts %v and pods %v, want %v", i, p.Hosts, p.Evicted, want[i])
		}
	}
	if !slices.Equal(parts[0].Replacements, []*purchase.NewClaim{one}) || !slices.Equal(parts[2].Replacements, []*purchase.NewClaim{two}) {
		t.Error("the replacements are not where their pods are")
	}
	if len(parts[0].Destinations) != 1 || parts[0].Destinations[0].Pod != 2 || len(parts[1].Destinations) != 1 || parts[1].Destinations[0].Pod != 1 {
		t.Errorf("the destinations are %v and %v", parts[0].Destinations, parts[1].Destinations)
	}
}
