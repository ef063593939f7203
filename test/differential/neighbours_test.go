package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/neighbours"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// TestNeighboursAreTheSchedulers asks for random pods on random clusters where the pods around let them run: what the
// actuator goes by before it binds a pod, and the scheduler's own plugins.
func TestNeighboursAreTheSchedulers(t *testing.T) {
	const clusters, pods = 400, 12
	s := scheduler(t)
	answers := map[bool]int{}
	for seed := range uint64(clusters) {
		d := drawer{rand.New(rand.NewPCG(seed, 7))}
		var nodes []*corev1.Node
		for i := range 2 + d.r.IntN(6) {
			nodes = append(nodes, d.node(i))
		}
		var bound []*corev1.Pod
		for i := range d.r.IntN(20) {
			p := d.pod(fmt.Sprintf("bound-%d", i))
			p.Spec.NodeName = nodes[d.r.IntN(len(nodes))].Name
			if d.one(10) {
				p.DeletionTimestamp = &metav1.Time{}
			}
			bound = append(bound, p)
		}
		o := kube.NewObjects(&model.Input{Snapshot: model.Snapshot{Namespaces: []model.Namespace{{Name: "a"}, {Name: "b"}}}})
		if err := s.Reset(o, ofNodes(nodes), ofPods(bound)); err != nil {
			t.Fatal(err)
		}
		around := neighbours.New(nodes, func(yield func(*corev1.Pod, string) bool) {
			for _, p := range bound {
				if !yield(p, p.Spec.NodeName) {
					return
				}
			}
		})
		for i := range pods {
			p := d.pod(fmt.Sprintf("pod-%d", i))
			compare(t, seed, s, around, p, nodes, answers)
			to := nodes[d.r.IntN(len(nodes))].Name // the next one finds it there
			around.Add(p, to)
			if _, err := s.Bind(&kube.Pod{Pod: p}, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("allowed %d times, refused %d times", answers[true], answers[false])
	if answers[true] < clusters || answers[false] < clusters {
		t.Error("the clusters ask too little")
	}
}

func compare(t *testing.T, seed uint64, s *kube.Scheduler, around *neighbours.Cluster, p *corev1.Pod, nodes []*corev1.Node, answers map[bool]int) {
	t.Helper()
	rules, decidable := neighbours.Read(p)
	if !decidable {
		t.Fatalf("seed %d: pod %s is not decidable", seed, p.Name)
	}
	verdict, err := s.Schedule(&kube.Pod{Pod: p})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		want := slices.Contains(verdict.Nodes, n.Name)
		plugin := verdict.Refusal(n.Name).Plugin
		if !want && plugin != "PodTopologySpread" && plugin != "InterPodAffinity" {
			continue // refused for what the node is
		}
		answers[want]++
		if got := around.Allows(rules, n.Name); got != want {
			t.Errorf("seed %d, pod %s on %s: allowed %v, want %v (%s)", seed, p.Name, n.Name, got, want, verdict.Refusal(n.Name))
		}
	}
}

func ofNodes(all []*corev1.Node) []*kube.Node {
	var out []*kube.Node
	for _, n := range all {
		out = append(out, &kube.Node{Node: n})
	}
	return out
}

func ofPods(all []*corev1.Pod) []*kube.Pod {
	var out []*kube.Pod
	for _, p := range all {
		out = append(out, &kube.Pod{Pod: p})
	}
	return out
}

// drawer draws few different labels, so that rules meet pods.
type drawer struct{ r *rand.Rand }

func (d drawer) one(in int) bool { return d.r.IntN(in) == 0 }

func (d drawer) of(values ...string) string { return values[d.r.IntN(len(values))] }

func (d drawer) node(i int) *corev1.Node {
	name := fmt.Sprintf("n%d", i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, "pool": d.of("x", "y"),
	}}}
	if !d.one(8) {
		n.Labels[corev1.LabelTopologyZone] = d.of("za", "zb", "zc")
	}
	if d.one(4) {
		n.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffect(d.of("NoSchedule", "NoExecute", "PreferNoSchedule"))}}
	}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	return n
}

func (d drawer) pod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: d.of("a", "a", "b"), Labels: map[string]string{"app": d.of("web", "db"), "rev": d.of("1", "2")},
	}}
	p.UID = types.UID(name)
	p.Spec = corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "main"}}}
	if d.one(4) {
		p.Spec.NodeSelector = map[string]string{"pool": d.of("x", "y")}
	}
	if d.one(3) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "t", Operator: corev1.TolerationOpExists}}
	}
	for range d.r.IntN(3) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, d.spread())
	}
	if d.one(3) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: d.terms()}}
	} else if d.one(3) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: d.terms()}}
	}
	return p
}

func (d drawer) selector() *metav1.LabelSelector {
	switch d.r.IntN(8) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "rev", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"2"}},
		}}
	default:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.of("web", "db")}}
	}
}

func (d drawer) spread() corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: int32(1 + d.r.IntN(2)), TopologyKey: d.of(corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, "pool"),
		WhenUnsatisfiable: corev1.UnsatisfiableConstraintAction(d.of("DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
		LabelSelector:     d.selector(),
	}
	if c.WhenUnsatisfiable == corev1.DoNotSchedule && d.one(3) {
		c.MinDomains = new(int32(1 + d.r.IntN(4)))
	}
	if d.one(3) && c.LabelSelector != nil {
		c.MatchLabelKeys = []string{d.of("rev", "none-has-it")}
	}
	if d.one(3) {
		c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicy(d.of("Honor", "Ignore")))
	}
	if d.one(3) {
		c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicy(d.of("Honor", "Ignore")))
	}
	return c
}

func (d drawer) terms() []corev1.PodAffinityTerm {
	var out []corev1.PodAffinityTerm
	for range 1 + d.r.IntN(2) {
		t := corev1.PodAffinityTerm{
			TopologyKey: d.of(corev1.LabelTopologyZone, corev1.LabelHostname, "pool"), LabelSelector: d.selector(),
		}
		switch d.r.IntN(4) {
		case 0:
			t.Namespaces = []string{d.of("a", "b")}
		case 1:
			t.NamespaceSelector = &metav1.LabelSelector{}
		}
		out = append(out, t)
	}
	return out
}
