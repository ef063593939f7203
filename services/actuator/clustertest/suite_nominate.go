package clustertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

const unboundManifest = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: NAMESPACE, labels: {app: web}}
spec:
  nodeSelector: {kerf.test/no-node-has: this}
  containers: [{name: main, image: none}]
`

// unboundPod applies a pod that no node is for, and waits until it is seen.
func (w World) unboundPod(t *testing.T) cluster.UnboundPod {
	t.Helper()
	w.apply(t, unboundManifest)
	return w.untilUnbound(t, "the pod", func(cluster.UnboundPod) bool { return true })
}

func (w World) untilUnbound(t *testing.T, what string, ok func(cluster.UnboundPod) bool) cluster.UnboundPod {
	t.Helper()
	var p cluster.UnboundPod
	w.until(t, what, func(cluster.State) (done bool) {
		var there bool
		p, there = w.Nominator.Unbound(model.PodID(w.Namespace + "/web"))
		return there && ok(p)
	})
	return p
}

func (w World) nominate(t *testing.T, p cluster.UnboundPod, node model.NodeName) {
	t.Helper()
	if err := w.Nominator.Nominate(t.Context(), []cluster.Nomination{{Pod: p, Node: node}}); err != nil {
		t.Fatal(err)
	}
}

func (w World) nominee(p cluster.UnboundPod) bool {
	return slices.Contains(w.Nominator.Nominees(), p)
}

func testNominate(t *testing.T, w World) {
	if can, why, err := w.Nominator.CanNominate(t.Context()); err != nil || !can {
		t.Fatalf("can nominate: %v, %s, error %v", can, why, err)
	}
	p := w.unboundPod(t)
	if p.Nominated != "" || p.ByKerf || p.UID != string(w.object(t, "Pod", "web").GetUID()) {
		t.Fatalf("a new pod is %+v", p)
	}
	for _, node := range []model.NodeName{"n1", "n2"} {
		w.nominate(t, p, node)
		p = w.untilUnbound(t, "the nomination", func(p cluster.UnboundPod) bool { return p.Nominated == node })
		if !p.ByKerf || !w.nominee(p) || field(w.object(t, "Pod", "web"), "status", "nominatedNodeName") != string(node) {
			t.Errorf("nominated to %s it is %+v", node, p)
		}
	}
	w.nominate(t, p, "")
	p = w.untilUnbound(t, "no nomination", func(p cluster.UnboundPod) bool { return p.Nominated == "" })
	if p.ByKerf || w.nominee(p) {
		t.Errorf("its nomination was taken away, and it is %+v", p)
	}
}

func testPreemption(t *testing.T, w World) {
	before := w.unboundPod(t)
	w.Preempt(t, "web", "n1")
	p := w.untilUnbound(t, "preemption's nomination", func(p cluster.UnboundPod) bool { return p.Nominated == "n1" })
	if p.ByKerf || w.nominee(p) {
		t.Errorf("nominated by preemption it is %+v", p)
	}
	w.nominate(t, before, "n2") // as it was seen before
	w.nominate(t, before, "")
	if got := field(w.object(t, "Pod", "web"), "status", "nominatedNodeName"); got != "n1" {
		t.Errorf("preemption's nomination has become %v", got)
	}
	w.nominate(t, p, "n2")
	w.untilUnbound(t, "Kerf's nomination", func(p cluster.UnboundPod) bool { return p.Nominated == "n2" })
	w.Preempt(t, "web", "n3")
	p = w.untilUnbound(t, "preemption's nomination", func(p cluster.UnboundPod) bool { return p.Nominated == "n3" })
	if p.ByKerf || w.nominee(p) {
		t.Errorf("nominated by Kerf, then by preemption, it is %+v", p)
	}
}

func testNominateOther(t *testing.T, w World) {
	p := w.unboundPod(t)
	w.apply(t, nodeManifest+strings.Replace("---"+podManifest, "name: web,", "name: bound,", 1))
	w.until(t, "the bound pod", func(s cluster.State) bool { return podOf(s, w.Name, "bound") != nil })
	bound := model.PodID(w.Namespace + "/bound")
	if got, there := w.Nominator.Unbound(bound); there {
		t.Errorf("a bound pod is unbound: %+v", got)
	}
	w.nominate(t, cluster.UnboundPod{ID: bound, UID: string(w.object(t, "Pod", "bound").GetUID())}, "n1")
	if got := field(w.object(t, "Pod", "bound"), "status", "nominatedNodeName"); got != nil {
		t.Errorf("a bound pod is nominated to %v", got)
	}
	other := p
	other.UID = "another"
	w.nominate(t, other, "n1")
	other = p
	other.ID += "-another"
	w.nominate(t, other, "n1")
	if got := field(w.object(t, "Pod", "web"), "status", "nominatedNodeName"); got != nil {
		t.Errorf("another pod was meant, and this one is nominated to %v", got)
	}
}
