// Package clustertest is an in-memory fake of Kubernetes for tests. It passes the suite that the real adapter passes, too.
//
// The fake keeps what the API server keeps of the objects that the actuator touches: finalizers, uids, owners, disruption
// budgets and statuses, on a clock that the test gives it. Its kubelets are perfect: nodes are ready, pods run, and end
// soon after they are deleted. It never opens a socket, and schedules nothing.
//
// Start at New, and at package suitetest for what every implementation of the cluster port must do.
package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	selectors "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// ExitTime is how long a fake pod takes to end, if its grace period lets it.
const ExitTime = time.Second

// Fake implements the cluster port in memory. Safe for concurrent use.
type Fake struct {
	// OnEvict is called, when set, before an eviction is decided; an error is returned as the eviction's.
	OnEvict func(cluster.Eviction) error
	// OnNominate is called, when set, before a nomination is written; an error is returned as the nomination's.
	OnNominate func(context.Context, cluster.Nomination) error
	// OnPublish is called, when set, with each publication before it is carried out.
	OnPublish func(cluster.Publication)

	changed chan struct{}

	mu      sync.Mutex
	now     func() time.Time
	cold    bool
	serial  int                              // of the last uid or resource version
	state   cluster.State                    // all but the claims, which are objects
	seen    map[model.NodeName]*cluster.Node // by the last Observe
	held    map[string]bool
	owners  map[string]types.UID // of nodes: the claim's object
	objects map[key]*unstructured.Unstructured
	budgets map[string]budget
	unbound unboundPods
	// specs are of the pods without a node.
	specs  map[model.PodID]*corev1.Pod
	pods   map[string]life // by uid
	taken  []cluster.Eviction
	events []Event
}

var (
	_ cluster.Cluster   = (*Fake)(nil)
	_ cluster.Nominator = (*Fake)(nil)
	_ cluster.Replicas  = Replicas{}
)

// Event is an event as users see it.
type Event struct {
	cluster.Event
	// In is the namespace that holds the event.
	In string

	at time.Time
}

type key struct{ kind, name string }

// life is what the port does not tell of a pod.
type life struct {
	labels selectors.Set
	ends   time.Time // zero: it was not told to
	// given is the pod as it was given, with what has been written since.
	given *corev1.Pod
}

// budget is a disruption budget of pods in one namespace.
type budget struct {
	namespace    string
	selector     selectors.Selector
	minAvailable int
}

// New makes an empty cluster whose time is now's.
func New(now func() time.Time) *Fake {
	return &Fake{
		changed: make(chan struct{}, 1), now: now, held: map[string]bool{}, owners: map[string]types.UID{},
		objects: map[key]*unstructured.Unstructured{}, budgets: map[string]budget{}, pods: map[string]life{},
		unbound: unboundPods{}, specs: map[model.PodID]*corev1.Pod{},
	}
}

// Cold makes a cluster whose caches never fill.
func Cold() *Fake {
	f := New(time.Now)
	f.cold = true
	return f
}

// Edit changes nodes, pods, pools and classes as somebody else would; what it does to the state's claims is ignored.
func (f *Fake) Edit(change func(s *cluster.State)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.touch()
	f.settle()
	change(&f.state)
	f.sort()
}

// Evictions are those that were taken, in their order.
func (f *Fake) Evictions() []cluster.Eviction {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.taken)
}

// Events are those on one object, in their order.
func (f *Fake) Events(kind, name string) []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Event
	for _, e := range f.events {
		if e.Kind == kind && e.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// Changed signals, coalesced, that Observe may have something new.
func (f *Fake) Changed() <-chan struct{} { return f.changed }

func (f *Fake) touch() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// settle lets pods end that are due.
func (f *Fake) settle() {
	now := f.now()
	for i := range f.state.Nodes {
		n := f.state.Nodes[i]
		n.Pods = slices.DeleteFunc(slices.Clone(n.Pods), func(p cluster.Pod) bool {
			ends := f.pods[p.UID].ends
			return !ends.IsZero() && !now.Before(ends)
		})
	}
}

func (f *Fake) sort() {
	slices.SortFunc(f.state.Nodes, func(a, b *cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(f.state.Pools, func(a, b cluster.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(f.state.Classes, func(a, b cluster.Class) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
	for _, n := range f.state.Nodes {
		if n.UID == "" {
			n.UID = string(uid(f.version()))
		}
		slices.SortFunc(n.Pods, func(a, b cluster.Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
}

func (f *Fake) node(name string) *cluster.Node {
	i := slices.IndexFunc(f.state.Nodes, func(n *cluster.Node) bool { return string(n.Name) == name })
	if i < 0 {
		return nil
	}
	return f.state.Nodes[i]
}

// UpdateNode brings a node to the given labels, taints, finalizer and owner.
func (f *Fake) UpdateNode(_ context.Context, c cluster.NodeChange) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(string(c.Node))
	if n == nil || c.UID != "" && c.UID != n.UID || c.ProviderID != "" && c.ProviderID != n.ProviderID {
		return fmt.Errorf("update node %s: %w", c.Node, cluster.ErrNotFound)
	}
	defer f.touch()
	n.Labels, n.Annotations = joined(n.Labels, c.SetLabels), joined(n.Annotations, c.SetAnnotations)
	for _, l := range c.RemoveLabels {
		delete(n.Labels, l)
	}
	for _, t := range c.AddTaints {
		n.Taints = with(n.Taints, t)
	}
	for _, t := range c.RemoveTaints {
		n.Taints = slices.DeleteFunc(n.Taints, func(x model.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect })
	}
	if o := f.objects[key{kindClaim, string(c.Owner)}]; o != nil {
		f.owners[string(n.Name)] = o.GetUID()
	}
	if c.Finalizer != nil {
		f.held[string(n.Name)] = *c.Finalizer && (f.held[string(n.Name)] || !n.Terminating)
	}
	n.Terminating = n.Terminating || c.Delete
	f.reap(string(n.Name))
	return nil
}

// reap takes a node away that is being deleted and that no one holds, and its pods with it.
func (f *Fake) reap(name string) {
	f.state.Nodes = slices.DeleteFunc(f.state.Nodes, func(n *cluster.Node) bool {
		return string(n.Name) == name && n.Terminating && !f.held[name]
	})
	if f.node(name) == nil {
		delete(f.held, name)
		delete(f.owners, name)
		delete(f.objects, key{"Node", name})
	}
}

func joined(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

func with(taints []model.Taint, t model.Taint) []model.Taint {
	i := slices.IndexFunc(taints, func(x model.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect })
	if i < 0 {
		return append(slices.Clone(taints), t)
	}
	taints[i] = t
	return taints
}

// Evict asks a pod to end, unless a budget forbids it and it is not forced.
func (f *Fake) Evict(_ context.Context, e cluster.Eviction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settle()
	if f.OnEvict != nil {
		if err := f.OnEvict(e); err != nil {
			return err
		}
	}
	p := f.pod(e.Namespace, e.Name)
	if p == nil || p.UID != e.UID {
		return fmt.Errorf("evict pod %s/%s: %w", e.Namespace, e.Name, cluster.ErrNotFound)
	}
	if !p.DeletionTime.IsZero() && !e.Force {
		return nil // it is on its way out
	}
	grace := p.GracePeriod
	switch {
	case e.Force:
		grace = e.Grace
	case blocked(f, p):
		return fmt.Errorf("evict pod %s/%s: %w", e.Namespace, e.Name, cluster.ErrBlocked)
	}
	f.end(p, grace)
	f.taken = append(f.taken, e)
	f.touch()
	return nil
}

// PodsOn implements cluster.Cluster.
func (f *Fake) PodsOn(_ context.Context, node model.NodeName) ([]cluster.Pod, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settle()
	n := f.node(string(node))
	if n == nil {
		return nil, nil
	}
	return slices.Clone(n.Pods), nil
}

func (f *Fake) pod(namespace, name string) *cluster.Pod {
	for i := range f.state.Nodes {
		for j := range f.state.Nodes[i].Pods {
			if p := &f.state.Nodes[i].Pods[j]; p.Namespace == namespace && p.Name == name {
				return p
			}
		}
	}
	return nil
}

// blocked says whether a budget needs the pod. Pods that have ended need no budget's leave.
func blocked(f *Fake, p *cluster.Pod) bool {
	if p.Finished {
		return false
	}
	for _, b := range f.budgets {
		if b.namespace != p.Namespace || !b.selector.Matches(f.pods[p.UID].labels) {
			continue
		}
		healthy := 0
		for i := range f.state.Nodes {
			for _, x := range f.state.Nodes[i].Pods {
				if x.Namespace == b.namespace && x.DeletionTime.IsZero() && !x.Finished && b.selector.Matches(f.pods[x.UID].labels) {
					healthy++
				}
			}
		}
		if healthy-1 < b.minAvailable {
			return true
		}
	}
	return false
}

// end tells a pod to end. A second time can only shorten what is left.
func (f *Fake) end(p *cluster.Pod, grace time.Duration) {
	now := f.now()
	l := f.pods[p.UID]
	if at := now.Add(grace); p.DeletionTime.IsZero() || at.Before(p.DeletionTime) {
		p.DeletionTime = at
	}
	if at := now.Add(min(grace, ExitTime)); l.ends.IsZero() || at.Before(l.ends) {
		l.ends = at
	}
	f.pods[p.UID] = l
}

// Publish writes claims, pools and classes as objects, and keeps the events.
func (f *Fake) Publish(_ context.Context, p cluster.Publication) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.touch()
	if f.OnPublish != nil {
		f.OnPublish(p)
	}
	failed := cluster.NotPublished{}
	for _, c := range p.Claims {
		if err := f.publishClaim(c, p.Consolidatable[c.ID]); err != nil {
			failed[cluster.ClaimEntry(c.ID)] = err
		}
	}
	for _, id := range p.ForgetClaims {
		f.remove(key{kindClaim, string(id)})
		f.release(key{kindClaim, string(id)}, labels.FinalizerTermination)
	}
	for _, s := range p.Pools {
		f.write(key{kindPool, string(s.Name)}, func(o *unstructured.Unstructured) { objects.SetPool(o, s, f.now()) })
	}
	for _, s := range p.Classes {
		f.write(key{kindClass, string(s.Name)}, func(o *unstructured.Unstructured) { objects.SetClass(o, s, f.now()) })
	}
	for _, s := range p.States {
		if ref, known := objects.Stated(s); known {
			f.write(key{ref.Kind, ref.Name}, func(o *unstructured.Unstructured) { ref.Set(o, s, f.now()) })
		}
	}
	for _, name := range p.ForgetClasses {
		f.release(key{kindClass, string(name)}, labels.FinalizerNodeClass)
	}
	for _, e := range p.Events {
		f.tell(e)
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

func (f *Fake) publishClaim(c model.Claim, consolidatable bool) error {
	k := key{kindClaim, string(c.ID)}
	if problems := validation.IsDNS1123Subdomain(k.name); len(problems) > 0 {
		return fmt.Errorf("metadata.name: %s", problems[0])
	}
	if f.objects[k] == nil {
		o := objects.NewClaim(c, f.objects[key{kindPool, string(c.NodePool)}])
		f.born(o)
		f.objects[k] = o
	}
	f.write(k, func(o *unstructured.Unstructured) { objects.SetClaim(o, c, consolidatable, f.now()) })
	return nil
}

// born gives a new object what the API server gives it.
func (f *Fake) born(o *unstructured.Unstructured) {
	o.SetUID(uid(f.version()))
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(f.now()))
	o.SetResourceVersion(f.version())
}

func uid(version string) types.UID { return types.UID("uid-" + version) }

func (f *Fake) version() string {
	f.serial++
	return strconv.Itoa(f.serial)
}

// write changes an object, if it is there.
func (f *Fake) write(k key, change func(*unstructured.Unstructured)) {
	o := f.objects[k]
	if o == nil {
		return
	}
	after := o.DeepCopy()
	change(after)
	if !equality.Semantic.DeepEqual(o.Object, after.Object) {
		after.SetResourceVersion(f.version())
		f.objects[k] = after
	}
}

// remove deletes an object, or marks it while a finalizer holds it.
func (f *Fake) remove(k key) {
	f.write(k, func(o *unstructured.Unstructured) {
		if o.GetDeletionTimestamp() == nil {
			at := metav1.NewTime(f.now())
			o.SetDeletionTimestamp(&at)
		}
	})
	f.drop(k)
}

// release takes a finalizer off.
func (f *Fake) release(k key, finalizer string) {
	f.write(k, func(o *unstructured.Unstructured) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(x string) bool { return x == finalizer }))
	})
	f.drop(k)
}

// drop takes an object away that is being deleted and that no one holds; a class or pool that has no object, because it
// was edited into the state, goes when it is being deleted.
func (f *Fake) drop(k key) {
	o := f.objects[k]
	gone := o != nil && o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
	leaving := o != nil && o.GetDeletionTimestamp() != nil
	if gone {
		delete(f.objects, k)
	}
	switch k.kind {
	case kindPool:
		f.state.Pools = slices.DeleteFunc(f.state.Pools, func(p cluster.Pool) bool { return string(p.Name) == k.name && gone })
		for i := range f.state.Pools {
			f.state.Pools[i].Terminating = f.state.Pools[i].Terminating || leaving && string(f.state.Pools[i].Name) == k.name
		}
	case kindClass:
		f.state.Classes = slices.DeleteFunc(f.state.Classes, func(c cluster.Class) bool {
			return string(c.Spec.Name) == k.name && (gone || o == nil && c.Terminating)
		})
		for i := range f.state.Classes {
			f.state.Classes[i].Terminating = f.state.Classes[i].Terminating || leaving && string(f.state.Classes[i].Spec.Name) == k.name
		}
	}
}

// tell keeps an event, unless it was the last thing said about the object within an hour.
func (f *Fake) tell(e cluster.Event) {
	if e.UID == "" {
		if o := f.objects[key{e.Kind, e.Name}]; o != nil {
			e.UID = string(o.GetUID())
		}
		if p := f.pod(e.Namespace, e.Name); p != nil && e.Kind == "Pod" {
			e.UID = p.UID
		}
	}
	in := cmp.Or(e.Namespace, metav1.NamespaceDefault)
	for _, old := range slices.Backward(f.events) {
		same := old.Event
		same.Message, same.Warning = e.Message, e.Warning
		if same != e {
			continue
		}
		if old.Message == e.Message && f.now().Sub(old.at) < time.Hour {
			return
		}

		break
	}
	f.events = append(f.events, Event{Event: e, In: in, at: f.now()})
}
