// Package convert makes a snapshot out of Kubernetes manifests and a catalogue of instance types, for a plan without a
// cluster and without AWS.
//
// What the API server would say comes from the manifests, by the watcher's own conversion; what the actuator would say of
// node classes, shapes and prices comes from the catalogue, by the actuator's own arithmetic. What only AWS knows, such as
// a class's subnets, is assumed, and each assumption is put in words. The package must never open a file or a connection.
// Start reading at Builder.Snapshot.
package convert

import (
	"fmt"
	"slices"
	"time"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	watcher "github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// World is where the nodes of a dry run could be bought.
type World struct {
	// Catalog holds types and prices. It is not changed.
	Catalog *catalog.Catalog
	// Zones are those that node classes have subnets in; none means all of the catalogue's.
	Zones []string
}

// Builder collects manifests. The zero Builder is empty and ready; it is owned by one goroutine.
type Builder struct {
	cluster watcher.Cluster
	pools   []sourced[*karpenterv1.NodePool]
	classes []sourced[*awsv1.EC2NodeClass]
	daemons bool
	objects int
}

// sourced is an object and where it was read, for errors.
type sourced[T any] struct {
	source string
	object T
}

// Add takes an object that has its defaults and is valid. Errors begin with the source, and name the object.
func (b *Builder) Add(source string, o runtime.Object) error {
	if err := b.cluster.Add(o, nil); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	b.objects++
	switch o := o.(type) {
	case *karpenterv1.NodePool:
		b.pools = append(b.pools, sourced[*karpenterv1.NodePool]{source, o})
	case *awsv1.EC2NodeClass:
		b.classes = append(b.classes, sourced[*awsv1.EC2NodeClass]{source, o})
	case *appsv1.DaemonSet:
		b.daemons = true
	}
	return nil
}

// Len is how many objects were added.
func (b *Builder) Len() int { return b.objects }

// Snapshot is the cluster that the manifests describe, at the time now, with everything that the world sells. assumed
// says in one sentence each what it holds that neither manifests nor catalogue say. Errors name source, object and field.
func (b *Builder) Snapshot(w World, now time.Time) (s *clusterv1.Snapshot, assumed []string, err error) {
	if err := b.checkPools(); err != nil {
		return nil, nil, err
	}
	events, err := b.cluster.Events(now)
	if err != nil {
		return nil, nil, err
	}
	inv, err := b.inventory(w)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range watcher.InventoryObjects(inv.snapshot) {
		events = append(events, snapshot.Put(now, o))
	}
	return watcher.Whole(snapshot.Fold(snapshot.Snapshot{}, events), watcher.Header{}), b.assumed(w, inv), nil
}

// checkPools finds pools whose node class is not among the manifests. In a cluster such a pool waits for its class; in a
// dry run somebody forgot a file, and a plan without the pool would not be what was asked for.
func (b *Builder) checkPools() error {
	for _, p := range b.pools {
		name := p.object.Spec.Template.Spec.NodeClassRef.Name
		if !slices.ContainsFunc(b.classes, func(c sourced[*awsv1.EC2NodeClass]) bool { return c.object.Name == name }) {
			return fmt.Errorf("%s: NodePool %s: spec.template.spec.nodeClassRef.name: there is no EC2NodeClass %s among the files; add its manifest",
				p.source, p.object.Name, name)
		}
	}
	return nil
}

func (b *Builder) assumed(w World, inv inventory) []string {
	var out []string
	if len(b.classes) > 0 {
		if len(w.Zones) == 0 && inv.assumedZones {
			out = append(out, fmt.Sprintf("list prices of %s, and a subnet in each of its zones", w.Catalog.Region))
		} else {
			out = append(out, "list prices of "+w.Catalog.Region)
		}
	}
	out = append(out, inv.assumedImages...)
	if !b.daemons {
		out = append(out, "no DaemonSets, because none is among the files")
	}
	return out
}
