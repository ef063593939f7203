package consolidate

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Appraisal is what pods would cost at the lowest prices, and what hosts cost beyond. Lists are by index in View.Hosts.
type Appraisal struct {
	v     *view.View
	worth purchase.Worth
	// value is the sum of worth over the pods of each host.
	value []float64
	// Waste is what each host costs beyond its value; 0 where that is not known.
	Waste []int64
}

// Appraise finds what the pods of each host are worth, and what the host costs beyond that.
func Appraise(dr *draft.Draft) *Appraisal {
	v := dr.View
	a := &Appraisal{v: v, value: make([]float64, len(v.Hosts)), Waste: make([]int64, len(v.Hosts))}
	var hosts, pods []int
	for i, h := range v.Hosts {
		if h.Node != nil && h.Claim != nil && !h.Leaving && !v.Removed(i) {
			hosts = append(hosts, i)
			pods = append(pods, dr.Moving[i]...)
			pods = append(pods, dr.Buffered[i]...)
		}
	}
	a.worth = dr.Scheduler.Worth(pods)
	for _, i := range hosts {
		cost := a.cost(i)
		for _, p := range slices.Concat(dr.Moving[i], dr.Buffered[i]) {
			one, known := a.one(p)
			if !known { // nothing may be sold for it: its node is all that there is
				a.value[i] = float64(cost)
				break
			}
			a.value[i] += one
		}
		if waste := float64(cost) - a.value[i]; waste > float64(cost)*exact {
			a.Waste[i] = int64(math.Round(waste))
		}
	}
	return a
}

// Worth is what one pod of a class would cost at the lowest prices, micro-dollars per hour; 0 where that is not known.
func (a *Appraisal) Worth(c *view.Class) float64 { return a.worth.Of(c) }

// exact is how near to each other prices and worths are taken to be the same: duals are as exact as floating point.
const exact = 0.0005

// cost is what a host costs as it is weighed, and with what the policy adds for each node.
func (a *Appraisal) cost(host int) int64 {
	return a.v.WeighedPrice(a.v.Hosts[host].Claim) + a.v.Policy.PerNodeOverhead
}

// divide parts nodes that may be disrupted into those that are best filled up and those that are best removed, the most
// wasteful per eviction first.
//
// Filled up, a node loses what it costs beyond the worth of all that it can hold. To remove it instead takes evictions.
// So nodes are kept in the order of that loss, less what the evictions weigh, for each unit that they hold: as long as
// moving costs more than it wins, with what pods are left to fill them with. What other hosts can hold counts first.
// Those of notKept, by host, are not kept; nil for none.
func (t *trials) divide(hosts []int, notKept []bool) (leaving []int) {
	filler := t.newFiller(hosts)
	type node struct {
		host               int
		holds, loss, moves float64
	}
	var nodes []node
	demand, open := 0.0, make(map[int]bool, len(hosts))
	hours := t.draft.Churn.Payback.Hours()
	for _, h := range hosts {
		open[h] = true
		n := node{host: h, holds: t.appraisal.value[h] + attained*filler.fill(t.v.Free(h))}
		if hours > 0 {
			n.moves = byReplace * float64(t.draft.Churn.Sum(t.draft.Moving[h])) / hours
		}
		n.loss = float64(t.appraisal.cost(h)) - n.holds - n.moves
		demand += t.appraisal.value[h]
		nodes = append(nodes, n)
	}
	for i := range t.v.Hosts {
		if !open[i] && t.v.Open(i) && t.v.Hosts[i].Node != nil && t.receivers[i] {
			demand -= filler.fill(t.v.Free(i))
		}
	}
	slices.SortStableFunc(nodes, func(a, b node) int {
		return cmp.Compare(a.loss/max(1, a.holds), b.loss/max(1, b.holds))
	})
	for _, n := range nodes {
		// One that is kept gets no more than what is left: the last one may be too large for that.
		kept := notKept == nil || !notKept[n.host]
		if gets := min(n.holds, demand); kept && gets > 0 && float64(t.appraisal.cost(n.host))-gets-n.moves <= gets*exact {
			demand -= n.holds
			continue
		}
		leaving = append(leaving, n.host)
	}
	t.byWaste(leaving)
	return leaving
}

// attained is how much of what free capacity could hold at best it ends up with, about: pods come as they are.
const attained = 0.85

// byWaste puts first what wastes most for what its evictions weigh.
func (t *trials) byWaste(hosts []int) {
	ratio := make(map[int]float64, len(hosts))
	for _, h := range hosts {
		ratio[h] = float64(t.appraisal.Waste[h]) / float64(model.DefaultEvictionPrice+t.draft.Churn.Sum(t.draft.Moving[h])) // a drain is not free either
	}
	slices.SortStableFunc(hosts, func(a, b int) int { return cmp.Compare(ratio[b], ratio[a]) })
}

// filler estimates what free capacity could hold.
type filler struct {
	worth []float64
	asks  []view.Vector
}

// fillRounds is how often a kind of pods is chosen for some free capacity.
const fillRounds = 8

// maxShapes is how many kinds of pods an estimate looks at: those that are worth most in sum.
const maxShapes = 48

// newFiller looks at the pods of some hosts.
func (t *trials) newFiller(hosts []int) *filler {
	sum := make(map[*view.Class]float64)
	var classes []*view.Class
	for _, h := range hosts {
		for _, p := range t.draft.Moving[h] {
			c := t.v.Pods[p].Class
			if _, seen := sum[c]; !seen {
				classes = append(classes, c)
			}
			sum[c] += t.appraisal.worth.Of(c)
		}
	}
	slices.SortStableFunc(classes, func(a, b *view.Class) int {
		return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a.Index, b.Index))
	})
	f := &filler{}
	for _, c := range classes[:min(len(classes), maxShapes)] {
		f.worth, f.asks = append(f.worth, t.appraisal.worth.Of(c)), append(f.asks, c.Requested)
	}
	return f
}

// fill is about the most that pods are worth which some free capacity can hold: greedily, the kind first that is worth
// most for the scarcest resource that it takes, half of what fits at a time, so that kinds mix.
func (f *filler) fill(free view.Vector) float64 {
	rest, sum := slices.Clone(free), 0.0
	for range fillRounds {
		best, most, count := -1, 0.0, int64(0)
		for k, ask := range f.asks {
			n := capacity(rest, ask)
			if v := f.worth[k] * n; n >= 1 && v > most {
				best, most, count = k, v, int64(n)
			}
		}
		if best < 0 {
			break
		}
		take := (count + 1) / 2
		rest.Add(f.asks[best], -take)
		sum += f.worth[best] * float64(take)
	}
	return sum
}

// capacity is how many pods fit, fractions included.
func capacity(free, ask view.Vector) float64 {
	n := float64(1 << 20)
	for i, q := range ask {
		if q > 0 {
			n = min(n, float64(free[i])/float64(q))
		}
	}
	return n
}

// one is what a pod is worth. That is nothing where it fits beside others; known is false where it may be that nothing
// is sold for it.
func (a *Appraisal) one(pod int) (worth float64, known bool) {
	worth = a.worth.Of(a.v.Pods[pod].Class)
	return worth, worth > 0 || a.worth.Floor.Price > 0
}

// of is what pods are worth in sum; ok is false where nothing may be sold for some of them.
func (a *Appraisal) of(pods []int) (sum float64, ok bool) {
	for _, p := range pods {
		one, known := a.one(p)
		if !known {
			return 0, false
		}
		sum += one
	}
	return sum, true
}
