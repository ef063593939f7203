package shadow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
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
	c := completion{out: &clusterpb.Snapshot{}, objects: o, world: w}
	if elsewhere != "" {
		c.note("%s", elsewhere)
	}
	if w.Amiss != nil {
		c.note("%s; planned for %s", w.Amiss, w.Catalog.Region)
	}
	proto.Merge(c.out, s)
	c.classes()
	c.notes = append(c.notes, convert.Owned(o).Put(c.out, w.Catalog)...)
	return c.out, c.notes
}

type completion struct {
	out     *clusterpb.Snapshot
	objects Objects
	world   convert.World
	notes   []string
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
