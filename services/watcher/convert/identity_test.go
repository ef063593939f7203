package convert_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
)

func TestLabelsThatTellPodsApartMakeNoClassesUnlessSomethingSelectsByThem(t *testing.T) {
	const index = "apps.kubernetes.io/pod-index"
	exists := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: index, Operator: metav1.LabelSelectorOpExists}}}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	other := func(edit func(*corev1.Pod)) runtime.Object {
		p := pod(edit)
		p.Name = "other"
		return p
	}
	term := corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: exists}
	for name, tc := range map[string]struct {
		refs    []runtime.Object
		classes int
	}{
		"nothing selects":            {nil, 1},
		"a budget by something else": {[]runtime.Object{&policyv1.PodDisruptionBudget{ObjectMeta: meta("b"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: web}}}, 1},
		"a budget":                   {[]runtime.Object{&policyv1.PodDisruptionBudget{ObjectMeta: meta("b"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: exists}}}, 3},
		"a Service for one pod":      {[]runtime.Object{&corev1.Service{ObjectMeta: meta("s"), Spec: corev1.ServiceSpec{Selector: map[string]string{index: "0"}}}}, 3},
		"another pod's spread": {[]runtime.Object{other(func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: zone, MaxSkew: 1, LabelSelector: exists}}
		})}, 3},
		"another pod's spread by its own value": {[]runtime.Object{other(func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{TopologyKey: zone, MaxSkew: 1, LabelSelector: web, MatchLabelKeys: []string{index}},
			}
		})}, 3},
		"another pod's preference to be away": {[]runtime.Object{other(func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
			}}
		})}, 3},
		"a Deployment's pods": {[]runtime.Object{&appsv1.Deployment{ObjectMeta: meta("d"), Spec: appsv1.DeploymentSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
			}}}},
		}}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			classes := map[string]bool{}
			for i := range 3 {
				_, c := convertPod(t, pod(func(p *corev1.Pod) {
					p.Labels = map[string]string{"app": "web", index: fmt.Sprint(i)}
				}), tc.refs...)
				classes[c.GetId()] = true
			}
			if len(classes) != tc.classes {
				t.Errorf("three pods have %d classes, want %d", len(classes), tc.classes)
			}
		})
	}
}

func TestDefaultSelectorIsWhatServicesAndTheOwnerSelect(t *testing.T) {
	service := func(name string, selector map[string]string) runtime.Object {
		return &corev1.Service{ObjectMeta: meta(name), Spec: corev1.ServiceSpec{Selector: selector}}
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: meta("web-7f"), Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "track", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"old"}}},
	}}}
	elsewhere := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "other"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
	for name, tc := range map[string]struct {
		edit func(*corev1.Pod)
		refs []runtime.Object
		want *clusterpb.LabelSelector
	}{
		"nothing tells":         {func(*corev1.Pod) {}, []runtime.Object{service("none", nil), elsewhere}, nil},
		"another one's Service": {func(*corev1.Pod) {}, []runtime.Object{service("s", map[string]string{"app": "db"})}, nil},
		"two Services": {
			func(*corev1.Pod) {},
			[]runtime.Object{service("a", map[string]string{"app": "web"}), service("b", map[string]string{"tier": "x"})},
			&clusterpb.LabelSelector{Requirements: []*clusterpb.Requirement{req("app", opIn, "web"), req("tier", opIn, "x")}},
		},
		"a Service and the owner": {
			ownedBy("ReplicaSet", "web-7f"),
			[]runtime.Object{service("b", map[string]string{"tier": "x"}), rs},
			&clusterpb.LabelSelector{Requirements: []*clusterpb.Requirement{req("app", opIn, "web"), req("tier", opIn, "x"), req("track", opNotIn, "old")}},
		},
		"an owner that selects nothing by itself": {ownedBy("Job", "web"), nil, nil},
		"constraints of its own": {
			func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: zone, MaxSkew: 1}}
			}, []runtime.Object{service("a", map[string]string{"app": "web"})}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := convertPod(t, pod(func(p *corev1.Pod) {
				p.Labels = map[string]string{"app": "web", "tier": "x"}
				tc.edit(p)
			}), tc.refs...)
			if diff := cmp.Diff(tc.want, got.GetDefaultSelector(), protocmp.Transform()); diff != "" {
				t.Errorf("selector (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsOfADeploymentBelongTogether(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{
		Template: template(), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	w, err := manifests.PodsOf(d, start())
	if err != nil {
		t.Fatal(err)
	}
	_, class := convertPod(t, w.Pods[0], d)
	want := []*clusterpb.Requirement{req("app", opIn, "web"), req("pod-template-hash", opIn, w.Pods[0].Labels["pod-template-hash"])}
	if diff := cmp.Diff(want, class.GetDefaultSelector().GetRequirements(), protocmp.Transform()); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
}

func TestPodsThatNoAdmissionHasSeenPayForTheirRuntime(t *testing.T) {
	rc := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Overhead: &nodev1.Overhead{PodFixed: list("cpu", "50m")},
		Scheduling: &nodev1.Scheduling{
			NodeSelector: map[string]string{"runtime": "gvisor"}, Tolerations: []corev1.Toleration{{Key: "gvisor", Operator: corev1.TolerationOpExists}},
		},
	}
	name := "gvisor"
	for desc, tc := range map[string]struct {
		edit        func(*corev1.Pod)
		refs        []runtime.Object
		cpu         int64
		selector    int
		unsupported string
	}{
		"from a manifest":           {func(*corev1.Pod) {}, []runtime.Object{rc}, 1050, 1, ""},
		"that the API server knows": {func(p *corev1.Pod) { p.UID = "u1" }, []runtime.Object{rc}, 1000, 0, ""},
		"of a class that is not there": {
			func(*corev1.Pod) {}, nil, 1000, 0, "spec.runtimeClassName: there is no RuntimeClass gvisor",
		},
		"that want another node": {
			func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"runtime": "runc"} },
			[]runtime.Object{rc},
			1000, 1,
			"spec.nodeSelector: RuntimeClass gvisor asks for runtime=gvisor, and the pod for runtime=runc",
		},
	} {
		t.Run(desc, func(t *testing.T) {
			_, got := convertPod(t, pod(func(p *corev1.Pod) {
				p.UID, p.Spec.RuntimeClassName = "", &name
				tc.edit(p)
			}), tc.refs...)
			if cpu := got.GetRequests()[0].GetValue(); cpu != tc.cpu || len(got.GetNodeSelector()) != tc.selector || got.GetUnsupported() != tc.unsupported {
				t.Errorf("%d millicores, selector %v, unsupported %q", cpu, got.GetNodeSelector(), got.GetUnsupported())
			}
		})
	}
}

func TestADaemonSetIsJudgedByItsNewestPod(t *testing.T) {
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "shop", Annotations: map[string]string{"deprecated.daemonset.template.generation": "2"}},
		Spec:       appsv1.DaemonSetSpec{Template: template()},
	}
	daemon := func(name, cpu, generation string, age time.Duration, edits ...func(*corev1.Pod)) *corev1.Pod {
		return pod(append(edits, ownedBy("DaemonSet", "agent"), func(p *corev1.Pod) {
			p.Name, p.Labels = name, map[string]string{"pod-template-generation": generation}
			p.CreationTimestamp = metav1.NewTime(start().Add(-age))
			p.Spec.Containers = []corev1.Container{container("cpu", cpu)}
		})...)
	}
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want int64
	}{
		"there is none": {nil, 250},
		"the newest one was made larger by a LimitRange": {
			[]*corev1.Pod{daemon("a", "300m", "2", time.Hour), daemon("b", "500m", "2", time.Minute), daemon("c", "400m", "2", 2*time.Minute)}, 500,
		},
		"those of an older template do not count": {[]*corev1.Pod{daemon("a", "300m", "1", time.Minute)}, 250},
		"those that go do not count": {
			[]*corev1.Pod{daemon("a", "300m", "2", time.Minute, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(start())) })}, 250,
		},
	} {
		t.Run(name, func(t *testing.T) {
			class := convert.DaemonSet(d, convert.LivePod(d, tc.pods), cluster(t)).Class.Payload.(*clusterpb.PodClass)
			if got := class.GetRequests()[0].GetValue(); got != tc.want || !class.GetDaemon() {
				t.Errorf("%d millicores, want %d", got, tc.want)
			}
		})
	}
}
