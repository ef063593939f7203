package measure

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/attribute"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// counts are what a snapshot has.
type counts struct {
	pods map[clusterpb.PodPhase]int
	// waiting are pods that are unschedulable, by what they wait for, and oldest for how long one has been that the
	// newest plan has not left pending, or a plan had a place for lately; left is the same of those that it left
	// pending, by reason.
	waiting map[string]int
	oldest  map[string]time.Duration
	left    map[string]time.Duration
	nodes   map[nodeKey]int
	limits  map[poolResource]int64
	usage   map[poolResource]int64
	// notReady are pools and classes that nothing can be launched with, by why.
	notReady map[objectKey]bool // false, and without a code, for those that are ready
}

// objectKey is an object, such as nodepool/default, and what is wrong with it.
type objectKey struct{ object, code string }

// nodeKey is what nodes are told apart by.
type nodeKey struct{ pool, capacityType, zone, state string }

type poolResource struct{ pool, resource string }

// count counts, beside the facts of the newest plan.
func count(s *snapshot.Snapshot, of *facts, now time.Time) counts {
	c := counts{
		waiting: map[string]int{}, oldest: map[string]time.Duration{}, left: map[string]time.Duration{},
		pods: map[clusterpb.PodPhase]int{}, nodes: map[nodeKey]int{}, limits: map[poolResource]int64{}, usage: map[poolResource]int64{},
		notReady: map[objectKey]bool{},
	}
	s.Each(snapshot.NodeClass, func(o snapshot.Object) {
		if n, ok := o.Payload.(*clusterpb.NodeClass); ok {
			c.object("ec2nodeclass/"+n.GetName(), n.GetNotReady().GetCode())
		}
	})
	s.Each(snapshot.Pod, func(o snapshot.Object) {
		if p, ok := o.Payload.(*clusterpb.Pod); ok {
			c.pod(p, o.ID, of, now)
		}
	})
	s.Each(snapshot.NodePool, func(o snapshot.Object) {
		if p, ok := o.Payload.(*clusterpb.NodePool); ok {
			c.pool(s, p)
			for _, a := range p.GetLimits() {
				key := poolResource{p.GetName(), a.GetResource()}
				c.limits[key], c.usage[key] = a.GetValue(), 0
			}
		}
	})
	s.Each(snapshot.Node, func(o snapshot.Object) {
		if n, ok := o.Payload.(*clusterpb.Node); ok {
			c.node(n)
		}
	})
	return c
}

// pool notes whether a pool can be used itself: whether its class can has an entry of its own.
func (c *counts) pool(s *snapshot.Snapshot, p *clusterpb.NodePool) {
	code := p.GetNotReady().GetCode()
	o, there := s.Get(snapshot.NodeClass, p.GetNodeClass())
	class, _ := o.Payload.(*clusterpb.NodeClass)
	switch {
	case p.GetNotReady() != nil:
	case !there && s.InventoryRevision > 0:
		code = clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_FOUND
	case class.GetNotReady().GetCode() == clusterpb.ReasonCode_REASON_CODE_BEING_DELETED:
		code = clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_READY // which the class's own entry is no trouble for
	}
	c.object("nodepool/"+p.GetName(), code)
}

// object notes whether an object can be used: what is wrong with it is code, nothing where that is unspecified.
func (c *counts) object(name string, code clusterpb.ReasonCode) {
	key, wrong := objectKey{object: name}, code != clusterpb.ReasonCode_REASON_CODE_UNSPECIFIED
	if wrong {
		key.code = convert.CodeText(code)
	}
	c.notReady[key] = wrong
}

func (c *counts) pod(p *clusterpb.Pod, id string, of *facts, now time.Time) {
	c.pods[p.GetPhase()]++
	if p.GetPhase() != clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE {
		return
	}
	why, left := of.pending[id]
	waits := cmp.Or(of.waits[id], metrics.ForPlan)
	if left {
		waits = metrics.ForNothing
	}
	c.waiting[waits]++
	since := p.GetUnschedulableTime()
	if since == nil {
		return
	}
	age := now.Sub(since.AsTime())
	if left {
		c.left[why] = max(c.left[why], age)
	}
	if at, placed := of.tried[id]; !left || placed && now.Sub(at) < tried {
		c.oldest[waits] = max(c.oldest[waits], age)
	}
}

func (c *counts) node(n *clusterpb.Node) {
	key := nodeKey{state: metrics.NodeNotReady}
	switch {
	case n.GetTerminating():
		key.state = metrics.NodeLeaving
	case n.GetReady():
		key.state = metrics.NodeReady
	}
	for _, l := range n.GetLabels() {
		switch l.GetKey() {
		case labels.NodePool:
			key.pool = l.GetValue()
		case labels.CapacityType:
			key.capacityType = l.GetValue()
		case labels.Zone:
			key.zone = l.GetValue()
		default:
		}
	}
	c.nodes[key]++
	if key.pool == "" {
		return
	}
	use := func(resource string, n int64) {
		if _, limited := c.limits[poolResource{key.pool, resource}]; limited {
			c.usage[poolResource{key.pool, resource}] += n
		}
	}
	use("nodes", 1)
	for _, a := range n.GetCapacity() {
		use(a.GetResource(), a.GetValue())
	}
}

func (c counts) set(o metrics.Observation) {
	for phase, name := range map[clusterpb.PodPhase]string{
		clusterpb.PodPhase_POD_PHASE_WAITING: "waiting", clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE: "unschedulable",
		clusterpb.PodPhase_POD_PHASE_STARTING: "starting", clusterpb.PodPhase_POD_PHASE_RUNNING: "running",
	} {
		o.Set(metrics.PodCount, float64(c.pods[phase]), metrics.PodPhase.String(name))
	}
	for _, what := range metrics.WaitValues() {
		o.Set(metrics.PodsWaiting, float64(c.waiting[what]), metrics.WaitsFor.String(what))
		o.Set(metrics.PodsWaitingAge, c.oldest[what].Seconds(), metrics.WaitsFor.String(what))
	}
	for why, age := range c.left {
		o.Set(metrics.PodsLeftAge, age.Seconds(), metrics.Reason.String(why))
	}
	for k, n := range c.nodes {
		o.Set(metrics.NodeCount, float64(n), metrics.Pool.String(k.pool), metrics.CapacityType.String(k.capacityType),
			metrics.Zone.String(k.zone), metrics.NodeState.String(k.state))
	}
	for k, wrong := range c.notReady {
		value := 0.0
		if wrong {
			value = 1
		}
		o.Set(metrics.NotReady, value, metrics.Object.String(k.object), metrics.Reason.String(k.code))
	}
	for k, v := range c.limits {
		o.Set(metrics.PoolLimit, amount(k.resource, v), k.attributes()...)
	}
	for k, v := range c.usage {
		o.Set(metrics.PoolUsage, amount(k.resource, v), k.attributes()...)
	}
}

func (k poolResource) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{metrics.Pool.String(k.pool), metrics.Resource.String(k.resource)}
}

// amount is a quantity as Prometheus wants it: cores rather than thousandths of one.
func amount(resource string, v int64) float64 {
	if resource == "cpu" {
		return float64(v) / 1000
	}
	return float64(v)
}
