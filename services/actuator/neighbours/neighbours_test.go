package neighbours_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/actuator/neighbours"
	"github.com/kerf-dev/kerf/services/core/labels"
)

// What the scheduler's plugins say of random clusters is compared in test/differential; here is what they can't say.

var web = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

func pod(change func(*corev1.PodSpec)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: web.MatchLabels}}
	change(&p.Spec)
	return p
}

// away is anti-affinity to pods of the namespaces that are selected.
func away(namespaces *metav1.LabelSelector) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelTopologyZone, LabelSelector: web, NamespaceSelector: namespaces,
		}},
	}}
}

func nodes() []*corev1.Node {
	var out []*corev1.Node
	for _, name := range []string{"a", "b"} {
		out = append(out, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: name}}})
	}
	return out
}

func none(func(*corev1.Pod, string) bool) {}

func TestNamespacesThatAreSelectedAreNotKnown(t *testing.T) {
	selected := pod(func(s *corev1.PodSpec) {
		s.Affinity = away(&metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}})
	})
	if _, decidable := neighbours.Read(selected); decidable {
		t.Error("a rule that selects namespaces is decided")
	}
	plain, decidable := neighbours.Read(pod(func(*corev1.PodSpec) {}))
	if !decidable {
		t.Fatal("a pod without rules is not decidable")
	}
	c := neighbours.New(nodes(), none)
	c.Add(selected, "a")
	if c.Allows(plain, "a") || !c.Allows(plain, "b") || c.Allows(plain, "none") {
		t.Error("a pod that may be kept away from a: want it to go to b alone")
	}
}

func TestKerfsOwnTaintKeepsNoNodeOut(t *testing.T) {
	honour := corev1.NodeInclusionPolicyHonor
	rules, _ := neighbours.Read(pod(func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: web, NodeTaintsPolicy: &honour,
		}}
	}))
	for key, want := range map[string]bool{labels.TaintUnregistered: false, "another": true} {
		all := nodes()
		all[1].Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
		c := neighbours.New(all, none)
		c.Add(pod(func(*corev1.PodSpec) {}), "a")
		if got := c.Allows(rules, "a"); got != want { // zone b, empty as it is, counts or does not
			t.Errorf("a second pod in a while b has the taint %s: %v, want %v", key, got, want)
		}
	}
}
