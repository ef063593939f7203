package loop

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// maxEvents bounds what waits to be told; the oldest go first, because the newest are true.
	maxEvents = 1000
	// republish is how soon a claim's object is made again that somebody has removed by force.
	republish = 10 * time.Second
)

// outbox is what Kubernetes' users were told already, and what waits to be told.
type outbox struct {
	claims   map[model.ClaimID]*model.Claim
	pools    map[model.PoolName]cluster.PoolStatus
	classes  map[model.NodeClassName]cluster.ClassStatus
	events   []cluster.Event
	released map[model.NodeClassName]bool // classes whose finalizer may go
	held     map[model.ClaimID]string
	toldAt   time.Time
}

func newOutbox() outbox {
	return outbox{
		claims: map[model.ClaimID]*model.Claim{}, pools: map[model.PoolName]cluster.PoolStatus{},
		classes: map[model.NodeClassName]cluster.ClassStatus{}, released: map[model.NodeClassName]bool{}, held: map[model.ClaimID]string{},
	}
}

// forgetClass forgets what was told of a class that is no more: another one of its name knows nothing of it.
func (o *outbox) forgetClass(name model.NodeClassName) {
	delete(o.classes, name)
	delete(o.released, name)
}

// forgetPools forgets what was told of pools that are no more.
func (o *outbox) forgetPools(there []cluster.Pool) {
	for name := range o.pools {
		if !slices.ContainsFunc(there, func(p cluster.Pool) bool { return p.Name == name }) {
			delete(o.pools, name)
		}
	}
}

// tell shows what is new to subscribers.
func (l *leader) tell() {
	if l.dirty && l.ready {
		l.dirty = false
		l.revision = inventory.Next(l.revision, int64(l.stored))
		l.hub.publish(l.inventory())
	}
}

func (l *leader) inventory() *inventory.Inventory {
	inv := &inventory.Inventory{Revision: l.revision, Offerings: l.world.offers}
	used := map[model.CatalogID]*model.Catalog{}
	for _, name := range slices.Sorted(maps.Keys(l.world.classes)) {
		c := l.world.classes[name]
		inv.Classes = append(inv.Classes, c.inventory())
		if c.catalogue != nil {
			used[c.catalogue.told.ID] = c.catalogue.told
		}
	}
	for _, id := range slices.Sorted(maps.Keys(used)) {
		inv.Catalogs = append(inv.Catalogs, used[id])
	}
	inv.Claims = slices.SortedFunc(maps.Values(l.claims), func(a, b *model.Claim) int { return cmp.Compare(a.ID, b.ID) })
	inv.Notices = slices.SortedFunc(maps.Values(l.notices), func(a, b *model.Notice) int { return cmp.Compare(a.ID, b.ID) })
	inv.Disruptions = slices.SortedFunc(maps.Values(l.disruptions), func(a, b *model.DisruptionRecord) int { return cmp.Compare(a.ID, b.ID) })
	return inv
}

// publish sends what Kubernetes' users do not see yet. One publication goes on at a time, so their order holds.
func (l *leader) publish(ctx context.Context) {
	if !l.observed || !l.ready {
		return
	}
	p := l.publication()
	if len(p.Claims)+len(p.Pools)+len(p.Classes)+len(p.Events)+len(p.ForgetClaims)+len(p.ForgetClasses) == 0 {
		return
	}
	l.do(ctx, job{
		key: "publish", slot: l.slots.kube, first: 500 * time.Millisecond, most: 10 * time.Second,
		run: func(ctx context.Context) error { return l.cfg.Kube.Publish(ctx, p) },
		done: func(err error) {
			l.out.toldAt = time.Now()
			if err != nil {
				l.cfg.Log.WarnContext(ctx, "publish", "error", err)
				return
			}
			for _, s := range p.Pools {
				l.out.pools[s.Name] = s
			}
			for _, s := range p.Classes {
				l.out.classes[s.Name] = s
			}
			for i := range p.Claims {
				l.out.claims[p.Claims[i].ID] = &p.Claims[i]
			}
			l.out.events = l.out.events[min(len(p.Events), len(l.out.events)):]
			for _, name := range p.ForgetClasses {
				delete(l.out.released, name)
			}
		},
	})
}

func (l *leader) publication() cluster.Publication {
	p := cluster.Publication{Events: slices.Clone(l.out.events)}
	objects := map[model.ClaimID]bool{}
	for _, id := range l.seen.ClaimObjects {
		objects[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(l.claims)) {
		c := l.claims[id]
		switch told := l.out.claims[id]; {
		case c.State.Ended():
			if objects[id] {
				p.ForgetClaims = append(p.ForgetClaims, id)
			}
		case told == nil || !reflect.DeepEqual(*told, *c):
			p.Claims = append(p.Claims, *c)
		case !objects[id] && l.now.Sub(l.out.toldAt) > republish:
			p.Claims = append(p.Claims, *c)
		}
	}
	l.out.forgetPools(l.seen.Pools)
	for _, s := range l.poolStatuses() {
		if told, ok := l.out.pools[s.Name]; !ok || !reflect.DeepEqual(told, s) {
			p.Pools = append(p.Pools, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.world.classes)) {
		c := l.world.classes[name]
		if c.leaving {
			if l.out.released[name] {
				p.ForgetClasses = append(p.ForgetClasses, name)
			}

			continue
		}
		s := cluster.ClassStatus{Name: name, Generation: c.spec.Generation, Hash: c.spec.Hash, Class: c.class, NotReady: c.notReady()}
		if told, ok := l.out.classes[name]; !ok || !reflect.DeepEqual(told, s) {
			p.Classes = append(p.Classes, s)
		}
	}
	return p
}

// poolStatuses sums what each pool's instances have.
func (l *leader) poolStatuses() []cluster.PoolStatus {
	sums := map[model.PoolName]map[model.Resource]int64{}
	for _, c := range l.claims {
		if c.State < model.ClaimLaunched || c.State.Ended() {
			continue
		}
		if sums[c.NodePool] == nil {
			sums[c.NodePool] = map[model.Resource]int64{}
		}
		sums[c.NodePool]["nodes"]++
		for _, a := range c.Capacity {
			sums[c.NodePool][a.Resource] += a.Value
		}
	}
	var out []cluster.PoolStatus
	for _, pool := range l.seen.Pools {
		s := cluster.PoolStatus{Name: pool.Name, Hash: pool.Hash, NotReady: l.poolNotReady(pool)}
		for _, r := range slices.Sorted(maps.Keys(sums[pool.Name])) {
			s.Resources = append(s.Resources, model.Amount{Resource: r, Value: sums[pool.Name][r]})
		}
		if len(s.Resources) == 0 {
			s.Resources = model.Amounts{{Resource: "nodes"}}
		}
		out = append(out, s)
	}
	return out
}

func (l *leader) poolNotReady(pool cluster.Pool) model.Reason {
	if pool.NotReady != (model.Reason{}) {
		return pool.NotReady
	}
	c, ok := l.world.classes[pool.NodeClass]
	if !ok {
		return model.Reason{
			Code: model.CodeNodeClassNotFound, Subject: "nodepool/" + string(pool.Name),
			Message: "EC2NodeClass \"" + string(pool.NodeClass) + "\" does not exist",
			Remedy:  "create it, or correct spec.template.spec.nodeClassRef.name of NodePool " + string(pool.Name),
		}
	}
	return c.notReady()
}

// event queues something to be told about an object.
func (l *leader) event(e cluster.Event) {
	l.out.events = append(l.out.events, e)
	if n := len(l.out.events) - maxEvents; n > 0 {
		l.out.events = l.out.events[n:]
	}
}

// moved follows a claim that was stored: the trace, the log and the events that users see.
func (l *leader) moved(ctx context.Context, old, c *model.Claim) {
	if old == nil {
		l.cfg.Log.InfoContext(ctx, "claim", "claim", c.ID, "state", c.State.String(), "pool", c.NodePool, "pods", len(c.Pods), "plan", c.PlanID)
		return
	}
	if old.State != c.State {
		l.cfg.Log.InfoContext(ctx, "claim", "claim", c.ID, "state", c.State.String(), "was", old.State.String(), "instance", c.InstanceID, "node", c.Node,
			"type", c.InstanceType, "zone", c.Zone, "why", c.Failure.Message)
		l.spans(ctx, *old, *c)
		l.announce(*old, *c)
		l.judge(*old, *c)
	}
	if c.State.Ended() {
		l.forget(c.ID)
		delete(l.out.claims, c.ID)
		delete(l.out.held, c.ID)
	}
	if c.Failure != old.Failure && c.Failure.Message != "" && l.out.held[c.ID] != c.Failure.Message {
		l.out.held[c.ID] = c.Failure.Message
		l.event(cluster.Event{
			Kind: "NodeClaim", Name: string(c.ID), Warning: true, Reason: eventReason(c.Failure.Code), Message: c.Failure.Message,
		})
	}
}

// judge learns from a claim whether launches of its class come to anything: an instance that ends before it is a node is
// as good as refused.
func (l *leader) judge(old, c model.Claim) {
	class := l.world.classes[c.NodeClass]
	switch {
	case class == nil:
	case c.State == model.ClaimRegistered && class.held != (hold{}):
		class.held, class.told, l.dirty = hold{}, nil, true
	case old.State == model.ClaimLaunched && c.Failure.Code == model.CodeInstanceLost:
		l.hold(c.NodeClass, c.Failure.Message)
	}
}

// announce tells of the steps of a life that users look for.
func (l *leader) announce(old, c model.Claim) {
	e := cluster.Event{Kind: "NodeClaim", Name: string(c.ID)}
	switch c.State {
	case model.ClaimLaunched:
		e.Reason, e.Message = "Launched", string(c.InstanceType)+" in "+c.Zone+" ("+c.CapacityType.String()+") is instance "+c.InstanceID
	case model.ClaimRegistered:
		e.Reason, e.Message = "Registered", "node "+string(c.Node)+" has joined the cluster"
	case model.ClaimInitialized:
		e.Reason, e.Message = "Initialized", "node "+string(c.Node)+" is ready"
	case model.ClaimDraining:
		e.Reason, e.Message = "Disrupted", "node "+string(c.Node)+" is being drained: "+c.DisruptionReason.String()
		if old.Node != "" {
			l.event(cluster.Event{Kind: "Node", Name: string(old.Node), Reason: e.Reason, Message: e.Message})
		}
	case model.ClaimTerminating:
		e.Reason, e.Message = "Terminating", "instance "+cmp.Or(c.InstanceID, "(none known)")+" is being ended"
	default:
		return
	}
	l.event(e)
}

// eventReason words a code as Kubernetes' events do.
func eventReason(code model.Code) string {
	switch code {
	case model.CodeInsufficientCapacity:
		return "InsufficientCapacityError"
	case model.CodeNodeClassNotReady, model.CodeNodeClassNotFound:
		return "NodeClassNotReady"
	case model.CodeRegistrationTimeout:
		return "RegistrationTimeout"
	case model.CodeLaunchTimeout:
		return "LaunchTimeout"
	case model.CodeInstanceLost:
		return "InstanceLost"
	case model.CodeDrainBlocked:
		return "FailedDraining"
	case model.CodeNotInitialized:
		return "NotInitialized"
	default:
		return "LaunchFailed"
	}
}

// pending tells users of pods for which the plan found nothing why, and what would help.
func (l *leader) pending(pods []Pending) {
	for _, p := range pods {
		namespace, name, ok := strings.Cut(p.Pod, "/")
		if !ok || p.Reason.Message == "" {
			continue
		}
		message := p.Reason.Message
		if p.Reason.Remedy != "" {
			message += "; " + p.Reason.Remedy
		}
		l.event(cluster.Event{
			Kind: "Pod", Namespace: namespace, Name: name, Warning: true, Reason: "FailedScheduling", Message: message,
		})
	}
}

// releaseNodes takes Kerf's finalizer off nodes that their user deletes and that no claim looks after any more.
func (l *leader) releaseNodes(ctx context.Context) {
	for i := range l.seen.Nodes {
		n := &l.seen.Nodes[i]
		id := model.ClaimID(n.Labels[lifecycle.LabelClaim])
		if !n.Terminating || id == "" {
			continue
		}
		if c := l.claims[id]; c != nil && !c.State.Ended() {
			continue
		}
		no := false
		l.do(ctx, job{
			key: "node/release/" + string(n.Name), slot: l.slots.kube, first: time.Second, most: time.Minute, calm: 10 * time.Second,
			run: func(ctx context.Context) error {
				return l.cfg.Kube.UpdateNode(ctx, cluster.NodeChange{Node: n.Name, Finalizer: &no})
			},
			done: l.logFailure(ctx, "release node", slog.String("node", string(n.Name))),
		})
	}
}
