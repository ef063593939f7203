package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// workload is a Deployment.
type workload struct {
	name        string
	cpu, memory int64
	// low and high are its replicas when load is lowest and highest, peak is that part of the day.
	low, high, peak float64
	noise           float64
	replicas        int
	// desired is what scaling asked for in the last minutes: it scales down to the most of them only.
	desired  []float64
	revision int
	// spread is "zone", "host" (a node for each pod) or "".
	spread string
	// onDemand pods ask for the pool of such nodes.
	onDemand bool
	// protected is how long a pod must not be disrupted, below 0 always; lives how long it runs, 0 for ever.
	protected, lives time.Duration
	// unavailable is how many pods of a hundred may be missing by its disruption budget, below 0 it has none.
	unavailable int
	// never says that its PodDisruptionBudget allows no eviction, ever.
	never bool
	// starts is how long a pod takes until it is ready.
	starts time.Duration
	pods   map[string]*pod
	// zones counts its bound pods that are not ending.
	zones map[string]int
	// heirs are when pods were moved whose successors are not there yet.
	heirs []heir
}

// heir is what a successor takes over.
type heir struct {
	moved time.Time
	hint  string
	// class is that of the pod that was moved: one of another revision came by a rollout, and does not rest.
	class model.ClassID
}

func (l *workload) class() string { return fmt.Sprintf("c-%s-%d", l.name, l.revision) }

// addLoads draws workloads until there are as many pods as there are to be.
func (c *cluster) addLoads() {
	cpus, workloads := []int64{100, 150, 200, 250, 300, 400, 500, 500, 750, 1000, 1000, 1500, 2000}, 45.0
	if c.cfg.SpotFirst {
		cpus, workloads = []int64{250, 500, 500, 1000, 1000, 1500, 2000, 2000, 3000, 4000, 6000}, 14
	}
	add := func(l *workload) {
		l.revision, l.pods, l.zones = 1, map[string]*pod{}, map[string]int{}
		c.loads = append(c.loads, l)
		c.addClass(l)
	}
	add(&workload{
		name: "ledger", cpu: 1000, memory: 4 * gib, low: 3, high: 3, onDemand: true, protected: -1, unavailable: -1, starts: 20 * time.Second,
	})
	add(&workload{name: "quorum", cpu: 500, memory: 2 * gib, low: 3, high: 3, spread: "host", onDemand: true, never: true, starts: 20 * time.Second})
	part := c.cfg.Length / 24
	add(&workload{
		name: "training", cpu: 2000, memory: 6 * gib, low: 1, high: math.Ceil(float64(c.cfg.Pods) / 650), peak: 0.15, protected: part,
		lives: part, unavailable: -1, starts: 10 * time.Second,
	})
	for i, left := 0, float64(c.cfg.Pods); left > 0; i++ {
		l := &workload{name: fmt.Sprintf("web-%02d", i), cpu: cpus[c.dice.IntN(len(cpus))], unavailable: -1}
		l.memory = max(1, l.cpu*[]int64{1, 2, 2, 4, 4, 6}[c.dice.IntN(6)]*gib/1000/(128*mib)) * 128 * mib // as people write it
		l.high = math.Ceil(float64(c.cfg.Pods) / workloads * math.Exp(c.dice.NormFloat64()*0.7))
		l.low = math.Max(2, math.Floor(l.high*(0.25+0.35*c.dice.Float64())))
		l.high = math.Max(l.high, l.low)
		l.peak = 0.58 + 0.08*c.dice.NormFloat64()
		switch k := i % 10; k {
		case 3:
			l.peak = 0.12 // at night
		case 6:
			l.spread = "zone"
		case 8:
			l.spread, l.high, l.low = "host", math.Min(l.high, float64(c.cfg.Pods)/120+2), 2
		case 0, 4, 7:
			l.onDemand = !c.cfg.SpotFirst
		}
		if i%2 == 0 {
			l.unavailable = []int{25, 34, 50}[c.dice.IntN(3)]
		}
		if c.cfg.SpotFirst {
			l.unavailable = 1 // per cent, rounded up: one pod
			if i%2 == 1 && l.spread == "" {
				l.spread = "zone"
			}
		}
		l.starts = c.jitter(4*time.Second, 25*time.Second)
		left -= l.high
		add(l)
	}
}

// addClass makes the class of a workload's present revision.
func (c *cluster) addClass(l *workload) {
	pick := &model.Selector{Requirements: []model.Requirement{in("app", l.name)}}
	class := &model.PodClass{
		ID: model.ClassID(l.class()), Namespace: "shop", Labels: model.Labels{{Key: "app", Value: l.name}}, Requests: amounts(l.cpu, l.memory, 1),
		Preempts: true, SchedulerName: "default-scheduler", OwnerKind: "Deployment", OwnerName: l.name, OwnerRevision: fmt.Sprint(l.revision),
		DefaultSelector: pick,
	}
	// What must not be interrupted has a pool of its own: a pod of it would keep others on an expensive node.
	class.NodeSelector = model.Labels{{Key: "team", Value: "general"}}
	if l.onDemand {
		class.NodeSelector = model.Labels{{Key: "team", Value: "steady"}}
	}
	switch l.spread {
	case "zone":
		class.TopologySpread = []model.TopologySpread{{TopologyKey: labels.Zone, MaxSkew: 2, Required: true, Selector: pick}}
	case "host":
		class.PodAntiAffinity = []model.PodAffinityTerm{{TopologyKey: labels.Hostname, Selector: pick, Namespaces: []string{"shop"}}}
	}
	c.classes[l.class()] = class
	c.ledger.touch(kindClass, l.class())
}

func (c *cluster) addDaemons() {
	for _, d := range []struct {
		name        string
		cpu, memory int64
	}{{"cni", 50, 100 * mib}, {"logs", 100, 200 * mib}} {
		id := "c-" + d.name
		c.classes[id] = &model.PodClass{
			ID: model.ClassID(id), Namespace: "kube-system", Labels: model.Labels{{Key: "app", Value: d.name}},
			Requests: amounts(d.cpu, d.memory, 1), OwnerKind: "DaemonSet", OwnerName: d.name, Daemon: true,
			Tolerations: []model.Toleration{{Exists: true}}, SchedulerName: "default-scheduler",
		}
		c.daemons = append(c.daemons, model.DaemonSet{ID: "kube-system/" + d.name, Class: model.ClassID(id)})
		c.ledger.touch(kindClass, id)
	}
}

// weekend is how much of what load rises by on other days it rises by on Saturday and Sunday.
const weekend = 0.4

// stabilize is how many minutes scaling down waits, as HorizontalPodAutoscalers do.
const stabilize = 5

// scale sets a workload's replicas by the load of the moment.
func (c *cluster) scale(l *workload) {
	at := float64(c.now.Sub(midnight())) / float64(c.cfg.Length)
	rise := 0.5 + 0.5*math.Cos(2*math.Pi*(at-l.peak))
	if int(at)%7 >= 5 {
		rise *= weekend
	}
	l.noise = 0.95*l.noise + 0.008*c.dice.NormFloat64()
	want := (l.low + (l.high-l.low)*rise) * (1 + l.noise)
	if l.low == l.high {
		want = l.high
	}
	l.desired = append(l.desired, want)
	l.desired = l.desired[max(0, len(l.desired)-stabilize):]
	const tolerance = 0.1 // a HorizontalPodAutoscaler's
	want = slices.Max(l.desired)
	if most := max(1, int(math.Ceil(want-0.01))); l.replicas == 0 || math.Abs(want/float64(l.replicas)-1) > tolerance && most != l.replicas {
		l.replicas = most
		c.reconcile(l)
	}
}

// rollOut gives a workload a new revision.
func (c *cluster) rollOut(l *workload) {
	l.revision++
	c.addClass(l)
	c.reconcile(l)
}

// reconcile makes and ends pods as a Deployment does: a quarter more than wanted while it rolls, and never fewer ready.
func (c *cluster) reconcile(l *workload) {
	var fresh, old []*pod
	ready := 0
	for _, p := range ordered(l.pods) {
		if p.Terminating {
			continue
		}
		if string(p.Class) == l.class() {
			fresh = append(fresh, p)
		} else {
			old = append(old, p)
		}
		if p.Ready {
			ready++
		}
	}
	surge := 0
	if len(old) > 0 {
		surge = max(1, (l.replicas+3)/4)
	}
	for n := min(l.replicas-len(fresh), l.replicas+surge-len(fresh)-len(old)); n > 0; n-- {
		c.make(l)
	}
	l.heirs = nil
	byWorth(old)
	for _, p := range old {
		switch {
		case !p.Ready && (len(fresh)+len(old) > l.replicas || p.Node == ""):
			c.end(p)
		case p.Ready && ready > l.replicas:
			ready--
			c.end(p)
		}
	}
	byWorth(fresh)
	for _, p := range fresh[:max(0, len(fresh)-l.replicas)] {
		c.end(p)
	}
}

// byWorth puts first those that a ReplicaSet ends first: pending, not ready, then the youngest.
func byWorth(pods []*pod) {
	rank := func(p *pod) int {
		switch {
		case p.Node == "":
			return 0
		case !p.Ready:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(pods, func(a, b *pod) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return b.CreateTime.Compare(a.CreateTime)
	})
}
