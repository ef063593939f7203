package manifests_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func convertPod(t *testing.T, p *corev1.Pod) (*clusterpb.Pod, *clusterpb.PodClass) {
	t.Helper()
	o, ok := convert.Pod(p, &manifests.Cluster{})
	if !ok {
		t.Fatal("the pod counts as finished")
	}
	return o.Payload.(*clusterpb.Pod), o.Class.Payload.(*clusterpb.PodClass)
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: list("cpu", "250m"), Limits: list("cpu", "1", "memory", "1Gi")},
		}}},
	}
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "shop"} }

func storageClass(name, provisioner string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	sc := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	for _, z := range zones {
		sc.AllowedTopologies = append(sc.AllowedTopologies, corev1.TopologySelectorTerm{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.ebs.csi.aws.com/zone", Values: []string{z}}},
		})
	}
	return sc
}

func TestPodsOf(t *testing.T) {
	for name, tc := range map[string]struct {
		workload runtime.Object
		want     []string
		fails    string
	}{
		"a Deployment": {
			workload: &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: template()}},
			want:     []string{"shop/web-0 Deployment web", "shop/web-1 Deployment web"},
		},
		"a Deployment that says no number": {
			workload: &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Template: template()}},
			want:     []string{"shop/web-0 Deployment web"},
		},
		"a StatefulSet": {
			workload: &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)), Template: template()}},
			want:     []string{"shop/db-0 StatefulSet db"},
		},
		"a Job of three, two at a time": {
			workload: &batchv1.Job{ObjectMeta: meta("job"), Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Completions: new(int32(3)), Template: template()}},
			want:     []string{"shop/job-0 Job job", "shop/job-1 Job job"},
		},
		"a Job with less to do than places": {
			workload: &batchv1.Job{ObjectMeta: meta("job"), Spec: batchv1.JobSpec{Parallelism: new(int32(5)), Completions: new(int32(1)), Template: template()}},
			want:     []string{"shop/job-0 Job job"},
		},
		"a Job of three, one after another": {
			workload: &batchv1.Job{ObjectMeta: meta("job"), Spec: batchv1.JobSpec{Completions: new(int32(3)), Template: template()}},
			want:     []string{"shop/job-0 Job job"},
		},
		"a pod": {
			workload: &corev1.Pod{ObjectMeta: meta("one"), Spec: template().Spec},
			want:     []string{"shop/one  "},
		},
		"too many": {
			workload: &appsv1.ReplicaSet{ObjectMeta: meta("web"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1_000_000)), Template: template()}},
			fails:    "ReplicaSet shop/web: spec: 1000000 pods; want 0 to 100000",
		},
		"a kind that makes no pods": {
			workload: &corev1.Namespace{}, fails: "*v1.Namespace makes no pods: want a Pod, Deployment, ReplicaSet, StatefulSet or Job",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := manifests.PodsOf(tc.workload, start())
			if tc.fails != "" {
				if err == nil || err.Error() != tc.fails {
					t.Fatalf("error %v, want %s", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range w.Pods {
				out, class := convertPod(t, p)
				got = append(got, fmt.Sprintf("%s %s %s", out.GetId(), class.GetOwnerKind(), class.GetOwnerName()))
				if out.GetPhase() != clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE || !out.GetUnschedulableTime().AsTime().Equal(start()) {
					t.Errorf("%s is %s since %s", out.GetId(), out.GetPhase(), out.GetUnschedulableTime().AsTime())
				}
				if n := len(class.GetRequests()); n != 3 || class.GetRequests()[0].GetValue() != 250 || class.GetRequests()[1].GetValue() != 1<<30 {
					t.Errorf("%s requests %v, want 250m cpu and its memory limit", out.GetId(), class.GetRequests())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodsAreAsTheirControllersMakeThem: numbers, labels and volumes.
func TestPodsAreAsTheirControllersMakeThem(t *testing.T) {
	job := func(spec batchv1.JobSpec, succeeded int32) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: meta("job"), Spec: spec, Status: batchv1.JobStatus{Succeeded: succeeded}}
		j.UID = "u1"
		return j
	}
	own := template()
	own.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "tmp"}}
	const ofJob = " app=web batch.kubernetes.io/controller-uid=u1"
	for name, tc := range map[string]struct {
		workload runtime.Object
		want     []string // names, labels, and volumes with their claims
	}{
		"a StatefulSet that begins with 5": {
			&appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{
				Replicas: new(int32(2)), Ordinals: &appsv1.StatefulSetOrdinals{Start: 5}, Template: own,
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
			}},
			[]string{
				"db-5 app=web apps.kubernetes.io/pod-index=5 statefulset.kubernetes.io/pod-name=db-5 data:data-db-5 tmp:",
				"db-6 app=web apps.kubernetes.io/pod-index=6 statefulset.kubernetes.io/pod-name=db-6 data:data-db-6 tmp:",
			},
		},
		"an indexed Job": {
			job(batchv1.JobSpec{Completions: new(int32(1)), CompletionMode: new(batchv1.IndexedCompletion), Template: template()}, 0),
			[]string{"job-0" + ofJob + " batch.kubernetes.io/job-completion-index=0 batch.kubernetes.io/job-name=job controller-uid=u1 job-name=job"},
		},
		"a Job with one of ten to go": {
			job(batchv1.JobSpec{Completions: new(int32(10)), Parallelism: new(int32(8)), Template: template()}, 9),
			[]string{"job-0" + ofJob + " batch.kubernetes.io/job-name=job controller-uid=u1 job-name=job"},
		},
		"a Job that has done more than it had to": {
			job(batchv1.JobSpec{Completions: new(int32(1)), Template: template()}, 2), nil,
		},
		"a Job whose pods share their work, and one has seen its end": {
			job(batchv1.JobSpec{Parallelism: new(int32(3)), Template: template()}, 1), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := manifests.PodsOf(tc.workload, start())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range w.Pods {
				text := p.Name
				for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
					if key != appsv1.ControllerRevisionHashLabelKey {
						text += " " + key + "=" + p.Labels[key]
					}
				}
				slices.SortFunc(p.Spec.Volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
				for _, v := range p.Spec.Volumes {
					claim := ""
					if v.PersistentVolumeClaim != nil {
						claim = v.PersistentVolumeClaim.ClaimName
					}
					text += " " + v.Name + ":" + claim
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBoundPodOfAManifestStaysBound(t *testing.T) {
	w, err := manifests.PodsOf(&corev1.Pod{ObjectMeta: meta("one"), Spec: corev1.PodSpec{NodeName: "n1"}}, start())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := convertPod(t, w.Pods[0]); got.GetPhase() != clusterpb.PodPhase_POD_PHASE_RUNNING || got.GetNode() != "n1" {
		t.Errorf("%s on %q", got.GetPhase(), got.GetNode())
	}
}

func TestClusterOfManifests(t *testing.T) {
	gp3 := "gp3"
	db := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)), Template: template(),
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &gp3},
		}},
	}}
	ref := karpenterv1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.KindEC2NodeClass, Name: "default"}
	pool := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = ref
	broken := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
	var c manifests.Cluster
	for _, o := range []runtime.Object{
		db, pool, storageClass("gp3", "ebs.csi.aws.com", storagev1.VolumeBindingWaitForFirstConsumer, "a"),
		&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	} {
		if err := c.Add(o, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add(broken, fmt.Errorf("spec.weight: 0 is out of range")); err != nil {
		t.Fatal(err)
	}
	events, err := c.Events(start())
	if err != nil {
		t.Fatal(err)
	}
	s := wire.Whole(snapshot.Fold(snapshot.Snapshot{}, events), wire.Header{Cluster: "demo"})
	if len(s.GetPods()) != 2 || s.GetPods()[0].GetId() != "default/db-0" || len(s.GetPodClasses()) != 1 {
		t.Errorf("pods %v of %d classes", s.GetPods(), len(s.GetPodClasses()))
	}
	for _, class := range s.GetPodClasses() {
		if class.GetUnsupported() != "" || len(class.GetVolumes()) != 1 || class.GetVolumes()[0].GetTerms()[0].GetRequirements()[0].GetValues()[0] != "a" {
			t.Errorf("class %v, want one volume in zone a", class)
		}
	}
	if pools := s.GetNodePools(); len(pools) != 2 || pools[0].GetNotReady().GetMessage() != "spec.weight: 0 is out of range" || pools[1].GetNotReady() != nil || pools[1].GetHash() == "" {
		t.Errorf("pools %v", pools)
	}
}

// TestAPodThatNoSchedulerHasSeenWaits, as what an API server answers to a dry run.
func TestAPodThatNoSchedulerHasSeenWaits(t *testing.T) {
	w, err := manifests.PodsOf(&corev1.Pod{ObjectMeta: meta("one"), Status: corev1.PodStatus{Phase: corev1.PodPending}}, start())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := convertPod(t, w.Pods[0]); got.GetPhase() != clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE {
		t.Errorf("%s", got.GetPhase())
	}
}

// TestWorkloadsOfOneNameHavePodsOfTheirOwn: of several kinds that have the same name each has its pods.
func TestWorkloadsOfOneNameHavePodsOfTheirOwn(t *testing.T) {
	var c manifests.Cluster
	for _, o := range []runtime.Object{
		&batchv1.Job{ObjectMeta: meta("web"), Spec: batchv1.JobSpec{Template: template()}},
		&appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: template()}},
		&appsv1.StatefulSet{ObjectMeta: meta("web"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Template: template()}},
		&appsv1.Deployment{ObjectMeta: meta("api"), Spec: appsv1.DeploymentSpec{Template: template()}},
		&appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Rollout"}, ObjectMeta: meta("api"), Spec: appsv1.DeploymentSpec{Template: template()}},
		&corev1.Pod{ObjectMeta: meta("web-1"), Spec: template().Spec},
		&corev1.Pod{ObjectMeta: meta("web-job-0"), Spec: template().Spec},
	} {
		if err := c.Add(o, nil); err != nil {
			t.Fatal(err)
		}
	}
	events, err := c.Events(start())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		if p, ok := e.Object().Payload.(*clusterpb.Pod); ok {
			got = append(got, strings.TrimSpace(p.GetId()+" "+e.Object().Class.Payload.(*clusterpb.PodClass).GetOwnerKind()))
		}
	}
	slices.Sort(got)
	want := []string{
		"shop/api-0 Deployment", "shop/api-rollout-0 Rollout", "shop/web-0 StatefulSet", "shop/web-1", "shop/web-2 StatefulSet", "shop/web-deployment-0 Deployment",
		"shop/web-deployment-1 Deployment", "shop/web-job-0", "shop/web-job-2-0 Job",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// TestAStatefulSetMakesAnotherPodForOneThatHasEnded, but not as long as the name is that of a pod without a controller.
func TestAStatefulSetMakesAnotherPodForOneThatHasEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		phase corev1.PodPhase
		owned bool
		want  []string
	}{
		"one that was evicted":                {corev1.PodFailed, true, []string{"shop/db-0 "}},
		"one that has succeeded":              {corev1.PodSucceeded, true, []string{"shop/db-0 "}},
		"one that runs":                       {corev1.PodRunning, true, []string{"shop/db-0 n1"}},
		"one of no controller that has ended": {corev1.PodFailed, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: meta("db-0"), Spec: template().Spec, Status: corev1.PodStatus{Phase: tc.phase}}
			pod.Spec.NodeName = "n1"
			if tc.owned {
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", Controller: new(true)}}
			}
			var c manifests.Cluster
			for _, o := range []runtime.Object{
				pod, &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)), Template: template()}},
			} {
				if err := c.Add(o, nil); err != nil {
					t.Fatal(err)
				}
			}
			events, err := c.Events(start())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				if p, ok := e.Object().Payload.(*clusterpb.Pod); ok {
					got = append(got, p.GetId()+" "+p.GetNode())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pods and their nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClusterRefusesWhatItCantPlan(t *testing.T) {
	var c manifests.Cluster
	for name, tc := range map[string]struct {
		object runtime.Object
		want   string
	}{
		"a Secret":            {&corev1.Secret{}, "is not looked at by planning"},
		"the same pod, twice": {&corev1.Pod{ObjectMeta: meta("one")}, "Pod one is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Add(tc.object, nil)
			if err == nil {
				err = c.Add(tc.object, nil)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestABudgetOfAManifestIsHeldAgainstTheReplicasBesideIt(t *testing.T) {
	labels := map[string]string{"app": "shop"}
	three := template()
	three.Labels = labels
	budget := func(name string, minimum intstr.IntOrString, status policyv1.PodDisruptionBudgetStatus) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: meta(name), Status: status, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &minimum, Selector: &metav1.LabelSelector{MatchLabels: labels},
		}}
	}
	var c manifests.Cluster
	for _, o := range []runtime.Object{
		&appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Template: three}},
		&appsv1.Deployment{ObjectMeta: meta("other"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Template: template()}},
		budget("all", intstr.FromInt32(3), policyv1.PodDisruptionBudgetStatus{}),
		budget("most", intstr.FromInt32(2), policyv1.PodDisruptionBudgetStatus{}),
		budget("share", intstr.FromString("67%"), policyv1.PodDisruptionBudgetStatus{}),
		budget("live", intstr.FromInt32(3), policyv1.PodDisruptionBudgetStatus{ExpectedPods: 4, ObservedGeneration: 1}),
	} {
		if err := c.Add(o, nil); err != nil {
			t.Fatal(err)
		}
	}
	events, err := c.Events(start())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, e := range events {
		if b, ok := e.Object().Payload.(*clusterpb.PodDisruptionBudget); ok {
			got[b.GetId()] = b.GetNeverAllows()
		}
	}
	want := map[string]bool{"shop/all": true, "shop/most": false, "shop/share": true, "shop/live": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("budgets that never allow an eviction (-want +got):\n%s", diff)
	}
}
