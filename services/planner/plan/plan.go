// Package plan answers one Input with one Plan. It is the only package of the planner's core that others need.
//
// Decide is a pure function: no clock, no random source, no I/O; the same input gives the same plan to the byte, in
// whatever order its lists come. It sorts and indexes the snapshot (view), finds what needs a node, puts it onto nodes
// that exist and buys the rest (pack), then looks for nodes to disrupt (disrupt), and writes all of it down. Start
// reading with Decide.
package plan

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/disrupt"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/ending"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/plan/encoding"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Decide plans for an input. It returns an error, which names the object and the field, only for an input that
// contradicts itself; pods that nothing can be found for are part of the plan, with the reason. It changes nothing in
// the input.
func Decide(in model.Input) (model.Plan, error) {
	if in.Now.IsZero() {
		return model.Plan{}, errNoTime()
	}
	s, err := NewSession(&in.Snapshot)
	if err != nil {
		return model.Plan{}, err
	}
	return s.Decide(QuestionOf(&in))
}

// Hash is the InputHash of a plan for an input.
func Hash(in *model.Input) (string, error) {
	s, err := NewSession(&in.Snapshot)
	if err != nil {
		return "", err
	}
	return s.hash(s.input(QuestionOf(in))), nil
}

func errNoTime() error {
	return errors.New("now is not set: the time to plan for is the caller's to say")
}

// cycle is the state of one Decide.
type cycle struct {
	*view.World
	in   *model.Input
	hash string
	// heirs are pods that volumes are passed on to, and that ask for them first where they had them from the start.
	heirs []int
	// stop says that the plan is not wanted any more.
	stop    func() bool
	view    *view.View
	matcher *fit.Matcher
	market  *market.Market
	limits  *market.Limits
	// unsupported is by class.
	unsupported []model.Reason
	// neverEvictable says by class whose pods no budget will ever let go; nil until it is asked for.
	neverEvictable []bool
	tally          *topology.Tally
	// devices is nil where no class claims any.
	devices   *devices.Allocator
	scheduler *pack.Scheduler

	demand   demand
	assigned []pack.Assignment
	unplaced []market.Item
	awaited  ending.Awaited
	bought   []*purchase.NewClaim
	// bound is what was bought must cost at least; nil where nothing is proven.
	bound *model.LowerBound
	// bufferPods are the places of buffers' pods, bufferPending those without one; buffersWait says that nothing was
	// bought for them.
	bufferPods    []pack.Assignment
	bufferPending []market.Item
	buffersWait   bool
	// staticClaims are the claims that static pools get; surplus what they have too many.
	staticClaims []model.NodeClaim
	surplus      []disrupt.Removal
	// unhealthy are hosts that go because they are unhealthy.
	unhealthy []disrupt.Removal
	// problems are those of users' objects, overlays aside.
	problems    []model.Reason
	disruptions disrupt.Result
	// until is when an offering is available again, or a pod overdue that others wait for; zero for never.
	until time.Time
	names *encoding.Names
	// patterns are claims without pods, by the list of options that claims of the same content share.
	patterns map[**market.Option]model.NodeClaim
}

func newCycle(b *base, in *model.Input, hash string, heirs []int, stop func() bool) *cycle {
	c := &cycle{
		World: b.world, in: in, hash: hash, heirs: heirs, stop: stop, view: b.view, market: b.market, limits: b.limits.Clone(), matcher: b.matcher,
		tally: b.tally, unsupported: b.unsupported, until: b.until, awaited: ending.Awaited{}, patterns: make(map[**market.Option]model.NodeClaim), names: encoding.NewNames(hash),
	}
	c.demand = c.findDemand()
	for _, p := range c.demand.pods {
		if h := c.view.Node(c.Pods[p].Node); h != nil { // it will not stay where it is
			c.tally.AddUncertain(c.Pods[p].Class, h.Index, -1) // it is counted so on a host that leaves
		}
	}
	ending.Leave(c.tally, c.view, len(c.demand.pods)+len(c.demand.queued))
	c.scheduler = pack.NewScheduler(c.market, c.view, c.matcher, c.tally, c.limits)
	c.scheduler.StopWhen(stop)
	c.trackDevices()
	return c
}

// asks says whether a part of the plan was asked for.
func (c *cycle) asks(kind model.DecisionKind) bool {
	return len(c.in.Kinds) == 0 || slices.Contains(c.in.Kinds, kind)
}

// reserve sets aside the capacity that preemption frees, in addition to what is reserved for DaemonSets' pods. The
// plan says nothing of when those pods will be there, so that no other pod is to rely on them.
func (c *cycle) reserve() {
	for _, s := range c.demand.preempting {
		expect(c.view, c.tally, s.Host, c.Pods[s.Pod].Class, 1)
	}
}

// removeUnhealthy takes unhealthy nodes out of the view before pods are assigned: none is to be sent there.
func (c *cycle) removeUnhealthy() {
	c.unhealthy, _ = disrupt.Unhealthy(c.view)
	for _, x := range c.unhealthy {
		c.view.Remove(x.Host)
	}
}

// assign gives demand its places: first each pod on the node that it was nominated to, so that plans don't change their
// mind; then on the claim that was bought for it, so that nothing is bought twice; then the rest wherever it fits, and, if
// that was asked for, on claims to buy. Those without a place pass on the volumes that one pod at a time may use.
func (c *cycle) assign() {
	mark := c.scheduler.Mark()
	asked := slices.Concat(c.demand.pods, c.demand.queued)
	slices.Sort(asked)
	before, rest := c.assignMeant(asked)
	if len(c.demand.queued) > 0 {
		c.assigned, before, rest = before, nil, c.leaveToScheduler(rest)
		for _, a := range c.assigned { // they stay where they are, whatever is bought
			c.tally.Freeze(c.Pods[a.Pod].Class, c.tally.Host(a.Host), false)
		}
		mark = c.scheduler.Mark()
	}
	places, rest, leaving := c.awaited.Wait(c.scheduler, c.view, rest)
	before = slices.Concat(before, places)
	var assigned []pack.Assignment
	if items := market.Items(c.World, rest); c.asks(model.KindProvision) {
		assigned, c.bought, c.unplaced = c.scheduler.AssignAfter(mark, before, items, ending.EveryHost)
	} else {
		assigned, c.unplaced = c.scheduler.OnHosts(items, ending.EveryHost)
		assigned = slices.Concat(before, assigned)
	}
	c.assigned = slices.Concat(c.assigned, assigned)
	const mostTurns = 3 // each packs all that is left
	for turn, before := 0, -1; leaving && turn < mostTurns && before != len(c.assigned); turn++ {
		before = len(c.assigned)
		c.assigned, c.unplaced = c.awaited.Last(c.scheduler, c.view, c.assigned, c.unplaced)
		if len(c.assigned) > before {
			placeBeside(c, true)
		}
	}
	passOn(c, len(c.heirs) > 0)
}

// placeBeside places pods that are left once others were given room that is coming, or a volume: where those go may decide
// where these may be. What the plan's claims have free comes first, and they grow for those that nothing is bought for. A
// careful one buys nothing beside which one that has its place might not be there.
func placeBeside(c *cycle, careful bool) {
	more, items := c.scheduler.TopUp(c.bought, c.unplaced)
	c.assigned = append(c.assigned, more...)
	if !c.asks(model.KindProvision) {
		more, c.unplaced = c.scheduler.OnHosts(items, ending.EveryHost)
		c.assigned = append(c.assigned, more...)
		return
	}
	mark, limits := c.scheduler.Mark(), c.limits.Clone()
	more, bought, left := c.scheduler.Assign(items, ending.EveryHost)
	if careful && len(bought) > 0 && c.scheduler.FirstRefused(slices.Concat(c.assigned, more), true) >= 0 {
		c.scheduler.Revert(mark)
		*c.limits, more, bought, left = *limits, nil, nil, items
	}
	c.bought = append(c.bought, bought...)
	last, left := c.scheduler.OnLast(c.bought, left, ending.EveryHost)
	c.assigned, c.unplaced = slices.Concat(c.assigned, more, last), left
}

// leaveToScheduler takes those queued pods out of some that the scheduler will find a place for on nodes that there
// are: the plan does not speak of them, and no node is removed under them. The others are planned for before it refuses
// them, one after the other.
func (c *cycle) leaveToScheduler(pods []int) (rest []int) {
	var queued []int
	for _, p := range pods {
		if _, is := slices.BinarySearch(c.demand.queued, p); is {
			queued = append(queued, p)
		} else {
			rest = append(rest, p)
		}
	}
	there := func(h int) bool { return c.view.Hosts[h].Node != nil && c.view.Hosts[h].Initialized }
	places, left := c.scheduler.OnHosts(market.Items(c.World, queued), there)
	c.makeUncertain(places)
	for _, it := range left {
		rest = append(rest, it.Pods...)
	}
	slices.Sort(rest)
	return rest
}

// assignMeant puts pods where earlier plans have them: onto nodes that they were nominated to, else onto claims that were
// bought for them or for those in whose place they came. What it returns as rest has neither, or does not fit there.
func (c *cycle) assignMeant(pods []int) (assigned []pack.Assignment, rest []int) {
	expected := make(map[model.NodeName][]model.PodID)
	for _, p := range pods {
		if at := c.Pods[p].ExpectedNode; at != "" {
			expected[at] = append(expected[at], c.Pods[p].ID)
		}
	}
	assigned, rest = c.assignInRounds(pods, func(h *view.Host) []model.PodID {
		if h.Node == nil || len(expected) == 0 {
			return nil
		}
		return expected[h.Node.Name]
	})
	own, rest := c.assignInRounds(rest, func(h *view.Host) []model.PodID {
		if h.Claim == nil {
			return nil
		}
		return h.Claim.Pods
	})
	arriving := view.Arriving(c.view, rest)
	late, rest := c.assignInRounds(rest, func(h *view.Host) []model.PodID { return arriving[h] })
	return slices.Concat(assigned, own, late), rest
}

// assignInRounds puts pods onto the hosts that they are meant for, in rounds, because some must wait for others. What it
// returns as rest is meant for none, or does not fit there.
func (c *cycle) assignInRounds(pods []int, meant func(*view.Host) []model.PodID) (assigned []pack.Assignment, rest []int) {
	var hosts []int
	for i, h := range c.view.Hosts {
		if c.view.Open(i) && len(meant(h)) > 0 {
			hosts = append(hosts, i)
		}
	}
	if len(hosts) == 0 {
		return nil, pods
	}
	open := make(map[model.PodID]int, len(pods))
	for _, p := range pods {
		open[c.Pods[p].ID] = p
	}
	for before := -1; before != len(assigned); {
		before = len(assigned)
		for _, i := range hosts {
			for _, id := range c.inTurn(i, meant(c.view.Hosts[i])) {
				p, wanted := open[id]
				if wanted && c.matcher.Capacity(c.Pods[p].Class, i, 1) == 1 {
					c.view.Place(i, c.Pods[p].Class, 1)
					assigned = append(assigned, pack.Assignment{Pod: p, Host: i})
					delete(open, id)
				}
			}
		}
	}
	for _, p := range pods {
		if _, left := open[c.Pods[p].ID]; left {
			rest = append(rest, p)
		}
	}
	return assigned, rest
}

// prove says what the claims for pending pods must cost at least, at the prices that they were weighed at and with what
// the policy adds for each node. It comes before nodes are disrupted: the pods were placed among all that is on those.
func (c *cycle) prove() {
	var cost int64
	for _, b := range c.bought {
		cost += b.Best().Price + c.Policy.PerNodeOverhead
	}
	proof := c.scheduler.Bound(c.bought, len(c.assigned), c.bufferPods)
	if proof.Price <= 0 {
		return
	}
	if proof.Kind == model.BoundExact && cost > proof.Price {
		proof.Kind = model.BoundLP // exact for fewer rules than the plan keeps
	}
	c.bound = &model.LowerBound{Price: proof.Price, Gap: float64(cost)/float64(proof.Price) - 1, Kind: proof.Kind}
}

// reserveForReturning puts pods that the scheduler has not looked at yet, those that will come back once they have
// ended on a node that goes, and those that are not made yet in place of evicted ones, where they will likely go, so
// that no node is removed under them and no pod is moved to their place. The plan does not speak of them.
func (c *cycle) reserveForReturning() {
	back, _ := c.assignMeant(c.demand.ending)
	waiting, rest := c.assignMeant(c.demand.waiting)
	others, _ := c.scheduler.OnHosts(market.Items(c.World, rest), ending.EveryHost)
	returning := slices.Concat(back, waiting, others)
	c.makeUncertain(returning)
	expectUnmade(c, returning)
}

// expectUnmade sets aside capacity for pods that are still to be made in place of moved ones, where there is some.
func expectUnmade(c *cycle, returning []pack.Assignment) {
	type group struct {
		host     int
		ownerUID string
	}
	placed := sync.OnceValue(func() map[group]int {
		n := make(map[group]int)
		for _, s := range slices.Concat(c.assigned, returning, c.demand.preempting) {
			if p := c.Pods[s.Pod]; s.Claim == nil && (p.Node == "" || p.Terminating) { // the others are still to be evicted
				n[group{s.Host, p.Class.OwnerUID}]++
			}
		}
		return n
	})
	for _, u := range view.StillToCome(c.view, func(host int, ownerUID string) int { return placed()[group{host, ownerUID}] }) {
		if n := c.matcher.Capacity(u.Class, u.Host, u.Pods); n > 0 {
			expect(c.view, c.tally, u.Host, u.Class, n)
		}
	}
}

// expect sets aside capacity for pods that may be there at any time. No other pod is to rely on them.
func expect(v *view.View, t *topology.Tally, host int, class *view.Class, pods int) {
	v.Place(host, class, pods)
	doubt(t, host, class, pods)
}

// doubt lets no pod rely on some that were placed on a host to be there.
func doubt(t *topology.Tally, host int, class *view.Class, pods int) {
	t.Add(class, t.Host(host), -pods)
	t.AddUncertain(class, host, pods)
}

// makeUncertain lets no pod rely on others to be where they will likely go.
func (c *cycle) makeUncertain(places []pack.Assignment) {
	for _, s := range places {
		doubt(c.tally, s.Host, c.Pods[s.Pod].Class, 1)
	}
}

func (c *cycle) findDisruptions() {
	topology.DoubtEnding(c.tally, c.view)
	bought := make([]int, len(c.Pools))
	for _, b := range c.bought {
		bought[b.Best().Pool.Index]++
	}
	c.disruptions = disrupt.Run(disrupt.Params{
		Params: draft.Params{
			View: c.view, Matcher: c.matcher, Scheduler: c.scheduler, Limits: c.limits, Unsupported: c.unsupported,
			Unplaced: c.unplaced, BufferPods: c.bufferPods, Assignments: c.assigned, Bought: bought, Exclude: c.in.Exclude,
		},
		Surplus: c.surplus, Unhealthy: c.unhealthy, Fixed: c.fixedFor, ResumeAfter: c.in.ResumeAfter,
	})
}
