package pack

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// PriceCeiling is the most that a claim may cost: as it is weighed, and by the list, which is what AWS bills.
type PriceCeiling struct{ Weighed, List int64 }

func (c PriceCeiling) above(o *Option) bool {
	return o.Price <= c.Weighed && o.Offering.Price <= c.List
}

// One looks for the cheapest single claim that holds all items, in the pool of highest weight that has one at all, and
// counts their pods there; ok is false when there is none or it costs more than most. What the claim lists costs at most
// that, too. The limits are not changed, see Limits.Keep.
func (d *Scheduler) One(items []Item, most PriceCeiling) (b *NewClaim, ok bool) {
	if d.m.portsClash(items) || !capsAllow(items, d.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil, false
	}
	minding := slices.ContainsFunc(items, func(it Item) bool { return d.rules.Constrained(it.Class) })
	tiers, verdicts := d.m.tiers, make(map[string]bool)
	if minding {
		tiers = d.tiersByCell()
	}
	l, fits := d.m.burdenOf(items), d.fitting(nil, claimants(items)...)
	suits := func(o *Option) bool {
		return o.holds(l) && d.lim.Remaining(o, 1) > 0 && fits(o) && (!minding || d.togetherIn(o, items, verdicts))
	}
	for _, wishes := range d.m.passes() {
		for _, tier := range tiers {
			dear := false
			for _, o := range tier {
				switch {
				case (wishes && !o.prefers.covers(l.profiles)) || !suits(o):
				case most.above(o):
					return d.oneOf(o, items, most)
				default:
					dear = true
				}
			}
			if dear {
				return nil, false
			}
		}
	}
	return nil, false
}

func (d *Scheduler) oneOf(o *Option, items []Item, most PriceCeiling) (*NewClaim, bool) {
	pinned := slices.Clone(items)
	for i, it := range items {
		if d.rules.Constrained(it.Class) {
			pinned[i].Segment = d.cellOf(d.rules.Keys(it.Class), o)
		}
	}
	b, ok := d.m.oneOf(o, pinned, d.lim, most, d.fitting(nil, claimants(items)...))
	if ok {
		d.together(o, items)
		for _, c := range claimants(items) {
			d.handOut(b, c)
		}
	}
	return b, ok
}

// togetherIn is together, asked once for all options that other pods see alike, and taken back.
func (d *Scheduler) togetherIn(o *Option, items []Item, verdicts map[string]bool) bool {
	place := o.key(d.keys)
	ok, known := verdicts[place]
	if !known {
		mark := d.tally.Mark()
		ok = d.together(o, items)
		d.tally.Revert(mark)
		verdicts[place] = ok
	}
	return ok
}

// together says whether all pods of some items may be on one new node of an option, in some order, and counts them there.
func (d *Scheduler) together(o *Option, items []Item) bool {
	site := d.tally.Claim(nil, &o.place)
	if d.tally.Opens(site) {
		return false
	}
	rest := slices.Clone(items)
	for len(rest) > 0 {
		before := len(rest)
		rest = slices.DeleteFunc(rest, func(it Item) bool {
			if d.tally.Capacity(it.Class, site, len(it.Pods)) < len(it.Pods) {
				return false
			}
			d.tally.Add(it.Class, site, len(it.Pods))
			return true
		})
		if len(rest) == before {
			return false
		}
	}
	return true
}

// tiersByCell are the options worth weighing for pods that mind others.
func (d *Scheduler) tiersByCell() [][]*Option { return d.tiersOf(d.keys) }

// tiersOf are the options worth weighing where the values of some labels matter.
func (d *Scheduler) tiersOf(keys []string) [][]*Option {
	if len(keys) == 0 && d.only == nil {
		return d.m.tiers
	}
	name, variants := strings.Join(keys, ","), d.m.variants
	if d.only != nil {
		name = string(d.only.Name) + "|" + name
		variants = slices.DeleteFunc(slices.Clone(variants), func(v *variant) bool { return v.pool != d.only })
	}
	t := d.m.byKeys[name]
	if t == nil {
		t = tiers(variants, keys)
		d.m.byKeys[name] = t
	}
	return t
}

// passes are the rounds of a search: first keeping soft taints, then, where some pool has one, against them.
func (m *Market) passes() []bool {
	if m.wishes {
		return []bool{true, false}
	}
	return []bool{true}
}

// cellOf is the cell of an option on some labels; nil where there are none.
func (d *Scheduler) cellOf(keys []string, o *Option) *Segment {
	if len(keys) == 0 {
		return nil
	}
	return d.grid(keys).cell(o)
}

// Buy seats pods on claims to buy and on nothing else, within limits, which it takes them off.
func (d *Scheduler) Buy(items []Item, lim *Limits) (seats []Assignment, bought []*NewClaim, left []Item) {
	own, proof := d.lim, d.proof
	d.lim = lim
	defer func() { d.lim, d.proof = own, proof }()
	return d.Assign(items, func(int) bool { return false })
}

// BuyFrom is Buy from one pool. Pods that mind others are left: where they may go depends on all pools.
func (d *Scheduler) BuyFrom(pool *view.Pool, items []Item, lim *Limits) (seats []Assignment, bought []*NewClaim, left []Item) {
	if slices.ContainsFunc(items, func(it Item) bool { return d.rules.Constrained(it.Class) || d.rules.Soft(it.Class) }) {
		return nil, nil, items
	}
	d.only = pool
	defer func() { d.only = nil }()
	return d.Buy(items, lim)
}

// capsAllow says whether some items together keep the policy's cap on pods of one owner.
func capsAllow(items []Item, most int) bool {
	if most <= 0 {
		return true
	}
	return !slices.ContainsFunc(workloadCaps(items, most), func(r topology.NodeRule) bool {
		n := 0
		for _, i := range r.Counted {
			n += len(items[i].Pods)
		}
		return n > most
	})
}
