package kube

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Observe returns what the caches hold. Of the last one it keeps what has not changed; it is shared: callers must not
// modify it.
func (k *Kube) Observe() (cluster.State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := k.seen == nil
	if first {
		for _, i := range k.informers {
			if !i.informer.HasSynced() {
				return cluster.State{}, fmt.Errorf("%w: %s", cluster.ErrNotReady, i.name())
			}
		}
	}
	c := k.dirty.take()
	if first {
		var err error
		if c, err = k.everything(); err != nil {
			return cluster.State{}, err
		}
		k.seen = &cluster.State{}
	}
	if !c.none() {
		next, err := k.observe(*k.seen, c)
		if err != nil {
			k.dirty.merge(c)
			return cluster.State{}, err
		}
		k.seen = &next
	}
	s := *k.seen
	s.Silent = earlier(k.silent(), k.watches["nodes"].Broken()) // one that answers all by an error shows no nodes either
	s.PodsUnseen = !s.Silent.IsZero() || !k.watches["pods"].Broken().IsZero()
	return s, nil
}

// earlier is the earlier of two times, where zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// everything is what the first Observe looks at.
func (k *Kube) everything() (changes, error) {
	nodes, err := k.nodes.List(labels.Everything())
	if err != nil {
		return changes{}, fmt.Errorf("list nodes: %w", err)
	}
	c := changes{nodes: make(map[string]bool, len(nodes)), pools: true, classes: true, claims: true}
	for _, n := range nodes {
		c.nodes[n.Name] = true
	}
	return c, nil
}

// observe brings a state to what has changed.
func (k *Kube) observe(s cluster.State, c changes) (cluster.State, error) {
	if c.volumes {
		c.nodes = maps.Clone(c.nodes)
		if c.nodes == nil {
			c.nodes = map[string]bool{}
		}
		for _, name := range k.attachments.ListIndexFuncValues(byNode) {
			c.nodes[name] = true
		}
	}
	if err := k.observeNodes(&s, c.nodes); err != nil {
		return cluster.State{}, err
	}
	return s, k.observePolicy(&s, c)
}

// observeNodes looks at some nodes again. The state gets another list if one of them has changed.
func (k *Kube) observeNodes(s *cluster.State, names map[string]bool) error {
	fresh := make(map[model.NodeName]*cluster.Node, len(names))
	for name := range names {
		n, err := k.node(name)
		if err != nil {
			return err
		}
		fresh[model.NodeName(name)] = n
	}
	nodes, changed := make([]*cluster.Node, 0, len(s.Nodes)+len(fresh)), false
	for _, old := range s.Nodes {
		n, looked := fresh[old.Name]
		delete(fresh, old.Name)
		switch {
		case !looked || reflect.DeepEqual(old, n):
			n = old
		default:
			changed = true
		}
		if n != nil {
			nodes = append(nodes, n)
		}
	}
	added := false
	for _, n := range fresh {
		if n != nil {
			nodes, added = append(nodes, n), true
		}
	}
	if added {
		slices.SortFunc(nodes, func(a, b *cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	}
	if added || changed {
		s.Nodes = nodes
	}
	return nil
}

// node is a node as it is now; nil where there is none of the name.
func (k *Kube) node(name string) (*cluster.Node, error) {
	n, err := k.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		delete(k.read, name)
		return nil, nil //nolint:nilnil // absence is an answer here
	}
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	pods, err := k.podsOn(name)
	if err != nil {
		return nil, err
	}
	attachments, err := k.attachments.ByIndex(byNode, name)
	if err != nil {
		return nil, fmt.Errorf("list volume attachments of node %s: %w", name, err)
	}
	k.read[name] = k.read[name].Read(pods)
	node := objects.Node(n, k.read[name].Values())
	if len(attachments) > 0 {
		node.Volumes = k.attached(pods, attachments)
	}
	return &node, nil
}

func (k *Kube) podsOn(node string) ([]*corev1.Pod, error) {
	found, err := k.pods.ByIndex(byNode, node)
	if err != nil {
		return nil, fmt.Errorf("list pods on node %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, 0, len(found))
	for _, o := range found {
		if p, ok := o.(*corev1.Pod); ok {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, objects.ByName)
	return pods, nil
}

// attached lists the volumes that a drain detaches: all but those of pods that it leaves where they are.
func (k *Kube) attached(pods []*corev1.Pod, attachments []any) []cluster.Volume {
	staying, users := map[string][]string{}, map[string][]string{}
	for _, p := range pods {
		if v := objects.Pod(p); v.Mirror || v.ToleratesDisrupted {
			addUser(staying, p, k.volumeClaims)
		} else {
			addUser(users, p, k.volumeClaims)
		}
	}
	var out []cluster.Volume
	for _, o := range attachments {
		a, ok := o.(*storagev1.VolumeAttachment)
		if !ok {
			continue
		}
		switch v := a.Spec.Source.PersistentVolumeName; {
		case v == nil:
			out = append(out, cluster.Volume{Name: a.Name})
		case staying[*v] == nil:
			out = append(out, cluster.Volume{Name: *v, Pods: users[*v]})
		}
	}
	slices.SortFunc(out, func(a, b cluster.Volume) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// addUser adds a pod's uid to each of the persistent volumes that it uses.
func addUser(volumes map[string][]string, p *corev1.Pod, claims corelisters.PersistentVolumeClaimLister) {
	for _, v := range p.Spec.Volumes {
		var name string
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = p.Name + "-" + v.Name
		default:
			continue
		}
		// A claim that the cache does not know is bound to nothing that we could count.
		if pvc, err := claims.PersistentVolumeClaims(p.Namespace).Get(name); err == nil {
			volumes[pvc.Spec.VolumeName] = append(volumes[pvc.Spec.VolumeName], string(p.UID))
		}
	}
}

// observePolicy looks at pools, classes and the claims' objects again, as far as they have changed.
func (k *Kube) observePolicy(s *cluster.State, c changes) error {
	if c.pools {
		s.Pools = nil
		if err := each(k.nodePools, func(o *unstructured.Unstructured) { s.Pools = append(s.Pools, objects.Pool(o)) }); err != nil {
			return err
		}
		slices.SortFunc(s.Pools, func(a, b cluster.Pool) int { return cmp.Compare(a.Name, b.Name) })
	}
	if c.classes {
		s.Classes = nil
		if err := each(k.classes, func(o *unstructured.Unstructured) { s.Classes = append(s.Classes, objects.Class(o)) }); err != nil {
			return err
		}
		slices.SortFunc(s.Classes, func(a, b cluster.Class) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
	}
	if !c.claims {
		return nil
	}
	s.ClaimObjects, s.DeletedClaims, s.UserClaims = nil, nil, nil
	err := each(k.claims, func(o *unstructured.Unstructured) {
		id := model.ClaimID(o.GetName())
		s.ClaimObjects = append(s.ClaimObjects, id)
		if o.GetDeletionTimestamp() != nil {
			s.DeletedClaims = append(s.DeletedClaims, id)
		}
		if objects.OfUser(o) {
			s.UserClaims = append(s.UserClaims, id)
		}
	})
	slices.Sort(s.ClaimObjects)
	slices.Sort(s.DeletedClaims)
	slices.Sort(s.UserClaims)
	return err
}

func each(l cache.GenericLister, visit func(*unstructured.Unstructured)) error {
	objects, err := l.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list from cache: %w", err)
	}
	for _, o := range objects {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("the cache has a %T, not an object", o)
		}
		visit(u)
	}
	return nil
}
