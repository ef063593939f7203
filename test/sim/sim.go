package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// Config is what kind of day it is.
type Config struct {
	Seed uint64
	// Length is how long a day is: load rises and falls once in it.
	Length time.Duration
	// Days is how many there are, from a Monday on; 0 is one. On the last two of seven there is less load. What happens
	// once comes at parts of all of them, what happens now and then comes as often each day.
	Days int
	// SpotFirst makes the cluster a shop that runs on spot: all but what must not be interrupted may run there, half of
	// the workloads are spread over zones, disruption budgets let one pod of a workload go at a time, nodes have up to
	// 32 cores.
	SpotFirst bool
	// Pods is about how many pods there are when load is highest.
	Pods int
	// Policy is Kerf's.
	Policy model.Policy
	// Scatter binds each pod where kube-scheduler's scores would have it, on the least allocated node that fits; without it
	// pods go where the plan expects them as long as they fit there.
	Scatter bool
	// Pack lets the scheduler prefer full nodes to empty ones (kube-scheduler's MostAllocated).
	Pack bool
	// BoundEvery is how often it is worked out what all pods would cost at least; 0 is never.
	BoundEvery time.Duration
	// Forget hides from the planner what it disrupted before. It is for tests: what it forgets must be noticed.
	Forget bool
	// Tamper changes plans before they are carried out, nil changes none. It is for tests as well.
	Tamper func(s *model.Snapshot, p *model.Plan)
}

// Week is a week of a shop that runs on spot: 15 to 20 nodes when load is highest, half of them at night. Moving a pod
// weighs what it does by default.
func Week(seed uint64) Config {
	return Config{Seed: seed, Length: 24 * time.Hour, Days: 7, Pods: 60, SpotFirst: true, BoundEvery: time.Hour}
}

// whole is how long all days are.
func (cfg *Config) whole() time.Duration { return cfg.Length * time.Duration(max(1, cfg.Days)) }

// warmUp is how long the cluster runs before the day begins, for its first nodes to come.
const warmUp = time.Hour

// midnight is when the day begins, a Monday.
func midnight() time.Time { return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) }

// Run plays a day, or several.
func Run(cfg Config) (*Day, error) {
	c := newCluster(cfg)
	end := midnight().Add(cfg.whole())
	for c.events.Len() > 0 && c.err == nil {
		e := heap.Pop(&c.events).(event) //nolint:forcetypeassert // nothing else is pushed
		if e.at.After(end) {
			break
		}
		c.now = e.at
		e.do()
	}
	if c.err != nil {
		return nil, fmt.Errorf("seed %d at %s: %w", cfg.Seed, c.clock(), c.err)
	}
	c.day.finish()
	return c.day, nil
}

// cluster is all there is.
type cluster struct {
	cfg Config
	rng *rand.Rand
	// dice are those of the load alone, so that it is the same whatever is planned.
	dice   *rand.Rand
	now    time.Time
	events events
	seq    int
	err    error

	market  *market
	pools   []model.NodePool
	class   model.NodeClass
	classes map[string]*model.PodClass
	loads   []*workload
	daemons []model.DaemonSet

	nodes  map[string]*node
	order  []*node // by name
	claims map[string]*claim
	pods   map[string]*pod
	// pending are pods without a node, oldest first.
	pending []*pod
	records map[string]*model.DisruptionRecord
	notices map[string]*model.Notice
	// hints are where plans expect pods, by the pod.
	hints     map[string]string
	scheduler bool // it is about to look
	planSoon  bool // a plan for pending pods is about to be made
	made      int

	session  *plan.Session
	ledger   *ledger
	revision uint64
	resume   model.ClaimID

	eyes *eyes
	day  *Day
}

func newCluster(cfg Config) *cluster {
	c := &cluster{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 5)), dice: rand.New(rand.NewPCG(cfg.Seed, 6)), now: midnight().Add(-warmUp), //nolint:gosec // dice, not secrets
		classes: map[string]*model.PodClass{}, nodes: map[string]*node{}, claims: map[string]*claim{}, pods: map[string]*pod{},
		records: map[string]*model.DisruptionRecord{}, notices: map[string]*model.Notice{}, hints: map[string]string{},
		ledger: newLedger(), day: newDay(cfg),
	}
	c.eyes = &eyes{c: c}
	c.market = newMarket(c.rng, cfg.sizes())
	c.addPools()
	c.addLoads()
	c.addDaemons()
	for _, l := range c.loads {
		c.scale(l)
	}
	c.every(time.Minute/meterReads, func() { c.day.read(c) })
	c.every(time.Minute, c.eachMinute)
	c.after(5*time.Second, func() { c.every(time.Minute, func() { c.plan() }) })
	c.addStory()
	return c
}

// eachMinute is what controllers do, and what is written down.
func (c *cluster) eachMinute() {
	for _, l := range c.loads {
		c.scale(l)
	}
	c.dropRecords()
	if c.now.Before(midnight()) {
		c.day.meter = meter{}
		return
	}
	c.day.sample(c)
}

func (c *cluster) clock() string { return clock(c.now) }

func clock(t time.Time) string { return t.Format("15:04:05") }

// part is a moment of the run: 0 is its beginning, 1 its end.
func (c *cluster) part(p float64) time.Time {
	return midnight().Add(time.Duration(p * float64(c.cfg.whole()))).Truncate(time.Minute)
}

// jitter is a duration between two.
func (c *cluster) jitter(least, most time.Duration) time.Duration {
	return least + time.Duration(c.rng.Int64N(int64(most-least)+1)).Truncate(time.Second)
}

// event is something that happens at a time; of those at one time, what was said first.
type event struct {
	at  time.Time
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *events) Push(x any) { *e = append(*e, x.(event)) } //nolint:forcetypeassert // nothing else is pushed

// Pop implements heap.Interface.
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func (c *cluster) at(t time.Time, do func()) {
	c.seq++
	heap.Push(&c.events, event{t, c.seq, do})
}

func (c *cluster) after(d time.Duration, do func()) { c.at(c.now.Add(d), do) }

// every does something now and then, again and again.
func (c *cluster) every(d time.Duration, do func()) {
	var again func()
	again = func() {
		do()
		c.after(d, again)
	}
	c.at(c.now, again)
}
