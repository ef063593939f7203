package convert

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/internal/policy"
)

const defaultGracePeriod = 30 * time.Second

// podClass collects what scheduling looks at. The first thing that Kerf does not plan for is named in `unsupported`, by
// the field and what is wrong with it; the rest of the class is still as complete as it can be.
func podClass(p *corev1.Pod, refs References) *clusterpb.PodClass {
	p, bad := withRuntime(p, refs)
	b := classBuilder{pod: p, refs: refs, class: &clusterpb.PodClass{
		Namespace:     p.Namespace,
		SchedulerName: cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName),
		Mirror:        isMirror(p),
	}}
	b.refuse(bad)
	b.class.Labels = b.classLabels()
	b.owner()
	b.requests()
	b.ports()
	b.nodes()
	b.spread()
	b.affinity()
	b.volumes()
	b.priority()
	b.class.TerminationGracePeriod = durationpb.New(defaultGracePeriod)
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		b.class.TerminationGracePeriod = durationpb.New(time.Duration(min(max(*s, 0), 1<<31)) * time.Second)
	}
	b.defaultSelector()
	b.devices()
	b.class.NeededFeatures = reader.NeededFeatures(&p.Spec)
	return b.class
}

type classBuilder struct {
	pod   *corev1.Pod
	refs  References
	class *clusterpb.PodClass
	// implied are claims that the pod makes without an object, by a resource that stands for a device class.
	implied []*clusterpb.DeviceClaim
}

// refuse keeps the first text; "" is none.
func (b *classBuilder) refuse(text string) {
	if b.class.GetUnsupported() == "" {
		b.class.Unsupported = text
	}
}

func (b *classBuilder) owner() {
	o := metav1.GetControllerOf(b.pod)
	if o == nil {
		return
	}
	b.class.OwnerKind, b.class.OwnerName = workloadOf(b.pod, o)
	if b.class.Daemon = o.Kind == "DaemonSet"; !b.class.Daemon { // a DaemonSet's template has none, and its pods never move
		b.class.OwnerUid = string(o.UID)
	}
	for _, l := range []string{appsv1.DefaultDeploymentUniqueLabelKey, argoTemplateHash, appsv1.ControllerRevisionHashLabelKey} {
		if v := b.pod.Labels[l]; v != "" {
			b.class.OwnerRevision = v
			return
		}
	}
	b.class.OwnerRevision = b.refs.OwnerRevision(o.Kind, b.pod.Namespace, o.Name)
}

// argoTemplateHash is the label of pods of an Argo Rollout that says from which version of its template they are made.
const argoTemplateHash = "rollouts-pod-template-hash"

// workloadOf is what makes a pod again when it is gone, and stays the same when its template changes: of a ReplicaSet that
// a Deployment made, the Deployment. The pod itself says so, by the hash that the ReplicaSet's name ends with: its class
// must not wait for another object.
func workloadOf(p *corev1.Pod, o *metav1.OwnerReference) (kind, name string) {
	if o.Kind != "ReplicaSet" {
		return o.Kind, o.Name
	}
	for _, maker := range []struct{ label, kind string }{
		{appsv1.DefaultDeploymentUniqueLabelKey, "Deployment"}, {argoTemplateHash, "Rollout"},
	} {
		hash := p.Labels[maker.label]
		if name, ok := strings.CutSuffix(o.Name, "-"+hash); ok && hash != "" && name != "" {
			return maker.kind, name
		}
	}
	return o.Kind, o.Name
}

func isMirror(p *corev1.Pod) bool {
	if _, ok := p.Annotations[labels.MirrorPod]; ok {
		return true
	}
	o := metav1.GetControllerOf(p)
	return o != nil && o.Kind == "Node"
}

// requests are what the scheduler counts: the larger of containers and init containers with sidecars, pod-level requests
// where set, overhead, and what an in-place resize has been granted.
func (b *classBuilder) requests() {
	list := resourcehelper.PodRequests(b.pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	b.impliedDevices(list)
	delete(list, corev1.ResourcePods) // a pod is one, whatever it says
	out, bad := amounts(list)
	if bad != "" {
		b.refuse(fmt.Sprintf("spec.containers: the sum of requests for %s is out of bounds", bad))
	}
	i, _ := slices.BinarySearchFunc(out, "pods", func(a *clusterpb.Amount, name string) int {
		return strings.Compare(a.GetResource(), name)
	})
	b.class.Requests = slices.Insert(out, i, &clusterpb.Amount{Resource: "pods", Value: 1})
}

// nodes reads the node selector, node affinity and tolerations.
func (b *classBuilder) nodes() {
	selector := make(map[string]string, len(b.pod.Spec.NodeSelector))
	names := make(map[string]string, len(b.pod.Spec.NodeSelector))
	for _, k := range slices.Sorted(maps.Keys(b.pod.Spec.NodeSelector)) {
		key, v := labels.Normal(k), b.pod.Spec.NodeSelector[k]
		if had, ok := selector[key]; ok && had != v {
			b.refuse(fmt.Sprintf("spec.nodeSelector: %s and %s are one label, and ask for two values", names[key], k))
		}
		selector[key], names[key] = v, k
	}
	b.class.NodeSelector = labelsOf(selector)

	tolerations, bad := reader.Tolerations(b.pod.Spec.Tolerations)
	b.class.Tolerations = core.Tolerations(tolerations)
	b.refuse(bad)

	if b.pod.Spec.Affinity == nil || b.pod.Spec.Affinity.NodeAffinity == nil {
		return
	}
	na := b.pod.Spec.Affinity.NodeAffinity
	if r := na.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		b.requiredTerms(r.NodeSelectorTerms)
	}
	const path = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
	for i, t := range na.PreferredDuringSchedulingIgnoredDuringExecution {
		reqs, bad := reader.NodeTerm(t.Preference)
		if bad != "" {
			b.refuse(fmt.Sprintf("%s[%d].preference.%s", path, i, bad))
		}
		if len(reqs) > 0 {
			b.class.PreferredNodeAffinity = append(b.class.PreferredNodeAffinity,
				&clusterpb.PreferredNodeAffinityTerm{Weight: min(max(t.Weight, 1), 100), Requirements: core.Requirements(reqs)})
		}
	}
}

// requiredTerms reads required node affinity. A pod of a DaemonSet names its node by a field; that says nothing about
// other nodes, so that it is left out, and all of the DaemonSet's pods keep one class.
func (b *classBuilder) requiredTerms(terms []corev1.NodeSelectorTerm) {
	const path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	pinned := false
	for i, t := range terms {
		if b.class.GetDaemon() {
			pinned = pinned || len(t.MatchFields) > 0
			t.MatchFields = nil
		}
		reqs, bad := reader.NodeTerm(t)
		if bad != "" {
			b.refuse(fmt.Sprintf("%s[%d].%s", path, i, bad))
			continue
		}
		if len(reqs) > 0 { // to Kubernetes an empty term matches nothing
			b.class.NodeAffinity = append(b.class.NodeAffinity, &clusterpb.NodeAffinityTerm{Requirements: core.Requirements(reqs)})
		}
	}
	if len(b.class.GetNodeAffinity()) == 0 && !pinned {
		b.refuse(path + ": no term can match a node; a term needs at least one expression")
	}
}

func (b *classBuilder) spread() {
	for i, c := range b.pod.Spec.TopologySpreadConstraints {
		path := fmt.Sprintf("spec.topologySpreadConstraints[%d]", i)
		selector, bad := selectorAt("labelSelector", c.LabelSelector)
		if c.TopologyKey == "" {
			bad = cmp.Or(bad, "topologyKey: is missing")
		}
		if bad != "" {
			b.refuse(path + "." + bad)
			continue
		}
		reader.WithKeys(selector, model.In, c.MatchLabelKeys, b.pod.Labels)
		b.class.TopologySpread = append(b.class.TopologySpread, &clusterpb.TopologySpread{
			TopologyKey: labels.Normal(c.TopologyKey), MaxSkew: max(c.MaxSkew, 1),
			Required: c.WhenUnsatisfiable != corev1.ScheduleAnyway,
			Selector: core.Selector(selector), MinDomains: c.MinDomains,
			NodeAffinityPolicy: policy.Inclusion(c.NodeAffinityPolicy), NodeTaintsPolicy: policy.Inclusion(c.NodeTaintsPolicy),
		})
	}
}

func (b *classBuilder) affinity() {
	a := b.pod.Spec.Affinity
	if a == nil {
		return
	}
	if pa := a.PodAffinity; pa != nil {
		b.class.PodAffinity = b.podTerms("spec.affinity.podAffinity",
			pa.RequiredDuringSchedulingIgnoredDuringExecution, pa.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pa := a.PodAntiAffinity; pa != nil {
		b.class.PodAntiAffinity = b.podTerms("spec.affinity.podAntiAffinity",
			pa.RequiredDuringSchedulingIgnoredDuringExecution, pa.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (b *classBuilder) podTerms(path string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) []*clusterpb.PodAffinityTerm {
	var out []*clusterpb.PodAffinityTerm
	for i, t := range required {
		if c := b.podTerm(fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", path, i), t); c != nil {
			out = append(out, c)
		}
	}
	for i, t := range preferred {
		c := b.podTerm(fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d].podAffinityTerm", path, i), t.PodAffinityTerm)
		if c != nil {
			c.Weight = new(min(max(t.Weight, 1), 100))
			out = append(out, c)
		}
	}
	return out
}

func (b *classBuilder) podTerm(path string, t corev1.PodAffinityTerm) *clusterpb.PodAffinityTerm {
	selector, bad := selectorAt("labelSelector", t.LabelSelector)
	if bad == "" {
		reader.WithKeys(selector, model.In, t.MatchLabelKeys, b.pod.Labels)
		reader.WithKeys(selector, model.NotIn, t.MismatchLabelKeys, b.pod.Labels)
	}
	if t.TopologyKey == "" {
		bad = cmp.Or(bad, "topologyKey: is missing")
	}
	namespaces, badNamespaces := selectorAt("namespaceSelector", t.NamespaceSelector)
	if bad = cmp.Or(bad, badNamespaces); bad != "" {
		b.refuse(path + "." + bad)
		return nil
	}
	out := &clusterpb.PodAffinityTerm{
		TopologyKey: labels.Normal(t.TopologyKey), Selector: core.Selector(selector),
		Namespaces: reader.SortedSet(t.Namespaces), NamespaceSelector: core.Selector(namespaces),
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		out.Namespaces = []string{b.pod.Namespace}
	}
	return out
}

// selectorAt reads the selector of a field, which the text begins with.
func selectorAt(field string, s *metav1.LabelSelector) (out *model.Selector, unsupported string) {
	out, unsupported = reader.Selector(s)
	if unsupported != "" {
		unsupported = field + "." + unsupported
	}
	return out, unsupported
}

// ports reads the ports that a pod takes on its node.
func (b *classBuilder) ports() {
	for _, port := range hostPorts(b.pod) {
		switch p := corev1.Protocol(port.GetProtocol()); {
		case p != corev1.ProtocolTCP && p != corev1.ProtocolUDP && p != corev1.ProtocolSCTP:
			b.refuse(fmt.Sprintf("spec.containers: ports: protocol: %q is none of TCP, UDP, SCTP", port.GetProtocol()))
		case port.GetPort() > math.MaxUint16:
			b.refuse(fmt.Sprintf("spec.containers: ports: hostPort: %d is above 65535", port.GetPort()))
		default:
			b.class.HostPorts = append(b.class.HostPorts, port)
		}
	}
}

// hostPorts lists the ports that a pod takes on its node, sorted.
func hostPorts(p *corev1.Pod) []*clusterpb.HostPort {
	var out []*clusterpb.HostPort
	for _, port := range reader.HostPorts(&p.Spec) {
		out = append(out, &clusterpb.HostPort{
			Protocol: cmp.Or(string(port.Protocol), string(corev1.ProtocolTCP)), Port: port.HostPort, Ip: port.HostIP,
		})
	}
	compare := func(a, b *clusterpb.HostPort) int {
		return cmp.Or(strings.Compare(a.GetProtocol(), b.GetProtocol()), cmp.Compare(a.GetPort(), b.GetPort()), strings.Compare(a.GetIp(), b.GetIp()))
	}
	slices.SortFunc(out, compare)
	return slices.CompactFunc(out, func(a, b *clusterpb.HostPort) bool { return compare(a, b) == 0 })
}

// priority reads the number that admission has set, or, for manifests that no API server has seen, the class's.
func (b *classBuilder) priority() {
	policy, spec := b.pod.Spec.PreemptionPolicy, b.pod.Spec
	switch {
	case spec.Priority != nil:
		b.class.Priority = *spec.Priority
	case spec.PriorityClassName == "system-node-critical":
		b.class.Priority = 2000001000
	case spec.PriorityClassName == "system-cluster-critical":
		b.class.Priority = 2000000000
	default:
		pc := b.refs.PriorityClass(spec.PriorityClassName)
		if pc == nil {
			if spec.PriorityClassName != "" {
				b.refuse(fmt.Sprintf("spec.priorityClassName: there is no PriorityClass %s", spec.PriorityClassName))
			}
			break
		}
		b.class.Priority = pc.Value
		if policy == nil {
			policy = pc.PreemptionPolicy
		}
	}
	b.class.Preempts = policy == nil || *policy == corev1.PreemptLowerPriority
}
