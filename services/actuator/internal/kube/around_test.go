package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/model"
)

func zoneNode(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

// spreadPod is one that is to be spread over zones, on a node or without one.
func spreadPod(name, node string) *corev1.Pod {
	web := map[string]string{"app": "web"}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("u-" + name), Labels: web,
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "u-web"}},
	}}
	p.Spec.NodeName, p.Spec.SchedulerName = node, corev1.DefaultSchedulerName
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: web},
	}}
	return p
}

func names(list []cluster.Nomination) string {
	out := ""
	for _, n := range list {
		out += string(n.Pod.ID)[len("default/"):] + " "
	}
	return out
}

func TestPodsThatAreBoundCountAtOnce(t *testing.T) {
	ended := spreadPod("ended", "a")
	ended.Status.Phase = corev1.PodSucceeded
	away := spreadPod("away", "a")
	away.Spec.TopologySpreadConstraints, away.Labels = nil, map[string]string{"app": "other"}
	away.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kept-away"}},
		}},
	}}
	apart := spreadPod("kept-away", "")
	apart.Spec.TopologySpreadConstraints, apart.Labels = nil, map[string]string{"app": "kept-away"}
	objects := []runtime.Object{zoneNode("a", "za"), zoneNode("b", "zb"), ended, away, apart}
	for _, name := range []string{"p1", "p2", "p3", "p4", "p5"} {
		objects = append(objects, spreadPod(name, ""))
	}
	k, _ := start(t, objects)
	x := k.nominator
	to := func(node model.NodeName, names ...string) (list []cluster.Nomination) {
		for _, name := range names {
			p, there := x.Unbound(model.PodID("default/" + name))
			if !there {
				t.Fatalf("there is no pod %s", name)
			}
			list = append(list, cluster.Nomination{Pod: p, Node: node})
		}
		return list
	}
	other := to("a", "p5")
	other[0].Pod.UID = "another"
	for _, step := range []struct {
		list              []cluster.Nomination
		ready, left, wait string
	}{
		{to("a", "p1", "p2"), "p1 ", "", "p2 "},
		{to("b", "p3", "p4"), "p3 p4 ", "", ""},
		{to("a", "p1", "p2"), "p2 ", "p1 ", ""},
		{to("none", "p5"), "", "p5 ", ""},
		{to("a", "kept-away"), "", "", "kept-away "},
		{to("b", "kept-away"), "kept-away ", "", ""},
		{other, "", "p5 ", ""},
	} {
		ready, left, wait := x.assume(step.list)
		if d := cmp.Diff([]string{step.ready, step.left, step.wait}, []string{names(ready), names(left), names(wait)}); d != "" {
			t.Errorf("%s: %s", names(step.list), d)
		}
		time.Sleep(30 * time.Millisecond) // the next picture is of a cache that still shows them without nodes
	}
	for _, n := range to("b", "p3", "p4") { // they could not be bound
		x.around.Forget(types.UID(n.Pod.UID))
	}
	if ready, _, wait := x.assume(to("a", "p5")); len(ready) > 0 || len(wait) != 1 {
		t.Errorf("p5 is bound beside two, and the other zone has none: %v, %v", ready, wait)
	}
}

func TestPodsOfAnOwnerShareWhatIsTheSame(t *testing.T) {
	var shared trimmer
	trim := func(labels map[string]string) *corev1.Pod {
		p := spreadPod("web", "a")
		p.Labels = labels
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
		}}
		return shared.trimPod(p)
	}
	first, same, other := trim(map[string]string{"app": "web"}), trim(map[string]string{"app": "web"}), trim(map[string]string{"app": "db"})
	first.Labels["mark"] = "" // in a cache nothing changes; here it tells that they are one
	if _, one := same.Labels["mark"]; !one || first.Spec.Affinity != same.Spec.Affinity {
		t.Error("what two pods have in common is there twice")
	}
	if other.Labels["app"] != "db" || other.Spec.Affinity != first.Spec.Affinity {
		t.Errorf("the other pod has labels %v", other.Labels)
	}
}

func TestRulesOfABoundPodAboutWhereItRunsAreKept(t *testing.T) {
	zone := []corev1.PodAffinityTerm{{TopologyKey: "zone"}}
	weighed := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: zone[0]}}
	claim := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want bool
	}{
		"no rules":        {},
		"a node selector": {corev1.PodSpec{NodeSelector: map[string]string{"disk": "fast"}}, true},
		"a volume claim":  {corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data", VolumeSource: claim}}}, true},
		"another volume":  {corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}}}, false},
		"hard spread": {corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule},
		}}, true},
		"soft spread": {corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway},
		}}, false},
		"nodes that it requires": {corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{},
		}}}, true},
		"pods that it requires": {corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: zone,
		}}}, true},
		"pods that it keeps away from": {corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: zone,
		}}}, true},
		"pods that it would rather keep away from": {corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: weighed,
		}}}, false},
	} {
		c.spec.NodeName = "n1"
		var shared trimmer
		if got := objects.Pod(shared.trimPod(&corev1.Pod{Spec: c.spec})).Tied; got != c.want {
			t.Errorf("%s: tied %v", name, got)
		}
	}
}
