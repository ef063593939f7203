package offer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// maxZonePremium is by how much, in per cent, the cheapest node of a zone may cost more than that of the cheapest zone
// for the zone to get its share of a static pool's nodes.
const maxZonePremium = 25

// StaticQuery is what Static wants to know.
type StaticQuery struct {
	Snapshot *model.Snapshot
	Now      time.Time
	// Leaving says whether a claim is on its way out, so that another takes its place.
	Leaving func(*model.Claim) bool
	// Held says that a claim's node has a pod that no drain could evict, Due that it would be replaced or repaired
	// before long. nil: none.
	Held, Due func(*model.Claim) bool
	// Options lists what a pool may be launched as now, best first, each holding the DaemonSets that run there; nothing and
	// the reason where it can't be bought from. It is asked only about pools that need nodes.
	Options func(*model.NodePool) ([]model.RankedOffering, model.Reason)
	// MeetsMinValues says whether a claim with only these offerings meets the pool's minValues. nil: always.
	MeetsMinValues func(*model.NodePool, []model.RankedOffering) bool
	// Most is how many offerings a claim lists at most.
	Most int
}

// mostAtOnce is how many nodes one plan buys for a static pool, and for how many pods of a buffer it reserves capacity:
// a typo in a manifest must not exhaust the planner's memory. What a pool still lacks then is bought by the plans that
// follow.
const mostAtOnce = 5000

// StaticDecision is what a static pool needs to have as many nodes as its replicas say.
type StaticDecision struct {
	Pool model.PoolName
	// Buy are claims to create, for no pods.
	Buy []BareClaim
	// Remove are claims to take away, in this order; none where Buy has some.
	Remove []model.ClaimID
	// Reason says why there is something to buy or remove; Short why the pool gets fewer nodes than its replicas.
	Reason, Short model.Reason
}

// BareClaim is a claim without pods.
type BareClaim struct {
	// Zone is where it shall be launched; "" where the pool's minValues ask for more than one zone has.
	Zone string
	// Number tells the pool's claims of one plan apart, from 0 on. Part of the claim's name.
	Number int
	// Offerings are best first.
	Offerings []model.RankedOffering
}

// Static says for each static pool, in the order of names, what it needs; pools that need nothing are left out. A pool's
// nodes are spread over its zones as evenly as prices allow. Claims of the pool that are on their way out do not count as
// its nodes, but do against its limit.
func Static(q StaticQuery) []StaticDecision {
	var out []StaticDecision
	var pools []*model.NodePool
	for i := range q.Snapshot.NodePools {
		if p := &q.Snapshot.NodePools[i]; p.Replicas != nil {
			pools = append(pools, p)
		}
	}
	slices.SortFunc(pools, func(a, b *model.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range pools {
		f := staticPool{q: &q, pool: p}
		f.count()
		if r := f.decide(); len(r.Buy) > 0 || len(r.Remove) > 0 || !r.Short.OK() {
			out = append(out, r)
		}
	}
	return out
}

type staticPool struct {
	q    *StaticQuery
	pool *model.NodePool
	// stay are the claims that will be its nodes; all counts those that go as well.
	stay []*model.Claim
	all  int64
}

func (f *staticPool) count() {
	for i := range f.q.Snapshot.Claims {
		c := &f.q.Snapshot.Claims[i]
		if c.NodePool != f.pool.Name || !c.Live() {
			continue
		}
		f.all++
		if !f.q.Leaving(c) {
			f.stay = append(f.stay, c)
		}
	}
}

func (f *staticPool) decide() StaticDecision {
	out := StaticDecision{Pool: f.pool.Name}
	have, want := int64(len(f.stay)), *f.pool.Replicas
	subject := "nodepool/" + string(f.pool.Name)
	switch {
	case have < want:
		out.Reason = model.Reason{
			Code: model.CodeStatic, Subject: subject,
			Message: fmt.Sprintf("static pool %s has %d of %d nodes", f.pool.Name, have, want),
		}
		n := min(want-have, mostAtOnce)
		if limit, ok := f.pool.Limits.Get(model.Nodes); ok && n > limit-f.all {
			n = max(0, limit-f.all)
			out.Short = model.Reason{
				Code: model.CodeLimit, Subject: subject,
				Message: fmt.Sprintf("the pool is to have %d nodes, its limit is %d, and it has %d with those that are going", want, limit, f.all),
				Remedy:  "raise spec.limits.nodes",
			}
		}
		if n > 0 {
			f.buy(&out, n)
		}
	case have > want:
		out.Reason = model.Reason{
			Code: model.CodeSurplus, Subject: subject,
			Message: fmt.Sprintf("static pool %s has %d nodes, and is to have %d", f.pool.Name, have, want),
		}
		out.Remove = f.choose(have - want)
	}
	return out
}

// zone is a place where a static pool could have nodes.
type zone struct {
	name      string
	have      int64
	offerings []model.RankedOffering
}

func (f *staticPool) buy(out *StaticDecision, n int64) {
	sold, reason := f.q.Options(f.pool)
	if len(sold) == 0 {
		if reason.OK() {
			reason = model.Reason{
				Code: model.CodeNoOffering, Subject: "nodepool/" + string(f.pool.Name),
				Message: "nothing that the pool allows can be bought now",
			}
		}
		out.Short = reason
		return
	}
	zones := f.zones(sold)
	for k := range n {
		z := &zones[0]
		for i := range zones {
			if zones[i].have < z.have {
				z = &zones[i]
			}
		}
		z.have++
		out.Buy = append(out.Buy, BareClaim{Zone: z.name, Number: int(k), Offerings: z.offerings})
	}
}

// zones are those that are worth a node, the cheapest first, or one without a name for all of them where a single zone is
// fewer than the pool's minValues ask for.
func (f *staticPool) zones(sold []model.RankedOffering) []zone {
	var out []zone
	for _, o := range sold {
		i := slices.IndexFunc(out, func(z zone) bool { return z.name == o.Zone })
		if i < 0 {
			i = len(out)
			out = append(out, zone{name: o.Zone})
		}
		out[i].offerings = append(out[i].offerings, o)
	}
	for i := range out {
		out[i].offerings = f.cut(out[i].offerings)
		for _, c := range f.stay {
			if where(c) == out[i].name {
				out[i].have++
			}
		}
	}
	slices.SortStableFunc(out, func(a, b zone) int {
		return cmp.Or(cmp.Compare(a.offerings[0].Weighed(), b.offerings[0].Weighed()), cmp.Compare(a.name, b.name))
	})
	cheapest := out[0].offerings[0].Weighed()
	out = slices.DeleteFunc(out, func(z zone) bool {
		price := z.offerings[0].Weighed()
		return price > cheapest && price-cheapest > cheapest/100*maxZonePremium
	})
	if f.q.MeetsMinValues == nil {
		return out
	}
	flexible := slices.DeleteFunc(slices.Clone(out), func(z zone) bool { return !f.q.MeetsMinValues(f.pool, z.offerings) })
	if len(flexible) == 0 {
		return []zone{{offerings: f.cut(sold)}}
	}
	return flexible
}

func (f *staticPool) cut(offerings []model.RankedOffering) []model.RankedOffering {
	if f.q.Most > 0 && len(offerings) > f.q.Most {
		return offerings[:f.q.Most]
	}
	return offerings
}

// where is the zone that a claim is in, or will be in where all its offerings agree; "" otherwise.
func where(c *model.Claim) string {
	if c.Zone != "" || len(c.Offerings) == 0 {
		return c.Zone
	}
	name := c.Offerings[0].Zone
	if slices.ContainsFunc(c.Offerings, func(o model.RankedOffering) bool { return o.Zone != name }) {
		return ""
	}
	return name
}

// candidate is a claim that could be removed, and what that does.
type candidate struct {
	id       model.ClaimID
	keep     bool // something asks for it not to be disrupted
	launched bool
	busy     bool // it has pods that would have to move
	due      bool // it would go before long anyway
	cost     float64
	zone     string
	price    int64
}

// choose picks n claims: those that nothing protects before those that something does; among them what was not launched
// yet, then what is empty, then what would go before long anyway, then what is cheapest to move; and of equals one of
// the zone that has most, the more expensive first.
func (f *staticPool) choose(n int64) []model.ClaimID {
	candidates := f.candidates()
	in := make(map[string]int)
	for _, v := range candidates {
		in[v.zone]++
	}
	var out []model.ClaimID
	for range n {
		best := 0
		for i := range candidates {
			if candidates[i].before(&candidates[best], in) {
				best = i
			}
		}
		out = append(out, candidates[best].id)
		in[candidates[best].zone]--
		candidates = slices.Delete(candidates, best, best+1)
	}
	return out
}

func (v *candidate) before(w *candidate, in map[string]int) bool {
	rank := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(rank(v.keep), rank(w.keep)),
		cmp.Compare(rank(v.launched), rank(w.launched)),
		cmp.Compare(rank(v.busy), rank(w.busy)),
		-cmp.Compare(rank(v.due), rank(w.due)),
		cmp.Compare(v.cost, w.cost),
		-cmp.Compare(in[v.zone], in[w.zone]),
		-cmp.Compare(v.price, w.price),
		cmp.Compare(v.id, w.id),
	) < 0
}

func (f *staticPool) candidates() []candidate {
	out := make([]candidate, len(f.stay))
	on := make(map[model.NodeName]int)
	for i, c := range f.stay {
		out[i] = candidate{id: c.ID, launched: c.State >= model.ClaimLaunched, zone: where(c), price: c.Price}
		out[i].keep = f.q.Held != nil && f.q.Held(c)
		out[i].due = f.q.Due != nil && f.q.Due(c)
		if c.Node != "" {
			on[c.Node] = i
		}
	}
	for i := range f.q.Snapshot.Nodes {
		n := &f.q.Snapshot.Nodes[i]
		if j, ok := on[n.Name]; ok && n.DoNotDisrupt {
			out[j].keep = true
		}
	}
	classes := make(map[model.ClassID]*model.PodClass)
	for i := range f.q.Snapshot.PodClasses {
		classes[f.q.Snapshot.PodClasses[i].ID] = &f.q.Snapshot.PodClasses[i]
	}
	for i := range f.q.Snapshot.Pods {
		p := &f.q.Snapshot.Pods[i]
		j, ok := on[p.Node]
		c := classes[p.Class]
		if !ok || p.Node == "" || c == nil || p.Terminating {
			continue
		}
		out[j].keep = out[j].keep || protected(p, f.q.Now)
		if c.Daemon || c.Mirror {
			continue
		}
		out[j].busy = true
		cost := 1 + float64(p.DeletionCost)/(1<<27) + float64(c.Priority)/(1<<25)
		out[j].cost += min(max(cost, 0), 10)
	}
	for i, c := range f.stay {
		out[i].cost = ceil(out[i].cost * lifetime(c, f.q.Now))
	}
	return out
}

// ceil keeps six digits, so that what differs by less than can be meant counts as equal.
func ceil(x float64) float64 { return math.Ceil(x*1e6) / 1e6 }

func protected(p *model.Pod, now time.Time) bool {
	return p.DoNotDisrupt && (p.DoNotDisruptUntil.IsZero() || now.Before(p.DoNotDisruptUntil))
}

// lifetime is the share of its life that a claim has before it: 1 where it may live for ever.
func lifetime(c *model.Claim, now time.Time) float64 {
	if c.ExpireTime.IsZero() || !c.ExpireTime.After(c.CreateTime) {
		return 1
	}
	left := float64(c.ExpireTime.Sub(now)) / float64(c.ExpireTime.Sub(c.CreateTime))
	return min(max(left, 0), 1)
}
