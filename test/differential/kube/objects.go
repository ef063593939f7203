package kube

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	features "k8s.io/component-helpers/nodedeclaredfeatures/features/restartallcontainers"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Objects are what plugins look up beside pods and nodes.
type Objects struct {
	*lookups
	// DeviceClaims are the claims of pods, by namespace and name.
	DeviceClaims map[types.UID]*resourceapi.ResourceClaim
}

// lookups are the objects that no world changes.
type lookups struct {
	Namespaces, Volumes, Claims, Classes, ReplicaSets, Drivers []any
	// Defaults are the scheduler's default spread constraints.
	Defaults []corev1.TopologySpreadConstraint
}

// NewObjects collects the objects of an input.
func NewObjects(in *model.Input) *Objects {
	s, o := &in.Snapshot, &Objects{lookups: &lookups{}, DeviceClaims: make(map[types.UID]*resourceapi.ResourceClaim)}
	for _, t := range in.Policy.DefaultSpread {
		o.Defaults = append(o.Defaults, spread(t))
	}
	for _, ns := range s.Namespaces {
		o.Namespaces = append(o.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.Name, Labels: labels(ns.Labels)}})
	}
	// A volume that has a pod, or that pods share, is there already.
	bound, counted := make(map[model.ClassID]bool), make(map[model.ClassID]bool)
	for _, p := range s.Pods {
		bound[p.Class] = bound[p.Class] || p.Node != "" || counted[p.Class]
		counted[p.Class] = true
	}
	classes := make(map[model.ClassID]*model.PodClass)
	for i := range s.PodClasses {
		classes[s.PodClasses[i].ID] = &s.PodClasses[i]
	}
	seen := make(map[string]bool)
	for _, p := range s.Pods {
		o.deviceClaims(&p, classes[p.Class])
		for i, v := range classes[p.Class].Volumes {
			there := bound[p.Class]
			if v.Name == "" {
				there = p.Node != ""
			}
			if v.Name = volumeName(p.ID, i, v); !seen[v.Name] {
				seen[v.Name] = true
				o.volume(v, there)
			}
		}
	}
	for i := range s.PodClasses {
		o.owner(&s.PodClasses[i])
		o.drivers(&s.PodClasses[i])
	}
	return o
}

// volumeName is the namespace and name of the i-th volume's claim: the volume's, or where each pod has its own, the pod's.
func volumeName(pod model.PodID, i int, v model.VolumeTopology) string {
	if v.Name != "" {
		return v.Name
	}
	return string(pod) + "-v" + strconv.Itoa(i)
}

// owner makes the ReplicaSet that tells the scheduler which pods belong together with those of a class.
func (o *Objects) owner(c *model.PodClass) {
	if c.DefaultSelector == nil {
		return
	}
	o.ReplicaSets = append(o.ReplicaSets, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: string(c.ID)},
		Spec:       appsv1.ReplicaSetSpec{Selector: selector(c.DefaultSelector)},
	})
}

// drivers are those that keep the pods of a class off nodes without them. All classes with their volumes say so.
func (o *Objects) drivers(c *model.PodClass) {
	if len(o.Drivers) > 0 {
		return // there is one in all
	}
	for _, name := range c.NeededDrivers {
		o.Drivers = append(o.Drivers, &storagev1.CSIDriver{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)},
		})
	}
}

// csiNode says which drivers a node has and how many volumes it can attach; nil for a node without drivers.
func csiNode(n *model.Node) *storagev1.CSINode {
	if len(n.VolumeLimits)+len(n.Drivers) == 0 {
		return nil
	}
	node := string(n.Name)
	out := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, d := range n.Drivers {
		if _, limited := n.VolumeLimits.Get(model.Resource(d)); !limited {
			out.Spec.Drivers = append(out.Spec.Drivers, storagev1.CSINodeDriver{Name: d, NodeID: node})
		}
	}
	for _, a := range n.VolumeLimits {
		out.Spec.Drivers = append(out.Spec.Drivers, storagev1.CSINodeDriver{
			Name: string(a.Resource), NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(a.Value))}, //nolint:gosec // few
		})
	}
	return out
}

// hash makes choices that the planner does not see: which of two ways an object says the same.
func hash(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return h.Sum32()
}

// volume is a claim that is bound to a volume, or, for a pod that has no node yet, perhaps one that will get its volume
// where the pod comes to run.
func (o *Objects) volume(v model.VolumeTopology, bound bool) {
	namespace, name, _ := strings.Cut(v.Name, "/")
	class := "sc-" + namespace + "-" + name
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(v.Name)},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
	}
	if v.Exclusive {
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	sc := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &mode}
	o.Claims, o.Classes = append(o.Claims, claim), append(o.Classes, sc)
	if !bound && hash(v.Name)%2 == 0 && allIn(v.Terms) {
		claim.Status.Phase = corev1.ClaimPending
		for _, t := range v.Terms {
			var term corev1.TopologySelectorTerm
			for _, r := range t.Requirements {
				term.MatchLabelExpressions = append(term.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{Key: r.Key, Values: r.Values})
			}
			sc.AllowedTopologies = append(sc.AllowedTopologies, term)
		}
		return
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + namespace + "-" + name}}
	pv.Spec.StorageClassName = class
	pv.Spec.Capacity = claim.Spec.Resources.Requests
	pv.Spec.AccessModes = claim.Spec.AccessModes
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: pv.Name}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: name, UID: claim.UID}
	if len(v.Terms) > 0 {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: nodeTerms(v.Terms)}
	}
	pv.Status.Phase, claim.Status.Phase = corev1.VolumeBound, corev1.ClaimBound
	claim.Spec.VolumeName = pv.Name
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	o.Volumes = append(o.Volumes, pv)
}

// allIn says whether terms can be said as the allowed topologies of a storage class.
func allIn(terms []model.NodeAffinityTerm) bool {
	for _, t := range terms {
		for _, r := range t.Requirements {
			if r.Operator != model.In {
				return false
			}
		}
	}
	return true
}

// NewNode is a node as Kubernetes has it.
func NewNode(n *model.Node) *Node {
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(n.Name), Labels: labels(n.Labels), UID: types.UID(n.Name)}}
	out.Spec.Unschedulable = n.Unschedulable
	for _, t := range n.Taints {
		out.Spec.Taints = append(out.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect.String())})
	}
	out.Status.Allocatable, out.Status.Capacity = Resources(n.Allocatable), Resources(n.Allocatable)
	out.Status.DeclaredFeatures = n.Features
	return &Node{Node: out, devices: published(out.Name, n.Devices), attach: csiNode(n)}
}

// Has says whether a node has the drivers and the features that pods of a class need.
func (n *Node) Has(c *model.PodClass) bool {
	lacks := func(feature string) bool { return !slices.Contains(n.Status.DeclaredFeatures, feature) }
	runs := func(d string) bool {
		return n.attach != nil && slices.ContainsFunc(n.attach.Spec.Drivers, func(x storagev1.CSINodeDriver) bool { return x.Name == d })
	}
	return !slices.ContainsFunc(c.NeededFeatures, lacks) &&
		!slices.ContainsFunc(c.NeededDrivers, func(d string) bool { return !runs(d) })
}

func labels(ls model.Labels) map[string]string {
	out := make(map[string]string, len(ls))
	for _, l := range ls {
		out[l.Key] = l.Value
	}
	return out
}

// Resources are amounts as Kubernetes has them.
func Resources(as model.Amounts) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, a := range as {
		if a.Resource == model.CPU {
			out[corev1.ResourceCPU] = *resource.NewMilliQuantity(a.Value, resource.DecimalSI)
			continue
		}
		out[corev1.ResourceName(a.Resource)] = *resource.NewQuantity(a.Value, resource.DecimalSI)
	}
	return out
}

// NewPod is a pod as Kubernetes has it. What containers it asks with, and how much is overhead, is not the planner's to
// know, and differs from class to class.
func NewPod(p *model.Pod, c *model.PodClass) *Pod {
	namespace, name, _ := strings.Cut(string(p.ID), "/")
	if c.Namespace != "" {
		namespace = c.Namespace // the id of a buffer's pod begins with something else
	}
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(p.ID), Labels: labels(c.Labels)}}
	if p.Terminating {
		out.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	if c.DefaultSelector != nil {
		out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: string(c.ID), Controller: new(true)}}
	}
	spec := &out.Spec
	spec.SchedulerName, spec.NodeName, spec.NodeSelector = "default-scheduler", string(p.Node), labels(c.NodeSelector)
	spec.Priority = &c.Priority
	split(spec, c)
	for i, h := range c.HostPorts {
		spec.Containers[0].Ports = append(spec.Containers[0].Ports, corev1.ContainerPort{
			Name: "p" + strconv.Itoa(i), ContainerPort: h.Port, HostPort: h.Port, Protocol: corev1.Protocol(h.Protocol), HostIP: h.IP,
		})
	}
	for _, t := range c.Tolerations {
		op := corev1.TolerationOpEqual
		if t.Exists {
			op = corev1.TolerationOpExists
		}
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: op, Value: t.Value, Effect: corev1.TaintEffect(t.Effect.String())})
	}
	for i, v := range c.Volumes {
		_, claim, _ := strings.Cut(volumeName(p.ID, i, v), "/")
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "v" + strconv.Itoa(i), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	for i := range c.DeviceClaims {
		claim := deviceClaimName(name, i)
		spec.ResourceClaims = append(spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
	if slices.Contains(c.NeededFeatures, features.RestartAllContainersOnContainerExits) {
		spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
	}
	spec.Affinity = affinity(c)
	for _, t := range c.TopologySpread {
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, spread(t))
	}
	return &Pod{Pod: out}
}

// split divides what a pod asks for among containers, an init container that is not larger, and overhead.
func split(spec *corev1.PodSpec, c *model.PodClass) {
	main, second, overhead := model.Amounts{}, model.Amounts{}, model.Amounts{}
	for _, a := range c.Requests {
		if a.Resource == model.Pods {
			continue
		}
		rest := a.Value
		if a.Resource == model.CPU || a.Resource == model.Memory {
			if hash(string(c.ID))%3 == 0 {
				overhead = append(overhead, model.Amount{Resource: a.Resource, Value: a.Value / 4})
				rest -= a.Value / 4
			}
			if hash(string(c.ID))%2 == 0 {
				second = append(second, model.Amount{Resource: a.Resource, Value: a.Value / 3})
				rest -= a.Value / 3
			}
		}
		main = append(main, model.Amount{Resource: a.Resource, Value: rest})
	}
	spec.Containers = []corev1.Container{container("main", main)}
	if len(second) > 0 {
		spec.Containers = append(spec.Containers, container("second", second))
		spec.InitContainers = []corev1.Container{container("init", main)}
	}
	if len(overhead) > 0 {
		spec.Overhead = Resources(overhead)
	}
}

func container(name string, requests model.Amounts) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: Resources(requests)}}
}

func requirements(rs []model.Requirement) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, r := range rs {
		out = append(out, corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator.String()), Values: r.Values})
	}
	return out
}

func nodeTerms(ts []model.NodeAffinityTerm) *corev1.NodeSelector {
	out := &corev1.NodeSelector{}
	for _, t := range ts {
		out.NodeSelectorTerms = append(out.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: requirements(t.Requirements)})
	}
	return out
}

func selector(s *model.Selector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &metav1.LabelSelector{}
	for _, r := range s.Requirements {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: r.Key, Operator: metav1.LabelSelectorOperator(r.Operator.String()), Values: r.Values,
		})
	}
	return out
}

func affinity(c *model.PodClass) *corev1.Affinity {
	out := &corev1.Affinity{}
	if len(c.NodeAffinity)+len(c.PreferredNodeAffinity) > 0 {
		out.NodeAffinity = &corev1.NodeAffinity{}
		if len(c.NodeAffinity) > 0 {
			out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nodeTerms(c.NodeAffinity)
		}
		for _, p := range c.PreferredNodeAffinity {
			out.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(out.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: p.Weight, Preference: corev1.NodeSelectorTerm{MatchExpressions: requirements(p.Requirements)}})
		}
	}
	if required, preferred := podTerms(c.PodAffinity); len(required)+len(preferred) > 0 {
		out.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred,
		}
	}
	if required, preferred := podTerms(c.PodAntiAffinity); len(required)+len(preferred) > 0 {
		out.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred,
		}
	}
	return out
}

func podTerms(ts []model.PodAffinityTerm) (required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for _, t := range ts {
		term := corev1.PodAffinityTerm{
			LabelSelector: selector(t.Selector), Namespaces: t.Namespaces, TopologyKey: t.TopologyKey, NamespaceSelector: selector(t.NamespaceSelector),
		}
		if t.Weight == 0 {
			required = append(required, term)
			continue
		}
		preferred = append(preferred, corev1.WeightedPodAffinityTerm{Weight: t.Weight, PodAffinityTerm: term})
	}
	return required, preferred
}

func spread(t model.TopologySpread) corev1.TopologySpreadConstraint {
	out := corev1.TopologySpreadConstraint{
		MaxSkew: t.MaxSkew, TopologyKey: t.TopologyKey, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector(t.Selector),
	}
	if t.Required {
		out.WhenUnsatisfiable = corev1.DoNotSchedule
	}
	if t.MinDomains > 0 {
		out.MinDomains = &t.MinDomains
	}
	ignore, honor := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor
	if t.IgnoreNodeAffinity {
		out.NodeAffinityPolicy = &ignore
	}
	if t.HonorTaints {
		out.NodeTaintsPolicy = &honor
	}
	return out
}
