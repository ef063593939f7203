package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// kind is a list of the snapshot.
type kind int

const (
	kindClass kind = iota
	kindPod
	kindNode
	kindClaim
	kindOffering
	kindBudget
	kindPool
	kindNodeClass
	kindNotice
	kindRecord
	kinds
)

// ledger is what changed since the planner last heard of it, and what it knows of.
type ledger struct{ dirty, sent [kinds]map[string]bool }

func newLedger() *ledger {
	l := &ledger{}
	for k := range kinds {
		l.dirty[k], l.sent[k] = map[string]bool{}, map[string]bool{}
	}
	return l
}

func (l *ledger) touch(k kind, id string) { l.dirty[k][id] = true }

// tell writes the changes of one list down.
func tell[T any](l *ledger, k kind, get func(id string) (T, bool), up *[]T, gone *[]string) {
	for _, id := range slices.Sorted(maps.Keys(l.dirty[k])) {
		x, there := get(id)
		switch {
		case there:
			*up = append(*up, x)
			l.sent[k][id] = true
		case l.sent[k][id]:
			*gone = append(*gone, id)
			delete(l.sent[k], id)
		}
	}
	clear(l.dirty[k])
}

// of looks an object up of which the planner gets a copy.
func of[T, V any](m map[string]V, copied func(V) T) func(string) (T, bool) {
	return func(id string) (T, bool) {
		v, ok := m[id]
		if !ok {
			var none T
			return none, false
		}
		return copied(v), true
	}
}

// delta is what happened since the last one.
func (c *cluster) delta() *model.Delta {
	c.revision++
	d := &model.Delta{}
	d.Upserted = model.Snapshot{Revision: c.revision, InventoryRevision: int64(c.revision), Cluster: "sim", ObserveTime: c.now}
	up, gone := &d.Upserted, &d.Removed
	tell(c.ledger, kindClass, of(c.classes, func(x *model.PodClass) model.PodClass { return *x }), &up.PodClasses, &gone.PodClasses)
	tell(c.ledger, kindPod, of(c.pods, func(x *pod) model.Pod { return x.Pod }), &up.Pods, &gone.Pods)
	tell(c.ledger, kindNode, of(c.nodes, func(x *node) model.Node { return x.Node }), &up.Nodes, &gone.Nodes)
	tell(c.ledger, kindClaim, of(c.claims, func(x *claim) model.Claim { return x.Claim }), &up.Claims, &gone.Claims)
	tell(c.ledger, kindOffering, of(c.market.offers, func(x *model.Offering) model.Offering { return *x }), &up.Offerings, &gone.Offerings)
	tell(c.ledger, kindNotice, of(c.notices, func(x *model.Notice) model.Notice { return *x }), &up.Notices, &gone.Notices)
	budgets := c.budgets()
	for id := range budgets {
		c.ledger.touch(kindBudget, id)
	}
	tell(c.ledger, kindBudget, of(budgets, func(x model.PodDisruptionBudget) model.PodDisruptionBudget { return x }),
		&up.PodDisruptionBudgets, &gone.PodDisruptionBudgets)
	if !c.cfg.Forget {
		tell(c.ledger, kindRecord, of(c.records, func(x *model.DisruptionRecord) model.DisruptionRecord { return *x }), &up.Disruptions, &gone.Disruptions)
	}
	pools, classes := map[string]model.NodePool{}, map[string]model.NodeClass{string(c.class.Name): c.class}
	for _, p := range c.pools {
		pools[string(p.Name)] = p
	}
	tell(c.ledger, kindPool, of(pools, func(x model.NodePool) model.NodePool { return x }), &up.NodePools, &gone.NodePools)
	tell(c.ledger, kindNodeClass, of(classes, func(x model.NodeClass) model.NodeClass { return x }), &up.NodeClasses, &gone.NodeClasses)
	return d
}

// hear tells the planner what happened; the first time all of it.
func (c *cluster) hear() error {
	if c.session != nil {
		return c.session.Apply(c.delta())
	}
	for _, id := range c.market.ids {
		c.ledger.touch(kindOffering, id)
	}
	for _, p := range c.pools {
		c.ledger.touch(kindPool, string(p.Name))
	}
	c.ledger.touch(kindNodeClass, string(c.class.Name))
	s := c.delta().Upserted
	s.DaemonSets, s.Catalogs = c.daemons, []model.Catalog{{ID: "k-1", InstanceTypes: c.market.types}}
	s.Namespaces = []model.Namespace{
		{Name: "kube-system", Labels: toLabels(map[string]string{labels.NamespaceName: "kube-system"})},
		{Name: "shop", Labels: toLabels(map[string]string{labels.NamespaceName: "shop"})},
	}
	var err error
	c.session, err = plan.NewSession(&s)
	return err
}

// askSoon asks for capacity for pending pods a moment after the scheduler found none, once for all that come in that time.
func (c *cluster) askSoon() {
	const batch = 10 * time.Second
	if c.planSoon {
		return
	}
	c.planSoon = true
	c.after(batch, func() {
		if c.planSoon {
			c.plan(model.KindProvision)
		}
	})
}

// plan asks the planner, checks what it says and does it.
func (c *cluster) plan(asked ...model.DecisionKind) {
	c.planSoon = false
	if err := c.hear(); err != nil {
		c.err = err
		return
	}
	q := plan.Question{Policy: c.cfg.Policy, Kinds: asked, Now: c.now, Seed: c.cfg.Seed, ResumeAfter: c.resume}
	p, err := c.session.Decide(q)
	if err != nil {
		c.err = err
		return
	}
	snap := c.session.Snapshot()
	if c.cfg.Tamper != nil {
		c.cfg.Tamper(&snap, &p)
	}
	in := model.Input{Snapshot: snap, Policy: q.Policy, Kinds: q.Kinds, Now: q.Now, Seed: q.Seed, ResumeAfter: q.ResumeAfter}
	for _, v := range verify.Plan(in, p) {
		c.day.broken(&c.day.SecondOpinion, c.clock()+" "+v.String())
	}
	if s := p.Summary; s != nil {
		c.resume = s.ResumeAfter
		if s.Judged != s.Candidates {
			c.day.broken(&c.day.Unjudged, fmt.Sprintf("%s judged %d of %d candidates", c.clock(), s.Judged, s.Candidates))
		}
	}
	c.day.Plans++
	if len(asked) == 0 {
		c.day.verdicts(&p)
	}
	c.eyes.look(&p)
	c.carryOut(&p)
}

// carryOut does what a plan says, as the actuator would that found nothing to object to.
func (c *cluster) carryOut(p *model.Plan) {
	for _, pl := range p.Placements {
		c.hint(pl)
	}
	for i := range p.Nodes {
		cl := c.claims[string(p.Nodes[i].Claim)]
		if d := p.Nodes[i].Deferred; cl != nil && d != nil && *d != cl.RemovalDeferred {
			cl.RemovalDeferred = *d
			c.touchClaim(cl)
		}
	}
	groups := make(map[model.DisruptionID]*group)
	for i := range p.Disruptions {
		groups[p.Disruptions[i].ID] = c.accept(&p.Disruptions[i])
	}
	for i := range p.NodeClaims {
		c.buy(p, &p.NodeClaims[i], groups[p.NodeClaims[i].Disruption])
	}
	for i := range p.Disruptions {
		c.advance(groups[p.Disruptions[i].ID])
	}
}

func (c *cluster) hint(pl model.Placement) {
	to := string(pl.Node)
	if to == "" {
		to = string(pl.Claim) // claims and their nodes share a name
	}
	c.hints[string(pl.Pod)] = to
}

// accept writes a disruption down and keeps new pods away from its nodes.
func (c *cluster) accept(d *model.Disruption) *group {
	g := &group{record: &model.DisruptionRecord{
		ID: d.ID, Reason: d.Reason, Candidates: d.Candidates, Replacements: d.Replacements, AcceptTime: c.now, Saving: d.Saving, Workloads: d.Workloads, Staged: d.Staged,
	}}
	for _, pl := range d.Destinations {
		c.hint(pl)
		g.record.Pods = append(g.record.Pods, pl.Pod)
	}
	slices.Sort(g.record.Pods)
	c.records[string(d.ID)] = g.record
	c.ledger.touch(kindRecord, string(d.ID))
	for _, id := range d.Candidates {
		cl := c.claims[string(id)]
		if cl == nil {
			continue // eyes tell
		}
		cl.Disruption, cl.DisruptionReason, cl.group = d.ID, d.Reason, g
		cl.why = causeOf(d.Reason)
		cl.forced = cl.why.forced()
		g.candidates = append(g.candidates, cl)
		c.taint(cl)
		c.touchClaim(cl)
	}
	c.day.accepted(c.now, d)
	return g
}

func (c *cluster) buy(p *model.Plan, nc *model.NodeClaim, g *group) {
	pool := c.pool(nc.NodePool)
	cl := &claim{group: g, Claim: model.Claim{
		ID: nc.ID, NodePool: nc.NodePool, NodeClass: nc.NodeClass, State: model.ClaimPlanned, Reached: model.ClaimPlanned, Requirements: nc.Requirements,
		Offerings: nc.Offerings, Requests: nc.Requests, Pods: nc.Pods, Labels: pool.Labels, Annotations: nc.Annotations, PoolHash: pool.Hash,
		ClassHash: c.class.Hash, CreateTime: c.now, StateTime: c.now, PlanID: p.ID, Replaces: nc.Disruption, Attempt: 1,
	}}
	if pool.ExpireAfter != nil {
		// Not all of a burst on the same minute: instances are launched over a while in life.
		cl.ExpireTime = c.now.Add(*pool.ExpireAfter).Add(-c.jitter(0, *pool.ExpireAfter/4))
	}
	if c.claims[string(cl.ID)] != nil {
		c.day.broken(&c.day.SecondOpinion, fmt.Sprintf("%s claim %s is bought twice", c.clock(), cl.ID))
		return
	}
	c.claims[string(cl.ID)] = cl
	if g != nil {
		g.replacements = append(g.replacements, cl)
	}
	c.launch(cl)
}

// dropRecords forgets what was disrupted long ago.
func (c *cluster) dropRecords() {
	const memory = time.Hour
	for _, r := range ordered(c.records) {
		if !r.EndTime.IsZero() && c.now.Sub(r.EndTime) > memory {
			delete(c.records, string(r.ID))
			c.ledger.touch(kindRecord, string(r.ID))
		}
	}
}
