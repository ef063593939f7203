package bench

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

// stage is a cluster that plans are carried out in, as fast as can be: what a plan says is so a second later, and another
// second later the next one is made. The planner hears of it as of any cluster, by deltas; the records of what was
// disrupted are among them, so that it knows which pods it has moved.
type stage struct {
	x       *workload.World
	session *plan.Session
	now     time.Time
	resume  model.ClaimID
	nodes   map[model.NodeName]*model.Node
	claims  map[model.ClaimID]*model.Claim
	pods    map[model.NodeName][]model.Pod
	moves   map[model.PodID]int
	// news are what changed since the last plan.
	news model.Delta
	// price is what all claims cost.
	price int64
	// settled is from when on no pod that has not moved weighs more for having just started.
	settled time.Time
	// every is how long after a plan the next one is made.
	every time.Duration
}

// afterPlan is when a plan is carried out, betweenPlans when the next one is made; betweenDrains where pods take their
// time to go and to come back.
const (
	afterPlan     = time.Second
	betweenPlans  = 2 * time.Second
	betweenDrains = 6 * time.Second
)

// newStage makes a world a cluster that has been as it is for half a day.
func newStage(x *workload.World) *stage {
	s := &stage{
		x: x, now: workload.Now(), nodes: map[model.NodeName]*model.Node{}, claims: map[model.ClaimID]*model.Claim{},
		pods: map[model.NodeName][]model.Pod{}, moves: map[model.PodID]int{}, every: betweenPlans,
	}
	x.Input.Policy, x.Input.Kinds = bare(), []model.DecisionKind{model.KindDisrupt}
	snap := &x.Input.Snapshot
	drifted := false
	for i := range snap.Claims {
		c := &snap.Claims[i]
		c.ImageID = image(x, c.InstanceType)
		drifted = drifted || !c.Drifted.OK()
		s.claims[c.ID] = c
		s.price += c.Price
	}
	for i := range snap.NodePools {
		if drifted {
			snap.NodePools[i].ConsolidationPolicy = model.WhenEmpty
		}
	}
	for i := range snap.Nodes {
		s.nodes[snap.Nodes[i].Name] = &snap.Nodes[i]
	}
	s.bind(workload.Now().Add(-12 * time.Hour))
	return s
}

// bind says since when all pods run that have a node.
func (s *stage) bind(since time.Time) {
	clear(s.pods)
	s.settled = since.Add(model.SettledAfter)
	for i := range s.x.Input.Snapshot.Pods {
		p := &s.x.Input.Snapshot.Pods[i]
		if p.Node == "" {
			continue
		}
		p.CreateTime, p.BindTime = since, since
		s.pods[p.Node] = append(s.pods[p.Node], *p)
	}
}

func image(x *workload.World, t model.TypeName) string { return "ami-" + x.Types[string(t)].Arch }

// begin opens the session and lets it work out what it will keep.
func (s *stage) begin() error {
	var err error
	if s.session, err = plan.NewSession(&s.x.Input.Snapshot); err != nil {
		return err
	}
	q := s.question()
	q.Kinds = []model.DecisionKind{model.KindProvision}
	_, err = s.session.Decide(q)
	return err
}

func (s *stage) question() plan.Question {
	in := &s.x.Input
	return plan.Question{Policy: in.Policy, Kinds: in.Kinds, Now: s.now, Seed: in.Seed, ResumeAfter: s.resume}
}

// decide tells the session what happened, and asks.
func (s *stage) decide() (model.Plan, error) {
	if s.news.Upserted.Revision > 0 {
		if err := s.session.Apply(&s.news); err != nil {
			return model.Plan{}, err
		}
	}
	return s.session.Decide(s.question())
}

// check asks the second opinion.
func (s *stage) check(p model.Plan) error {
	in := s.x.Input
	in.Snapshot, in.Now, in.ResumeAfter = s.session.Snapshot(), s.now, s.resume
	return check(in, p)
}

// advance lets time pass until the next plan, and writes down what it is to hear.
func (s *stage) advance(resume model.ClaimID) {
	s.now, s.resume = s.now.Add(s.every), resume
	up := &s.news.Upserted
	up.ObserveTime = s.now
	names := make(map[model.NodeName]bool)
	for i := range up.Pods {
		names[up.Pods[i].Node] = true
	}
	for i := range up.Claims {
		names[up.Claims[i].Node] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if n := s.nodes[name]; n != nil {
			up.Nodes = append(up.Nodes, *n)
		}
	}
	workload.SortBy(up.Pods, func(p model.Pod) string { return string(p.ID) })
	workload.SortBy(up.Claims, func(c model.Claim) string { return string(c.ID) })
}

// heard begins the next delta.
func (s *stage) heard() {
	snap := &s.x.Input.Snapshot
	rev := max(s.news.Upserted.Revision, snap.Revision) + 1
	s.news = model.Delta{Upserted: model.Snapshot{Revision: rev, InventoryRevision: int64(rev), Cluster: snap.Cluster}}
}

// bill is how many nodes there are, and what they cost.
func (s *stage) bill() (nodes int, cost float64) { return len(s.nodes), dollars(s.price) }

// due is how many nodes are empty or drifted.
func (s *stage) due() int {
	n := 0
	for _, c := range s.claims {
		if !c.Drifted.OK() || len(s.pods[c.Node]) == 0 {
			n++
		}
	}
	return n
}

func (s *stage) mostMoves() int {
	most := 0
	for _, n := range s.moves {
		most = max(most, n)
	}
	return most
}

// apply does what a disruption says.
func (s *stage) apply(p *model.Plan, d *model.Disruption) error {
	for _, id := range d.Replacements {
		if err := s.join(p, id); err != nil {
			return fmt.Errorf("disruption %s: %w", d.ID, err)
		}
	}
	to := make(map[model.PodID]model.NodeName, len(d.Destinations))
	for _, pl := range d.Destinations {
		to[pl.Pod] = pl.Node
		if pl.Node == "" {
			to[pl.Pod] = model.NodeName(pl.Claim) // a claim of ours and its node have one name
		}
	}
	record := model.DisruptionRecord{
		ID: d.ID, Reason: d.Reason, Candidates: d.Candidates, Replacements: d.Replacements, AcceptTime: s.now, EndTime: s.now.Add(afterPlan),
		Saving: d.Saving, Workloads: d.Workloads,
	}
	for _, id := range d.Candidates {
		moved, err := s.leave(id, to)
		if err != nil {
			return fmt.Errorf("disruption %s: %w", d.ID, err)
		}
		record.Pods = append(record.Pods, moved...)
	}
	slices.Sort(record.Pods)
	s.news.Upserted.Disruptions = append(s.news.Upserted.Disruptions, record)
	return nil
}

// mark notes on claims whether a plan means to remove them later.
func (s *stage) mark(p *model.Plan) {
	for _, v := range p.Nodes {
		if c := s.claims[v.Claim]; c != nil && v.Deferred != nil && c.RemovalDeferred != *v.Deferred {
			marked := *c // what the session holds must not change
			marked.RemovalDeferred = *v.Deferred
			s.claims[v.Claim] = &marked
			s.news.Upserted.Claims = append(s.news.Upserted.Claims, marked)
		}
	}
}

// join makes a replacement a node.
func (s *stage) join(p *model.Plan, id model.ClaimID) error {
	i := slices.IndexFunc(p.NodeClaims, func(c model.NodeClaim) bool { return c.ID == id })
	if i < 0 {
		return fmt.Errorf("its replacement %s is no claim of the plan", id)
	}
	o := p.NodeClaims[i].Offerings[0]
	node, claim := workload.Joined(string(id), p.NodeClaims[i].NodePool, s.x.Types[string(o.InstanceType)], o)
	at := s.now.Add(afterPlan)
	node.CreateTime, claim.CreateTime, claim.StateTime, claim.LaunchTime, claim.InitializeTime = at, s.now, at, at, at
	claim.ImageID = image(s.x, claim.InstanceType)
	s.nodes[node.Name], s.claims[claim.ID] = &node, &claim
	s.price += claim.Price
	s.news.Upserted.Claims = append(s.news.Upserted.Claims, claim)
	return nil
}

// leave takes a claim and its node away; its pods go where they are sent. It says which these are.
func (s *stage) leave(id model.ClaimID, to map[model.PodID]model.NodeName) ([]model.PodID, error) {
	claim := s.claims[id]
	if claim == nil {
		return nil, fmt.Errorf("there is no claim %s", id)
	}
	var moved []model.PodID
	for _, pod := range s.pods[claim.Node] {
		target := s.nodes[to[pod.ID]]
		if target == nil {
			return nil, fmt.Errorf("pod %s %w", pod.ID, errNoDestination)
		}
		pod.Node, pod.CreateTime, pod.BindTime = target.Name, s.now.Add(afterPlan), s.now.Add(afterPlan)
		touched := *target // what the session holds must not change
		touched.LastPodEventTime = pod.BindTime
		s.nodes[target.Name] = &touched
		s.pods[target.Name] = append(s.pods[target.Name], pod)
		s.moves[pod.ID]++
		moved = append(moved, pod.ID)
		s.news.Upserted.Pods = append(s.news.Upserted.Pods, pod)
	}
	s.price -= claim.Price
	delete(s.pods, claim.Node)
	delete(s.nodes, claim.Node)
	delete(s.claims, id)
	s.news.Removed.Claims = append(s.news.Removed.Claims, string(id))
	s.news.Removed.Nodes = append(s.news.Removed.Nodes, string(claim.Node))
	return moved, nil
}
