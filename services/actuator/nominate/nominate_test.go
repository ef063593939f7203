package nominate_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// world has an open node n1 and a closed one, new, of claim c1; pods are those without a node.
func world(pods ...cluster.UnboundPod) nominate.World {
	nodes := []cluster.Node{
		{Name: "going", Taints: []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}}},
		{Name: "cordoned", Cordoned: true},
		{Name: "n1"},
		{Name: "new", Taints: []model.Taint{{Key: labels.TaintUnregistered, Effect: model.NoExecute}}},
		{Name: "of-c2"},
	}
	named := func(name model.NodeName) *cluster.Node {
		i := slices.IndexFunc(nodes, func(n cluster.Node) bool { return n.Name == name })
		if i < 0 {
			return nil
		}
		return &nodes[i]
	}
	return nominate.World{
		Unbound: func(id model.PodID) (cluster.UnboundPod, bool) {
			i := slices.IndexFunc(pods, func(p cluster.UnboundPod) bool { return p.ID == id })
			if i < 0 {
				return cluster.UnboundPod{}, false
			}
			return pods[i], true
		},
		Node: func(id model.ClaimID) *cluster.Node {
			return named(map[model.ClaimID]model.NodeName{"c1": "new", "c2": "of-c2"}[id])
		},
		Named: named,
	}
}

func pod(id model.PodID) cluster.UnboundPod {
	return cluster.UnboundPod{ID: id, UID: "u-" + string(id)}
}

func nominated(id model.PodID, node model.NodeName, byKerf bool) cluster.UnboundPod {
	p := pod(id)
	p.Nominated, p.ByKerf = node, byKerf
	return p
}

func on(node model.NodeName, pods ...model.PodID) (out []model.Placement) {
	for _, p := range pods {
		out = append(out, model.Placement{Pod: p, Node: node})
	}
	return out
}

func claimed(claim model.ClaimID, pods ...model.PodID) (out []model.Placement) {
	for _, p := range pods {
		out = append(out, model.Placement{Pod: p, Claim: claim})
	}
	return out
}

// list writes nominations down.
func list(nominations []cluster.Nomination) []string {
	var out []string
	for _, n := range nominations {
		out = append(out, string(n.Pod.ID)+" on "+string(n.Node))
	}
	return out
}

func all(model.ClaimID) bool { return true }

func TestPodsOfANodeThatOpensAreNominatedToIt(t *testing.T) {
	w := world(
		pod("by-claim"), pod("by-name"), pod("elsewhere"), nominated("already", "new", true), nominated("moved", "n1", true),
		nominated("preempts", "n1", false), nominated("preempts-here", "new", false),
	)
	e := nominate.Take(slices.Concat(
		claimed("c1", "by-claim", "already", "moved", "preempts", "preempts-here", "bound"), on("new", "by-name"), on("n1", "elsewhere"),
	), nil, all)
	want := []string{"by-claim on new", "moved on new", "by-name on new"}
	if d := cmp.Diff(want, list(e.Opening("c1", "new", w))); d != "" {
		t.Error(d)
	}
}

func TestPodsAreNominatedToNodesThatAreOpenAlone(t *testing.T) {
	w := world(pod("a"), pod("b"), pod("c"), pod("d"), pod("e"), pod("f"), pod("g"))
	e := nominate.Take(slices.Concat(
		on("n1", "a"), claimed("c2", "b"), claimed("c1", "c"), on("going", "d"), on("cordoned", "e"), on("never", "f"), claimed("c3", "g"),
	), nil, all)
	if d := cmp.Diff([]string{"a on n1", "b on of-c2"}, list(e.Due(w))); d != "" {
		t.Error(d)
	}
}

func TestNodesThatAreToComeAreCounted(t *testing.T) {
	// n1 and of-c2 are open, going goes, new has joined, and c4 has not.
	e := nominate.Take(slices.Concat(on("n1", "a"), claimed("c2", "b"), on("going", "c"), on("new", "d"), claimed("c4", "e"), claimed("gone", "f")), nil, all)
	there := func(id model.ClaimID) bool { return id != "gone" }
	if got := e.Coming(world(), there); got != 2 {
		t.Errorf("%d nodes are to come, want 2", got)
	}
	if got := nominate.Take(claimed("c1", "a"), nil, all).Coming(world(), there); got != 1 { // it has joined, and the plan says the claim
		t.Errorf("%d nodes are to come, want 1", got)
	}
}

func TestTheNewestPlanCounts(t *testing.T) {
	w := world(pod("a"), pod("b"))
	e := nominate.Restore([]*model.Claim{
		{ID: "c1", State: model.ClaimLaunched, Pods: []model.PodID{"a"}}, {ID: "c2", State: model.ClaimGone, Pods: []model.PodID{"b"}},
	})
	if d := cmp.Diff([]string{"a on new"}, list(e.Opening("c1", "new", w))); d != "" {
		t.Errorf("of a leader that has seen no plan: %s", d)
	}
	if got := e.Opening("c2", "of-c2", w); len(got) > 0 {
		t.Errorf("of a claim that has ended: %v", list(got))
	}
	e = nominate.Take(slices.Concat(on("n1", "a"), claimed("refused", "b")), nil, func(id model.ClaimID) bool { return id != "refused" })
	if got := e.Opening("c1", "new", w); len(got) > 0 {
		t.Errorf("of the plan before: %v", list(got))
	}
	if got := e.Opening("refused", "new", w); len(got) > 0 {
		t.Errorf("of a claim that was refused: %v", list(got))
	}
}

func TestWhatNoLongerHoldsIsTakenBack(t *testing.T) {
	e := nominate.Take(claimed("c1", "moves"), []model.PodID{"left", "left-preempts"}, all)
	nominees := []cluster.UnboundPod{
		nominated("gone", "never", true), nominated("going", "going", true), nominated("left", "n1", true),
		nominated("left-preempts", "n1", false), nominated("moves", "n1", true), nominated("stays", "n1", true), nominated("waits", "cordoned", true),
	}
	if d := cmp.Diff([]string{"gone on ", "going on ", "left on "}, list(e.Void(nominees, world()))); d != "" {
		t.Error(d)
	}
}

func TestANodeStartsUntilKerfsTaintIsTheLast(t *testing.T) {
	claim := &model.Claim{
		Taints:        []model.Taint{{Key: "dedicated", Effect: model.NoSchedule}},
		StartupTaints: []model.Taint{{Key: "agent", Effect: model.NoExecute}},
	}
	unregistered := model.Taint{Key: labels.TaintUnregistered, Effect: model.NoExecute}
	for name, c := range map[string]struct {
		ready  bool
		taints []model.Taint
		want   bool
	}{
		"not ready":                   {false, nil, true},
		"with its own taints":         {true, []model.Taint{unregistered, claim.Taints[0]}, false},
		"with a kubelet's taint":      {true, []model.Taint{unregistered, {Key: labels.TaintNotReady, Effect: model.NoSchedule}}, true},
		"with a startup taint":        {true, []model.Taint{unregistered, claim.StartupTaints[0]}, true},
		"with a taint that repels no": {true, []model.Taint{{Key: labels.TaintNotReady, Effect: model.PreferNoSchedule}}, false},
	} {
		if got := nominate.Starting(claim, &cluster.Node{Ready: c.ready, Taints: c.taints}); got != c.want {
			t.Errorf("a node %s starts: %v", name, got)
		}
	}
}
