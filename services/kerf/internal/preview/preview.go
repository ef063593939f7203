// Package preview shows what changed objects would do to a cluster before they are applied: it edits a snapshot as the
// API server and the actuator would, plays plans through on both snapshots, and compares.
//
// It talks to no one: plans come from a Decider, and what only AWS knows is assumed and said. It must never apply
// anything. Print writes a comparison. Start reading at Edit, then Compare.
package preview

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	watcher "github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// Effect is what an object of a preview does to the snapshot.
type Effect string

// The effects.
const (
	Added   Effect = "added"
	Changed Effect = "changed"
	// Same is an object that says nothing new.
	Same Effect = "the same"
)

// Change is one object of a preview.
type Change struct {
	// Object is its kind and name, as convert.TitleOf has it.
	Object string `json:"object"`
	Effect Effect `json:"effect"`
}

// Edited is a snapshot with other objects in it.
type Edited struct {
	Snapshot *clusterpb.Snapshot
	Changes  []Change
	// Assumed says what no one knows without AWS, a sentence each.
	Assumed []string
}

// Edit puts objects into a snapshot, in the place of those of their names: NodePools, EC2NodeClasses, NodeOverlays and
// CapacityBuffers, and the PodTemplates and workloads that buffers refer to. The objects have their defaults and are
// valid, and no two of them have one name. world is only asked where a node class is among them. The snapshot is not
// changed. Errors about an object are *convert.ObjectErrors.
func Edit(s *clusterpb.Snapshot, objects []runtime.Object, world func() (convert.World, error), now time.Time) (Edited, error) {
	e := editor{s: shallow(s), now: now}
	var classes []*awsv1.EC2NodeClass
	var later []runtime.Object
	for _, o := range objects {
		if c, ok := o.(*awsv1.EC2NodeClass); ok {
			classes = append(classes, c)
			continue
		}
		later = append(later, o)
	}
	if err := e.classes(classes, world); err != nil {
		return Edited{}, err
	}
	if err := e.others(later); err != nil {
		return Edited{}, err
	}
	return Edited{Snapshot: e.s, Changes: e.changes, Assumed: e.assumed}, nil
}

// shallow is a snapshot with the same objects in lists of its own.
func shallow(s *clusterpb.Snapshot) *clusterpb.Snapshot {
	return &clusterpb.Snapshot{
		Revision: s.GetRevision(), InventoryRevision: s.GetInventoryRevision(), Cluster: s.GetCluster(), ObserveTime: s.GetObserveTime(),
		PodClasses: slices.Clone(s.GetPodClasses()), Pods: slices.Clone(s.GetPods()), DaemonSets: slices.Clone(s.GetDaemonSets()),
		Nodes: slices.Clone(s.GetNodes()), Namespaces: slices.Clone(s.GetNamespaces()),
		PodDisruptionBudgets: slices.Clone(s.GetPodDisruptionBudgets()), NodePools: slices.Clone(s.GetNodePools()),
		NodeClasses: slices.Clone(s.GetNodeClasses()), Catalogs: slices.Clone(s.GetCatalogs()), Offerings: slices.Clone(s.GetOfferings()),
		Claims: slices.Clone(s.GetClaims()), Notices: slices.Clone(s.GetNotices()), Disruptions: slices.Clone(s.GetDisruptions()),
		NodeOverlays: slices.Clone(s.GetNodeOverlays()), CapacityBuffers: slices.Clone(s.GetCapacityBuffers()),
	}
}

type editor struct {
	s       *clusterpb.Snapshot
	now     time.Time
	changes []Change
	assumed []string
}

// put replaces the message of the same id, or puts it where it sorts, and notes what that did.
func put[M proto.Message](e *editor, title string, list *[]M, m M, id func(M) string) {
	at := slices.IndexFunc(*list, func(have M) bool { return id(have) == id(m) })
	switch {
	case at < 0:
		*list = append(*list, m)
		slices.SortStableFunc(*list, func(a, b M) int { return strings.Compare(id(a), id(b)) })
		e.note(title, Added)
	case proto.Equal((*list)[at], m):
		e.note(title, Same)
	default:
		(*list)[at] = m
		e.note(title, Changed)
	}
}

func (e *editor) note(title string, what Effect) {
	if title != "" {
		e.changes = append(e.changes, Change{title, what})
	}
}

// classes come first: pools refer to them.
func (e *editor) classes(list []*awsv1.EC2NodeClass, world func() (convert.World, error)) error {
	if len(list) == 0 {
		return nil
	}
	w, err := world()
	if err != nil {
		return err
	}
	for _, c := range list {
		var before *clusterpb.NodeClass
		for _, have := range e.s.GetNodeClasses() {
			if have.GetName() == c.Name {
				before = have
			}
		}
		r, err := convert.Resolve(c, before, w)
		if err != nil {
			return &convert.ObjectError{Object: convert.TitleOf(c), Err: err}
		}
		e.class(r, before, convert.TitleOf(c))
	}
	return nil
}

func (e *editor) class(r convert.Resolved, before *clusterpb.NodeClass, title string) {
	e.assumed = append(e.assumed, r.Assumed...)
	put(e, title, &e.s.NodeClasses, r.Class, (*clusterpb.NodeClass).GetName)
	if !slices.ContainsFunc(e.s.GetCatalogs(), func(c *clusterpb.Catalog) bool { return c.GetId() == r.Class.GetCatalogId() }) {
		put(e, "", &e.s.Catalogs, e.shapes(r.Catalog, before), (*clusterpb.Catalog).GetId)
	}
	if len(e.s.GetOfferings()) == 0 {
		e.s.Offerings = r.Offerings
		e.assumed = append(e.assumed, title+": list prices, because nothing was sold in the snapshot")
	}
}

// shapes are what a class's instance types offer under new settings: of the types that the class had, and in their
// region, where it was there before.
func (e *editor) shapes(fresh *clusterpb.Catalog, before *clusterpb.NodeClass) *clusterpb.Catalog {
	had := map[string]*clusterpb.InstanceType{}
	for _, c := range e.s.GetCatalogs() {
		if c.GetId() == before.GetCatalogId() {
			for _, t := range c.GetInstanceTypes() {
				had[t.GetName()] = t
			}
		}
	}
	if len(had) == 0 {
		return fresh
	}
	out := &clusterpb.Catalog{Id: fresh.GetId()}
	for _, t := range fresh.GetInstanceTypes() {
		old := had[t.GetName()]
		if old == nil {
			continue
		}
		t = proto.CloneOf(t)
		for _, l := range t.GetLabels() {
			if l.GetKey() == corev1.LabelTopologyRegion {
				l.Value = valueOf(old.GetLabels(), l.GetKey())
			}
		}
		out.InstanceTypes = append(out.InstanceTypes, t)
	}
	return out
}

func valueOf(labels []*clusterpb.Label, key string) string {
	for _, l := range labels {
		if l.GetKey() == key {
			return l.GetValue()
		}
	}
	return ""
}

func (e *editor) hasClass(name string) bool {
	return slices.ContainsFunc(e.s.GetNodeClasses(), func(c *clusterpb.NodeClass) bool { return c.GetName() == name })
}

func (e *editor) others(objects []runtime.Object) error {
	var templates manifests.Cluster // what buffers refer to
	var buffers []*autoscalingv1beta1.CapacityBuffer
	for _, o := range objects {
		title := convert.TitleOf(o)
		switch o := o.(type) {
		case *karpenterv1.NodePool:
			if err := e.pool(o); err != nil {
				return &convert.ObjectError{Object: title, Err: err}
			}
		case *karpenterv1alpha1.NodeOverlay:
			m, ok := watcher.NodeOverlay(o, nil).Payload.(*clusterpb.NodeOverlay)
			if !ok || m.GetNotReady() != nil {
				return &convert.ObjectError{Object: title, Err: errors.New(m.GetNotReady().GetMessage())}
			}
			put(e, title, &e.s.NodeOverlays, m, (*clusterpb.NodeOverlay).GetName)
		case *autoscalingv1beta1.CapacityBuffer:
			buffers = append(buffers, o)
			if err := templates.Add(o, nil); err != nil {
				return &convert.ObjectError{Object: title, Err: err}
			}
		case *corev1.PodTemplate:
			if err := templates.Add(o, nil); err != nil {
				return &convert.ObjectError{Object: title, Err: err}
			}
		default:
			return &convert.ObjectError{Object: title, Err: errors.New(
				"can't be previewed: want a NodePool, an EC2NodeClass, a NodeOverlay, a CapacityBuffer with its PodTemplate, or a policy")}
		}
	}
	return e.buffers(buffers, &templates)
}

func (e *editor) pool(p *karpenterv1.NodePool) error {
	m, ok := watcher.NodePool(p, watcher.PoolFacts{NodeClasses: e.hasClass}).Payload.(*clusterpb.NodePool)
	if !ok {
		return errors.New("can't be read")
	}
	if r := m.GetNotReady(); r != nil {
		text := r.GetMessage()
		if r.GetCode() == clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_FOUND {
			text += " in the snapshot; give its manifest too"
		}
		return errors.New(text)
	}
	if p.Annotations[labels.Devices] != "" {
		for _, have := range e.s.GetNodePools() {
			if have.GetName() == p.Name {
				m.Devices = have.GetDevices()
			}
		}
		e.assumed = append(e.assumed, "NodePool "+p.Name+": the devices of its nodes are the ones that it has now")
	}
	put(e, convert.TitleOf(p), &e.s.NodePools, m, (*clusterpb.NodePool).GetName)
	return nil
}

// buffers are converted as the watcher does, with the templates at hand. One whose workload is not at hand keeps the
// class that it had, if it was there before.
func (e *editor) buffers(list []*autoscalingv1beta1.CapacityBuffer, templates *manifests.Cluster) error {
	if len(list) == 0 {
		return nil
	}
	events, err := templates.Events(e.now)
	if err != nil {
		return err
	}
	for _, b := range list {
		title := convert.TitleOf(b)
		id := b.Namespace + "/" + b.Name
		for _, ev := range events {
			o := ev.Object()
			m, ok := o.Payload.(*clusterpb.CapacityBuffer)
			if !ok || o.Kind != snapshot.CapacityBuffer || m.GetId() != id {
				continue
			}
			if err := e.buffer(title, m, o, b); err != nil {
				return &convert.ObjectError{Object: title, Err: err}
			}
		}
	}
	return nil
}

func (e *editor) buffer(title string, m *clusterpb.CapacityBuffer, o snapshot.Object, b *autoscalingv1beta1.CapacityBuffer) error {
	if r := m.GetNotReady(); r != nil {
		at := slices.IndexFunc(e.s.GetCapacityBuffers(), func(have *clusterpb.CapacityBuffer) bool {
			return have.GetId() == m.GetId() && have.GetClassId() != ""
		})
		if r.GetCode() != clusterpb.ReasonCode_REASON_CODE_BUFFER_REFERENCE || at < 0 || b.Spec.Replicas == nil {
			return fmt.Errorf("%s among the files; add its manifest", r.GetMessage())
		}
		have := e.s.GetCapacityBuffers()[at]
		m.NotReady, m.ClassId, m.Replicas, m.CreateTime = nil, have.GetClassId(), int64(*b.Spec.Replicas), have.GetCreateTime()
	}
	if class, ok := classOf(o); ok {
		put(e, "", &e.s.PodClasses, class, (*clusterpb.PodClass).GetId)
	}
	put(e, title, &e.s.CapacityBuffers, m, (*clusterpb.CapacityBuffer).GetId)
	return nil
}

func classOf(o snapshot.Object) (*clusterpb.PodClass, bool) {
	if o.Class == nil {
		return nil, false
	}
	m, ok := o.Class.Payload.(*clusterpb.PodClass)
	return m, ok
}
