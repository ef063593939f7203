package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
)

const (
	kindClaim = "NodeClaim"
	kindPool  = "NodePool"
	kindClass = "EC2NodeClass"
)

// Apply creates objects from YAML documents as their users would: Node, Pod, PodDisruptionBudget, NodePool, NodeClaim,
// EC2NodeClass, NodeOverlay, CapacityBuffer.
func (f *Fake) Apply(manifests string) error {
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(manifests), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := docs.Decode(o)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("apply: %w", err)
		}
		if err := f.apply(o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
}

func (f *Fake) apply(o *unstructured.Unstructured) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.touch()
	defer f.sort()
	switch o.GetKind() {
	case "Node":
		return f.applyNode(o)
	case "Pod":
		return f.applyPod(o)
	case "PodDisruptionBudget":
		return f.applyBudget(o)
	case kindPool:
		f.born(o)
		f.objects[key{kindPool, o.GetName()}] = o
		f.state.Pools = slices.DeleteFunc(f.state.Pools, func(p cluster.Pool) bool { return string(p.Name) == o.GetName() })
		f.state.Pools = append(f.state.Pools, objects.Pool(o))
	case kindClass:
		f.born(o)
		f.objects[key{kindClass, o.GetName()}] = o
		f.state.Classes = slices.DeleteFunc(f.state.Classes, func(c cluster.Class) bool { return string(c.Spec.Name) == o.GetName() })
		f.state.Classes = append(f.state.Classes, objects.Class(o))
	case kindClaim, karpenterv1alpha1.KindNodeOverlay, autoscalingv1beta1.KindCapacityBuffer:
		f.born(o)
		f.objects[key{o.GetKind(), o.GetName()}] = o
	default:
		return errors.New("kind: the fake knows Node, Pod, PodDisruptionBudget, NodePool, NodeClaim, EC2NodeClass, NodeOverlay and CapacityBuffer")
	}
	return nil
}

// typed reads an object into its Go type, and refuses fields that this does not have.
func typed(o *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true)
}

func (f *Fake) applyNode(o *unstructured.Unstructured) error {
	var n corev1.Node
	if err := typed(o, &n); err != nil {
		return err
	}
	if f.node(n.Name) != nil {
		return errors.New("it is there already")
	}
	n.CreationTimestamp = metav1.NewTime(f.now())
	f.born(o)
	n.UID = o.GetUID()
	node := objects.Node(&n, nil)
	node.Ready = true
	node.Conditions = []model.NodeCondition{{Type: string(corev1.NodeReady), Status: string(corev1.ConditionTrue), TransitionTime: f.now()}}
	f.state.Nodes = append(f.state.Nodes, &node)
	f.objects[key{"Node", n.Name}] = o
	return nil
}

func (f *Fake) applyPod(o *unstructured.Unstructured) error {
	var p corev1.Pod
	if err := typed(o, &p); err != nil {
		return err
	}
	if p.Spec.NodeName == "" {
		id := model.PodID(p.Namespace + "/" + p.Name)
		p.UID = uid(f.version())
		f.unbound[id], f.specs[id] = cluster.UnboundPod{ID: id, UID: string(p.UID), Owner: objects.Pod(&p).Owner}, &p
		return nil
	}
	n := f.node(p.Spec.NodeName)
	if n == nil {
		return fmt.Errorf("spec.nodeName: there is no node %q, and the fake schedules nothing", p.Spec.NodeName)
	}
	p.UID = uid(f.version())
	starts(&p)
	pod := objects.Pod(&p)
	n.Pods = append(n.Pods, pod)
	f.pods[string(p.UID)] = life{labels: p.Labels, given: &p}
	return nil
}

// starts makes a pod what it is once it runs.
func starts(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func (f *Fake) applyBudget(o *unstructured.Unstructured) error {
	var b policyv1.PodDisruptionBudget
	if err := typed(o, &b); err != nil {
		return err
	}
	if b.Spec.MinAvailable == nil || b.Spec.MinAvailable.Type != intstr.Int {
		return errors.New("spec.minAvailable: the fake wants a number here")
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return fmt.Errorf("spec.selector: %w", err)
	}
	f.budgets[b.Namespace+"/"+b.Name] = budget{
		namespace: b.Namespace, selector: selector, minAvailable: b.Spec.MinAvailable.IntValue(),
	}
	return nil
}

// Delete asks for the end of an object, as its user would; what a finalizer holds stays.
func (f *Fake) Delete(kind, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.touch()
	if kind != "Node" {
		f.remove(key{kind, name})
		return
	}
	if n := f.node(name); n != nil {
		n.Terminating = true
		f.reap(name)
	}
}

// Read is an object as users see it: of nodes and pods what the suite looks at. Nil if there is none.
func (f *Fake) Read(kind, namespace, name string) *unstructured.Unstructured {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settle()
	switch kind {
	case "Node":
		return readNode(f, name)
	case "Pod":
		return readPod(f, namespace, name)
	}
	if o := f.objects[key{kind, name}]; o != nil {
		return o.DeepCopy()
	}
	return nil
}

func readNode(f *Fake, name string) *unstructured.Unstructured {
	if f.node(name) == nil {
		return nil
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
	o.SetName(name)
	if given := f.objects[key{"Node", name}]; given != nil {
		o.SetUID(given.GetUID())
	}
	if f.held[name] {
		o.SetFinalizers([]string{labels.FinalizerTermination})
	}
	for k, claim := range f.objects {
		if k.kind == kindClaim && claim.GetUID() == f.owners[name] {
			o.SetOwnerReferences([]metav1.OwnerReference{{Kind: kindClaim, Name: k.name, UID: claim.GetUID()}})
		}
	}
	return o
}

func readPod(f *Fake, namespace, name string) *unstructured.Unstructured {
	if u, ok := f.unbound[model.PodID(namespace+"/"+name)]; ok {
		return readUnbound(namespace, name, u)
	}
	p := f.pod(namespace, name)
	if p == nil {
		return nil
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "status": map[string]any{"phase": string(corev1.PodRunning)},
	}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID(p.UID))
	o.SetLabels(f.pods[p.UID].labels)
	o.SetAnnotations(f.pods[p.UID].given.Annotations)
	return o
}
