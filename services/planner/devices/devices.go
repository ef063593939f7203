// Package devices decides whether a place has the devices that pods claim by dynamic resource allocation, and which ones
// they get.
//
// It goes about it as kube-scheduler does, pod after pod: the requests of a pod's claims in their order, of each the first
// alternative that works out, and the first devices in the node's order with which all of it does; nothing that an
// earlier pod was given is moved. So the plan's order of placements leads to the same devices, or to others that do as
// well. What the scheduler may do and this package does not count on (parts of devices, shared capacity, devices that
// belong to no single node) is never used.
//
// A Stock is the devices of one place. An Allocator has the stocks of many, and knows where claims are that pods share.
// Templates says what nodes yet to be bought will have, and Dims counts devices as if they were resources, which is never
// too strict and mostly exact. The package knows neither views nor plans: the same code serves packing and judging. Start
// reading with Stock, then Allocator.
package devices

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Bounds of one search. A claim has at most 32 devices, and one kind of device mostly, so that nothing real comes near
// maxSteps; what is not found by then counts as not there, which buys a node too many at worst.
const (
	maxSteps    = 20_000
	maxPerClaim = 32
)

// Stock is the devices of one place and which of them are taken. Make it with NewStock; it is owned by one goroutine.
type Stock struct {
	devices []model.NodeDevice
	taken   []bool
	// matching are the places of the devices that match a selector, found when first asked for.
	matching map[string][]int
	// log is what was taken, for Revert.
	log []int
}

// NewStock is a place that has these devices, in the scheduler's order, of which some are held.
func NewStock(list []model.NodeDevice, held []model.DeviceRef) *Stock {
	s := &Stock{devices: list, taken: make([]bool, len(list)), matching: make(map[string][]int)}
	have := make(map[model.DeviceRef]bool, len(held))
	for _, r := range held {
		have[r] = true
	}
	for i := range list {
		s.taken[i] = have[list[i].DeviceRef] || list[i].Unavailable
	}
	return s
}

// Mark is the present state, to go back to by Revert.
func (s *Stock) Mark() int { return len(s.log) }

// Revert frees what was taken since the mark.
func (s *Stock) Revert(mark int) {
	for _, d := range s.log[mark:] {
		s.taken[d] = false
	}
	s.log = s.log[:mark]
}

// Take gives the devices of one pod's claims, or, where they are not available together, nothing, and false.
func (s *Stock) Take(claims []model.DeviceClaim) bool {
	if len(claims) == 0 {
		return true
	}
	if s.unclear(claims) {
		return false
	}
	before := len(s.log)
	x := deviceMatch{stock: s, claims: claims, values: make([][]string, len(claims)), given: make([]int, len(claims))}
	for i := range claims {
		x.values[i] = make([]string, len(claims[i].Constraints))
	}
	if x.from(0, 0) {
		return true
	}
	s.Revert(before)
	return false
}

// Capacity is how many more pods with such claims find their devices, at most `most`. Nothing is taken.
func (s *Stock) Capacity(claims []model.DeviceClaim, most int) int {
	if len(claims) == 0 {
		return most
	}
	before := s.Mark()
	n := 0
	for n < most && s.Take(claims) {
		n++
	}
	s.Revert(before)
	return n
}

// Free is how many devices match a selector and are available.
func (s *Stock) Free(selector string) int {
	n := 0
	for _, d := range s.matches(selector) {
		if s.usable(d) {
			n++
		}
	}
	return n
}

func (s *Stock) usable(device int) bool {
	return !s.taken[device] && s.devices[device].Unsupported == ""
}

func (s *Stock) matches(selector string) []int {
	if list, ok := s.matching[selector]; ok {
		return list
	}
	var list []int
	for i := range s.devices {
		if _, ok := slices.BinarySearch(s.devices[i].Selectors, selector); ok {
			list = append(list, i)
		}
	}
	s.matching[selector] = list
	return list
}

// fails says whether the scheduler would give up on the place, because a selector can't be evaluated for a device that it
// would look at.
func (s *Stock) fails(selector string) bool {
	for i := range s.devices {
		if s.taken[i] {
			continue
		}
		if _, ok := slices.BinarySearch(s.devices[i].FailingSelectors, selector); ok {
			return true
		}
	}
	return false
}

// unclear says whether a claim asks for all devices, in whatever alternative, and it is not known which these are. The
// scheduler finds out which they are before it looks for anything.
func (s *Stock) unclear(claims []model.DeviceClaim) bool {
	for i := range claims {
		for _, q := range claims[i].Requests {
			for _, o := range q.Options {
				if o.Count == 0 && slices.ContainsFunc(s.devices, func(d model.NodeDevice) bool {
					return d.IncompletePool || slices.Contains(d.FailingSelectors, o.Selector)
				}) {
					return true
				}
			}
		}
	}
	return false
}

// deviceMatch looks for the devices of one pod, depth first.
type deviceMatch struct {
	stock  *Stock
	claims []model.DeviceClaim
	// values are what the devices of each constraint must have; "" until the first one decides.
	values [][]string
	// given is how many devices each claim has so far.
	given []int
	steps int
	// stop is set when there is nothing more to look for.
	stop bool
}

// from serves the requests from one on.
func (x *deviceMatch) from(claim, request int) bool {
	if claim == len(x.claims) {
		return true
	}
	c := &x.claims[claim]
	if request == len(c.Requests) {
		return x.from(claim+1, 0)
	}
	for o := range c.Requests[request].Options {
		if x.option(claim, request, &c.Requests[request].Options[o]) {
			return true
		}
		if x.stop {
			return false
		}
	}
	return false
}

func (x *deviceMatch) option(claim, request int, o *model.DeviceOption) bool {
	s := x.stock
	if s.fails(o.Selector) {
		x.stop = true
		return false
	}
	candidates, count := s.matches(o.Selector), int(o.Count)
	if o.Count == 0 {
		return len(candidates) > 0 && x.given[claim]+len(candidates) <= maxPerClaim && x.all(pick{claim, request, o, candidates, 0})
	}
	if count > s.Free(o.Selector) || x.given[claim]+count > maxPerClaim {
		return false
	}
	return x.pick(pick{claim, request, o, candidates, count})
}

// all takes all candidates. One that is not available leaves other ways open; one that breaks a constraint is to the
// scheduler a claim that makes no sense, and it gives up on the place.
func (x *deviceMatch) all(p pick) bool {
	mark, before, given := x.stock.Mark(), slices.Clone(x.values[p.claim]), x.given[p.claim]
	for _, d := range p.candidates {
		if !x.stock.usable(d) {
			break
		}
		if !x.agrees(p, d) {
			x.stop = true
			break
		}
		x.give(p.claim, d)
	}
	if x.given[p.claim] == given+len(p.candidates) && x.from(p.claim, p.request+1) {
		return true
	}
	x.stock.Revert(mark)
	x.values[p.claim], x.given[p.claim] = before, given
	return false
}

func (x *deviceMatch) give(claim, device int) {
	x.stock.taken[device] = true
	x.stock.log = append(x.stock.log, device)
	x.given[claim]++
}

// pick is what is left to choose for one option: so many of these devices.
type pick struct {
	claim, request int
	option         *model.DeviceOption
	candidates     []int
	count          int
}

func (x *deviceMatch) pick(p pick) bool {
	if p.count == 0 {
		return x.from(p.claim, p.request+1)
	}
	for i, d := range p.candidates {
		if len(p.candidates)-i < p.count {
			return false
		}
		if x.steps++; x.steps > maxSteps {
			x.stop = true
			return false
		}
		if !x.stock.usable(d) {
			continue
		}
		before := slices.Clone(x.values[p.claim])
		if x.agrees(p, d) {
			x.give(p.claim, d)
			if x.pick(pick{p.claim, p.request, p.option, p.candidates[i+1:], p.count - 1}) {
				return true
			}
			x.given[p.claim]--
			x.stock.Revert(len(x.stock.log) - 1)
		}
		x.values[p.claim] = before
		if x.stop {
			return false
		}
	}
	return false
}

// agrees says whether a device keeps the claim's constraints, and notes the values that it decides.
func (x *deviceMatch) agrees(p pick, device int) bool {
	c := &x.claims[p.claim]
	name := c.Requests[p.request].Name
	for i := range c.Constraints {
		k := &c.Constraints[i]
		if len(k.Requests) > 0 && !slices.Contains(k.Requests, name) &&
			(p.option.Name == "" || !slices.Contains(k.Requests, name+"/"+p.option.Name)) {
			continue
		}
		v, ok := x.stock.devices[device].Attributes.Get(k.Attribute)
		switch has := x.values[p.claim][i]; {
		case !ok || (has != "" && has != v):
			return false
		default:
			x.values[p.claim][i] = v
		}
	}
	return true
}

// Why says what a place lacks for one pod's claims; the zero Reason where it lacks nothing. what is how the place is
// called in the message, and subject what the reason is about.
func (s *Stock) Why(claims []model.DeviceClaim, what, subject string) model.Reason {
	mark := s.Mark()
	if s.Take(claims) {
		s.Revert(mark)
		return model.Reason{}
	}
	out := model.Reason{Code: model.CodeDevices, Subject: subject}
	for i := range claims {
		for _, q := range claims[i].Requests {
			if out.Message, out.Remedy = s.lacks(q, what); out.Message != "" {
				return out
			}
		}
	}
	if s.unclear(claims) {
		out.Message = fmt.Sprintf("the pod asks for all devices of a kind, and a driver has not published all that it has on %s", what)
		return out
	}
	out.Message = fmt.Sprintf("%s has devices for each of the pod's requests, but not for all of them and their constraints together", what)
	return out
}

// lacks says why no option of a request is available for itself; "" where one is.
func (s *Stock) lacks(q model.DeviceRequest, what string) (message, remedy string) {
	for i := range q.Options {
		o := &q.Options[i]
		all, free := s.matches(o.Selector), s.Free(o.Selector)
		wants := fmt.Sprintf("request %s wants %s of class %s", q.Name, Wanted(o), o.DeviceClass)
		switch bad := s.unsupported(all); {
		case s.fails(o.Selector):
			message = fmt.Sprintf("request %s: its selector, or class %s's, can't be evaluated for a device of %s", q.Name, o.DeviceClass, what)
			remedy = "let the selectors ask for the driver first, so that they are not evaluated for devices of others"
		case len(all) == 0:
			message, remedy = fmt.Sprintf("%s, and %s has none that match", wants, what), ""
		case bad != "" && free < max(int(o.Count), 1):
			message, remedy = fmt.Sprintf("%s, and of %s Kerf does not plan with a device that matches: %s", wants, what, bad), ""
		case free < max(int(o.Count), 1) || (o.Count == 0 && free < len(all)):
			message, remedy = fmt.Sprintf("%s, and %d of the %d that match are free on %s", wants, free, len(all), what), ""
		default:
			return "", ""
		}
	}
	return message, remedy
}

// Wanted is how many devices an option asks for, as in "2 devices".
func Wanted(o *model.DeviceOption) string {
	switch o.Count {
	case 0:
		return "all devices"
	case 1:
		return "1 device"
	default:
		return fmt.Sprintf("%d devices", o.Count)
	}
}

func (s *Stock) unsupported(list []int) string {
	for _, d := range list {
		if u := s.devices[d].Unsupported; u != "" {
			return s.devices[d].Name + ": " + u
		}
	}
	return ""
}

// Taken lists the devices that were given out since the mark, in that order.
func (s *Stock) Taken(mark int) []model.DeviceRef {
	out := make([]model.DeviceRef, 0, len(s.log)-mark)
	for _, d := range s.log[mark:] {
		out = append(out, s.devices[d].DeviceRef)
	}
	return out
}
