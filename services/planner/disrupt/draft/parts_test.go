package draft

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
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

func TestPodsOfHostsThatComeFirstGoToNodesThatExist(t *testing.T) {
	// Claims b, a and c, in the order of hosts, have pods 0 and 1, 2 and 3, 4 and 5: the even ones of one class, the
	// odd ones of another.
	even, odd := &view.Class{}, &view.Class{}
	v := &view.View{World: &view.World{}}
	for i, id := range []model.ClaimID{"b", "a", "c"} {
		v.Hosts = append(v.Hosts, &view.Host{Index: i, Claim: &model.Claim{ID: id}})
		v.Pods = append(v.Pods, view.Pod{Class: even}, view.Pod{Class: odd})
	}
	v.Pods = append(v.Pods, view.Pod{Class: even}) // one of a buffer
	dr := &Draft{Params: Params{View: v}, Moving: [][]int{{0, 1}, {2, 3}, {4, 5}}}
	one := &purchase.NewClaim{Items: []market.Item{{Class: even, Pods: []int{0, 6}}, {Class: odd, Pods: []int{1, 3}}}}
	two := &purchase.NewClaim{Items: []market.Item{{Class: odd, Pods: []int{5}}, {Class: even, Pods: []int{2}}}}
	d := dr.InTurn(Decision{
		Hosts: []int{0, 1, 2}, Evicted: []int{0, 1, 2, 3, 4, 5}, Destinations: []pack.Assignment{{Pod: 4, Host: 9}}, Replacements: []*purchase.NewClaim{one, two},
	})
	if got := d.Destinations[0]; got.Pod != 2 || got.Host != 9 {
		t.Errorf("%+v goes to the node that exists, want pod 2, of claim a", got)
	}
	for i, want := range [][][]int{{{0, 6}, {1, 3}}, {{5}, {4}}} {
		for k, it := range d.Replacements[i].Items {
			if !slices.Equal(it.Pods, want[k]) {
				t.Errorf("replacement %d has pods %v, want %v", i, it.Pods, want[k])
			}
		}
	}
}

func TestHostsWhosePodsGoToNodesThatExistComeFirst(t *testing.T) {
	// Claims a, b, c and d have pods 0 and 1, 2 and 3, 4 and 5, and none: the even ones of one class, the odd ones of
	// another, but for claim c, whose pods are both of the second.
	even, odd := &view.Class{}, &view.Class{}
	v := &view.View{World: &view.World{}}
	for i, id := range []model.ClaimID{"a", "b", "c", "d"} {
		v.Hosts = append(v.Hosts, &view.Host{Index: i, Claim: &model.Claim{ID: id}})
	}
	for i := range 6 {
		v.Pods = append(v.Pods, view.Pod{Class: []*view.Class{even, odd}[i%2]})
	}
	v.Pods[4].Class = odd
	dr := &Draft{Params: Params{View: v}, Moving: [][]int{{0, 1}, {2, 3}, {4, 5}, nil}}
	bought := &purchase.NewClaim{Items: []market.Item{{Class: even, Pods: []int{0, 2}}, {Class: odd, Pods: []int{4}}}}
	d := dr.InTurn(Decision{
		Hosts: []int{0, 1, 2, 3}, Evicted: []int{0, 1, 2, 3, 4, 5}, Replacements: []*purchase.NewClaim{bought},
		Destinations: []pack.Assignment{{Pod: 1, Host: 9}, {Pod: 3, Host: 9}, {Pod: 5, Host: 9}},
	})
	if want := []int{2, 3, 0, 1}; !slices.Equal(d.Hosts, want) {
		t.Errorf("hosts go in the order %v, want %v: two of c's pods can go to the node that exists, and d has none", d.Hosts, want)
	}
	var first []int
	for _, a := range d.Destinations {
		first = append(first, a.Pod)
	}
	if want := []int{4, 5, 1}; !slices.Equal(first, want) {
		t.Errorf("pods %v go to the node that exists, want %v", first, want)
	}
}
