package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/claimspans"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/nominating"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/outbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
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
	classes     *market.Classes
	claims      *claims
	nominations *nominating.Nominations
	outbox      *outbox.Outbox
}

func newEffects(t *term) *effects {
	return &effects{
		cfg: t.cfg, agenda: t.agenda, jobs: t.jobs, registry: t.registry, cluster: t.cluster, instances: t.instances, classes: t.classes,
		claims: t.claims, nominations: t.nominations, outbox: t.outbox,
	}
}

// act carries an effect out. The claim was stored as it is here.
func (x *effects) act(ctx context.Context, e claimEffect) {
	c := *e.claim
	switch e.effect.Kind {
	case lifecycle.EffectLaunch:
		x.launch(ctx, c)
	case lifecycle.EffectTerminate:
		x.terminate(ctx, c)
	case lifecycle.EffectEvict:
		e.effect.Eviction.Node, e.effect.Eviction.Why = c.Node, c.DisruptionReason
		x.evict(ctx, e.effect.Eviction)
	case lifecycle.EffectUnspecified:
	default:
		n := x.cluster.Node(&c)
		if n == nil || e.effect.Kind == lifecycle.EffectSyncNode && x.nominations.Waits(&c, n) {
			return // the next pass asks again
		}
		x.changeNode(ctx, c, nodeChange(c, n, e.effect.Kind), e.effect.Kind)
	}
}

// token is the launch's name for EC2: the same for every repetition of an attempt, by every leader. It is of the cluster
// too, because EC2 keeps tokens per account.
func (x *effects) token(c model.Claim) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", x.cfg.Cluster, c.ID, c.Attempt))
	return "kerf-" + hex.EncodeToString(sum[:16])
}

func (x *effects) launch(ctx context.Context, c model.Claim) {
	class := x.classes.Get(c.NodeClass)
	if class == nil || !class.NotReady().OK() || x.instances.AskedAt(c.ID).IsZero() {
		x.agenda.Wake(x.agenda.Now().Add(time.Second)) // the launch timeout sees to it that this ends
		return
	}
	r := x.request(c, class)
	x.classes.Launches()
	var got cloud.Instance
	x.jobs.Do(ctx, jobs.Job{
		Key: launchKey(c), Kind: jobs.Launch, For: "/" + string(c.ID), First: time.Second, Most: 30 * time.Second,
		RepeatAfter: time.Minute, // the answer moves the claim on
		Run: func(ctx context.Context) error {
			return claimspans.Launched(ctx, x.cfg.Tracer, c, func(ctx context.Context) (err error) {
				got, err = x.cfg.Cloud.Launch(ctx, r)
				return err
			})
		},
		Done: func(err error) { x.launched(ctx, c, got, err) },
	})
}

func launchKey(c model.Claim) string { return fmt.Sprintf("launch/%d/%s", c.Attempt, c.ID) }

// request is what EC2 is asked for. It takes one capacity type at a time; the best offering's goes first.
func (x *effects) request(c model.Claim, class *market.Class) cloud.Request {
	r := cloud.Request{
		Claim: c.ID, Token: x.token(c), NodePool: c.NodePool, Class: class.Resolved(), Spec: class.Spec,
		MaxPods: map[model.TypeName]int64{}, EFA: c.Requests.Value(instancetype.EFA) > 0,
	}
	first := c.Offerings[0].CapacityType
	for _, o := range c.Offerings {
		if o.CapacityType == first {
			r.Offerings = append(r.Offerings, o)
			r.MaxPods[o.InstanceType] = amount(class.Shapes()[o.InstanceType].Allocatable, model.Pods)
		}
	}
	for _, l := range c.Labels {
		if l.Key != labels.CapacityType {
			r.Labels = append(r.Labels, l)
		}
	}
	r.Labels = append(r.Labels, model.Label{Key: labels.CapacityType, Value: first.String()})
	r.Taints = slices.Concat(c.Taints, c.StartupTaints, []model.Taint{{Key: labels.TaintUnregistered, Effect: model.NoExecute}})
	return r
}

func amount(list model.Amounts, r model.Resource) int64 {
	for _, a := range list {
		if a.Resource == r {
			return a.Value
		}
	}
	return 0
}

// launched turns the launch's answer into an event. Shortages are stored at once: plans are checked against them.
func (x *effects) launched(ctx context.Context, c model.Claim, i cloud.Instance, err error) {
	if err == nil {
		x.storeShortages(ctx, i.Short)
		x.claims.happened(c.ID, lifecycle.Event{Kind: lifecycle.EventLaunched, Instance: x.claims.record(&c, i)})
		return
	}
	e := lifecycle.LaunchFailed(c, err)
	switch e.Failure {
	case lifecycle.FailureCapacity:
		x.storeShortages(ctx, lifecycle.Shortages(c, err))
		e.Offerings = x.untried(c)
	case lifecycle.FailureRefused:
		x.classes.Refused(c.NodeClass, e.Reason.Message, err)
	case lifecycle.FailureLater:
		next := c
		next.Attempt++
		x.jobs.Inherit(launchKey(next), launchKey(c))
	case lifecycle.FailureRetry, lifecycle.FailureUnspecified:
		x.instances.PollNow(c.ID)
	}
	claimspans.Refused(ctx, x.cfg.Log, c, err)
	x.claims.happened(c.ID, e)
}

// storeShortages remembers what EC2 has none of. Where it can't be stored the term is over.
func (x *effects) storeShortages(ctx context.Context, short []model.Shortage) {
	if len(short) == 0 {
		return
	}
	var b store.Batch
	for _, s := range short {
		s.Until = time.Now().Add(x.cfg.Intervals.Shortage)
		b.PutShortages = append(b.PutShortages, s)
	}
	if _, err := x.registry.Write(ctx, b); err != nil {
		x.cfg.Log.WarnContext(ctx, "store shortages", "error", err)
	}
}

// untried is what is left of a claim's offerings: those that EC2 was not asked for, or did not say it has none of.
func (x *effects) untried(c model.Claim) []model.RankedOffering {
	x.agenda.Look(time.Now())
	left := x.claims.available(c.Offerings)
	if len(left) < len(c.Offerings) {
		return left
	}
	return nil // EC2 named none of them; asking for the same again would go on for ever
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
	x.instances.PollNow(c.ID)
	if len(ids) == 0 {
		return
	}
	var list []string
	for id := range ids {
		list = append(list, id)
	}
	x.jobs.Do(ctx, jobs.Job{
		Key: "terminate/" + string(c.ID), First: time.Second, Most: 30 * time.Second, RepeatAfter: 10 * time.Second,
		Run:  func(ctx context.Context) error { return x.cfg.Cloud.Terminate(ctx, list...) },
		Done: jobs.LogFailure(ctx, x.cfg.Log, "terminate", slog.Any("claim", c.ID)),
	})
}

func (x *effects) evict(ctx context.Context, e cluster.Eviction) {
	name := e.Namespace + "/" + e.Name
	key := "evict/" + e.UID
	if e.Force {
		key = "delete/" + e.UID // a refused eviction must not hold up a deletion
	}
	x.jobs.Do(ctx, jobs.Job{
		Key: key, Kind: jobs.Evict, First: 100 * time.Millisecond, Most: 10 * time.Second, RepeatAfter: 2 * time.Second,
		Run: func(ctx context.Context) error { return ignoreNotFound(x.cfg.Kube.Evict(ctx, e)) },
		Done: func(err error) {
			switch {
			case err == nil:
				delete(x.claims.refused, name)
				x.outbox.Evicted(e)
			case errors.Is(err, cluster.ErrBlocked):
				x.claims.refused[name] = "its PodDisruptionBudget allows no eviction now"
			default:
				x.claims.refused[name] = err.Error()
				x.cfg.Log.WarnContext(ctx, "evict", "pod", name, "error", err)
			}
		},
	})
}

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
	deferred := []model.Taint{{Key: labels.TaintRemovalDeferred, Effect: model.PreferNoSchedule}}
	change := cluster.NodeChange{Node: n.Name, UID: n.UID, ProviderID: c.ProviderID}
	switch kind {
	case lifecycle.EffectSyncNode:
		change.Owner, change.Finalizer = c.ID, &yes
		change.SetLabels = values(c.Labels)
		change.SetLabels[labels.Registered], change.SetLabels[labels.Claim] = "true", string(c.ID)
		change.SetAnnotations = values(c.Annotations)
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
		change.AddTaints = deferred
	case lifecycle.EffectEncourageNode:
		change.RemoveTaints = deferred
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
	update := func(ctx context.Context, change cluster.NodeChange) error {
		return ignoreNotFound(x.cfg.Kube.UpdateNode(ctx, change))
	}
	run, slot := func(ctx context.Context) error { return update(ctx, change) }, jobs.Kube
	if kind == lifecycle.EffectSyncNode {
		slot = jobs.Open
		run = x.nominations.Around(ctx, c.ID, change, update)
	}
	x.jobs.Do(ctx, jobs.Job{
		// The kind and the state are part of the key: what is wanted of a node changes faster than a pause ends.
		Key: "node/" + kind.String() + "/" + c.State.String() + "/" + string(c.ID), Kind: slot,
		First: 200 * time.Millisecond, Most: 10 * time.Second, RepeatAfter: 500 * time.Millisecond,
		Run:  run,
		Done: jobs.LogFailure(ctx, x.cfg.Log, "update node", slog.Any("node", change.Node), slog.Any("claim", c.ID)),
	})
}
