package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// formulation is one tier and what is left of a load, in the optimiser's numbers.
type formulation struct {
	m       *market.Market
	backlog *backlog
	lim     *market.Limits
	options []*market.Option
	// overhead is what a node costs beside its price.
	overhead int64
	// total is how many pods of each row there were.
	total []int
	// rows are the shapes of the load that have pods left, each with the items that have. Kinds are those rows that no
	// option tells apart, as places in rows; withPreferences are the rows that may have preferences about nodes.
	rows            [][]int
	kinds           [][]int
	withPreferences []int
	// types numbers the types of bins, for runners; typed are those numbers, by bin.
	types map[model.TypeName]int
	typed []int
	// seen is memory for runners.
	seen []bool
	// bins are places in options: what is left out takes nothing or may not be bought.
	bins []int
	problem.Problem
}

// formulate writes a backlog in the optimiser's numbers, without bins.
func (by *Buyer) formulate(l *backlog, lim *market.Limits) *formulation {
	m := by.m
	p := &formulation{m: m, backlog: l, lim: lim, overhead: by.Overhead}
	p.Stop, p.Drop = by.Stop, true
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
	p.Work, p.GapTarget = effort(&m.World.Policy)
	p.Tried = by.Tried
	if by.Rough {
		p.Work = -1
	}
	return p
}

// effort is what a policy means in the optimiser's terms, where 0 leaves the work open.
func effort(p *model.Policy) (work int64, gap float64) {
	const stepsPerUnit = 1000
	switch w := p.Work; {
	case w == nil:
	case *w == 0:
		work = -1
	default:
		work = *w * stepsPerUnit
	}
	return work, model.Or(p.GapTarget, model.DefaultGapTarget)
}

// group finds the kinds.
func (p *formulation) group() {
	var g groups
	for k, row := range p.rows {
		it := &p.backlog.items[row[0]]
		g.add(k, it, appendKind(g.key[:0], it))
		if !it.Class.Profile.Indifferent {
			p.withPreferences = append(p.withPreferences, k)
		}
	}
	p.kinds = g.list
}

// solve buys what it can of a load from one tier, and says what that must cost at least.
func (by *Buyer) solve(options []*market.Option, l *backlog, preferred bool, lim *market.Limits) ([]*NewClaim, Proof) {
	m := by.m
	p := by.formulate(l, lim)
	p.options = options
	p.Loose = slices.ContainsFunc(l.items, func(it market.Item) bool { return it.Segment != nil || by.rules.Constrained(it.Class) })
	p.addBins(preferred)
	if len(p.Bins) == 0 {
		return nil, Proof{}
	}
	p.addRules()
	p.addPorts()
	p.addLimits()
	s := by.memory.Solve(&p.Problem)
	p.seen = make([]bool, len(p.types))
	proof := proofOf(s)
	flexible := slices.ContainsFunc(options, func(o *market.Option) bool { return market.HasMinValues(o.Pool) })
	enforced := m.World.Policy.Preferences == model.PreferencesEnforced
	if flexible || enforced || len(p.Penalties) > 0 || len(p.Limits) > 0 {
		proof = Proof{}
	}
	return p.buy(s), proof
}

func (p *formulation) addBins(preferred bool) {
	price := market.PreferencePrice(&p.m.World.Policy)
	for i, o := range p.options {
		if p.stopped() || p.lim.Remaining(o, 1) == 0 {
			continue
		}
		for _, h := range p.nodeShapes(o, preferred) {
			p.add(i, h, price)
		}
	}
}

func (p *formulation) stopped() bool { return p.Stop != nil && p.Stop() }

// add adds a kind of bin for an option, unless it takes nothing; price is that of a preference of weight 1.
func (p *formulation) add(option int, h nodeShape, price int64) {
	o := p.options[option]
	if !slices.ContainsFunc(h.takes, func(word uint64) bool { return word != 0 }) {
		return
	}
	if price > 0 {
		for _, k := range p.withPreferences {
			if !h.takes.Has(k) {
				continue
			}
			if w := fit.PreferencePenalty(p.backlog.items[p.rows[k][0]].Class.Profile, &o.Place); w > 0 {
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
	p.Bins = append(p.Bins, problem.Bin{Price: o.Price + p.overhead, Free: h.free, Takes: h.takes, Most: -1})
}

// addRules hands on the rules about what may share a node, for the items that are left.
func (p *formulation) addRules() {
	row := make([]int, len(p.backlog.items))
	for i := range row {
		row[i] = -1
	}
	for k, items := range p.rows {
		for _, item := range items {
			row[item] = k
		}
	}
	set := func(items []int) (bits.Set, bool) {
		out, some := bits.New(len(p.rows)), false
		for _, i := range items {
			if row[i] >= 0 {
				out.Add(row[i])
				some = true
			}
		}
		return out, some
	}
	for _, r := range p.backlog.rules.rules {
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
		ports := p.backlog.items[row[0]].Class.HostPorts
		if len(ports) == 0 {
			continue
		}
		trigger, counted := bits.New(len(p.rows)), bits.New(len(p.rows))
		trigger.Add(k)
		for j, other := range p.rows {
			if fit.PortsClash(ports, p.backlog.items[other[0]].Class.HostPorts) {
				counted.Add(j)
			}
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: trigger, Counted: counted, Most: 1})
	}
}

func (p *formulation) addLimits() {
	for _, pool := range p.m.World.Pools {
		if pool.NodeLimit >= 0 {
			p.addLimit(p.lim.NodesLeft[pool.Index], of(pool, func(*market.Option) int64 { return 1 }))
		}
		for r, limit := range pool.LimitVector {
			if limit >= 0 {
				p.addLimit(p.lim.Left[pool.Index][r], of(pool, func(o *market.Option) int64 { return o.Capacity[r] }))
			}
		}
	}
	seen := make(map[string]bool)
	for _, o := range p.options {
		if id := o.Offering.ReservationID; id != "" && !seen[id] {
			seen[id] = true
			p.addLimit(p.lim.Units.Left(id), func(o *market.Option) int64 {
				if o.Offering.ReservationID == id {
					return 1
				}
				return 0
			})
		}
	}
}

// of is an amount of one pool's options, and none of those of others.
func of(pool *view.Pool, amount func(*market.Option) int64) func(*market.Option) int64 {
	return func(o *market.Option) int64 {
		if o.Pool != pool {
			return 0
		}
		return amount(o)
	}
}

func (p *formulation) addLimit(most int64, amount func(*market.Option) int64) {
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
			b := &NewClaim{Base: o, RunnersUp: runners}
			for _, c := range pattern.Counts {
				b.Items = p.takePods(b.Items, c.Item, c.Pods)
			}
			out = append(out, b)
		}
		p.lim.Take(o, pattern.Copies)
	}
	return slices.DeleteFunc(out, func(b *NewClaim) bool { return !p.attachesAll(b) || !p.listFlexible(b) })
}

// attachesAll returns pods to the backlog as long as a claim attaches fewer volumes than they have: bins know nothing
// of those that pods share. It is false where that leaves none.
func (p *formulation) attachesAll(b *NewClaim) bool {
	for i, it := range slices.Backward(b.Items) {
		if len(it.Class.Shared) > 0 && !b.Base.Fits(p.m.Combine(b.Items)) {
			p.backlog.returned = append(p.backlog.returned, it)
			b.Items = slices.Delete(b.Items, i, i+1)
		}
	}
	if len(b.Items) == 0 {
		p.lim.Return(b.Base)
	}
	return len(b.Items) > 0
}

// takePods adds the next pods of a row to some items, from the row's items in their order.
func (p *formulation) takePods(to []market.Item, row, pods int) []market.Item {
	for _, i := range p.rows[row] {
		n := min(pods, p.backlog.rest[i])
		if n > 0 {
			to = append(to, p.backlog.take(i, n))
			pods -= n
		}
	}
	return to
}

// listFlexible lists what a claim of a pool with minValues may become; false where limits leave too few, and its pods are
// returned to the backlog.
func (p *formulation) listFlexible(b *NewClaim) bool {
	if !market.HasMinValues(b.Base.Pool) {
		return true
	}
	p.lim.Return(b.Base)
	options, ok := p.m.Choices(b.Base, b.Items, p.lim, nil)
	if !ok {
		p.backlog.returned = append(p.backlog.returned, b.Items...)
		return false
	}
	b.Options = options
	p.lim.Take(b.Base, 1)
	b.CountLargest(p.lim)
	return true
}

// nodeShape is what a claim that is packed for an option may hold. It is one node of the option, and in a pool with
// minValues whatever fits each of enough distinct offerings.
type nodeShape struct {
	free  view.Vector
	takes bits.Set
}

// nodeShapes lists what claims packed for an option may hold; more than one where there are several ways to be flexible.
func (p *formulation) nodeShapes(o *market.Option, preferred bool) []nodeShape {
	if !market.HasMinValues(o.Pool) {
		return []nodeShape{{o.Free, p.takenBy(o, preferred)}}
	}
	var out []nodeShape
	anywhere := func(*market.Option) bool { return true }
	here := func(x *market.Option) bool { return slices.Equal(x.Place.Local, o.Place.Local) }
	for _, allow := range []func(*market.Option) bool{anywhere, here} {
		stand := p.m.StandIns(o, func(x *market.Option) bool { return allow(x) && p.lim.Remaining(x, 1) == 1 })
		if stand == nil {
			continue
		}
		h := nodeShape{slices.Clone(o.Free), p.takenBy(o, preferred)}
		for _, x := range stand {
			for i := range h.free {
				h.free[i] = min(h.free[i], x.Free[i])
			}
			for i, word := range p.takenBy(x, false) {
				h.takes[i] &= word
			}
		}
		out = append(out, h)
	}
	if len(out) == 0 && p.m.World.Policy.MinValues == model.MinValuesBestEffort {
		return []nodeShape{{o.Free, p.takenBy(o, preferred)}}
	}
	return out
}

// takenBy are the items of which one node of an option takes one pod.
func (p *formulation) takenBy(o *market.Option, preferred bool) bits.Set {
	out := bits.New(len(p.rows))
	for _, kind := range p.kinds {
		if !o.Takes(&p.backlog.items[p.rows[kind[0]][0]], preferred) {
			continue
		}
		for _, k := range kind {
			out.Add(k)
		}
	}
	return out
}
