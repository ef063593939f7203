package story

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/demo/show"
)

func instance(id, state, claim string) awssim.InstanceState {
	return awssim.InstanceState{ID: id, State: state, InstanceType: "m5.large", Tags: map[string]string{labels.Claim: claim, labels.NodePool: "default"}}
}

func claim(id, instance string, state clusterpb.ClaimState) *clusterpb.Claim {
	return &clusterpb.Claim{Id: id, InstanceId: instance, State: state}
}

const (
	initialized = clusterpb.ClaimState_CLAIM_STATE_INITIALIZED
	gone        = clusterpb.ClaimState_CLAIM_STATE_GONE
	draining    = clusterpb.ClaimState_CLAIM_STATE_DRAINING
)

// TestTheAuditSees is what makes the kill tests worth something: each way to lose or double an instance is found.
func TestTheAuditSees(t *testing.T) {
	tests := map[string]struct {
		claims    []*clusterpb.Claim
		instances []awssim.InstanceState
		blind     error
		want      string // part of the finding; empty: none
	}{
		"nothing wrong with one instance for each live claim": {
			claims:    []*clusterpb.Claim{claim("a", "i-1", initialized), claim("b", "i-0", gone)},
			instances: []awssim.InstanceState{instance("i-0", "terminated", "b"), instance("i-1", "running", "a")},
		},
		"an instance that lives on after its claim has ended": {
			claims: []*clusterpb.Claim{claim("a", "i-1", gone)}, instances: []awssim.InstanceState{instance("i-1", "running", "a")},
			want: "leaked: instance i-1",
		},
		"an instance whose claim no one knows": {
			instances: []awssim.InstanceState{instance("i-1", "pending", "x")}, want: "leaked: instance i-1",
		},
		"an instance without the tag": {
			instances: []awssim.InstanceState{{ID: "i-1", State: "terminated"}}, want: "no tag",
		},
		"two launches for one claim, even if one has ended": {
			claims:    []*clusterpb.Claim{claim("a", "i-2", initialized)},
			instances: []awssim.InstanceState{instance("i-1", "terminated", "a"), instance("i-2", "running", "a")},
			want:      "doubled: claim a has launched 2",
		},
		"an instance that its claim does not know": {
			claims: []*clusterpb.Claim{claim("a", "", initialized)}, instances: []awssim.InstanceState{instance("i-1", "running", "a")},
			want: "doubled: instance i-1",
		},
		"an actuator that does not answer proves nothing": {blind: errors.New("away"), want: "away"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := World{Claims: tt.claims, AWS: awssim.State{Instances: tt.instances}, NoClaims: tt.blind}
			err := w.Audit()
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("finding %v, want %q", err, tt.want)
			}
		})
	}
}

func node(name, kind string, change func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		labels.NodePool: "default", corev1.LabelInstanceTypeStable: kind, "karpenter.sh/initialized": "true",
	}}}
	if change != nil {
		change(&n)
	}
	return n
}

func pod(name, node string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// TestConditionsComplain shows for each condition one world in which it holds and what it says of others.
func TestConditionsComplain(t *testing.T) {
	one := World{
		Nodes: []corev1.Node{node("n1", "m5.large", nil)}, Pods: []corev1.Pod{pod("inflate-a-b", "n1")},
		AWS:    awssim.State{Instances: []awssim.InstanceState{instance("i-1", "running", "a"), instance("i-0", "terminated", "b")}},
		Claims: []*clusterpb.Claim{claim("a", "i-1", initialized), claim("b", "i-0", gone)},
	}
	with := func(change func(*World)) World {
		w := one
		w.Nodes, w.Pods = []corev1.Node{node("n1", "m5.large", nil)}, []corev1.Pod{pod("inflate-a-b", "n1")}
		change(&w)
		return w
	}
	tests := map[string]struct {
		condition Condition
		world     World
		want      string // part of the complaint; empty: it holds
	}{
		"the nodes are as wanted": {nodes("default", "m5.large"), one, ""},
		"another type is wanted":  {nodes("default", "c5.large"), one, "c5.large, there are m5.large"},
		"a node of another pool is ignored": {nodes("default"), World{Nodes: []corev1.Node{node("n1", "m5.large", func(n *corev1.Node) {
			n.Labels[labels.NodePool] = "spot"
		})}}, ""},
		"a node drains": {nodes("default", "m5.large"), with(func(w *World) {
			w.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted"}}
		}), "m5.large (draining)"},
		"an instance has no node yet": {nodes("default", "m5.large"), with(func(w *World) {
			w.AWS.Instances = append([]awssim.InstanceState{instance("i-2", "pending", "c")}, w.AWS.Instances...)
		}), "AWS runs m5.large, m5.large"},
		"all pods run":            {running("inflate", 1), one, ""},
		"too few pods run":        {running("inflate", 2), one, "1 of 1"},
		"a pod runs elsewhere":    {running("inflate", 1), with(func(w *World) { w.Pods[0].Spec.NodeName = "theirs" }), "0 of 1"},
		"a pod is not ready":      {running("inflate", 1), with(func(w *World) { w.Pods[0].Status.Conditions = nil }), "0 of 1"},
		"a pod is on its way out": {running("inflate", 1), with(func(w *World) { w.Pods[0].DeletionTimestamp = &metav1.Time{} }), "0 of 1"},
		"nothing is left":         {nothing(), World{AWS: awssim.State{Instances: []awssim.InstanceState{instance("i-0", "terminated", "b")}}}, ""},
		"everything is left":      {nothing(), one, "1 nodes, 1 live claims, 1 instances"},
		"an instance is ending":   {nothing(), World{AWS: awssim.State{Instances: []awssim.InstanceState{instance("i-0", "shutting-down", "b")}}}, "1 instances"},
		"a template is left":      {nothing(), World{AWS: awssim.State{LaunchTemplates: []awssim.TemplateState{{Name: "t"}}}}, "1 launch templates"},
		"the actuator is away":    {nothing(), World{NoClaims: errors.New("away")}, "away"},
		"no claim is under way":   {quiet(), one, ""},
		"a claim drains":          {quiet(), World{Claims: []*clusterpb.Claim{claim("a", "i-1", draining)}}, "a is draining"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.condition(tt.world)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("complaint %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheSameSeedKillsAtTheSamePoints(t *testing.T) {
	a, b := NewChaos("planner", 7, Steps()).String(), NewChaos("planner", 7, Steps()).String()
	if a != b {
		t.Errorf("seed 7 gives %q and %q", a, b)
	}
	if n := strings.Count(a, "step "); n != kills {
		t.Errorf("%d kills, want %d: %s", n, kills, a)
	}
	if c := NewChaos("planner", 8, Steps()).String(); a == c {
		t.Errorf("seeds 7 and 8 both give %q", a)
	}
}

func TestPodsAreToldByWorkload(t *testing.T) {
	got := pods([]string{"default/inflate-5c-aa", "default/large", "default/inflate-5c-bb"})
	if want := "2 × inflate, 1 × large"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTheNarratorTellsEachThingOnce gives it two looks at the same world.
func TestTheNarratorTellsEachThingOnce(t *testing.T) {
	var out strings.Builder
	n := newNarrator(show.New(&out, true))
	for range 2 {
		n.tell(World{Claims: []*clusterpb.Claim{claim("default-4483c459aa", "i-1", initialized)}})
	}
	if got := strings.Count(out.String(), "claim …459aa initialized"); got != 1 {
		t.Errorf("printed %d times:\n%s", got, out.String())
	}
}

// TestTheNarratorTellsTheSameOfSeveralOnce gives it a plan that buys two claims alike and one of another kind.
func TestTheNarratorTellsTheSameOfSeveralOnce(t *testing.T) {
	var out strings.Builder
	buy := func(id, kind string) *plannerpb.NodeClaim {
		return &plannerpb.NodeClaim{
			Id: id, Pods: []string{"default/web-a-" + id}, Reason: &clusterpb.Reason{Message: "cheapest of " + kind},
			Offerings: []*clusterpb.RankedOffering{{InstanceType: kind, Zone: "z"}},
		}
	}
	end := func(claims ...string) *plannerpb.Disruption {
		return &plannerpb.Disruption{Candidates: claims, Reason: &clusterpb.Reason{Message: "old"}}
	}
	n := newNarrator(show.New(&out, true))
	n.tell(World{Plan: &plannerpb.Plan{
		Id: "p-1", NodeClaims: []*plannerpb.NodeClaim{buy("n1", "m5"), buy("n2", "m5"), buy("n3", "c5")},
		Disruptions: []*plannerpb.Disruption{end("n4"), end("n5"), end("n6", "n7")},
	}})
	for _, want := range []string{
		"buy claims …n1 and …n2 for 1 × web each: m5 z", "buy claim …n3 for 1 × web: c5 z", "remove claims …n4 and …n5, each by itself",
		"remove claims …n6 and …n7\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "cheapest of m5"); n != 1 {
		t.Errorf("the reason is printed %d times:\n%s", n, out.String())
	}
}
