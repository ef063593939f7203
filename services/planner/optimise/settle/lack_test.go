package settle

import (
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// TestNodesThatLackRoomSomewhereAreKnown tells nodes in two zones, one in each, that have enough for all pods together
// from those that hold them.
func TestNodesThatLackRoomSomewhereAreKnown(t *testing.T) {
	for name, test := range map[string]struct {
		// pods are how many in the one zone, in the other, and in either ask for each of their requests; apart is how
		// many of all may share a node.
		one, other, either int
		each               [3]int64
		apart              int
		lacks              bool
	}{
		"enough in both zones":                              {one: 2, other: 2, each: [3]int64{4, 4, 1}},
		"too many for one zone":                             {one: 3, other: 1, each: [3]int64{4, 4, 1}, lacks: true},
		"those of either zone fill what is left":            {one: 1, other: 1, either: 2, each: [3]int64{4, 4, 4}},
		"more of either zone than is left":                  {one: 1, other: 1, either: 3, each: [3]int64{4, 4, 4}, lacks: true},
		"enough, but not in whole multiples of the request": {one: 1, either: 4, each: [3]int64{4, 1, 4}, lacks: true},
		"apart, one on each node":                           {one: 1, other: 1, each: [3]int64{4, 4, 1}, apart: 1},
		"apart, two on a node, three in one zone":           {one: 3, other: 1, each: [3]int64{3, 3, 1}, apart: 2, lacks: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &problem.Problem{}
			zones := [2]bits.Set{bits.New(3), bits.New(3)}
			all := bits.New(3)
			for i, n := range []int{test.one, test.other, test.either} {
				if n == 0 {
					continue
				}
				at := len(p.Items)
				p.Items = append(p.Items, problem.Item{Count: n, Request: []int64{test.each[i]}})
				all.Add(at)
				for zone := range zones {
					if i == zone || i == 2 {
						zones[zone].Add(at)
					}
				}
			}
			for zone, takes := range zones {
				p.Bins = append(p.Bins, problem.Bin{Price: int64(100 - zone), Free: []int64{10}, Takes: takes, Most: -1})
			}
			if test.apart > 0 {
				p.Rules = append(p.Rules, problem.Rule{Trigger: all, Counted: all, Most: test.apart})
			}
			c := compact.Compile(p)
			y := make([]float64, c.NumRows)
			for i := range y {
				y[i] = 1
			}
			x := New(c, y, Gap{Bound: 1, Cost: 1000}).trial
			if len(c.Bins) != len(zones) {
				t.Fatalf("%d bins", len(c.Bins))
			}
			for b := range c.Bins {
				n := compact.NewOpenBin(c)
				n.Open(&c.Bins[b])
				x.nodes = append(x.nodes, n)
			}
			if got := x.lacksRoom(len(x.nodes), 0); got != test.lacks {
				t.Errorf("it lacks room: %t, want %t", got, test.lacks)
			}
		})
	}
}
