package loop

import (
	"context"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/model"
)

// mostNominating is how long a node waits for its pods' nominations before it opens without them.
const mostNominating = 500 * time.Millisecond

// nominations tell the scheduler where the plans have pods. Which those are is package nominate's to say.
type nominations struct {
	cfg      Config
	agenda   *agenda.Agenda
	jobs     *jobs.Pool
	registry *registry.Registry
	cluster  *observed.Cluster

	expected nominate.Expected
	// asked says that it is known whether nominations work; can, that they do.
	asked, can bool
	// fresh says that pods may be expected on nodes that are open without being nominated there.
	fresh bool
}

func newNominations(t *term) *nominations {
	return &nominations{cfg: t.cfg, agenda: t.agenda, jobs: t.jobs, registry: t.registry, cluster: t.cluster}
}

// begin is for a leader that has loaded what is stored.
func (x *nominations) begin(ctx context.Context) {
	x.expected.Restore(x.registry.Sorted())
	switch {
	case x.cfg.Nominator == nil:
		x.found(ctx, false, "the configuration says so")
	case x.cfg.AlwaysNominate:
		x.found(ctx, true, "the configuration says so")
	}
}

func (x *nominations) found(ctx context.Context, can bool, why string) {
	x.asked, x.can, x.fresh = true, can, true
	x.cfg.Log.InfoContext(ctx, "nominations", "written", can, "why", why)
}

// ask finds out whether nominations work.
func (x *nominations) ask(ctx context.Context) {
	var can bool
	var why string
	x.jobs.Do(ctx, jobs.Job{
		Key: "nominations", First: time.Second, Most: 30 * time.Second,
		Run: func(ctx context.Context) (err error) {
			can, why, err = x.cfg.Nominator.CanNominate(ctx)
			return err
		},
		Done: func(err error) {
			if err != nil {
				x.cfg.Log.WarnContext(ctx, "whether nominations work", "error", err)
				return
			}
			x.found(ctx, can, why)
		},
	})
}

// took takes a plan's word, after what was accepted of it is stored.
func (x *nominations) took(p model.Plan) {
	left := make([]model.PodID, len(p.Pending))
	for i, x := range p.Pending {
		left[i] = x.Pod
	}
	x.expected.Take(p.Placements, left, func(id model.ClaimID) bool {
		c := x.registry.Claims[id]
		return c != nil && c.State < model.ClaimDraining
	})
	x.fresh = true
	x.agenda.Again()
}

// opened says that a node has opened. Plans that came while it did may have put more pods there.
func (x *nominations) opened() { x.fresh = true }

// write writes nominations on open nodes, and takes back those that no longer hold.
func (x *nominations) write(ctx context.Context) {
	if !x.asked {
		x.ask(ctx)
	}
	if !x.can {
		return
	}
	w := x.world()
	if x.fresh {
		x.fresh = false
		if due := x.expected.Due(w); len(due) > 0 {
			x.fresh = !x.jobs.Do(ctx, x.job(ctx, "nominate", due))
		}
	}
	if void := x.expected.Void(x.cfg.Nominator.Nominees(), w); len(void) > 0 {
		x.jobs.Do(ctx, x.job(ctx, "void", void))
	}
}

func (x *nominations) job(ctx context.Context, key string, list []cluster.Nomination) jobs.Job {
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

// before returns what is to be done before a node opens: its pods are nominated, for as long as that doesn't keep it
// closed. It is called by a worker.
func (x *nominations) before(claim model.ClaimID, node model.NodeName) func(context.Context) {
	if !x.can {
		return func(context.Context) {}
	}
	list := x.expected.Opening(claim, node, x.world())
	return func(ctx context.Context) {
		if len(list) == 0 {
			return
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, mostNominating)
		defer cancel()
		if err := x.cfg.Nominator.Nominate(ctx, list); err != nil {
			x.cfg.Log.WarnContext(ctx, "nominate", "node", node, "pods", len(list), "took", time.Since(began), "error", err)
		}
	}
}

func (x *nominations) world() nominate.World {
	return nominate.World{
		Unbound: x.cfg.Nominator.Unbound,
		Node: func(id model.ClaimID) *cluster.Node {
			if c := x.registry.Claims[id]; c != nil {
				return x.cluster.Node(c)
			}
			return nil
		},
		Named: x.cluster.Named,
	}
}
