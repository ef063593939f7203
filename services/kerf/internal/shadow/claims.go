package shadow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
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
		claim, err := c.claim(o)
		if err != nil {
			c.note("NodeClaim %s: %v; it does not count", o.Name, err)
			continue
		}
		c.out.Claims = append(c.out.Claims, claim)
	}
	if waiting > 0 {
		c.note("%d NodeClaims are not launched yet, and do not count", waiting)
	}
	slices.SortFunc(c.out.Claims, func(a, b *clusterpb.Claim) int { return strings.Compare(a.GetId(), b.GetId()) })
}

// claim is what Kerf would know of a claim of its own in the place of Karpenter's.
func (c *completion) claim(o *karpenterv1.NodeClaim) (*clusterpb.Claim, error) {
	out, err := convert.Claim(o, c.price)
	if err != nil {
		return nil, err
	}
	out.PoolHash = c.poolHash(o.Labels[labels.NodePool], o)
	out.ClassHash = c.classHash(o.Spec.NodeClassRef.Name, o)
	return out, nil
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
