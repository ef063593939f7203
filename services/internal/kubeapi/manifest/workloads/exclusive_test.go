package workloads

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// TestGroupsHaveADomainEach: pods of one group go where its others are, and where none of another group is.
func TestGroupsHaveADomainEach(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind, spec string
		annotation map[string]string
		said       string
		groups     map[string]int // the workloads by their topology
	}{
		"a JobSet": {
			"jobset.x-k8s.io/JobSet", "{replicatedJobs: [{name: a, replicas: 3, template: {spec: {parallelism: 2, template: " + pod + "}}}, {name: b, template: {spec: {template: " + pod + "}}}]}",
			map[string]string{"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone"},
			"6 a, 1 b",
			map[string]int{"zone": 4},
		},
		"one of its Jobs": {
			"jobset.x-k8s.io/JobSet", "{replicatedJobs: [{name: a, replicas: 2, template: {metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: host}}, spec: {template: " + pod + "}}}, {name: b, template: {spec: {template: " + pod + "}}}]}",
			nil, "2 a, 1 b",
			map[string]int{"host": 2, "": 1},
		},
		"a JobSet whose nodes are labelled": {
			"jobset.x-k8s.io/JobSet", "{replicatedJobs: [{name: a, replicas: 2, template: {spec: {template: " + pod + "}}}]}",
			map[string]string{"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone", "alpha.jobset.sigs.k8s.io/node-selector": "true"},
			"2 a; alpha.jobset.sigs.k8s.io/node-selector is not looked at",
			map[string]int{"": 1},
		},
		"more than are kept apart": {
			"jobset.x-k8s.io/JobSet", "{replicatedJobs: [{name: a, replicas: 33, template: {spec: {parallelism: 2, template: " + pod + "}}}]}",
			map[string]string{"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone"},
			"66 a; alpha.jobset.sigs.k8s.io/exclusive-topology is not looked at, for more than 32 groups",
			map[string]int{"": 1},
		},
		"leaders and workers": {
			"leaderworkerset.x-k8s.io/LeaderWorkerSet", "{replicas: 2, leaderWorkerTemplate: {size: 3, workerTemplate: " + pod + "}}",
			map[string]string{"leaderworkerset.sigs.k8s.io/exclusive-topology": "zone"},
			"2 leaders, 4 workers",
			map[string]int{"zone": 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form, gvk := decode(t, tt.kind, tt.spec)
			m := Maker{Kind: gvk, Meta: metav1.ObjectMeta{Name: "demo", Annotations: tt.annotation}, Form: form}
			made, said, err := m.Objects()
			if err != nil || said != tt.said {
				t.Errorf("%q, %v, want %q", said, err, tt.said)
			}
			var pods []corev1.PodTemplateSpec
			got, names := map[string]int{}, map[string]bool{}
			for _, o := range made {
				p := templateOf(o.Object)
				pods = append(pods, p)
				names[o.Object.(metav1.Object).GetName()] = true
				got[topologyOf(p)]++
			}
			if len(got) != len(tt.groups) || len(names) != len(made) {
				t.Errorf("topologies %v of %v, want %v", got, names, tt.groups)
			}
			for topology, n := range tt.groups {
				if got[topology] != n {
					t.Errorf("topologies %v, want %v", got, tt.groups)
				}
			}
			for _, a := range pods {
				for _, b := range pods {
					sameGroup := a.Labels["jobset.sigs.k8s.io/job-key"] == b.Labels["jobset.sigs.k8s.io/job-key"] && a.Labels["leaderworkerset.sigs.k8s.io/group-key"] == b.Labels["leaderworkerset.sigs.k8s.io/group-key"]
					if topologyOf(a) != "" && topologyOf(b) != "" && (near(t, a, b) != sameGroup || near(t, a, b) == far(t, a, b)) {
						t.Errorf("%v and %v: near %t, apart %t", a.Labels, b.Labels, near(t, a, b), far(t, a, b))
					}
				}
			}
		})
	}
}

// TestWhatKueueHoldsBackIsPlannedFor: such objects are written as suspended, and its controller starts them.
func TestWhatKueueHoldsBackIsPlannedFor(t *testing.T) {
	t.Parallel()
	queued := map[string]string{"kueue.x-k8s.io/queue-name": "a"}
	for name, tt := range map[string]struct {
		labels map[string]string
		uid    types.UID
		want   string
	}{
		"suspended":            {nil, "", "none"},
		"in a queue":           {queued, "", "1 a"},
		"waiting in a cluster": {queued, "1", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form, gvk := decode(t, "jobset.x-k8s.io/JobSet", "{suspend: true, replicatedJobs: [{name: a, template: {spec: {template: "+pod+"}}}]}")
			m := Maker{Kind: gvk, Meta: metav1.ObjectMeta{Name: "demo", Labels: tt.labels, UID: tt.uid}, Form: form}
			if _, said, err := m.Objects(); err != nil || said != tt.want {
				t.Errorf("%q, %v, want %q", said, err, tt.want)
			}
		})
	}
}

func templateOf(o any) corev1.PodTemplateSpec {
	if j, ok := o.(*batchv1.Job); ok {
		return j.Spec.Template
	}
	return o.(*appsv1.ReplicaSet).Spec.Template
}

func topologyOf(p corev1.PodTemplateSpec) string {
	if p.Spec.Affinity == nil {
		return ""
	}
	return p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey
}

func near(t *testing.T, a, b corev1.PodTemplateSpec) bool {
	t.Helper()
	return selects(t, a.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0], b)
}

func far(t *testing.T, a, b corev1.PodTemplateSpec) bool {
	t.Helper()
	return selects(t, a.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0], b)
}

func selects(t *testing.T, term corev1.PodAffinityTerm, p corev1.PodTemplateSpec) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(p.Labels))
}
