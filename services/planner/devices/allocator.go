package devices

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Allocator is the devices of all places that a plan puts pods on, and where claims are that pods share. Places are numbers
// of the caller's. Make it with NewAllocator; it is owned by one goroutine.
type Allocator struct {
	// freed are nodes whose pods all go: claims that are allocated there are freed.
	freed  map[model.NodeName]bool
	places map[int]*place
	// at is where the pods of this plan have brought a shared claim, and how often.
	at map[string]located
	// log is what was done, for Back.
	log []step
}

type place struct {
	node model.NodeName
	// stocks are one for each shape that the place may turn out to have; what pods get, they must get in each.
	stocks []*Stock
}

type located struct{ place, pods int }

// step is one pod that was placed.
type step struct {
	place int
	marks []int
	// claims are the shared claims that the pod uses and that were not allocated.
	claims []string
	// took are the claims that took devices.
	took []model.DeviceClaim
	// before are the stocks that the place had before it became another; nil where the step is a pod.
	before []*Stock
}

// NewAllocator knows no place yet. freed are nodes that go with all of their pods, so that shared claims that are allocated
// there can be allocated anew.
func NewAllocator(freed ...model.NodeName) *Allocator {
	t := &Allocator{freed: make(map[model.NodeName]bool, len(freed)), places: make(map[int]*place), at: make(map[string]located)}
	for _, n := range freed {
		t.freed[n] = true
	}
	return t
}

// Add takes a place: a node by its name, or one that is not there yet by "". Of several shapes that it may turn out to
// have, there is a stock for each; without any stock it has no devices. A place that is there already is replaced.
func (t *Allocator) Add(number int, node model.NodeName, stocks ...*Stock) {
	if len(stocks) == 0 {
		stocks = []*Stock{NewStock(nil, nil)}
	}
	t.places[number] = &place{node: node, stocks: stocks}
}

// ClaimsDevices says whether a class claims devices at all; all others fit everywhere.
func ClaimsDevices(c *model.PodClass) bool { return len(c.DeviceClaims) > 0 }

// SharesClaims says whether pods of a class use a claim that others may use too, so that they have to be on one node.
// Such pods are placed one after the other.
func SharesClaims(c *model.PodClass) bool {
	return slices.ContainsFunc(c.DeviceClaims, func(d model.DeviceClaim) bool { return d.Name != "" })
}

// Capacity is how many more pods of a class a place has the devices for, at most `most`.
func (t *Allocator) Capacity(number int, c *model.PodClass, most int) int {
	if !ClaimsDevices(c) || most <= 0 {
		return most
	}
	p := t.places[number]
	if p == nil || t.away(number, p, c) != "" {
		return 0
	}
	own := func() []model.DeviceClaim { return t.toTake(number, c) }
	mark := t.Fork()
	n := 0
	for n < most && t.takeAll(number, p, c, own()) {
		n++
	}
	t.Back(mark)
	return n
}

// Has says whether a place has the devices for a pod of a class, taken or not.
func (t *Allocator) Has(number int, c *model.PodClass) bool {
	if !ClaimsDevices(c) {
		return true
	}
	p := t.places[number]
	if p == nil || t.away(number, p, c) != "" {
		return false
	}
	claims := t.toTake(number, c)
	return !slices.ContainsFunc(p.stocks, func(s *Stock) bool { return NewStock(s.devices, nil).Capacity(claims, 1) == 0 })
}

// Take places one pod, or, where it does not find its devices, does nothing, and is false.
func (t *Allocator) Take(number int, c *model.PodClass) bool {
	if !ClaimsDevices(c) {
		return true
	}
	p := t.places[number]
	if p == nil || t.away(number, p, c) != "" {
		return false
	}
	return t.takeAll(number, p, c, t.toTake(number, c))
}

// takeAll takes the claims' devices in every shape of a place.
func (t *Allocator) takeAll(number int, p *place, c *model.PodClass, claims []model.DeviceClaim) bool {
	s := step{place: number, took: claims}
	for i, stock := range p.stocks {
		s.marks = append(s.marks, stock.Mark())
		if !stock.Take(claims) {
			for j := range i {
				p.stocks[j].Revert(s.marks[j])
			}
			return false
		}
	}
	for i := range c.DeviceClaims {
		if d := &c.DeviceClaims[i]; d.Name != "" && !t.settled(d) {
			s.claims = append(s.claims, d.Name)
			t.at[d.Name] = located{number, t.at[d.Name].pods + 1}
		}
	}
	t.log = append(t.log, s)
	return true
}

// Replace makes a place one with other stocks: the pods that this Tally has put there get devices of these, in their order.
// Where they do not find all that they need, nothing changes, and it is false.
func (t *Allocator) Replace(number int, stocks ...*Stock) bool {
	for _, s := range t.log {
		if s.place != number || s.before != nil {
			continue
		}
		for _, stock := range stocks {
			if !stock.Take(s.took) {
				return false
			}
		}
	}
	p := t.places[number]
	t.log = append(t.log, step{place: number, before: p.stocks})
	p.stocks = stocks
	return true
}

// toTake are the claims of a class that take devices: those of the pod's own, and shared ones that have none yet.
func (t *Allocator) toTake(number int, c *model.PodClass) []model.DeviceClaim {
	have := func(d *model.DeviceClaim) bool {
		at, ok := t.at[d.Name]
		return d.Name != "" && (t.settled(d) || (ok && at.place == number))
	}
	if !slices.ContainsFunc(c.DeviceClaims, func(d model.DeviceClaim) bool { return have(&d) }) {
		return c.DeviceClaims
	}
	var out []model.DeviceClaim
	for i := range c.DeviceClaims {
		if !have(&c.DeviceClaims[i]) {
			out = append(out, c.DeviceClaims[i])
		}
	}
	return out
}

// settled says whether a claim is allocated, and stays so.
func (t *Allocator) settled(d *model.DeviceClaim) bool {
	return d.Allocated && (d.Node == "" || !t.freed[d.Node])
}

// away says which shared claim of a class is somewhere else; "" when none is.
func (t *Allocator) away(number int, p *place, c *model.PodClass) string {
	for i := range c.DeviceClaims {
		d := &c.DeviceClaims[i]
		if d.Name == "" {
			continue
		}
		if t.settled(d) {
			if d.Node != "" && d.Node != p.node {
				return fmt.Sprintf("resource claim %s has its devices on node %s", d.Name, d.Node)
			}
			continue
		}
		if at, ok := t.at[d.Name]; ok && at.place != number {
			return fmt.Sprintf("resource claim %s gets its devices elsewhere in this plan", d.Name)
		}
	}
	return ""
}

// Why says why a place does not have the devices for one more pod of a class; the zero Reason where it has.
func (t *Allocator) Why(number int, c *model.PodClass, what string) model.Reason {
	subject := "podclass/" + string(c.ID)
	p := t.places[number]
	if p == nil {
		p = &place{stocks: []*Stock{NewStock(nil, nil)}}
	}
	if text := t.away(number, p, c); text != "" {
		return model.Reason{Code: model.CodeDevices, Subject: subject, Message: text}
	}
	claims := t.toTake(number, c)
	for _, s := range p.stocks {
		if r := s.Why(claims, what, subject); !r.OK() {
			return r
		}
	}
	return model.Reason{}
}

// Fork is the present state, to go back to by Back.
func (t *Allocator) Fork() int { return len(t.log) }

// Back takes back what was placed since the mark.
func (t *Allocator) Back(mark int) {
	for i := len(t.log) - 1; i >= mark; i-- {
		s := t.log[i]
		if s.before != nil {
			t.places[s.place].stocks = s.before
			continue
		}
		for j, stock := range t.places[s.place].stocks {
			stock.Revert(s.marks[j])
		}
		for _, name := range s.claims {
			at := t.at[name]
			if at.pods--; at.pods == 0 {
				delete(t.at, name)
			} else {
				t.at[name] = at
			}
		}
	}
	t.log = t.log[:mark]
}

// Held are the devices that bound pods hold.
func Held(pods ...*model.Pod) []model.DeviceRef {
	var out []model.DeviceRef
	for _, p := range pods {
		out = append(out, p.Devices...)
	}
	return out
}

// Terms are from where a class's shared claims can be reached that are allocated on no single node: for each such claim
// the alternatives, none meaning everywhere. They bind the node as the terms of volumes do.
func Terms(c *model.PodClass) [][]model.NodeAffinityTerm {
	var out [][]model.NodeAffinityTerm
	for i := range c.DeviceClaims {
		if d := &c.DeviceClaims[i]; d.Allocated && len(d.Terms) > 0 {
			out = append(out, d.Terms)
		}
	}
	return out
}
