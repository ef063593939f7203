package convert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
)

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func ptr[T any](v T) *T { return new(v) }

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func container(pairs ...string) corev1.Container {
	return corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: list(pairs...)}}
}

// pod is shop/web-0 with one container of one core, changed by each edit.
func pod(edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", UID: "u1", CreationTimestamp: metav1.NewTime(start())},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container("cpu", "1")}},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func cluster(t *testing.T, objects ...runtime.Object) *manifests.Cluster {
	t.Helper()
	var c manifests.Cluster
	for _, o := range objects {
		if err := c.Add(o, nil); err != nil {
			t.Fatal(err)
		}
	}
	return &c
}

func convertPod(t *testing.T, p *corev1.Pod, refs ...runtime.Object) (*clusterpb.Pod, *clusterpb.PodClass) {
	t.Helper()
	o, ok := convert.Pod(p, cluster(t, refs...))
	if !ok {
		t.Fatal("the pod counts as finished")
	}
	return o.Payload.(*clusterpb.Pod), o.Class.Payload.(*clusterpb.PodClass)
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(start().Add(time.Minute)),
		})
	}
}

func TestPodState(t *testing.T) {
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	phase := func(ph corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = ph } }
	note := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
	}
	started := func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(start().Add(time.Hour))) }
	minute := timestamppb.New(start().Add(time.Minute))

	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want *clusterpb.Pod
	}{
		"a new pod waits": {pod(), &clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING}},
		"the scheduler found no node": {
			pod(condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable)),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, UnschedulableTime: minute},
		},
		"a gated pod waits": {
			pod(condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulingGated)),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING},
		},
		"a pod that is being deleted ends when its grace does": {
			pod(phase(corev1.PodRunning), on("n1"), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(start().Add(time.Minute))) }),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_RUNNING, Node: "n1", Terminating: true, TerminationDeadline: minute},
		},
		"a pod that Kerf nominated is expected there": {
			pod(condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable),
				func(p *corev1.Pod) {
					p.Status.NominatedNodeName = "n1"
					p.ManagedFields = []metav1.ManagedFieldsEntry{{
						Manager: reader.ActuatorManager, Subresource: "status",
						FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
					}}
				}),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, UnschedulableTime: minute, ExpectedNode: "n1"},
		},
		"a nominated pod says where": {
			pod(condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable),
				func(p *corev1.Pod) { p.Status.NominatedNodeName = "n1" }),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, UnschedulableTime: minute, NominatedNode: "n1"},
		},
		"a bound pod starts": {
			pod(on("n1"), phase(corev1.PodPending), condition(corev1.PodScheduled, corev1.ConditionTrue, ""),
				func(p *corev1.Pod) { p.Status.NominatedNodeName = "n2" }),
			&clusterpb.Pod{Node: "n1", Phase: clusterpb.PodPhase_POD_PHASE_STARTING, BindTime: minute},
		},
		"a bound pod of which the scheduler says later that it could not place it": {
			pod(on("n1"), phase(corev1.PodRunning), started, condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable)),
			&clusterpb.Pod{Node: "n1", Phase: clusterpb.PodPhase_POD_PHASE_RUNNING, BindTime: minute},
		},
		"a bound pod of which only the kubelet speaks": {
			pod(on("n1"), phase(corev1.PodRunning), started),
			&clusterpb.Pod{Node: "n1", Phase: clusterpb.PodPhase_POD_PHASE_RUNNING, BindTime: timestamppb.New(start().Add(time.Hour))},
		},
		"a ready pod runs": {
			pod(on("n1"), phase(corev1.PodRunning), condition(corev1.PodReady, corev1.ConditionTrue, "")),
			&clusterpb.Pod{Node: "n1", Phase: clusterpb.PodPhase_POD_PHASE_RUNNING, Ready: true},
		},
		"do-not-disrupt for ever": {
			pod(note("karpenter.sh/do-not-disrupt", "true")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DoNotDisrupt: true},
		},
		"do-not-disrupt from the start on": {
			pod(note("karpenter.sh/do-not-disrupt", "30m"), started),
			&clusterpb.Pod{
				Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DoNotDisrupt: true,
				DoNotDisruptUntil: timestamppb.New(start().Add(90 * time.Minute)),
			},
		},
		"do-not-disrupt for a while, not started": {
			pod(note("karpenter.sh/do-not-disrupt", "30m")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DoNotDisrupt: true},
		},
		"do-not-disrupt of another value": {
			pod(note("karpenter.sh/do-not-disrupt", "-1h")), &clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING},
		},
		"a deletion cost": {
			pod(note("controller.kubernetes.io/pod-deletion-cost", "-7")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DeletionCost: -7},
		},
		"a deletion cost that Kerf wrote": {
			pod(note("controller.kubernetes.io/pod-deletion-cost", "-7"), note("kerf.dev/pod-deletion-cost", "-7")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING},
		},
		"a deletion cost that users changed since": {
			pod(note("controller.kubernetes.io/pod-deletion-cost", "-7"), note("kerf.dev/pod-deletion-cost", "-70")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DeletionCost: -7},
		},
		"what moving it costs, beside what its deletion does": {
			pod(note("controller.kubernetes.io/pod-deletion-cost", "-7"), note("karpenter.sh/disruption-cost", "70")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DeletionCost: 70},
		},
		"what moving it costs, beside what Kerf wrote": {
			pod(note("controller.kubernetes.io/pod-deletion-cost", "-7"), note("kerf.dev/pod-deletion-cost", "-7"), note("karpenter.sh/disruption-cost", "70")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DeletionCost: 70},
		},
		"what moving it costs in words that are no number": {
			pod(note("controller.kubernetes.io/pod-deletion-cost", "-7"), note("karpenter.sh/disruption-cost", "much")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING, DeletionCost: -7},
		},
		"a deletion cost that is no number": {
			pod(note("controller.kubernetes.io/pod-deletion-cost", "99999999999")),
			&clusterpb.Pod{Phase: clusterpb.PodPhase_POD_PHASE_WAITING},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, class := convertPod(t, tc.pod)
			tc.want.Id, tc.want.Uid, tc.want.ClassId = "shop/web-0", "u1", class.GetId()
			tc.want.CreateTime = timestamppb.New(start())
			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFinishedPodsAreLeftOut(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		if _, ok := convert.Pod(pod(func(p *corev1.Pod) { p.Status.Phase = phase }), cluster(t)); ok {
			t.Errorf("a pod in phase %s is part of the snapshot", phase)
		}
	}
}

func TestPodRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	for name, tc := range map[string]struct {
		pod         *corev1.Pod
		want        map[string]int64
		unsupported string
	}{
		"containers add up": {
			pod: pod(func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("cpu", "250m", "memory", "1Gi"), container("cpu", "1", "nvidia.com/gpu", "2")}
			}),
			want: map[string]int64{"cpu": 1250, "memory": 1 << 30, "nvidia.com/gpu": 2, "pods": 1},
		},
		"a large init container decides": {
			pod:  pod(func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{container("cpu", "3")} }),
			want: map[string]int64{"cpu": 3000, "pods": 1},
		},
		"sidecars run beside": {
			pod: pod(func(p *corev1.Pod) {
				side := container("cpu", "500m")
				side.RestartPolicy = &always
				p.Spec.InitContainers = []corev1.Container{side, container("cpu", "2")}
			}),
			want: map[string]int64{"cpu": 2500, "pods": 1},
		},
		"overhead is on top, and zeros are left out": {
			pod: pod(func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests["example.com/x"] = resource.MustParse("0")
				p.Spec.Overhead = list("cpu", "100m")
			}),
			want: map[string]int64{"cpu": 1100, "pods": 1},
		},
		"pod-level requests replace the sum": {
			pod: pod(func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "4")}
			}),
			want: map[string]int64{"cpu": 4000, "pods": 1},
		},
		"a resize that the node has granted counts until it is done": {
			pod: pod(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "c", AllocatedResources: list("cpu", "3"), Resources: &corev1.ResourceRequirements{Requests: list("cpu", "2")},
				}}
			}),
			want: map[string]int64{"cpu": 3000, "pods": 1},
		},
		"a resize of the whole pod counts the same": {
			pod: pod(func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "2")}
				p.Status.AllocatedResources = list("cpu", "5")
				p.Status.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "5")}
			}),
			want: map[string]int64{"cpu": 5000, "pods": 1},
		},
		"fractions of a byte are rounded up": {
			pod:  pod(func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{container("memory", "1500m")} }),
			want: map[string]int64{"memory": 2, "pods": 1},
		},
		"an absurd amount is said": {
			pod:         pod(func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{container("memory", "1e30")} }),
			want:        map[string]int64{"memory": 1 << 50, "pods": 1},
			unsupported: "spec.containers: the sum of requests for memory is out of bounds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, class := convertPod(t, tc.pod)
			got := map[string]int64{}
			for _, a := range class.GetRequests() {
				got[a.GetResource()] = a.GetValue()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if class.GetUnsupported() != tc.unsupported {
				t.Errorf("unsupported %q, want %q", class.GetUnsupported(), tc.unsupported)
			}
		})
	}
}

func TestPodsThatScheduleAlikeShareAClass(t *testing.T) {
	web := func(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
		p := pod(edits...)
		p.Name, p.UID = name, "other"
		return p
	}
	tolerate := func(keys ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, k := range keys {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: k, Operator: corev1.TolerationOpExists})
			}
		}
	}
	_, base := convertPod(t, pod(tolerate("a", "b")))
	_, same := convertPod(t, web("web-1", tolerate("b", "a", "b")))
	if base.GetId() != same.GetId() || base.GetId() == "" {
		t.Errorf("classes %s and %s of pods that differ in name and order only", base.GetId(), same.GetId())
	}
	_, other := convertPod(t, web("web-2", tolerate("a")))
	if base.GetId() == other.GetId() {
		t.Error("pods with other tolerations share a class")
	}
}

func TestConvertingAgainGivesTheSameHash(t *testing.T) {
	p := pod(func(p *corev1.Pod) {
		p.Labels = map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
		p.Spec.NodeSelector = map[string]string{"x": "1", "y": "2", "z": "3"}
	})
	first, _ := convert.Pod(p, cluster(t))
	for range 20 {
		again, _ := convert.Pod(p.DeepCopy(), cluster(t))
		if again.Hash != first.Hash || again.Class.Hash != first.Class.Hash {
			t.Fatal("the same pod has two hashes")
		}
	}
	heartbeat := p.DeepCopy()
	heartbeat.ResourceVersion, heartbeat.ManagedFields = "17", []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	if again, _ := convert.Pod(heartbeat, cluster(t)); again.Hash != first.Hash {
		t.Error("a change that planning does not look at changes the hash")
	}
}

func TestGatedPodsAreLeftOutUntilTheGateOpens(t *testing.T) {
	condition := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "queue"}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason}}
		}
	}
	if _, ok := convert.Pod(pod(condition(corev1.PodReasonSchedulingGated)), cluster(t)); ok {
		t.Error("a gated pod is part of the snapshot, where it would hold nodes")
	}
	open := pod(condition(corev1.PodReasonUnschedulable))
	open.Spec.SchedulingGates = nil
	if _, ok := convert.Pod(open, cluster(t)); !ok {
		t.Error("a pod whose gate has opened is left out")
	}
}

// TestAnOddPodStaysInsideTheContract makes sure that a pod that no API server has checked says what is wrong with it, and
// does not make the whole snapshot invalid.
func TestAnOddPodStaysInsideTheContract(t *testing.T) {
	none := []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn}}
	tests := map[string]struct {
		edit func(*corev1.Pod)
		want string
	}{
		"a toleration without a key": {
			func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Value: "x"}} },
			"spec.tolerations[0].key",
		},
		"a port above all ports": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 70000}} },
			"hostPort: 70000",
		},
		"a protocol in lower case": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, Protocol: "tcp"}}
			},
			`protocol: "tcp"`,
		},
		"a spread over nothing": {
			func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1}}
			},
			"spec.topologySpreadConstraints[0].topologyKey",
		},
		"a selector without values": {
			func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
					{MaxSkew: 1, TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchExpressions: none}},
				}
			},
			"spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values",
		},
		"pods of namespaces with a number that is large enough": {
			func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: "zone", NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: "a", Operator: "Gte", Values: []string{"3"}},
					}}},
				}}}
			},
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchExpressions[0].operator: " +
				`"Gte" is none of In, NotIn, Exists, DoesNotExist`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o, _ := convert.Pod(pod(func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{{Name: "c"}}
				tt.edit(p)
			}), cluster(t))
			class := o.Class.Payload.(*clusterpb.PodClass)
			if !strings.Contains(class.GetUnsupported(), tt.want) {
				t.Errorf("unsupported is %q, want %q", class.GetUnsupported(), tt.want)
			}
			if len(class.GetHostPorts())+len(class.GetTolerations())+len(class.GetTopologySpread()) > 0 {
				t.Errorf("what is wrong is still there: %v", class)
			}
		})
	}
}
