package pack

import (
	"encoding/binary"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// problem is one tier and what is left of a load, in the optimiser's numbers.
type formulation struct {
	m       *Market
	l       *load
	lim     *Limits
	options []*Option
	// total is how many pods of each row there were.
	total []int
	// rows are the shapes of the load that have pods left, each with the items that have. Kinds are those rows that no
	// option tells apart, as places in rows; picky are the rows that may have wishes about nodes.
	rows  [][]int
	kinds [][]int
	picky []int
	// types numbers the types of bins, for runners; typed are those numbers, by bin.
	types map[model.TypeName]int
	typed []int
	// seen is memory for runners.
	seen []bool
	// bins are places in options: what is left out takes nothing or may not be bought.
	bins []int
	problem.Problem
}

// newProblem is a load in the optimiser's numbers, without bins.
func (d *Scheduler) newProblem(l *load, lim *Limits) *formulation {
	m := d.m
	p := &formulation{m: m, l: l, lim: lim}
	p.Stop, p.Drop = d.stop, true
	for _, shape := range l.shapes {
		n := 0
		for _, i := range shape {
			n += l.rest[i]
		}
		if n > 0 {
			p.rows = append(p.rows, shape)
			p.total = append(p.total, n)
			p.Items = append(p.Items, problem.Item{Count: n, Request: l.items[shape[0]].Class.Requested})
		}
	}
	p.group()
	p.Work, p.GapTarget = effort(&m.w.Policy)
	return p
}

// effort is what a policy means in the optimiser's terms, where 0 leaves the work and the gap open.
func effort(p *model.Policy) (work int64, gap float64) {
	const (
		least        = 1e-12 // as good as proven to be the cheapest
		stepsPerUnit = 1000
	)
	switch w := p.Work; {
	case w == nil:
	case *w == 0:
		work = -1
	default:
		work = *w * stepsPerUnit
	}
	return work, max(model.Or(p.GapTarget, model.DefaultGapTarget), least)
}

// group finds the kinds. Rows with host ports are a kind each.
func (p *formulation) group() {
	index := make(map[string]int)
	var key []byte
	for k, row := range p.rows {
		it := &p.l.items[row[0]]
		key = appendKind(key[:0], it)
		i, ok := index[string(key)]
		if !ok || len(it.Class.HostPorts) > 0 {
			i = len(p.kinds)
			index[string(key)] = i
			p.kinds = append(p.kinds, nil)
		}
		p.kinds[i] = append(p.kinds[i], k)
		if !it.Class.Profile.Indifferent {
			p.picky = append(p.picky, k)
		}
	}
}

// appendKind writes down what options see of an item.
func appendKind(key []byte, it *Item) []byte {
	key = binary.AppendUvarint(key, uint64(it.Class.Profile.Index))
	for _, q := range it.Class.Requested {
		key = binary.AppendVarint(key, q)
	}
	if it.Segment != nil {
		key = binary.AppendUvarint(key, uint64(it.Segment.id))
	}
	if devices.ClaimsDevices(it.Class.PodClass) {
		key = binary.AppendUvarint(append(key, 'd'), uint64(it.Class.Index))
	}
	return key
}

// solve buys what it can of a load from one tier, and says what that must cost at least.
func (d *Scheduler) solve(options []*Option, l *load, wishes bool, lim *Limits) ([]*NewClaim, Proof) {
	m := d.m
	p := d.newProblem(l, lim)
	p.options = options
	p.addBins(wishes)
	if len(p.Bins) == 0 {
		return nil, Proof{}
	}
	p.addRules()
	p.addPorts()
	p.addLimits()
	s := optimise.Solve(&p.Problem)
	p.seen = make([]bool, len(p.types))
	proof := proofOf(s, l.pods())
	flexible := slices.ContainsFunc(options, func(o *Option) bool { return minValues(o.Pool) })
	enforced := m.w.Policy.Preferences == model.PreferencesEnforced
	if flexible || enforced || len(p.Penalties) > 0 || len(p.Limits) > 0 {
		proof = Proof{}
	}
	return p.buy(s), proof
}

func (p *formulation) addBins(wishes bool) {
	price := wishPrice(&p.m.w.Policy)
	for i, o := range p.options {
		if p.stopped() || p.lim.Remaining(o, 1) == 0 {
			continue
		}
		for _, h := range p.holdings(o, wishes) {
			p.add(i, h, price)
		}
	}
}

func (p *formulation) stopped() bool { return p.Stop != nil && p.Stop() }

// add adds a kind of bin for an option, unless it takes nothing; price is what a wish of weight 1 is worth.
func (p *formulation) add(option int, h holding, price int64) {
	o := p.options[option]
	if !slices.ContainsFunc(h.takes, func(word uint64) bool { return word != 0 }) {
		return
	}
	if price > 0 {
		for _, k := range p.picky {
			if !h.takes.Has(k) {
				continue
			}
			if w := fit.PreferencePenalty(p.l.items[p.rows[k][0]].Class.Profile, &o.place); w > 0 {
				p.Penalties = append(p.Penalties, problem.Penalty{Item: k, Bin: len(p.Bins), Price: int64(w) * price})
			}
		}
	}
	if p.types == nil {
		p.types = make(map[model.TypeName]int)
	}
	n, ok := p.types[o.Type.Name]
	if !ok {
		n = len(p.types)
		p.types[o.Type.Name] = n
	}
	p.typed = append(p.typed, n)
	p.bins = append(p.bins, option)
	p.Bins = append(p.Bins, problem.Bin{Price: o.Price + p.m.w.Policy.PerNodeOverhead, Free: h.free, Takes: h.takes, Most: -1})
}

// addRules hands on the rules about what may share a node, for the items that are left.
func (p *formulation) addRules() {
	row := make([]int, len(p.l.items))
	for i := range row {
		row[i] = -1
	}
	for k, items := range p.rows {
		for _, item := range items {
			row[item] = k
		}
	}
	set := func(items []int) (problem.Set, bool) {
		out, some := problem.NewSet(len(p.rows)), false
		for _, i := range items {
			if row[i] >= 0 {
				out.Add(row[i])
				some = true
			}
		}
		return out, some
	}
	for _, r := range p.l.book.rules {
		trigger, some := set(r.Trigger)
		counted, more := set(r.Counted)
		if some && more {
			p.Rules = append(p.Rules, problem.Rule{Trigger: trigger, Counted: counted, Most: r.Most})
		}
	}
}

// addPorts keeps pods apart that take the same host port.
func (p *formulation) addPorts() {
	for k, row := range p.rows {
		ports := p.l.items[row[0]].Class.HostPorts
		if len(ports) == 0 {
			continue
		}
		trigger, counted := problem.NewSet(len(p.rows)), problem.NewSet(len(p.rows))
		trigger.Add(k)
		for j, other := range p.rows {
			if fit.PortsClash(ports, p.l.items[other[0]].Class.HostPorts) {
				counted.Add(j)
			}
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: trigger, Counted: counted, Most: 1})
	}
}

func (p *formulation) addLimits() {
	for _, pool := range p.m.w.Pools {
		if pool.NodeLimit >= 0 {
			p.addLimit(p.lim.nodes[pool.Index], of(pool, func(*Option) int64 { return 1 }))
		}
		for r, limit := range pool.LimitVector {
			if limit >= 0 {
				p.addLimit(p.lim.left[pool.Index][r], of(pool, func(o *Option) int64 { return o.Capacity[r] }))
			}
		}
	}
	seen := make(map[string]bool)
	for _, o := range p.options {
		if id := o.Offering.ReservationID; id != "" && !seen[id] {
			seen[id] = true
			p.addLimit(p.lim.units.Left(id), func(o *Option) int64 {
				if o.Offering.ReservationID == id {
					return 1
				}
				return 0
			})
		}
	}
}

// of is an amount of one pool's options, and none of those of others.
func of(pool *view.Pool, amount func(*Option) int64) func(*Option) int64 {
	return func(o *Option) int64 {
		if o.Pool != pool {
			return 0
		}
		return amount(o)
	}
}

func (p *formulation) addLimit(most int64, amount func(*Option) int64) {
	out := problem.Limit{Amount: make([]int64, len(p.bins)), Most: max(0, most)}
	for b, i := range p.bins {
		out.Amount[b] = amount(p.options[i])
	}
	if slices.ContainsFunc(out.Amount, func(n int64) bool { return n > 0 }) {
		p.Limits = append(p.Limits, out)
	}
}

// buy turns fillings into claims.
func (p *formulation) buy(s optimise.Solution) []*NewClaim {
	var out []*NewClaim
	for _, pattern := range s.Patterns {
		if p.stopped() {
			return nil
		}
		o := p.options[p.bins[pattern.Bin]]
		runners := p.runners(pattern)
		for range pattern.Copies {
			b := &NewClaim{base: o, RunnersUp: runners}
			for _, c := range pattern.Counts {
				b.Items = p.deal(b.Items, c.Item, c.Pods)
			}
			out = append(out, b)
		}
		p.lim.Take(o, pattern.Copies)
	}
	return slices.DeleteFunc(out, func(b *NewClaim) bool { return !p.flexible(b) })
}

// deal adds the next pods of a row to some items, from the row's items in their order.
func (p *formulation) deal(to []Item, row, pods int) []Item {
	for _, i := range p.rows[row] {
		n := min(pods, p.l.rest[i])
		if n > 0 {
			to = append(to, p.l.take(i, n))
			pods -= n
		}
	}
	return to
}

// flexible lists what a claim of a pool with minValues may become; false where limits leave too few, and its pods are
// given back.
func (p *formulation) flexible(b *NewClaim) bool {
	if !minValues(b.base.Pool) {
		return true
	}
	p.lim.give(b.base)
	options, ok := p.m.choices(b.base, b.Items, p.lim, nil)
	if !ok {
		p.l.back = append(p.l.back, b.Items...)
		return false
	}
	b.Options = options
	p.lim.Take(b.base, 1)
	p.lim.stretch(b)
	return true
}

// choices are what a claim of a pool with minValues may become, within the limits; ok is false when they are too few.
// fits says what else they must keep; nil where there is nothing.
func (m *Market) choices(o *Option, items []Item, lim *Limits, fits func(*Option) bool) (ranked []*Option, ok bool) {
	return m.rank(o, items, func(x *Option) bool { return lim.Remaining(x, 1) == 1 && (fits == nil || fits(x)) })
}

// enforcedPrice is more than any node costs: an enforced wish is given up only where it can't be had.
const enforcedPrice = 1e9

// wishPrice is what a wish of weight 1 is worth, micro-dollars per hour.
func wishPrice(p *model.Policy) int64 {
	switch {
	case p.Preferences == model.PreferencesIgnored:
		return 0
	case p.Preferences == model.PreferencesEnforced:
		return enforcedPrice
	}
	return model.Or(p.PreferencePrice, model.DefaultPreferencePrice)
}
