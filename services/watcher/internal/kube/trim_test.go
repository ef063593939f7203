package kube

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/watcher/convert"
)

// live is a pod as the API server has it once a kubelet runs it, the i-th of a ReplicaSet.
func live(set, i int) *corev1.Pod {
	at := metav1.NewTime(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	app := fmt.Sprintf("web-%d", set)
	asks := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-7d4b9c6f5-%05d", app, i), Namespace: "shop", UID: types.UID(fmt.Sprintf("5f0c7b1e-0000-4000-8000-%06d%06d", set, i)),
			Labels: map[string]string{"app": app, "pod-template-hash": "7d4b9c6f5"}, Annotations: map[string]string{"prometheus.io/scrape": "true"}, CreationTimestamp: at,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-7d4b9c6f5", UID: types.UID(app), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("ip-10-0-0-%d.ec2.internal", i),
			Containers: []corev1.Container{{
				Name: "web", Image: "web:1", Resources: asks, Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
				VolumeMounts: []corev1.VolumeMount{{Name: "kube-api-access", MountPath: "/var/run/secrets"}},
			}},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
			},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}},
			Volumes: []corev1.Volume{{Name: fmt.Sprintf("kube-api-access-%05d", i), VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}, {ConfigMap: &corev1.ConfigMapProjection{}}},
			}}}},
			SecurityContext: &corev1.PodSecurityContext{},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}, StartTime: &at,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "web", Image: "web:1", ContainerID: fmt.Sprintf("containerd://%064d", i), ImageID: fmt.Sprintf("registry.example/web@sha256:%064d", set),
				Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}, AllocatedResources: asks.Requests, Resources: asks.DeepCopy(),
			}},
		},
	}
	for _, c := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	return p
}

func trimmed[T any](tb testing.TB, t *trimmer, o *T) *T {
	tb.Helper()
	out, err := t.trim(o)
	if err != nil {
		tb.Fatal(err)
	}
	return out.(*T) //nolint:forcetypeassert // trim keeps what an object is
}

func TestPodsOfAnOwnerShareWhatTheyHaveInCommon(t *testing.T) {
	var tr trimmer
	a, b, other := trimmed(t, &tr, live(1, 1)), trimmed(t, &tr, live(1, 2)), trimmed(t, &tr, live(2, 1))
	if &a.Spec.Containers[0] != &b.Spec.Containers[0] || &a.Spec.Tolerations[0] != &b.Spec.Tolerations[0] || &a.OwnerReferences[0] != &b.OwnerReferences[0] {
		t.Error("two pods of an owner hold two copies")
	}
	if other.Labels["app"] != "web-2" || b.Labels["app"] != "web-1" || b.Name == a.Name || b.Spec.NodeName == a.Spec.NodeName {
		t.Errorf("a pod became another: %v and %v", b, other)
	}
	resized := live(1, 3)
	resized.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	if c := trimmed(t, &tr, resized); c.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 2000 || a.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 250 {
		t.Error("a pod that was resized changed others, or was taken for one of them")
	}
}

func TestVolumesStayWhereTheyStand(t *testing.T) {
	p := live(1, 1)
	claim := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	p.Spec.Volumes = append([]corev1.Volume{{Name: "tmp"}, claim}, p.Spec.Volumes...)
	got := trimmed(t, &trimmer{}, p).Spec.Volumes
	if len(got) != 2 || got[1].PersistentVolumeClaim == nil {
		t.Errorf("volumes %v, want the claim as the second and last", got)
	}
	if p = trimmed(t, &trimmer{}, live(1, 2)); len(p.Spec.Volumes) != 0 {
		t.Errorf("a volume that nothing reads stays: %v", p.Spec.Volumes)
	}
}

// alone finds nothing of what a pod names.
type alone struct{ convert.References }

func (alone) OwnerRevision(string, string, string) string                     { return "" }
func (alone) OwnerSelector(string, string, string) *metav1.LabelSelector      { return nil }
func (alone) ServiceSelectors(string) []map[string]string                     { return nil }
func (alone) Selected(string) bool                                            { return false }
func (alone) PriorityClass(string) *schedulingv1.PriorityClass                { return nil }
func (alone) PersistentVolumeClaim(_, _ string) *corev1.PersistentVolumeClaim { return nil }

func TestATrimmedPodMeansTheSame(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"it runs": func(*corev1.Pod) {},
		"the scheduler found no node": func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available",
			}}}
		},
		"it was granted more than it asks for": func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].AllocatedResources = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		},
		"it asks for more than a node can give": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("90")
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible})
		},
		"its claim is not there": func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}})
		},
	} {
		whole, tr := live(1, 1), &trimmer{}
		change(whole)
		trimmed(t, tr, live(1, 2)) // one of the same owner
		want, _ := convert.Pod(whole, alone{})
		got, _ := convert.Pod(trimmed(t, tr, whole.DeepCopy()), alone{})
		if want.Hash != got.Hash || want.Class.Hash != got.Class.Hash {
			t.Errorf("%s: pod %v of class %v, want %v of %v", name, got.Payload, got.Class.Payload, want.Payload, want.Class.Payload)
		}
	}
}

// BenchmarkStored is what the heap holds of 20,000 pods of 200 ReplicaSets, as informers store them.
func BenchmarkStored(b *testing.B) {
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before, tr := used(), &trimmer{}
		var pods []*corev1.Pod
		for i := range 20000 {
			p := live(i%200, i)
			data, err := p.Marshal() // each text of an object that was read is a copy of its own
			if err != nil {
				b.Fatal(err)
			}
			p = &corev1.Pod{}
			if err := p.Unmarshal(data); err != nil {
				b.Fatal(err)
			}
			pods = append(pods, trimmed(b, tr, p))
		}
		b.ReportMetric(float64(used()-before)/(1<<20), "MiB")
		runtime.KeepAlive(pods)
	}
}
