package convert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Owned are the objects that say which nodes Karpenter, or Kerf, has bought.
type Owned struct {
	Pools   []*karpenterv1.NodePool
	Classes []*awsv1.EC2NodeClass
	Claims  []*karpenterv1.NodeClaim
}

// Put puts into a snapshot that has everything else what Kerf knows of claims of its own: of its own NodeClaims, and in
// the place of Karpenter's. Nodes get the claims that stand for them. notes say what is left out, a sentence each.
func (o Owned) Put(s *clusterpb.Snapshot, types *catalog.Catalog) (notes []string) {
	p := owner{Owned: o, s: s, prices: map[string]int64{}, types: map[string]*catalog.Type{}}
	for i := range types.Types {
		p.types[types.Types[i].Name] = &types.Types[i]
	}
	for _, f := range s.GetOfferings() {
		p.prices[offeringOf(f.GetInstanceType(), f.GetZone(), f.GetCapacityType())] = f.GetPriceMicroUsdPerHour()
	}
	waiting := 0
	var unlabeled []string
	for _, claim := range o.Claims {
		switch out, err := p.claim(claim); {
		case claim.Labels[labels.NodePool] == "":
			notes = append(notes, fmt.Sprintf(
				"NodeClaim %s belongs to no pool: nothing is launched for it, and it does not count; write a NodePool, with spec.replicas for nodes that wait for no pod", claim.Name,
			))
		case claim.Labels[labels.InstanceType] == "" && claim.Status.ProviderID != "":
			unlabeled = append(unlabeled, claim.Name)
		case claim.Labels[labels.InstanceType] == "":
			waiting++ // no one knows what it will be
		case err != nil:
			notes = append(notes, fmt.Sprintf("NodeClaim %s: %v; it does not count", claim.Name, err))
		default:
			s.Claims = append(s.Claims, out)
		}
	}
	if len(unlabeled) > 0 {
		notes = append(notes, fmt.Sprintf("NodeClaims without the label %s do not count, as nothing says what they cost: %s", labels.InstanceType, few(unlabeled)))
	}
	switch {
	case waiting == 1:
		notes = append(notes, "1 NodeClaim is not launched yet, and does not count")
	case waiting > 1:
		notes = append(notes, fmt.Sprintf("%d NodeClaims are not launched yet, and do not count", waiting))
	}
	slices.SortFunc(s.GetClaims(), func(a, b *clusterpb.Claim) int { return strings.Compare(a.GetId(), b.GetId()) })
	p.nodes()
	return notes
}

// owner makes claims of NodeClaims.
type owner struct {
	Owned
	s      *clusterpb.Snapshot
	prices map[string]int64 // by offering
	types  map[string]*catalog.Type
}

func offeringOf(instanceType, zone string, c clusterpb.CapacityType) string {
	return instanceType + "/" + zone + "/" + c.String()
}

// claim is what Kerf knows of a claim. An error names the field that can't be read. Of a type that the catalogue does
// not have nothing is known that a decision could be made by.
func (p *owner) claim(o *karpenterv1.NodeClaim) (*clusterpb.Claim, error) {
	c, err := reader.NodeClaim(o)
	if err != nil {
		return nil, err
	}
	t := p.types[string(c.InstanceType)]
	if t == nil {
		return nil, fmt.Errorf("the catalogue has no %s", c.InstanceType)
	}
	if o.Labels[labels.Claim] == "" { // Kerf's own hashes are what they are compared with
		c.PoolHash, c.ClassHash = p.poolHash(o), p.classHash(o)
	}
	if at := slices.IndexFunc(p.Classes, func(k *awsv1.EC2NodeClass) bool { return k.Name == string(c.NodeClass) }); at >= 0 {
		if len(p.Classes[at].Status.AMIs) == 0 { // which images it has only AWS knows
			c.ImageID = ""
		}
		if isAssumed(p.Classes[at]) {
			c.ClassHash = ""
		}
	}
	out := convert.Claim(c)
	price, known := p.prices[offeringOf(out.GetInstanceType(), out.GetZone(), out.GetCapacityType())]
	if !known {
		price = listed(t, c.CapacityType)
	}
	out.PriceMicroUsdPerHour = price
	return out, nil
}

// listed is what a type costs where no offering says: the list price, or an estimate; what is reserved counts as
// offerings of its kind do.
func listed(t *catalog.Type, c model.CapacityType) int64 {
	const share = 1000
	switch c {
	case model.Spot:
		return catalog.SpotEstimate(t.OnDemandMicroUSD, t.SpotSavesPercent)
	case model.Reserved:
		return t.OnDemandMicroUSD / share
	default:
		return t.OnDemandMicroUSD
	}
}

// poolHash is the pool's own hash for a claim that Karpenter's hashes say is still of the pool's template, and another one
// for one that is not; "" where nothing is said. The two programs' hashes can't be compared with each other.
func (p *owner) poolHash(o *karpenterv1.NodeClaim) string {
	name := o.Labels[labels.NodePool]
	at := slices.IndexFunc(p.Pools, func(x *karpenterv1.NodePool) bool { return x.Name == name })
	own := slices.IndexFunc(p.s.GetNodePools(), func(x *clusterpb.NodePool) bool { return x.GetName() == name })
	if at < 0 || own < 0 {
		return ""
	}
	return sameHash(o.Annotations, p.Pools[at].Annotations, labels.NodePoolHash, labels.NodePoolHashVersion, p.s.GetNodePools()[own].GetHash())
}

func (p *owner) classHash(o *karpenterv1.NodeClaim) string {
	name := o.Spec.NodeClassRef.Name
	at := slices.IndexFunc(p.Classes, func(x *awsv1.EC2NodeClass) bool { return x.Name == name })
	own := slices.IndexFunc(p.s.GetNodeClasses(), func(x *clusterpb.NodeClass) bool { return x.GetName() == name })
	if at < 0 || own < 0 {
		return ""
	}
	return sameHash(o.Annotations, p.Classes[at].Annotations, labels.NodeClassHash, labels.NodeClassHashVersion, p.s.GetNodeClasses()[own].GetHash())
}

// Join gives NodeClaims that do not say which node is theirs the one of their instance, as Karpenter finds it.
func Join(objects []runtime.Object) {
	nodes := map[string]string{}
	for _, o := range objects {
		if n, ok := o.(*corev1.Node); ok && n.Spec.ProviderID != "" {
			nodes[n.Spec.ProviderID] = n.Name
		}
	}
	for _, o := range objects {
		if c, ok := o.(*karpenterv1.NodeClaim); ok && c.Status.NodeName == "" {
			c.Status.NodeName = nodes[c.Status.ProviderID]
		}
	}
}

func sameHash(claim, owner map[string]string, hash, version, own string) string {
	switch {
	case claim[hash] == "" || owner[hash] == "" || claim[version] != owner[version]:
		return ""
	case claim[hash] == owner[hash]:
		return own
	default: // of the version that its own hash has, or the two would not be compared: rules.SameVersion
		return own + strings.ReplaceAll(claim[hash], "-", "")
	}
}

// nodes gives each node the claim that stands for it, and the time of its last event: of a pod that is there, or of one
// that has gone where the claim's object says so.
func (p *owner) nodes() {
	claims := map[string]*clusterpb.Claim{}
	for _, c := range p.s.GetClaims() {
		if c.GetNode() != "" {
			claims[c.GetNode()] = c
		}
	}
	last := map[string]time.Time{}
	later := func(node string, at time.Time) {
		if node != "" && at.After(last[node]) {
			last[node] = at
		}
	}
	for _, o := range p.Claims {
		later(o.Status.NodeName, o.Status.LastPodEventTime.Time)
	}
	of := map[string]*clusterpb.PodClass{}
	for _, c := range p.s.GetPodClasses() {
		of[c.GetId()] = c
	}
	for _, pod := range p.s.GetPods() {
		if c := of[pod.GetClassId()]; pod.GetBindTime() != nil && !c.GetDaemon() && !c.GetMirror() {
			later(pod.GetNode(), pod.GetBindTime().AsTime())
		}
	}
	for _, n := range p.s.GetNodes() { // no one else's copies
		n.Claim = claims[n.GetName()].GetId()
		if at := last[n.GetName()]; at.After(n.GetLastPodEventTime().AsTime()) {
			n.LastPodEventTime = timestamppb.New(at)
		}
	}
}
