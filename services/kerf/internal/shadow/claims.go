package shadow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

// Objects are what Karpenter works with.
type Objects struct {
	Pools   []*karpenterv1.NodePool
	Classes []*awsv1.EC2NodeClass
	Claims  []*karpenterv1.NodeClaim
}

// Complete puts into a snapshot of the cluster what an actuator would say, if the nodes were its own: node classes from
// their objects, shapes and prices from the world's catalogue, claims from Karpenter's NodeClaims. The snapshot is not
// changed. notes say what is left out or assumed, a sentence each.
func Complete(s *clusterpb.Snapshot, o Objects, w convert.World) (out *clusterpb.Snapshot, notes []string) {
	var places convert.Places
	places.Classes(o.Classes)
	places.Snapshot(s)
	w, elsewhere := w.In(places)
	c := completion{
		out: &clusterpb.Snapshot{}, objects: o, world: w,
		pools: map[string]*clusterpb.NodePool{}, price: map[string]int64{},
	}
	if elsewhere != "" {
		c.note("%s", elsewhere)
	}
	proto.Merge(c.out, s)
	for _, p := range c.out.GetNodePools() {
		c.pools[p.GetName()] = p
	}
	for _, t := range w.Catalog.Types {
		c.price[t.Name] = t.OnDemandMicroUSD
	}
	c.classes()
	c.claims()
	c.nodes()
	return c.out, c.notes
}

type completion struct {
	out     *clusterpb.Snapshot
	objects Objects
	world   convert.World
	notes   []string

	pools map[string]*clusterpb.NodePool
	price map[string]int64 // on demand, by instance type
}

func (c *completion) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// classes resolves the node classes. One that Kerf would not launch with is there, and not ready: its nodes still are its
// nodes.
func (c *completion) classes() {
	sold := map[string]*clusterpb.Offering{}
	for _, o := range c.objects.Classes {
		o = o.DeepCopy()
		o.SetDefaults()
		r, err := convert.Resolve(o, nil, c.world)
		if err != nil {
			text := strings.ReplaceAll(err.Error(), "\n", "; ")
			c.note("EC2NodeClass %s: %s; nothing is bought with it", o.Name, text)
			c.out.NodeClasses = append(c.out.NodeClasses, &clusterpb.NodeClass{
				Name: o.Name, NotReady: &clusterpb.Reason{
					Code: clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_READY, Message: text, Subject: &clusterpb.ObjectRef{Kind: "ec2nodeclass", Name: o.Name},
				},
			})
			continue
		}
		c.notes = append(c.notes, r.Assumed...)
		c.out.NodeClasses = append(c.out.NodeClasses, r.Class)
		if !slices.ContainsFunc(c.out.GetCatalogs(), func(k *clusterpb.Catalog) bool { return k.GetId() == r.Catalog.GetId() }) {
			c.out.Catalogs = append(c.out.Catalogs, r.Catalog)
		}
		for _, f := range r.Offerings {
			key := f.GetInstanceType() + "/" + f.GetZone() + "/" + f.GetCapacityType().String()
			if sold[key].GetZoneId() == "" { // another class may not show the zone's id
				sold[key] = f
			}
		}
	}
	for _, f := range sold {
		c.out.Offerings = append(c.out.Offerings, f)
	}
	slices.SortFunc(c.out.Offerings, func(a, b *clusterpb.Offering) int {
		return cmp.Or(
			strings.Compare(a.GetInstanceType(), b.GetInstanceType()), strings.Compare(a.GetZone(), b.GetZone()),
			cmp.Compare(a.GetCapacityType(), b.GetCapacityType()),
		)
	})
	slices.SortFunc(c.out.Catalogs, func(a, b *clusterpb.Catalog) int { return strings.Compare(a.GetId(), b.GetId()) })
}

func (c *completion) claims() {
	waiting := 0
	for _, o := range c.objects.Claims {
		if o.Labels[labels.NodePool] == "" {
			c.note("NodeClaim %s belongs to no pool, and is left alone", o.Name)
			continue
		}
		if o.Labels[labels.InstanceType] == "" {
			waiting++ // no one knows what it will be
			continue
		}
		c.out.Claims = append(c.out.Claims, c.claim(o))
	}
	if waiting > 0 {
		c.note("%d NodeClaims are not launched yet, and do not count", waiting)
	}
	slices.SortFunc(c.out.Claims, func(a, b *clusterpb.Claim) int { return strings.Compare(a.GetId(), b.GetId()) })
}

// claim is what Kerf would know of a claim of its own in the place of Karpenter's.
func (c *completion) claim(o *karpenterv1.NodeClaim) *clusterpb.Claim {
	pool, class := o.Labels[labels.NodePool], o.Spec.NodeClassRef.Name
	state, reached := stateOf(o)
	out := &clusterpb.Claim{
		Id: o.Name, NodePool: pool, NodeClass: class, State: state, Reached: reached,
		Labels: labelsOf(o.Labels), Annotations: labelsOf(o.Annotations), Requests: amounts(o.Spec.Resources.Requests),
		Taints: taints(o.Spec.Taints), StartupTaints: taints(o.Spec.StartupTaints),
		InstanceType: o.Labels[labels.InstanceType], Zone: o.Labels[labels.Zone],
		CapacityType: capacityType(o.Labels[labels.CapacityType]),
		InstanceId:   o.Status.ProviderID[strings.LastIndexByte(o.Status.ProviderID, '/')+1:], ProviderId: o.Status.ProviderID,
		ImageId: o.Status.ImageID, Node: o.Status.NodeName,
		Capacity: amounts(o.Status.Capacity), Allocatable: amounts(o.Status.Allocatable),
		CreateTime: stamp(o.CreationTimestamp), StateTime: stamp(o.CreationTimestamp),
		LaunchTime: since(o, karpenterv1.ConditionLaunched), InitializeTime: since(o, karpenterv1.ConditionInitialized),
		PoolHash: c.poolHash(pool, o), ClassHash: c.classHash(class, o),
	}
	out.PriceMicroUsdPerHour = c.priceOf(out)
	if after, never, err := o.Spec.ExpireAfter.Parse(); err == nil && !never && after > 0 {
		out.ExpireTime = timestamppb.New(o.CreationTimestamp.Add(after))
	}
	if g := o.Spec.TerminationGracePeriod; g != nil {
		if d, err := g.Parse(); err == nil {
			out.TerminationGracePeriod = durationpb.New(d)
		}
	}
	if at, err := time.Parse(time.RFC3339, o.Annotations[labels.TerminationTimestamp]); err == nil {
		out.DrainDeadline = timestamppb.New(at)
	}
	if d := meta.FindStatusCondition(o.Status.Conditions, karpenterv1.ConditionDrifted); d != nil && d.Status == metav1.ConditionTrue {
		out.Drifted = &clusterpb.Reason{
			Code: clusterpb.ReasonCode_REASON_CODE_DRIFTED, Message: strings.TrimSuffix(d.Reason+": "+d.Message, ": "),
			Subject: &clusterpb.ObjectRef{Kind: "nodeclaim", Name: o.Name},
		}
	}
	return out
}

// stateOf is how far a claim is, and how far it came before it began to end.
func stateOf(o *karpenterv1.NodeClaim) (state, reached clusterpb.ClaimState) {
	is := func(condition string) bool { return meta.IsStatusConditionTrue(o.Status.Conditions, condition) }
	switch {
	case is(karpenterv1.ConditionInitialized):
		reached = clusterpb.ClaimState_CLAIM_STATE_INITIALIZED
	case is(karpenterv1.ConditionRegistered):
		reached = clusterpb.ClaimState_CLAIM_STATE_REGISTERED
	default: // it has an instance type
		reached = clusterpb.ClaimState_CLAIM_STATE_LAUNCHED
	}
	switch {
	case o.DeletionTimestamp.IsZero():
		return reached, reached
	case is(karpenterv1.ConditionInstanceTerminating):
		return clusterpb.ClaimState_CLAIM_STATE_TERMINATING, reached
	default:
		return clusterpb.ClaimState_CLAIM_STATE_DRAINING, reached
	}
}

// poolHash is the pool's own hash for a claim that Karpenter's hashes say is still of the pool's template, and Karpenter's
// for one that is not; "" where nothing is said. The two programs' hashes can't be compared with each other.
func (c *completion) poolHash(name string, o *karpenterv1.NodeClaim) string {
	for _, p := range c.objects.Pools {
		if p.Name == name {
			return sameHash(o.Annotations, p.Annotations, labels.NodePoolHash, labels.NodePoolHashVersion,
				c.pools[name].GetHash())
		}
	}
	return ""
}

func (c *completion) classHash(name string, o *karpenterv1.NodeClaim) string {
	for _, k := range c.objects.Classes {
		if k.Name != name {
			continue
		}
		for _, have := range c.out.GetNodeClasses() {
			if have.GetName() == name {
				return sameHash(o.Annotations, k.Annotations, labels.NodeClassHash, labels.NodeClassHashVersion, have.GetHash())
			}
		}
	}
	return ""
}

func sameHash(claim, owner map[string]string, hash, version, own string) string {
	switch {
	case claim[hash] == "" || owner[hash] == "" || claim[version] != owner[version]:
		return ""
	case claim[hash] == owner[hash]:
		return own
	default:
		return "karpenter-" + claim[hash]
	}
}

// priceOf is the list price, or the estimate of a spot price; what is reserved counts as offerings of its kind do.
func (c *completion) priceOf(claim *clusterpb.Claim) int64 {
	price := c.price[claim.GetInstanceType()]
	switch claim.GetCapacityType() {
	case clusterpb.CapacityType_CAPACITY_TYPE_SPOT:
		return instancetype.SpotEstimate(price)
	case clusterpb.CapacityType_CAPACITY_TYPE_RESERVED:
		const share = 1000
		return price / share
	default:
		return price
	}
}

// nodes gives each node the claim that stands for it.
func (c *completion) nodes() {
	claims := map[string]string{}
	for _, k := range c.out.GetClaims() {
		if k.GetNode() != "" {
			claims[k.GetNode()] = k.GetId()
		}
	}
	for _, n := range c.out.GetNodes() { // copies of the snapshot's
		n.Claim = claims[n.GetName()]
	}
}

func labelsOf(m map[string]string) []*clusterpb.Label {
	out := make([]*clusterpb.Label, 0, len(m))
	for k, v := range m {
		out = append(out, &clusterpb.Label{Key: k, Value: v})
	}
	slices.SortFunc(out, func(a, b *clusterpb.Label) int { return strings.Compare(a.GetKey(), b.GetKey()) })
	return out
}

func amounts(list corev1.ResourceList) []*clusterpb.Amount {
	out := make([]*clusterpb.Amount, 0, len(list))
	for name, q := range list {
		v := q.Value()
		if name == corev1.ResourceCPU {
			v = q.MilliValue()
		}
		if v > 0 {
			out = append(out, &clusterpb.Amount{Resource: string(name), Value: v})
		}
	}
	slices.SortFunc(out, func(a, b *clusterpb.Amount) int { return strings.Compare(a.GetResource(), b.GetResource()) })
	return out
}

func taints(list []karpenterv1.Taint) []*clusterpb.Taint {
	effects := map[corev1.TaintEffect]clusterpb.TaintEffect{
		corev1.TaintEffectNoSchedule:       clusterpb.TaintEffect_TAINT_EFFECT_NO_SCHEDULE,
		corev1.TaintEffectPreferNoSchedule: clusterpb.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE,
		corev1.TaintEffectNoExecute:        clusterpb.TaintEffect_TAINT_EFFECT_NO_EXECUTE,
	}
	var out []*clusterpb.Taint
	for _, t := range list {
		out = append(out, &clusterpb.Taint{Key: t.Key, Value: t.Value, Effect: effects[t.Effect]})
	}
	return out
}

func capacityType(word string) clusterpb.CapacityType {
	switch word {
	case "spot":
		return clusterpb.CapacityType_CAPACITY_TYPE_SPOT
	case "reserved":
		return clusterpb.CapacityType_CAPACITY_TYPE_RESERVED
	default:
		return clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND
	}
}

func stamp(t metav1.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Time)
}

// since is when a condition became true; nil when it is not.
func since(o *karpenterv1.NodeClaim, condition string) *timestamppb.Timestamp {
	if c := meta.FindStatusCondition(o.Status.Conditions, condition); c != nil && c.Status == metav1.ConditionTrue {
		return stamp(c.LastTransitionTime)
	}
	return nil
}
