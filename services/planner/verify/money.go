package verify

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// money checks all sums of prices. Prices are micro-dollars per hour, what evictions weigh is micro-dollars.
type money struct {
	f *facts.Facts
	r *facts.Report
	// rest is how long pods that were moved by choice are left alone.
	rest time.Duration
}

const (
	// rounding is how near to a half a price may be that can be rounded either way: the order of floating-point sums is
	// not fixed.
	rounding = 1e-6
	// A replacement for money saves at least one part in so many of what it replaces, where evictions cost anything.
	leastShare = 10
	// Where a spot node takes the place of one, it may become any of so many, so that the risk of losing it does not rise.
	leastSpots, leastZones, leastFamilies = 5, 2, 3
)

// of checks the money of one disruption.
func (m *money) of(subject string, x *model.Disruption) {
	if consolidates(x.Reason) {
		m.saving(subject, x)
	}
	m.evictions(subject, x)
	m.payBack(subject, x)
	m.spotForSpot(subject, x)
}

// consolidates says whether a disruption is for money.
func consolidates(r model.DisruptionReason) bool {
	return r == model.ReasonEmpty || r == model.ReasonUnderutilized
}

func (m *money) saving(subject string, x *model.Disruption) {
	var saved, weighed, replaced int64
	for _, id := range x.Candidates {
		if claim := m.f.Cluster.Live[id]; claim != nil {
			price := m.f.Market.Price(claim)
			if price <= 0 && x.Reason == model.ReasonUnderutilized {
				m.r.Fail(subject, "the price of claim %s is not known", id)
			}
			saved += price
			weighed += m.f.Market.Weighed(claim)
			replaced += m.f.Market.Weighed(claim)
		}
	}
	for _, id := range x.Replacements {
		if fresh := m.f.Decisions.Claims[id]; fresh != nil {
			saved -= fresh.Price
			if len(fresh.Offerings) > 0 {
				weighed -= fresh.Offerings[0].Weighed()
			}
		}
	}
	if x.Saving != saved {
		m.r.Fail(subject, "it says that it saves %d, it saves %d", x.Saving, saved)
	}
	least := m.f.Input.Policy.MinSaving
	if x.Reason == model.ReasonUnderutilized && (saved <= 0 || saved < least) {
		m.r.Fail(subject, "it saves %d; that is not worth it (least is %d, and more than nothing)", saved, least)
	}
	if x.Reason == model.ReasonUnderutilized && weighed <= 0 {
		m.r.Fail(subject, "at the prices that overlays say it saves %d; that is not worth it", weighed)
	}
	if x.Reason == model.ReasonUnderutilized && len(x.Replacements) > 0 && x.Churn > 0 && min(saved, weighed) < replaced/leastShare {
		m.r.Fail(subject, "it saves %d of %d; what evicts pods for a replacement must save a tenth", min(saved, weighed), replaced)
	}
}

// evictionPrice is what it is weighed at to evict a pod: more where its deletion cost and priority say so, and where it
// has run for SettledAfter, or for as long as moved pods rest: by the square of how often its age goes into that, up to
// JustStarted times.
func (m *money) evictionPrice(p *model.Pod) float64 {
	price := float64(model.Or(m.f.Input.Policy.EvictionPrice, model.DefaultEvictionPrice))
	weight := 1 + float64(p.DeletionCost)/(1<<27) + float64(m.f.Cluster.Class(p).Priority)/(1<<25)
	price *= min(max(weight, 0), 10)
	settled, ran := min(m.rest, model.SettledAfter).Seconds(), m.f.Input.Now.Sub(p.BindTime).Seconds()
	switch {
	case p.BindTime.IsZero() || ran >= settled:
		return price
	case ran <= 0 || math.Pow(settled/ran, 2) >= model.JustStarted:
		return price * model.JustStarted
	}
	return price * math.Pow(settled/ran, 2)
}

// evictions checks what a disruption says of its evictions: whose pods they are, and what they are weighed at.
func (m *money) evictions(subject string, x *model.Disruption) {
	var least, most float64
	of := make(map[rules.Workload]int)
	for _, p := range evictedBy(m.f, x) {
		price := m.evictionPrice(p)
		least += math.Round(price - rounding)
		most += math.Round(price + rounding)
		if w := rules.WorkloadOf(m.f.Cluster.Class(p)); w.Kind != "" {
			of[w]++
		}
	}
	if n := float64(x.Churn); n < least || n > most {
		m.r.Fail(subject, "it says that its evictions weigh %d, they weigh %.0f", x.Churn, least)
	}
	want := make([]model.WorkloadEvictions, 0, len(of))
	for w, n := range of {
		want = append(want, w.Evicts(n))
	}
	slices.SortFunc(want, model.WorkloadEvictions.Compare)
	if !slices.Equal(want, x.Workloads) {
		m.r.Fail(subject, "it says that it evicts %v, it evicts %v", x.Workloads, want)
	}
}

// payBack checks that money makes up for evictions in time.
func (m *money) payBack(subject string, x *model.Disruption) {
	var seconds float64
	if consolidates(x.Reason) && x.Saving > 0 {
		seconds = float64(x.Churn) / float64(x.Saving) * 3600
	}
	said := x.PayBack.Seconds()
	if x.PayBack%time.Second != 0 || said > seconds+rounding || said+1 <= seconds-rounding {
		m.r.Fail(subject, "it says that it pays back in %s, it does in %.0f whole seconds", x.PayBack, math.Floor(seconds))
	}
	if x.Reason != model.ReasonUnderutilized {
		return
	}
	within := model.Or(m.f.Input.Policy.Payback, model.DefaultPayback)
	times := m.timesOver(x)
	before, after, _ := m.reclaims(x)
	saving := x.Saving - max(0, after.InterruptionPrice(before, x.Churn))
	if float64(saving)*within.Hours() < times*float64(x.Churn)-rounding {
		m.r.Fail(subject, "it saves %d an hour; within %s that is not %g times what its evictions weigh, %d", saving, within, times, x.Churn)
	}
}

// timesOver is how often a saving must make up for the evictions. Replacing takes longer to be sure of than deleting, and
// spot prices move.
func (m *money) timesOver(x *model.Disruption) float64 {
	if len(x.Replacements) == 0 {
		return 1
	}
	for _, id := range x.Candidates {
		if claim := m.f.Cluster.Live[id]; claim == nil || claim.CapacityType != model.Spot {
			return 2
		}
	}
	for _, id := range x.Replacements {
		if fresh := m.f.Decisions.Claims[id]; fresh != nil && len(spots(fresh)) > 0 {
			return 3
		}
	}
	return 2
}

// reclaims is how seldom AWS takes back the nodes that go, and how often what may take their place; both are zero where
// it is not known of all.
func (m *money) reclaims(x *model.Disruption) (before, after model.ReclaimBand, known bool) {
	before = model.Above20
	for _, id := range x.Candidates {
		claim := m.f.Cluster.Live[id]
		if claim == nil {
			return 0, 0, false
		}
		o, _ := m.f.Market.Offering(facts.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType})
		if claim.CapacityType == model.Spot && o.Reclaimed == 0 {
			return 0, 0, false
		}
		before = min(before, o.Reclaimed)
	}
	for _, id := range x.Replacements {
		fresh := m.f.Decisions.Claims[id]
		if fresh == nil {
			return 0, 0, false
		}
		for _, s := range spots(fresh) {
			o, _ := m.f.Market.Offering(facts.OfferingKey{InstanceType: s.InstanceType, Zone: s.Zone, CapacityType: s.CapacityType})
			if o.Reclaimed == 0 {
				return 0, 0, false
			}
			after = max(after, o.Reclaimed)
		}
	}
	if after == 0 {
		return 0, 0, false
	}
	return before, after, true
}

// spots are the spot offerings of a claim.
func spots(claim *model.NodeClaim) []model.RankedOffering {
	return slices.DeleteFunc(slices.Clone(claim.Offerings), func(o model.RankedOffering) bool { return o.CapacityType != model.Spot })
}

// spotForSpot checks that a spot node which replaces one keeps as many ways to be launched as it takes not to walk down,
// step by step, to the one type that is interrupted most.
func (m *money) spotForSpot(subject string, x *model.Disruption) {
	if x.Reason != model.ReasonUnderutilized || len(x.Candidates) != 1 || len(x.Replacements) != 1 {
		return
	}
	claim, fresh := m.f.Cluster.Live[x.Candidates[0]], m.f.Decisions.Claims[x.Replacements[0]]
	if claim == nil || fresh == nil || claim.CapacityType != model.Spot {
		return
	}
	all := spots(fresh)
	zones, families := make(map[string]bool), make(map[string]bool)
	for _, o := range all {
		zones[o.Zone] = true
		family, _, _ := strings.Cut(string(o.InstanceType), ".")
		families[family] = true
		if o.InstanceType == claim.InstanceType && o.Zone == claim.Zone {
			m.r.Fail(subject, "the spot node in its place may be what it is: %s in %s", o.InstanceType, o.Zone)
		}
		if o.Price >= m.f.Market.Price(claim) {
			m.r.Fail(subject, "the spot node in its place may be %s in %s, which is no cheaper", o.InstanceType, o.Zone)
		}
	}
	before, after, known := m.reclaims(x)
	if n := len(all); n > 0 && (!known || after > before) && (n < leastSpots || (len(zones) < leastZones && len(families) < leastFamilies)) {
		m.r.Fail(subject, "the spot node in its place may be one of %d, in %d zones, of %d families: that is too few", n, len(zones), len(families))
	}
}

// costs checks the plan's sums and its bound.
func (m *money) costs() {
	var before, after, forPending int64
	for _, claim := range m.f.Cluster.Live {
		if m.f.Cluster.Leaving(claim) {
			continue
		}
		before += m.f.Market.Price(claim)
		if _, goes := m.f.Decisions.TakenBy[claim.ID]; !goes {
			after += m.f.Market.Price(claim)
		}
	}
	p := m.f.Plan
	for _, claim := range p.NodeClaims {
		after += claim.Price
		if claim.Disruption == "" && !m.f.Cluster.Static(claim.NodePool) && len(claim.Offerings) > 0 {
			forPending += claim.Offerings[0].Weighed() + m.f.Input.Policy.PerNodeOverhead
		}
	}
	if p.CostBefore != before {
		m.r.Fail("plan", "it says that the claims cost %d, they cost %d", p.CostBefore, before)
	}
	if p.CostAfter != after {
		m.r.Fail("plan", "it says that the claims will cost %d, they will cost %d", p.CostAfter, after)
	}
	if p.LowerBound != nil {
		m.bound(p.LowerBound, forPending)
	}
}

// bound checks a lower bound on what the claims for pending pods cost.
func (m *money) bound(b *model.LowerBound, price int64) {
	if b.Price <= 0 || b.Price > price {
		m.r.Fail("plan", "its lower bound %d is not between 1 and the price of its claims, %d", b.Price, price)
		return
	}
	if gap := float64(price)/float64(b.Price) - 1; math.Abs(gap-b.Gap) > 1e-9 {
		m.r.Fail("plan", "its gap is %g, by its bound it is %g", b.Gap, gap)
	}
	if b.Kind < model.BoundResource || b.Kind > model.BoundExact {
		m.r.Fail("plan", "its lower bound has no kind")
	}
}
