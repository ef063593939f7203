package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// slots bound how much goes on at once. Calls to Kubernetes have their own, so that a slow AWS keeps no node from being
// tainted.
type slots struct{ launch, evict, kube, other chan struct{} }

func newSlots(c Config) slots {
	return slots{
		launch: make(chan struct{}, c.Launches), evict: make(chan struct{}, c.Evictions),
		kube: make(chan struct{}, kubeWorkers), other: make(chan struct{}, otherWorkers),
	}
}

const (
	// workTimeout bounds one piece of work: a connection that hangs must not hang what it was for.
	workTimeout = 2 * time.Minute
	// taskMemory is how long a piece of work is remembered after it might have been repeated.
	taskMemory = 5 * time.Minute
)

// task is what the owner knows of a piece of work: it runs, or when it may run again.
type task struct {
	running bool
	fails   int
	notYet  time.Time
}

// job is a piece of work. Run is called by a worker; Done, if set, by the owner with Run's result.
type job struct {
	key  string
	slot chan struct{}
	run  func(context.Context) error
	done func(error)
	// calm is how long after a success the same work is not repeated: until its effect can be seen.
	calm time.Duration
	// first and most bound the pauses after failures, which double.
	first, most time.Duration
}

// do starts the job in a goroutine, unless the same work goes on, has to wait, or all slots are taken: then a later pass
// asks for it again if it is still wanted. So nothing is done that was given up while it stood in line.
func (l *leader) do(ctx context.Context, j job) {
	t := l.tasks[j.key]
	if t == nil {
		t = &task{}
		l.tasks[j.key] = t
	}
	if t.running {
		return
	}
	if l.now.Before(t.notYet) {
		l.wake(t.notYet)
		return
	}
	select {
	case j.slot <- struct{}{}:
	default:
		return // the end of whatever has the slot makes a pass
	}
	t.running = true
	l.workers.Go(func() {
		err := work(ctx, j)
		finish := func() { l.finish(j, t, err) }
		select {
		case l.results <- finish:
		case <-ctx.Done():
		}
	})
}

// work runs a job in the slot that was taken for it.
func work(ctx context.Context, j job) error {
	defer func() { <-j.slot }()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	return j.run(ctx)
}

func (l *leader) finish(j job, t *task, err error) {
	t.running = false
	if err == nil {
		t.fails, t.notYet = 0, time.Now().Add(j.calm)
	} else {
		pause := j.most
		if t.fails < 20 {
			pause = min(j.most, j.first<<t.fails)
		}
		t.fails++
		t.notYet = time.Now().Add(pause)
	}
	if j.done != nil {
		j.done(err)
	}
}

// tidy forgets work that was not asked for in a while, and refusals of pods that are no more: most work is done once.
func (l *leader) tidy() {
	if l.now.Before(l.tidied.Add(taskMemory)) {
		return
	}
	l.tidied = l.now
	for key, t := range l.tasks {
		if !t.running && l.now.After(t.notYet.Add(taskMemory)) {
			delete(l.tasks, key)
		}
	}
	there := map[string]bool{}
	for _, n := range l.seen.Nodes {
		for _, p := range n.Pods {
			there[p.Namespace+"/"+p.Name] = true
		}
	}
	for name := range l.blocked {
		if !there[name] {
			delete(l.blocked, name)
		}
	}
}

// forget drops what is remembered of a claim's work.
func (l *leader) forget(id model.ClaimID) {
	for key := range l.tasks {
		if strings.HasSuffix(key, "/"+string(id)) {
			delete(l.tasks, key)
		}
	}
}

// act carries an effect out. The claim was stored as it is here.
func (l *leader) act(ctx context.Context, e claimEffect) {
	c := *e.claim
	switch e.effect.Kind {
	case lifecycle.EffectLaunch:
		l.launch(ctx, c)
	case lifecycle.EffectTerminate:
		l.terminate(ctx, c)
	case lifecycle.EffectEvict:
		l.evict(ctx, e.effect.Eviction)
	case lifecycle.EffectUnspecified:
	default:
		if change, ok := l.nodeChange(c, e.effect.Kind); ok {
			l.changeNode(ctx, c, change, e.effect.Kind)
		}
	}
}

// token is the launch's name for EC2: the same for every repetition of an attempt, by whomever. It is of the cluster
// too, because EC2 keeps tokens per account.
func (l *leader) token(c model.Claim) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", l.cfg.Cluster, c.ID, c.Attempt))
	return "kerf-" + hex.EncodeToString(sum[:16])
}

func (l *leader) launch(ctx context.Context, c model.Claim) {
	class, ok := l.world.classes[c.NodeClass]
	if !ok || class.notReady() != (model.Reason{}) || l.listed.IsZero() {
		l.wake(l.now.Add(time.Second)) // the launch timeout sees to it that this ends
		return
	}
	r := cloud.Request{
		Claim: c.ID, Token: l.token(c), NodePool: c.NodePool, Class: class.class, Spec: class.spec,
		Labels: c.Labels, MaxPods: map[model.TypeName]int64{},
	}
	// EC2 takes one capacity type at a time; the best offering's goes first.
	for _, o := range c.Offerings {
		if o.CapacityType == c.Offerings[0].CapacityType {
			r.Offerings = append(r.Offerings, o)
			r.MaxPods[o.InstanceType] = pods(class.shapes()[o.InstanceType].Allocatable)
		}
	}
	r.Labels = withLabel(r.Labels, "karpenter.sh/capacity-type", c.Offerings[0].CapacityType.String())
	r.Taints = append(r.Taints, c.Taints...)
	r.Taints = append(r.Taints, c.StartupTaints...)
	r.Taints = append(r.Taints, model.Taint{Key: lifecycle.TaintUnregistered, Effect: model.NoExecute})
	l.world.unswept = true

	var got cloud.Instance
	l.do(ctx, job{
		key: launchKey(c), slot: l.slots.launch, first: time.Second, most: 30 * time.Second,
		calm: time.Minute, // the answer moves the claim on
		run: func(ctx context.Context) error {
			return l.traced(ctx, "actuator.Launch", c, func(ctx context.Context) (err error) {
				got, err = l.cfg.Cloud.Launch(ctx, r)
				return err
			})
		},
		done: func(err error) { l.launched(ctx, c, got, err) },
	})
}

func pods(amounts model.Amounts) int64 {
	for _, a := range amounts {
		if a.Resource == instancetype.Pods {
			return a.Value
		}
	}
	return 0
}

func withLabel(labels model.Labels, key, value string) model.Labels {
	out := make(model.Labels, 0, len(labels)+1)
	for _, x := range labels {
		if x.Key != key {
			out = append(out, x)
		}
	}
	return append(out, model.Label{Key: key, Value: value})
}

// launched turns the launch's answer into an event. Shortages are stored at once, whoever else wants to know.
func (l *leader) launched(ctx context.Context, c model.Claim, i cloud.Instance, err error) {
	if err == nil {
		l.enqueue(c.ID, lifecycle.Event{Kind: lifecycle.EventLaunched, Instance: l.record(c, i)})
		return
	}
	e := lifecycle.Event{Kind: lifecycle.EventLaunchFailed, Failure: lifecycle.FailureRetry}
	e.Reason = model.Reason{Code: model.CodeLaunchRefused, Message: plain(err), Subject: "nodeclaim/" + string(c.ID)}
	var capacity *cloud.CapacityError
	switch {
	case errors.As(err, &capacity):
		l.short(ctx, c, capacity)
		e.Failure, e.Reason.Code = lifecycle.FailureCapacity, model.CodeInsufficientCapacity
		e.Offerings = l.untried(c)
	case errors.Is(err, cloud.ErrClassNotReady):
		e.Failure, e.Reason.Code = lifecycle.FailureRefused, model.CodeNodeClassNotReady
		l.world.resolveNow(c.NodeClass)
		l.hold(c.NodeClass, e.Reason.Message)
	case errors.Is(err, cloud.ErrInvalid):
		e.Failure = lifecycle.FailureRefused
		l.hold(c.NodeClass, e.Reason.Message)
	case errors.Is(err, cloud.ErrTokenMismatch):
		e.Failure = lifecycle.FailureRefused
	case errors.Is(err, cloud.ErrNoInstance):
		e.Failure = lifecycle.FailureLater
		l.inherit(c)
	default:
		l.pollNow = true
	}
	if errors.Is(err, cloud.ErrThrottled) {
		e.Reason.Code = model.CodeThrottled
	}
	l.cfg.Log.WarnContext(ctx, "launch", "claim", c.ID, "attempt", c.Attempt, "error", err)
	l.enqueue(c.ID, e)
}

// plain is an error without the number that AWS gives each request: what is said again would look new each time.
func plain(err error) string {
	before, after, found := strings.Cut(err.Error(), "RequestID: ")
	if _, rest, ok := strings.Cut(after, ", "); found && ok {
		return before + rest
	}
	return before + after
}

// inherit lets the next attempt wait as long as a repetition of this one would.
func (l *leader) inherit(c model.Claim) {
	if t := l.tasks[launchKey(c)]; t != nil {
		next := c
		next.Attempt++
		l.tasks[launchKey(next)] = &task{fails: t.fails, notYet: t.notYet}
	}
}

func launchKey(c model.Claim) string { return fmt.Sprintf("launch/%d/%s", c.Attempt, c.ID) }

// short remembers what EC2 has none of. An error that names no offering is about all that were asked for.
func (l *leader) short(ctx context.Context, c model.Claim, err *cloud.CapacityError) {
	shortages := slices.DeleteFunc(slices.Clone(err.Offerings), func(s model.Shortage) bool { return s.InstanceType == "" })
	if len(shortages) == 0 {
		for _, o := range c.Offerings {
			if o.CapacityType == c.Offerings[0].CapacityType {
				shortages = append(shortages, model.Shortage{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType})
			}
		}
	}
	var b store.Batch
	for _, s := range shortages {
		s.Until = time.Now().Add(l.cfg.Intervals.Shortage)
		if s.Message == "" {
			s.Message = err.Message
		}
		b.PutShortages = append(b.PutShortages, s)
	}
	l.failure = errors.Join(l.failure, l.write(ctx, b))
}

// untried is what is left of a claim's offerings: those that EC2 was not asked for, or did not say it has none of.
func (l *leader) untried(c model.Claim) []model.RankedOffering {
	l.now = time.Now()
	left := l.available(c.Offerings)
	if len(left) < len(c.Offerings) {
		return left
	}
	return nil // EC2 named none of them; asking for the same again would go on for ever
}

func (l *leader) terminate(ctx context.Context, c model.Claim) {
	ids := map[string]bool{}
	if c.InstanceID != "" {
		ids[c.InstanceID] = true
	}
	for _, i := range l.byClaim[c.ID] {
		if i.State.Alive() {
			ids[i.ID] = true
		} else {
			delete(ids, i.ID)
		}
	}
	l.pollNow = true
	if len(ids) == 0 {
		return
	}
	var list []string
	for id := range ids {
		list = append(list, id)
	}
	l.do(ctx, job{
		key: "terminate/" + string(c.ID), slot: l.slots.other, first: time.Second, most: 30 * time.Second, calm: 10 * time.Second,
		run:  func(ctx context.Context) error { return l.cfg.Cloud.Terminate(ctx, list...) },
		done: l.logFailure(ctx, "terminate", slog.Any("claim", c.ID)),
	})
}

// logFailure is for work whose failure only has to be known: the next pass asks for it again.
func (l *leader) logFailure(ctx context.Context, what string, about ...slog.Attr) func(error) {
	return func(err error) {
		if err != nil {
			attrs := append([]slog.Attr{slog.String("work", what), slog.Any("error", err)}, about...)
			l.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "work failed", attrs...)
		}
	}
}

func (l *leader) evict(ctx context.Context, e cluster.Eviction) {
	name := e.Namespace + "/" + e.Name
	key := "evict/" + e.UID
	if e.Force {
		key = "delete/" + e.UID // a refused eviction must not hold up a deletion
	}
	l.do(ctx, job{
		key: key, slot: l.slots.evict, first: 100 * time.Millisecond, most: 10 * time.Second, calm: 2 * time.Second,
		run: func(ctx context.Context) error {
			err := l.cfg.Kube.Evict(ctx, e)
			if errors.Is(err, cluster.ErrNotFound) {
				return nil
			}
			return err
		},
		done: func(err error) {
			switch {
			case err == nil:
				delete(l.blocked, name)
			case errors.Is(err, cluster.ErrBlocked):
				l.blocked[name] = "its disruption budget allows no eviction now"
			default:
				l.blocked[name] = err.Error()
				l.cfg.Log.WarnContext(ctx, "evict", "pod", name, "error", err)
			}
		},
	})
}

// nodeChange is what an effect means for the claim's node; false when there is no node.
func (l *leader) nodeChange(c model.Claim, kind lifecycle.EffectKind) (cluster.NodeChange, bool) {
	n := l.nodeOf(c)
	if n == nil {
		return cluster.NodeChange{}, false
	}
	const balancers = "node.kubernetes.io/exclude-from-external-load-balancers"
	yes, no := true, false
	disrupted := []model.Taint{{Key: lifecycle.TaintDisrupted, Effect: model.NoSchedule}}
	change := cluster.NodeChange{Node: n.Name}
	switch kind {
	case lifecycle.EffectSyncNode:
		change.Owner, change.Finalizer = c.ID, &yes
		change.SetLabels = map[string]string{}
		for _, x := range c.Labels {
			change.SetLabels[x.Key] = x.Value
		}
		change.SetLabels[lifecycle.LabelRegistered], change.SetLabels[lifecycle.LabelClaim] = "true", string(c.ID)
		change.SetAnnotations = map[string]string{}
		for _, x := range c.Annotations {
			change.SetAnnotations[x.Key] = x.Value
		}
		if n.Labels["karpenter.sh/do-not-sync-taints"] != "true" {
			change.AddTaints = c.Taints
		}
		change.RemoveTaints = []model.Taint{{Key: lifecycle.TaintUnregistered, Effect: model.NoExecute}}
	case lifecycle.EffectInitializeNode:
		change.SetLabels = map[string]string{lifecycle.LabelInitialized: "true"}
	case lifecycle.EffectTaintNode:
		change.AddTaints = disrupted
		if c.State >= model.ClaimDraining {
			change.SetLabels = map[string]string{balancers: "karpenter"}
		}
	case lifecycle.EffectUntaintNode:
		change.RemoveTaints, change.RemoveLabels = disrupted, []string{balancers}
	case lifecycle.EffectRemoveNode:
		change.Finalizer, change.Delete = &no, true
	default:
		return cluster.NodeChange{}, false
	}
	return change, true
}

func (l *leader) changeNode(ctx context.Context, c model.Claim, change cluster.NodeChange, kind lifecycle.EffectKind) {
	l.do(ctx, job{
		// The kind is part of the key: what is wanted of a node changes faster than a pause ends.
		key: "node/" + kind.String() + "/" + string(c.ID), slot: l.slots.kube,
		first: 200 * time.Millisecond, most: 10 * time.Second, calm: 500 * time.Millisecond,
		run: func(ctx context.Context) error {
			err := l.cfg.Kube.UpdateNode(ctx, change)
			if errors.Is(err, cluster.ErrNotFound) {
				return nil // the cache will tell
			}
			return err
		},
		done: l.logFailure(ctx, "update node", slog.String("node", string(change.Node)), slog.Any("claim", c.ID)),
	})
}
