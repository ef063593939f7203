package loop

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/launching"
	"github.com/kerf-dev/kerf/services/actuator/internal/nominating"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/outbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// effects carries out what claims ask for. Nothing of it is decided here but which request says it.
type effects struct {
	cfg         Config
	agenda      *agenda.Agenda
	jobs        *jobs.Pool
	registry    *registry.Registry
	cluster     *observed.Cluster
	instances   *observed.Instances
	launching   *launching.Launching
	claims      *claims
	nominations *nominating.Nominations
	outbox      *outbox.Outbox
}

func newEffects(t *term) *effects {
	return &effects{
		cfg: t.cfg, agenda: t.agenda, jobs: t.jobs, registry: t.registry, cluster: t.cluster, instances: t.instances, launching: t.launching,
		claims: t.claims, nominations: t.nominations, outbox: t.outbox,
	}
}

// act carries an effect out. The claim was stored as it is here.
func (x *effects) act(ctx context.Context, e claimEffect) {
	c := *e.claim
	switch e.effect.Kind {
	case lifecycle.EffectLaunch:
		x.launching.Launch(ctx, c)
	case lifecycle.EffectTerminate:
		x.terminate(ctx, c)
	case lifecycle.EffectEvict:
		e.effect.Eviction.Node, e.effect.Eviction.Why = c.Node, c.DisruptionReason
		x.evict(ctx, e.effect.Eviction)
	case lifecycle.EffectAskPods:
		x.askPods(ctx, c)
	case lifecycle.EffectUnspecified:
	default:
		n := x.cluster.Node(&c)
		if n == nil || e.effect.Kind == lifecycle.EffectSyncNode && !x.nominations.Keeps(c.ID) && x.nominations.Waits(&c, n) {
			return // the next pass asks again
		}
		x.changeNode(ctx, c, nodeChange(c, n, e.effect.Kind), e.effect.Kind)
	}
}

func (x *effects) terminate(ctx context.Context, c model.Claim) {
	ids := map[string]bool{}
	if c.InstanceID != "" {
		ids[c.InstanceID] = true
	}
	for _, i := range x.instances.Of(c.ID) {
		if i.State.Alive() {
			ids[i.ID] = true
		} else {
			delete(ids, i.ID)
		}
	}
	key := "terminate/" + string(c.ID)
	if x.jobs.Fails(key) == 0 { // of one that EC2 refuses to end there is nothing to see
		x.instances.PollNow(c.ID)
	}
	if len(ids) == 0 {
		return
	}
	var list []string
	for id := range ids {
		list = append(list, id)
	}
	x.jobs.Do(ctx, jobs.Job{
		Key: key, Kind: jobs.End, First: time.Second, Most: 30 * time.Second, RepeatAfter: 10 * time.Second,
		Run: func(ctx context.Context) error { return x.cfg.Cloud.Terminate(ctx, list...) },
		Done: func(err error) {
			x.jobs.LogFailure(ctx, x.cfg.Log, key, "terminate", slog.Any("claim", c.ID))(err)
			if errors.Is(err, cloud.ErrUnauthorized) {
				x.outbox.NotEnded(c, err)
			}
		},
	})
}

// byBudget is why a pod's eviction was refused that waits for its budget.
func byBudget(err error) string {
	words := "its " + cluster.ErrBlocked.Error()
	if b, ok := errors.AsType[*cluster.Blocked](err); ok {
		words += ": " + b.Says
	}
	return words
}

func (x *effects) evict(ctx context.Context, e cluster.Eviction) {
	name := e.Namespace + "/" + e.Name
	key := "evict/" + e.UID
	if e.Force {
		key = "delete/" + e.UID // a refused eviction must not hold up a deletion
	}
	e.Refused = x.jobs.Fails(key) > 0
	x.jobs.Do(ctx, jobs.Job{
		Key: key, Kind: jobs.Evict, Queue: true, First: 100 * time.Millisecond, Most: 10 * time.Second, RepeatAfter: 2 * time.Second,
		Run: func(ctx context.Context) error { return ignoreNotFound(x.cfg.Kube.Evict(ctx, e)) },
		Done: func(err error) {
			switch {
			case err == nil:
				delete(x.claims.refused, name)
				delete(x.claims.held, name)
				x.outbox.Evicted(e)
			case errors.Is(err, cluster.ErrBlocked): // which is nothing for the log
				x.claims.refused[name], x.claims.held[name] = byBudget(err), true
			default:
				if x.claims.held[name] || jobs.Telling(x.jobs.Fails(key)) {
					x.cfg.Log.WarnContext(ctx, "evict", "pod", name, "error", err)
				}
				x.claims.refused[name] = err.Error()
				delete(x.claims.held, name)
			}
		},
	})
}

// askTime bounds how long the API server is waited for: other questions wait for the slot, and it is asked again. It is
// waited for twice as long each time, up to mostAskTime: one that never answers in so little is not asked for ever.
const (
	askTime     = 10 * time.Second
	mostAskTime = 80 * time.Second
)

// askPods asks the API server for the pods of a node of which none is seen.
func (x *effects) askPods(ctx context.Context, c model.Claim) {
	n := x.cluster.Node(&c)
	if n == nil {
		return // the next pass asks again
	}
	key := "pods/" + string(c.ID)
	failed := x.jobs.LogFailure(ctx, x.cfg.Log, key, "list the pods of a node", slog.Any("node", n.Name), slog.Any("claim", c.ID))
	patience := min(mostAskTime, askTime<<min(x.jobs.Fails(key), 10))
	var pods []cluster.Pod
	x.jobs.Do(ctx, jobs.Job{
		Key: key, Kind: jobs.Ask, Queue: true, First: 200 * time.Millisecond, Most: 10 * time.Second, RepeatAfter: 2 * time.Second,
		Run: func(ctx context.Context) (err error) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			pods, err = x.cfg.Kube.PodsOn(ctx, n.Name)
			return err
		},
		Done: func(err error) {
			failed(err)
			if x.passes(key, err) {
				return
			}
			x.claims.answered(c.ID, n, pods, err)
		},
	})
}

// passes says that an error is the first of its work: what is over when it is tried again, a moment later, holds no
// drain up.
func (x *effects) passes(key string, err error) bool { return err != nil && x.jobs.Fails(key) < 2 }

// ignoreNotFound is for what is as it should be once it is gone: the cache will show it.
func ignoreNotFound(err error) error {
	if errors.Is(err, cluster.ErrNotFound) {
		return nil
	}
	return err
}

// nodeChange is what an effect means for the claim's node.
func nodeChange(c model.Claim, n *cluster.Node, kind lifecycle.EffectKind) cluster.NodeChange {
	yes, no := true, false
	disrupted := []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}}
	soft := []model.Taint{{Key: labels.TaintRemovalDeferred, Effect: model.PreferNoSchedule}}
	hard := []model.Taint{{Key: labels.TaintRemovalDeferred, Effect: model.NoSchedule}}
	change := cluster.NodeChange{Node: n.Name, UID: n.UID, ProviderID: c.ProviderID}
	switch kind {
	case lifecycle.EffectSyncNode:
		change.Owner, change.Finalizer = c.ID, &yes
		change.SetLabels = values(c.Labels)
		change.SetLabels[labels.Registered], change.SetLabels[labels.Claim] = "true", string(c.ID)
		change.SetAnnotations = values(c.Annotations)
		if c.ReservationID == "" {
			change.RemoveLabels = labels.Reservation()
		}
		if n.Labels[labels.DoNotSyncTaints] != "true" {
			change.AddTaints = c.Taints
		}
		change.RemoveTaints = []model.Taint{
			{Key: labels.TaintUnregistered, Effect: model.NoExecute}, {Key: labels.TaintUnregistered, Effect: model.NoSchedule},
		}
	case lifecycle.EffectInitializeNode:
		change.SetLabels = map[string]string{labels.Initialized: "true"}
	case lifecycle.EffectTaintNode:
		change.AddTaints = disrupted
		if c.State >= model.ClaimDraining {
			change.SetLabels = map[string]string{labels.ExcludeBalancers: labels.ExcludeBalancersValue}
		}
	case lifecycle.EffectUntaintNode:
		change.RemoveTaints = disrupted
	case lifecycle.EffectDiscourageNode:
		change.AddTaints, change.RemoveTaints = soft, hard
	case lifecycle.EffectShutNode:
		change.AddTaints, change.RemoveTaints = hard, soft
	case lifecycle.EffectEncourageNode:
		change.RemoveTaints = slices.Concat(soft, hard)
	case lifecycle.EffectRemoveNode:
		change.Finalizer, change.Delete = &no, true
	default:
	}
	return change
}

func values(list model.Labels) map[string]string {
	out := map[string]string{}
	for _, x := range list {
		out[x.Key] = x.Value
	}
	return out
}

func (x *effects) changeNode(ctx context.Context, c model.Claim, change cluster.NodeChange, kind lifecycle.EffectKind) {
	// The kind and the state are part of the key: what is wanted of a node changes faster than a pause ends.
	key := "node/" + kind.String() + "/" + c.State.String() + "/" + string(c.ID)
	change.Refused = x.jobs.Fails(key) > 2 // once may be for the moment
	update := func(ctx context.Context, change cluster.NodeChange) error {
		return ignoreNotFound(x.cfg.Kube.UpdateNode(ctx, change))
	}
	run, slot := func(ctx context.Context) error { return update(ctx, change) }, jobs.Kube
	switch {
	case kind != lifecycle.EffectSyncNode:
	case x.nominations.Keeps(c.ID):
		change = nominating.Closed(change)
	default:
		slot = jobs.Open
		run = x.nominations.Around(ctx, c.ID, change, update)
	}
	failed := x.jobs.LogFailure(ctx, x.cfg.Log, key, "update node", slog.Any("node", change.Node), slog.Any("claim", c.ID))
	x.jobs.Do(ctx, jobs.Job{
		Key: key, Kind: slot, Queue: slot == jobs.Kube,
		First: 200 * time.Millisecond, Most: 10 * time.Second, RepeatAfter: 500 * time.Millisecond,
		Run: run,
		Done: func(err error) {
			failed(err)
			if kind == lifecycle.EffectTaintNode && c.State == model.ClaimDraining && !x.passes(key, err) {
				x.claims.shut(c.ID, change.Node, err)
			}
		},
	})
}
