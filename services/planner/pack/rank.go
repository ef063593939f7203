package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// burden is what items ask of one node together.
type burden struct {
	sum      view.Vector
	profiles bitset
	ports    []model.HostPort
	cells    []*Segment
	// claimants are the classes that claim devices.
	claimants []*view.Class
}

func (m *Market) burdenOf(items []Item) *burden {
	l := &burden{sum: make(view.Vector, m.w.Index.Len()), profiles: newBits(len(m.w.Profiles))}
	for _, it := range items {
		l.sum.Add(it.Class.Requested, int64(len(it.Pods)))
		l.profiles.set(it.Class.Profile.Index, true)
		l.ports = append(l.ports, it.Class.HostPorts...)
		if devices.ClaimsDevices(it.Class.PodClass) {
			l.claimants = append(l.claimants, it.Class)
		}
		if it.Segment != nil && !slices.Contains(l.cells, it.Segment) {
			l.cells = append(l.cells, it.Segment)
		}
	}
	return l
}

// holds says whether one node of the option holds the burden.
func (o *Option) holds(l *burden) bool {
	if view.Fits(o.Free, l.sum, 1) == 0 || !o.admits.covers(l.profiles) {
		return false
	}
	if slices.ContainsFunc(l.cells, func(c *Segment) bool { return !o.in(c) }) {
		return false
	}
	if slices.ContainsFunc(l.claimants, func(c *view.Class) bool { return !o.serves(c) }) {
		return false
	}
	return !fit.PortsClash(l.ports, o.Ports)
}

// rank lists what a claim that was packed for an option may become: what else holds its items, best first and as many as
// a claim may list; ok is false when there is nothing, or less that is distinct than the pool's minValues ask for. A
// claim is for one reservation or for none, so that it holds no units that it will not use. A nil allow allows all.
func (m *Market) rank(base *Option, items []Item, allow func(*Option) bool) (ranked []*Option, ok bool) {
	return m.rankAmong(base.variant.options, base, items, allow)
}

// rankAmong is rank among some options of the variant, in its order.
func (m *Market) rankAmong(among []*Option, base *Option, items []Item, allow func(*Option) bool) (ranked []*Option, ok bool) {
	l, v := m.burdenOf(items), base.variant
	flexible, wishful := minValues(v.pool), m.wishful(items)
	for _, o := range among {
		if !o.Available || o.Offering.ReservationID != base.Offering.ReservationID || !o.holds(l) || (allow != nil && !allow(o)) {
			continue
		}
		ranked = append(ranked, o)
		if len(ranked) == m.most && !flexible && wishful == nil {
			break
		}
	}
	if wishful != nil {
		ranked = m.granted(ranked, wishful)
		if !flexible {
			ranked = ranked[:min(len(ranked), m.most)]
		}
	}
	if flexible {
		diverse := m.diverse(v, ranked)
		if diverse == nil && m.w.Policy.MinValues == model.MinValuesBestEffort {
			diverse = ranked[:min(len(ranked), m.most)]
		}
		ranked = diverse
	}
	return ranked, len(ranked) > 0
}

// wishful are the items whose pods have wishes about nodes; nil where there are none, or they count for nothing.
func (m *Market) wishful(items []Item) []Item {
	var out []Item
	for _, it := range items {
		if p := it.Class.Profile; len(p.Preferred) > 0 && !p.Indifferent {
			out = append(out, it)
		}
	}
	return out
}

// granted leaves out of a claim's options, which are sorted by price, those that it must not become because of its pods'
// wishes: what costs no more than the best one, wishes counted, and is not as good; and where wishes are enforced, all that
// meets fewer of them.
func (m *Market) granted(options []*Option, wishful []Item) []*Option {
	if len(options) == 0 {
		return nil
	}
	price := wishPrice(&m.w.Policy)
	unmet := make([]int64, len(options))
	best := 0
	for i, o := range options {
		for _, it := range wishful {
			unmet[i] += int64(fit.PreferencePenalty(it.Class.Profile, &o.place)) * int64(len(it.Pods))
		}
		if o.Price+price*unmet[i] < options[best].Price+price*unmet[best] {
			best = i
		}
	}
	var out []*Option
	for i, o := range options {
		worse := o.Price+price*unmet[i] > options[best].Price+price*unmet[best]
		if worse && (o.Price <= options[best].Price || (price == enforcedPrice && unmet[i] > unmet[best])) {
			continue
		}
		out = append(out, o)
	}
	return out
}

// minValues says whether a pool wishes for a number of distinct values of some label.
func minValues(p *view.Pool) bool {
	for _, r := range p.Requirements {
		if r.MinValues > 0 {
			return true
		}
	}
	return false
}

// diverse picks at most as many of the options as a claim may list, cheapest first, such that each label has its
// minValues; nil when they can't be had.
func (m *Market) diverse(v *variant, options []*Option) []*Option {
	picked := make([]bool, len(options))
	count := 0
	for _, r := range v.pool.Requirements {
		seen := make(map[string]bool)
		for pass := range 2 {
			for i, o := range options {
				value, ok := o.Label(r.Key)
				if len(seen) >= r.MinValues || !ok || seen[value] || picked[i] != (pass == 0) {
					continue
				}
				seen[value] = true
				if pass == 1 {
					picked[i] = true
					count++
				}
			}
		}
		if len(seen) < r.MinValues || count > m.most {
			return nil
		}
	}
	var out []*Option
	for i, o := range options {
		if picked[i] {
			out = append(out, o)
		} else if count < m.most {
			out = append(out, o)
			count++
		}
	}
	return out
}

// Label is the value of a label on nodes of the option.
func (o *Option) Label(key string) (string, bool) {
	for _, l := range o.place.Local {
		if l.Key == key {
			return l.Value, true
		}
	}
	return o.place.Labels.Get(key)
}

// rankAll lists, for each claim, what it may become, such that no limit breaks even if all become the largest that
// they list.
func (d *Scheduler) rankAll(bought []*NewClaim) {
	m, lim := d.m, d.lim
	claims := make([]int, len(m.w.Pools))
	for _, b := range bought {
		if b.Options == nil {
			claims[b.base.Pool.Index]++
		}
	}
	slack := make([]view.Vector, len(m.w.Pools))
	for i, n := range claims {
		if n > 0 {
			slack[i] = lim.share(m.w.Pools[i], n)
		}
	}
	for i, b := range bought {
		if i%podsPerStop == 0 && d.Stopped() {
			return
		}
		if b.Options != nil {
			m.finishRunners(b)
			continue
		}
		if i > 0 && b.number == 0 && alike(b, bought[i-1]) && slices.Equal(b.shown, bought[i-1].shown) {
			b.Options, b.RunnersUp = bought[i-1].Options, bought[i-1].RunnersUp
		} else {
			fitting := d.fitting(b)
			among := b.base.variant.options
			if b.site != nil {
				among = slices.SortedFunc(slices.Values(b.shown), compareOptions)
			}
			b.Options, _ = m.rankAmong(among, b.base, b.Items, func(o *Option) bool {
				return within(o, b.base, slack[b.base.Pool.Index]) && fitting(o)
			})
			m.finishRunners(b)
		}
		lim.stretch(b)
	}
}

// alike says that two claims were packed for the same option and hold the same number of pods of the same classes.
func alike(a, b *NewClaim) bool {
	return a.base == b.base && slices.EqualFunc(a.Items, b.Items, func(x, y Item) bool {
		return x.Class == y.Class && x.Segment == y.Segment && len(x.Pods) == len(y.Pods)
	})
}

// stretch counts the largest of a claim's options instead of the one that it was packed for.
func (l *Limits) stretch(b *NewClaim) {
	l.take(b.base.Pool, b.base.Capacity, -1)
	l.take(b.base.Pool, b.largest(), 1)
}

// unstretch counts the option that a claim was packed for instead of the largest that it may become.
func (l *Limits) unstretch(b *NewClaim) {
	l.take(b.base.Pool, b.largest(), -1)
	l.take(b.base.Pool, b.base.Capacity, 1)
}

// largest is the most of each resource that a claim may have.
func (b *NewClaim) largest() view.Vector {
	most := slices.Clone(b.base.Capacity)
	for _, o := range b.Options {
		for i, c := range o.Capacity {
			most[i] = max(most[i], c)
		}
	}
	return most
}

// distinct is how many values of a label the claim's options have.
func (b *NewClaim) distinct(key string) int {
	seen := make(map[string]bool)
	for _, o := range b.Options {
		if v, ok := o.Label(key); ok {
			seen[v] = true
		}
	}
	return len(seen)
}

// Relaxed says that the claim is less flexible than its pool wishes.
func (b *NewClaim) Relaxed() bool {
	return slices.ContainsFunc(b.base.Pool.Requirements, func(r require.Requirement) bool {
		return r.MinValues > 0 && b.distinct(r.Key) < r.MinValues
	})
}

func (m *Market) oneOf(o *Option, items []Item, lim *Limits, most PriceCeiling, fits func(*Option) bool) (*NewClaim, bool) {
	slack := lim.Clone()
	slack.Take(o, 1)
	room := slack.share(o.Pool, 1)
	b := &NewClaim{base: o, Items: items}
	var ok bool
	b.Options, ok = m.rank(o, items, func(x *Option) bool {
		return most.above(x) && within(x, o, room) && fits(x)
	})
	if !ok {
		return nil, false
	}
	m.finishRunners(b)
	return b, true
}

// TakeClaim takes a claim that One found off the limits.
func (l *Limits) TakeClaim(b *NewClaim) {
	l.Take(b.base, 1)
	l.stretch(b)
}

// portsClash says whether items can't be on one node because of their host ports.
func (m *Market) portsClash(items []Item) bool {
	var taken []model.HostPort
	for _, it := range items {
		if len(it.Class.HostPorts) == 0 {
			continue
		}
		if len(it.Pods) > 1 || fit.PortsClash(it.Class.HostPorts, taken) {
			return true
		}
		taken = append(taken, it.Class.HostPorts...)
	}
	return false
}
