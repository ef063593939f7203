package disrupt

import (
	"fmt"
	"math"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/pack"
)

// move puts the pods of hosts elsewhere in the view. What it returns as left fits on no node that stays; waits says that
// a destination can't be relied on yet. The caller reverts if it does not like the answer.
func (s *search) move(hosts []int) (d Decision, left []pack.Item, waits model.Reason) {
	d = Decision{Hosts: hosts, Evicted: s.movable(hosts...)}
	leaves := make(map[int]bool, len(hosts))
	for _, h := range hosts {
		leaves[h] = true
	}
	var homeless []int
	for _, p := range d.Evicted {
		if s.v.Pods[p].Class.OwnerKind != "" {
			homeless = append(homeless, p)
		}
	}
	for _, h := range hosts {
		for _, p := range movable(s.v, h) {
			s.Desk.Leave(p, h)
		}
	}
	stays := func(h int) bool { return !leaves[h] }
	d.Spots, left = s.Desk.OnHosts(pack.Items(s.v.World, homeless), stays)
	for _, spot := range d.Spots {
		h := s.v.Hosts[spot.Host]
		if !h.Initialized || h.Node == nil || !h.Node.Ready {
			waits = model.Reason{
				Code: model.CodeNoDestination, Subject: s.v.Hosts[hosts[0]].Name(),
				Message: fmt.Sprintf("its pods will fit on %s once that is ready", h.Name()),
			}
			break
		}
	}
	spots, more := s.Desk.OnHosts(pack.Items(s.v.World, s.roomOn(hosts)), stays)
	d.Spots = append(d.Spots, spots...)
	return d, append(left, more...), waits
}

// relocate finds a home for all pods of hosts, whatever it costs. It changes the view only if it succeeds.
func (s *search) relocate(hosts []int) (Decision, model.Reason) {
	mark := s.Desk.Mark()
	d, left, waits := s.move(hosts)
	if !waits.OK() {
		s.Desk.Revert(mark)
		return Decision{}, waits
	}
	_, bought, homeless := s.Desk.Buy(left, s.Limits.Clone())
	if len(homeless) > 0 {
		s.Desk.Revert(mark)
		return Decision{}, s.noDestination(hosts, homeless[0])
	}
	d.Replacements = bought
	return d, model.Reason{}
}

func (s *search) noDestination(hosts []int, it pack.Item) model.Reason {
	why, _ := s.Desk.Explain(it.Class)
	return model.Reason{
		Code: model.CodeNoDestination, Subject: s.v.Hosts[hosts[0]].Name(),
		Message: fmt.Sprintf("pod %s fits nowhere else: %s", s.v.Pods[it.Pods[0]].ID, why.Message),
	}
}

// tryDelete gives a node back if its pods fit on others.
func (s *search) tryDelete(host int) (ok bool, left []pack.Item, why model.Reason) {
	mark := s.Desk.Mark()
	d, left, waits := s.move([]int{host})
	price, weighed := s.price(d.Hosts)
	switch {
	case !waits.OK():
		why = waits
	case len(left) > 0:
	case min(price, weighed) < max(1, s.v.Policy.MinSaving):
		why = model.Reason{
			Code: model.CodeNoCheaper, Subject: s.v.Hosts[host].Name(),
			Message: fmt.Sprintf("giving it back saves %s; the least that is worth it is %s",
				fit.Money(min(price, weighed)), fit.Money(s.v.Policy.MinSaving)),
		}
	default:
		if why = s.balance.approve(d.Hosts, weighed); why.OK() {
			d.Reason, d.Saving = model.ReasonUnderutilized, price
			d.Explanation = model.Reason{
				Code: model.CodePodsFitElsewhere, Subject: s.v.Hosts[host].Name(),
				Message: fmt.Sprintf("its pods (%d) fit on other nodes; giving it back saves %s an hour", len(d.Evicted), fit.Money(price)),
			}
			s.keep(d)
			return true, nil, model.Reason{}
		}
	}
	s.Desk.Revert(mark)
	return false, left, why
}

// tryReplace gives nodes back if one cheaper claim and the nodes that stay hold their pods.
func (s *search) tryReplace(hosts []int) (ok bool, why model.Reason) {
	mark := s.Desk.Mark()
	d, left, waits := s.move(hosts)
	if !waits.OK() || len(left) == 0 {
		s.Desk.Revert(mark)
		return false, waits
	}
	price, weighed := s.price(hosts)
	least := max(1, s.v.Policy.MinSaving)
	b, found := s.Desk.One(left, pack.Ceiling{Weighed: weighed - least, List: price - least})
	if !found {
		s.Desk.Revert(mark)
		return false, s.noCheaper(hosts, left, weighed)
	}
	now, saving := b.Best().Offering.Price, price-b.Best().Offering.Price
	if why = s.spotForSpot(hosts, b); why.OK() {
		why = s.balance.approve(hosts, weighed-b.Best().Price)
	}
	if !why.OK() {
		s.Desk.Revert(mark)
		return false, why
	}
	d.Reason, d.Saving, d.Replacements = model.ReasonUnderutilized, saving, []*pack.Bought{b}
	d.Explanation = model.Reason{
		Code: model.CodeCheaperReplacement, Subject: s.v.Hosts[hosts[0]].Name(),
		Message: fmt.Sprintf("one %s at %s instead of %s at %s saves %s an hour", b.Best().Type.Name,
			fit.Money(now), fit.Count(len(hosts), "node"), fit.Money(price), fit.Money(saving)),
	}
	s.keep(d)
	return true, model.Reason{}
}

// spotForSpot keeps a spot node from being replaced by another one: spot prices move all the time, and each move would end
// on an offering that fewer wish to keep, until the node is the one most often interrupted. Several nodes may become one.
func (s *search) spotForSpot(hosts []int, b *pack.Bought) model.Reason {
	spot := func(h int) bool { return s.v.Hosts[h].Claim.CapacityType == model.Spot }
	if len(hosts) > 1 || !spot(hosts[0]) || b.Best().Offering.CapacityType != model.Spot {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNoCheaper, Subject: s.v.Hosts[hosts[0]].Name(),
		Message: fmt.Sprintf("%s at %s would do, but a spot node is not replaced by another spot node", b.Best().Type.Name, fit.Money(b.Best().Price)),
	}
}

// noCheaper says why no replacement was found.
func (s *search) noCheaper(hosts []int, left []pack.Item, price int64) model.Reason {
	mark := s.Desk.Mark()
	defer s.Desk.Revert(mark)
	name := s.v.Hosts[hosts[0]].Name()
	what := s.whatStays(left)
	b, ok := s.Desk.One(left, pack.Ceiling{Weighed: math.MaxInt64, List: math.MaxInt64})
	if !ok {
		return model.Reason{
			Code: model.CodeNoDestination, Subject: name,
			Message: what + " fit on no other node, and no single new node holds them",
		}
	}
	return model.Reason{
		Code: model.CodeNoCheaper, Subject: name,
		Message: fmt.Sprintf("%s fit on no other node; the cheapest node that holds them is %s at %s, and it costs %s",
			what, b.Best().Type.Name, fit.Money(b.Best().Price), fit.Money(price)),
	}
}

// whatStays says in words what found no place: pods, and those of buffers.
func (s *search) whatStays(left []pack.Item) string {
	pods, room := 0, 0
	for _, it := range left {
		for _, p := range it.Pods {
			if _, virtual := offer.Virtual(s.v.Pods[p].ID); virtual {
				room++
			} else {
				pods++
			}
		}
	}
	if room == 0 {
		return fmt.Sprintf("%d of its pods", pods)
	}
	return fmt.Sprintf("%d of its pods and %d of capacity buffers", pods, room)
}
