package convert_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

func req(key string, op clusterpb.Operator, values ...string) *clusterpb.Requirement {
	return &clusterpb.Requirement{Key: key, Operator: op, Values: values}
}

func expr(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

func ownedBy(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
	}
}

func nodeAffinity(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

const (
	opIn     = clusterpb.Operator_OPERATOR_IN
	opNotIn  = clusterpb.Operator_OPERATOR_NOT_IN
	opExists = clusterpb.Operator_OPERATOR_EXISTS
	zone     = "topology.kubernetes.io/zone"
)

// TestClass compares what an edit of the plain pod changes in its class.
func TestClass(t *testing.T) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	webSelector := &clusterpb.LabelSelector{Requirements: []*clusterpb.Requirement{req("app", opIn, "web")}}

	for name, tc := range map[string]struct {
		edit func(*corev1.Pod)
		refs []runtime.Object
		want *clusterpb.PodClass
	}{
		"nothing special": {func(*corev1.Pod) {}, nil, &clusterpb.PodClass{}},
		"old label names become stable ones": {
			func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{"failure-domain.beta.kubernetes.io/zone": "a", "type": "x"}
			}, nil,
			&clusterpb.PodClass{NodeSelector: []*clusterpb.Label{{Key: zone, Value: "a"}, {Key: "type", Value: "x"}}},
		},
		"two names of one label with two values": {
			func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{"failure-domain.beta.kubernetes.io/zone": "a", zone: "b"}
			}, nil,
			&clusterpb.PodClass{
				NodeSelector: []*clusterpb.Label{{Key: zone, Value: "b"}},
				Unsupported:  "spec.nodeSelector: failure-domain.beta.kubernetes.io/zone and " + zone + " are one label, and ask for two values",
			},
		},
		"required node affinity": {
			nodeAffinity(
				corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					expr(zone, corev1.NodeSelectorOpIn, "b", "a"), expr("cores", corev1.NodeSelectorOpGt, "4"),
				}},
				corev1.NodeSelectorTerm{},
			), nil,
			&clusterpb.PodClass{NodeAffinity: []*clusterpb.NodeAffinityTerm{{Requirements: []*clusterpb.Requirement{
				req("cores", clusterpb.Operator_OPERATOR_GT, "4"), req(zone, opIn, "a", "b"),
			}}}},
		},
		"node affinity by field": {
			nodeAffinity(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{expr("metadata.name", corev1.NodeSelectorOpIn, "n")}}),
			nil,
			&clusterpb.PodClass{NodeAffinity: []*clusterpb.NodeAffinityTerm{{Requirements: []*clusterpb.Requirement{
				req("field:metadata.name", opIn, "n"),
			}}}},
		},
		"node affinity by a field that nodes are not selected by": {
			nodeAffinity(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{expr("spec.x", corev1.NodeSelectorOpIn, "n")}}),
			nil,
			&clusterpb.PodClass{Unsupported: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution." +
				`nodeSelectorTerms[0].matchFields[0].key: "spec.x" is not a field that nodes are selected by; want metadata.name`},
		},
		"alternatives, with every operator": {
			nodeAffinity(
				corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					expr("a", corev1.NodeSelectorOpNotIn, "y", "x"), expr("b", corev1.NodeSelectorOpExists),
					expr("c", corev1.NodeSelectorOpDoesNotExist), expr("d", corev1.NodeSelectorOpGt, "1"), expr("e", corev1.NodeSelectorOpLt, "9"),
				}},
				corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{expr(zone, corev1.NodeSelectorOpIn, "a")},
					MatchFields:      []corev1.NodeSelectorRequirement{expr("metadata.name", corev1.NodeSelectorOpNotIn, "n")},
				},
			), nil,
			&clusterpb.PodClass{NodeAffinity: []*clusterpb.NodeAffinityTerm{
				{Requirements: []*clusterpb.Requirement{
					req("a", opNotIn, "x", "y"), req("b", opExists), req("c", clusterpb.Operator_OPERATOR_DOES_NOT_EXIST),
					req("d", clusterpb.Operator_OPERATOR_GT, "1"), req("e", clusterpb.Operator_OPERATOR_LT, "9"),
				}},
				{Requirements: []*clusterpb.Requirement{req("field:metadata.name", opNotIn, "n"), req(zone, opIn, "a")}},
			}},
		},
		"node affinity that matches nothing": {
			nodeAffinity(corev1.NodeSelectorTerm{}), nil,
			&clusterpb.PodClass{Unsupported: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution." +
				"nodeSelectorTerms: no term can match a node; a term needs at least one expression"},
		},
		"greater than a word": {
			nodeAffinity(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr("cores", corev1.NodeSelectorOpGt, "many")}}),
			nil,
			&clusterpb.PodClass{Unsupported: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution." +
				"nodeSelectorTerms[0].matchExpressions[0].values: want one whole number"},
		},
		"a DaemonSet's pod is pinned by its controller": {
			func(p *corev1.Pod) {
				ownedBy("DaemonSet", "agent")(p)
				nodeAffinity(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{expr("metadata.name", corev1.NodeSelectorOpIn, "n")}})(p)
			}, nil,
			&clusterpb.PodClass{OwnerKind: "DaemonSet", OwnerName: "agent", Daemon: true},
		},
		"preferred node affinity": {
			func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
						Weight: 7, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr("ssd", corev1.NodeSelectorOpExists)}},
					}},
				}}
			}, nil,
			&clusterpb.PodClass{PreferredNodeAffinity: []*clusterpb.PreferredNodeAffinityTerm{
				{Weight: 7, Requirements: []*clusterpb.Requirement{req("ssd", opExists)}},
			}},
		},
		"tolerations": {
			func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{
					{Operator: corev1.TolerationOpExists}, {Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute},
				}
			}, nil,
			&clusterpb.PodClass{Tolerations: []*clusterpb.Toleration{
				{Exists: true}, {Key: "team", Value: "a", Effect: clusterpb.TaintEffect_TAINT_EFFECT_NO_EXECUTE},
			}},
		},
		"a toleration that compares numbers": {
			func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Lt", Value: "5"}} }, nil,
			&clusterpb.PodClass{Unsupported: `spec.tolerations[0].operator: "Lt" is not planned for; want Equal or Exists`},
		},
		"spread by the pod's own revision": {
			func(p *corev1.Pod) {
				p.Labels = map[string]string{"app": "web", "pod-template-hash": "7f"}
				p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
					TopologyKey: zone, MaxSkew: 2, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: web,
					MatchLabelKeys: []string{"pod-template-hash", "absent"}, MinDomains: new(int32(3)),
					NodeAffinityPolicy: ptr(corev1.NodeInclusionPolicyIgnore), NodeTaintsPolicy: ptr(corev1.NodeInclusionPolicyHonor),
				}}
			}, nil,
			&clusterpb.PodClass{
				Labels: []*clusterpb.Label{{Key: "app", Value: "web"}, {Key: "pod-template-hash", Value: "7f"}},
				TopologySpread: []*clusterpb.TopologySpread{{
					TopologyKey: zone, MaxSkew: 2, Required: true, MinDomains: new(int32(3)), NodeAffinityPolicy: clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE, NodeTaintsPolicy: clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR,
					Selector: &clusterpb.LabelSelector{Requirements: []*clusterpb.Requirement{req("app", opIn, "web"), req("pod-template-hash", opIn, "7f")}},
				}},
			},
		},
		"affinity means the own namespace unless it says others": {
			func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{
					PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{TopologyKey: zone, LabelSelector: web},
					}},
					PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
						{Weight: 50, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname", LabelSelector: web, NamespaceSelector: &metav1.LabelSelector{}}},
					}},
				}
			}, nil,
			&clusterpb.PodClass{
				PodAffinity: []*clusterpb.PodAffinityTerm{{TopologyKey: zone, Selector: webSelector, Namespaces: []string{"shop"}}},
				PodAntiAffinity: []*clusterpb.PodAffinityTerm{{
					TopologyKey: "kubernetes.io/hostname", Selector: webSelector, NamespaceSelector: &clusterpb.LabelSelector{}, Weight: new(int32(50)),
				}},
			},
		},
		"mismatched label keys keep away from others": {
			func(p *corev1.Pod) {
				p.Labels = map[string]string{"tenant": "a"}
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{TopologyKey: zone, LabelSelector: &metav1.LabelSelector{}, MismatchLabelKeys: []string{"tenant"}},
					},
				}}
			}, nil,
			&clusterpb.PodClass{
				Labels: []*clusterpb.Label{{Key: "tenant", Value: "a"}},
				PodAntiAffinity: []*clusterpb.PodAffinityTerm{{
					TopologyKey: zone, Namespaces: []string{"shop"},
					Selector: &clusterpb.LabelSelector{Requirements: []*clusterpb.Requirement{req("tenant", opNotIn, "a")}},
				}},
			},
		},
		"host ports": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}, {HostPort: 8080, Protocol: corev1.ProtocolUDP}, {HostPort: 80}}
			}, nil,
			&clusterpb.PodClass{HostPorts: []*clusterpb.HostPort{{Protocol: "TCP", Port: 80}, {Protocol: "UDP", Port: 8080}}},
		},
		"ports of sidecars count, those of init containers do not": {
			func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{
					{Name: "init", Ports: []corev1.ContainerPort{{HostPort: 1}}},
					{Name: "side", Ports: []corev1.ContainerPort{{HostPort: 2, HostIP: "10.0.0.1"}}, RestartPolicy: ptr(corev1.ContainerRestartPolicyAlways)},
				}
			}, nil,
			&clusterpb.PodClass{HostPorts: []*clusterpb.HostPort{{Protocol: "TCP", Port: 2, Ip: "10.0.0.1"}}},
		},
		"affinity to namespaces by name, by label, and by the pod's own label": {
			func(p *corev1.Pod) {
				p.Labels = map[string]string{"tenant": "a"}
				p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: zone, LabelSelector: web, Namespaces: []string{"b", "a"}, MatchLabelKeys: []string{"tenant", "absent"},
						NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "x"}},
					}},
				}}
			}, nil,
			&clusterpb.PodClass{
				Labels: []*clusterpb.Label{{Key: "tenant", Value: "a"}},
				PodAffinity: []*clusterpb.PodAffinityTerm{{
					TopologyKey: zone, Namespaces: []string{"a", "b"},
					NamespaceSelector: &clusterpb.LabelSelector{Requirements: []*clusterpb.Requirement{req("env", opIn, "x")}},
					Selector:          &clusterpb.LabelSelector{Requirements: []*clusterpb.Requirement{req("app", opIn, "web"), req("tenant", opIn, "a")}},
				}},
			},
		},
		"the revision is a label of the pod": {
			func(p *corev1.Pod) {
				ownedBy("StatefulSet", "db")(p)
				p.Labels = map[string]string{"controller-revision-hash": "db-5"}
			}, nil,
			&clusterpb.PodClass{
				Labels:    []*clusterpb.Label{{Key: "controller-revision-hash", Value: "db-5"}},
				OwnerKind: "StatefulSet", OwnerName: "db", OwnerRevision: "db-5",
			},
		},
		"the revision is the owner's": {
			ownedBy("ReplicaSet", "web-7f"),
			[]runtime.Object{&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
				Name: "web-7f", Namespace: "shop", Labels: map[string]string{"pod-template-hash": "7f"},
			}}},
			&clusterpb.PodClass{OwnerKind: "ReplicaSet", OwnerName: "web-7f", OwnerRevision: "7f"},
		},
		"a Deployment's pods are the Deployment's, whichever ReplicaSet they are of": {
			func(p *corev1.Pod) {
				ownedBy("ReplicaSet", "web-7f")(p)
				p.Labels = map[string]string{"pod-template-hash": "7f"}
			}, nil,
			&clusterpb.PodClass{
				Labels:    []*clusterpb.Label{{Key: "pod-template-hash", Value: "7f"}},
				OwnerKind: "Deployment", OwnerName: "web", OwnerRevision: "7f",
			},
		},
		"a Deployment's pods have the uid of their ReplicaSet": {
			func(p *corev1.Pod) {
				ownedBy("ReplicaSet", "web-7f")(p)
				p.OwnerReferences[0].UID = "u1"
				p.Labels = map[string]string{"pod-template-hash": "7f"}
			}, nil,
			&clusterpb.PodClass{
				Labels:    []*clusterpb.Label{{Key: "pod-template-hash", Value: "7f"}},
				OwnerKind: "Deployment", OwnerName: "web", OwnerRevision: "7f", OwnerUid: "u1",
			},
		},
		"a DaemonSet's pods have the class of its template": {
			func(p *corev1.Pod) {
				ownedBy("DaemonSet", "agent")(p)
				p.OwnerReferences[0].UID = "u1"
			}, nil,
			&clusterpb.PodClass{OwnerKind: "DaemonSet", OwnerName: "agent", Daemon: true},
		},
		"a Rollout's pods are the Rollout's": {
			func(p *corev1.Pod) {
				ownedBy("ReplicaSet", "web-7f")(p)
				p.Labels = map[string]string{"rollouts-pod-template-hash": "7f"}
			}, nil,
			&clusterpb.PodClass{
				Labels:    []*clusterpb.Label{{Key: "rollouts-pod-template-hash", Value: "7f"}},
				OwnerKind: "Rollout", OwnerName: "web", OwnerRevision: "7f",
			},
		},
		"a label of a Deployment's does not make it one": {
			func(p *corev1.Pod) {
				ownedBy("ReplicaSet", "web-7f")(p)
				p.Labels = map[string]string{"pod-template-hash": "f"}
			}, nil,
			&clusterpb.PodClass{
				Labels:    []*clusterpb.Label{{Key: "pod-template-hash", Value: "f"}},
				OwnerKind: "ReplicaSet", OwnerName: "web-7f", OwnerRevision: "f",
			},
		},
		"a DaemonSet's revision": {
			func(p *corev1.Pod) {
				ownedBy("DaemonSet", "agent")(p)
				p.Labels = map[string]string{"controller-revision-hash": "5d"}
			}, nil,
			&clusterpb.PodClass{
				Labels:    []*clusterpb.Label{{Key: "controller-revision-hash", Value: "5d"}},
				OwnerKind: "DaemonSet", OwnerName: "agent", OwnerRevision: "5d", Daemon: true,
			},
		},
		"a mirror pod": {
			func(p *corev1.Pod) { p.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"} }, nil,
			&clusterpb.PodClass{Mirror: true},
		},
		"priority that admission has set": {
			func(p *corev1.Pod) {
				p.Spec.Priority, p.Spec.PreemptionPolicy = new(int32(9)), ptr(corev1.PreemptNever)
				p.Spec.PriorityClassName = "gone"
			}, nil,
			&clusterpb.PodClass{Priority: 9, Preempts: false},
		},
		"priority of the named class": {
			func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" },
			[]runtime.Object{&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000, PreemptionPolicy: ptr(corev1.PreemptNever)}},
			&clusterpb.PodClass{Priority: 1000, Preempts: false},
		},
		"a priority class that is not there": {
			func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }, nil,
			&clusterpb.PodClass{Unsupported: "spec.priorityClassName: there is no PriorityClass high"},
		},
		"resource claims": {
			func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }, nil,
			&clusterpb.PodClass{Unsupported: "spec.resourceClaims[0]: names neither a claim nor a template"},
		},
		"its own scheduler and grace": {
			func(p *corev1.Pod) {
				p.Spec.SchedulerName, p.Spec.TerminationGracePeriodSeconds = "volcano", new(int64(5))
			}, nil,
			&clusterpb.PodClass{SchedulerName: "volcano", TerminationGracePeriod: durationpb.New(5 * time.Second)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := convertPod(t, pod(tc.edit), tc.refs...)
			want := tc.want
			want.Id, want.Namespace, want.Requests = got.GetId(), "shop", []*clusterpb.Amount{{Resource: "cpu", Value: 1000}, {Resource: "pods", Value: 1}}
			if want.GetSchedulerName() == "" {
				want.SchedulerName = "default-scheduler"
			}
			if want.GetTerminationGracePeriod() == nil {
				want.TerminationGracePeriod = durationpb.New(30 * time.Second)
			}
			if want.GetPriority() == 0 {
				want.Preempts = true
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("class (-want +got):\n%s", diff)
			}
		})
	}
}
