// Package nominating brings pods to where the plans have them. Before a node opens it has those bound that can be
// judged here (bind.go), and nominations written for the others, so that the scheduler knows; it writes them when plans
// come, too, and has them taken back. Which pods those are is package nominate's to say. Start reading at Nominations.
package nominating

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// mostNominating is how long a node waits for its pods' nominations before it opens without them.
	mostNominating = 500 * time.Millisecond
	// mostWaiting is how long a node that has joined may take to become ready before it opens all the same: what makes
	// it ready may be a DaemonSet that doesn't tolerate Kerf's taint.
	mostWaiting = time.Minute
	// turns is of how many nodes pods are bound and nominated at once. An API server has no more to give when it is
	// asked for more, and where hundreds of nodes join at once all of their pods' nominations would be late: so the
	// others wait for their turn, and each node opens right after its pods were nominated.
	turns = 8
	// keepEvery and keepTimes are how often nominations are looked after once the node is open.
	keepEvery = 10 * time.Millisecond
	keepTimes = 100
)

// Config is what nominations depend on.
type Config struct {
	// Nominator writes them; nil never does. Always does it without asking first whether that works.
	Nominator cluster.Nominator
	Always    bool

	Agenda   *agenda.Agenda
	Jobs     *jobs.Pool
	Registry *registry.Registry
	Cluster  *observed.Cluster
	Log      *slog.Logger
	// Look has a claim looked at in the next pass: what is said here of its node has changed.
	Look func(model.ClaimID)
	// DaemonsFirst says that drains wait for DaemonSet pods on replacements: then no replacement is kept from them.
	DaemonsFirst bool
}

// Nominations belong to the goroutine that makes the passes. Its workers read what is atomic.
type Nominations struct {
	cfg      Config
	expected atomic.Pointer[nominate.Expected]
	// coming counts the nodes that pods are expected on and that are not open yet; waiting those of them whose pods
	// wait for others.
	coming, waiting atomic.Int64
	// turns holds a token for each node that has its turn.
	turns chan struct{}
	// asked says that it is known whether nominations work; can, that they do, and bind, that pods may be bound.
	asked, can, bind bool
	// fresh says that pods may be expected on nodes that are open without being nominated there.
	fresh bool
	// kept are claims that are kept for pods that are on their way, and firm until when no pods are to go to nodes that
	// are to be removed later, as was said when wasFirm; moving are the disruptions that move pods, and since when:
	// keep.go.
	kept    map[model.ClaimID]*keeping
	moving  map[model.DisruptionID]time.Time
	firm    time.Time
	wasFirm bool
}

// New makes nominations of one who expects no pod anywhere yet.
func New(c Config) *Nominations {
	x := &Nominations{cfg: c, turns: make(chan struct{}, turns), kept: map[model.ClaimID]*keeping{}, moving: map[model.DisruptionID]time.Time{}}
	x.expected.Store(&nominate.Expected{})
	return x
}

// Begin is for a leader that has loaded what is stored.
func (x *Nominations) Begin(ctx context.Context) {
	x.expected.Store(nominate.Restore(x.cfg.Registry.Sorted()))
	switch {
	case x.cfg.Nominator == nil:
		x.found(ctx, false, false, "the configuration says so")
	case x.cfg.Always:
		x.found(ctx, true, true, "the configuration says so")
	}
}

func (x *Nominations) found(ctx context.Context, can, bind bool, why string) {
	x.asked, x.can, x.bind, x.fresh = true, can, bind, true
	x.cfg.Log.InfoContext(ctx, "nominations", "written", can, "why", why)
}

// ask finds out whether nominations work.
func (x *Nominations) ask(ctx context.Context) {
	var can, bind bool
	var why string
	x.cfg.Jobs.Do(ctx, jobs.Job{
		Key: "nominations", First: time.Second, Most: 30 * time.Second,
		Run: func(ctx context.Context) (err error) {
			can, bind, why, err = x.cfg.Nominator.CanNominate(ctx)
			return err
		},
		Done: func(err error) {
			if err != nil {
				x.cfg.Log.WarnContext(ctx, "whether nominations work", "error", err)
				return
			}
			x.found(ctx, can, bind, why)
		},
	})
}

// Took takes a plan's word, after what was accepted of it is stored.
func (x *Nominations) Took(p model.Plan) {
	left := make([]model.PodID, len(p.Pending))
	for i, x := range p.Pending {
		left[i] = x.Pod
	}
	x.expected.Store(nominate.Take(p.Placements, left, x.there))
	x.fresh = true
	x.lookAtDeferred()
	x.cfg.Agenda.Again()
}

func (x *Nominations) there(id model.ClaimID) bool {
	c := x.cfg.Registry.Claims[id]
	return c != nil && c.State < model.ClaimDraining
}

// Opened says that a node has opened. Plans that came while it did may have put more pods there.
func (x *Nominations) Opened() { x.fresh = true }

// Write writes nominations on open nodes, and takes back those that no longer hold.
func (x *Nominations) Write(ctx context.Context) {
	if !x.asked {
		x.ask(ctx)
	}
	if !x.can {
		return
	}
	w := x.world()
	expected := x.expected.Load()
	x.coming.Store(int64(expected.Coming(w, x.there)))
	if x.fresh {
		x.fresh = false
		if due := expected.Due(w); len(due) > 0 {
			x.fresh = !x.cfg.Jobs.Do(ctx, x.job(ctx, "nominate", due))
		}
	}
	if void := expected.Void(x.cfg.Nominator.Nominees(), w); len(void) > 0 {
		x.cfg.Jobs.Do(ctx, x.job(ctx, "void", void))
	}
}

func (x *Nominations) job(ctx context.Context, key string, list []cluster.Nomination) jobs.Job {
	return jobs.Job{
		Key: "nominations/" + key, Kind: jobs.Kube, First: 200 * time.Millisecond, Most: 10 * time.Second, RepeatAfter: 100 * time.Millisecond,
		Run: func(ctx context.Context) error { return x.cfg.Nominator.Nominate(ctx, list) },
		Done: func(err error) {
			if err != nil {
				x.fresh = true
				x.cfg.Log.WarnContext(ctx, "nominate", "pods", len(list), "error", err)
			}
		},
	}
}

// Waits says that a node is not opened yet: its pods would be nominated in vain. The scheduler takes a nomination back when
// it tries the pod and the node has another taint, such as that of a kubelet which is not ready. So Kerf's own goes last.
func (x *Nominations) Waits(c *model.Claim, n *cluster.Node) bool {
	until := n.CreateTime.Add(mostWaiting)
	if !x.can || !nominate.Starting(c, n) || !x.cfg.Agenda.Now().Before(until) || len(x.expected.Load().Opening(c.ID, n.Name, x.world())) == 0 {
		return false
	}
	x.cfg.Agenda.Wake(until)
	return true
}

// Around opens a node by a change as its pods are nominated. The scheduler takes a nomination back when it tries the pod
// before the node is open, and when it takes one back it tries all pods. So all else is done before the nominations are
// written, the taint goes right after, and for a moment what was taken back is nominated again. A worker calls what it
// returns; ctx is the term's.
func (x *Nominations) Around(
	ctx context.Context, claim model.ClaimID, change cluster.NodeChange, update func(context.Context, cluster.NodeChange) error,
) func(context.Context) error {
	whole := func(ctx context.Context) error { return update(ctx, change) }
	if !x.can {
		return whole
	}
	o := x.opening(claim, change.Node)
	if len(x.due(o)) == 0 {
		return whole
	}
	before, open := Closed(change), cluster.NodeChange{
		Node: change.Node, UID: change.UID, ProviderID: change.ProviderID, RemoveTaints: change.RemoveTaints,
	}
	return func(job context.Context) error {
		if err := update(job, before); err != nil {
			return err
		}
		b := x.binding(o)
		list := b.run(job)
		b.settle(job)
		if err := x.turn(job, func() error {
			x.nominate(job, o.node, list)
			return update(job, open)
		}); err != nil {
			return err
		}
		x.cfg.Jobs.Go(func() { x.keep(ctx, o.node, list, o.world) })
		return nil
	}
}

// Closed is all of the change that opens a node but that: pods that are bound stay under a taint that only keeps others
// off.
func Closed(change cluster.NodeChange) cluster.NodeChange {
	change.AddTaints = append(slices.Clone(change.AddTaints), model.Taint{Key: labels.TaintUnregistered, Effect: model.NoSchedule})
	change.RemoveTaints = []model.Taint{{Key: labels.TaintUnregistered, Effect: model.NoExecute}}
	return change
}

// turn does something when it is the caller's turn.
func (x *Nominations) turn(ctx context.Context, do func() error) error {
	select {
	case x.turns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.turns }()
	return do()
}

// keep nominates again what the scheduler has taken back, until all pods have a node, it is late, or an API server that
// has too much to do refuses: with thousands of nodes it would get nothing else done.
func (x *Nominations) keep(ctx context.Context, node model.NodeName, list []cluster.Nomination, w nominate.World) {
	for range keepTimes {
		select {
		case <-ctx.Done():
			return
		case <-time.After(keepEvery):
		}
		list = slices.DeleteFunc(list, func(n cluster.Nomination) bool {
			_, unbound := w.Unbound(n.Pod.ID)
			return !unbound
		})
		if len(list) == 0 {
			return
		}
		if again := nominate.Again(list, w); len(again) > 0 && !x.nominate(ctx, node, again) {
			return
		}
	}
}

// opening is a node that opens.
type opening struct {
	claim model.ClaimID
	node  model.NodeName
	room  *nominate.Room // nil where it is not known
	world nominate.World
	// arrivals are pods that come in place of moved ones, beside those that the plans name.
	arrivals nominate.Arrivals
}

func (x *Nominations) opening(claim model.ClaimID, node model.NodeName) opening {
	o := opening{claim: claim, node: node, world: x.world()}
	if n := o.world.Node(claim); n != nil {
		o.room = nominate.NewRoom(x.cfg.Registry.Claims[claim], n.Allocatable)
	}
	return o
}

// due are the nominations to write on a node that opens, by the newest plan.
func (x *Nominations) due(o opening) []cluster.Nomination {
	return x.expected.Load().Opening(o.claim, o.node, o.world)
}

// nominate says whether all could be written.
func (x *Nominations) nominate(ctx context.Context, node model.NodeName, list []cluster.Nomination) bool {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, mostNominating)
	defer cancel()
	if err := x.cfg.Nominator.Nominate(ctx, list); err != nil {
		x.cfg.Log.WarnContext(ctx, "nominate", "node", node, "pods", len(list), "took", time.Since(began), "error", err)
		return false
	}
	return true
}

func (x *Nominations) world() nominate.World {
	return nominate.World{
		Unbound: x.cfg.Nominator.Unbound, Waiting: x.cfg.Nominator.Waiting,
		Node: func(id model.ClaimID) *cluster.Node {
			if c := x.cfg.Registry.Claims[id]; c != nil {
				return x.cfg.Cluster.Node(c)
			}
			return nil
		},
		Named: x.cfg.Cluster.Named,
	}
}
