package suitetest

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
  schedulerName: none # the scheduler would take nominations back
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
	if can, bind, why, err := w.Nominator.CanNominate(t.Context()); err != nil || !can || !bind {
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

// bindableManifest is a pod that the scheduler leaves alone, however quick it is: it does not tolerate Kerf's own taint.
const bindableManifest = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: NAMESPACE, labels: {app: web}}
spec:
  nodeSelector: {kerf.test/bound-to: NAME}
  tolerations: [{key: theirs, operator: Exists}, {key: node.kubernetes.io/not-ready, operator: Exists}]
  containers: [{name: main, image: none, resources: {requests: {cpu: 100m}}}]
`

func testBind(t *testing.T, w World) {
	w.apply(t, strings.Replace(nodeManifest, "taints: [", "taints: [{key: karpenter.sh/unregistered, effect: NoSchedule}, ", 1))
	p := w.unboundPod(t) // selects what no node has
	list := []cluster.Nomination{{Pod: p, Node: model.NodeName(w.Name)}}
	if left, wait, err := w.Nominator.Bind(t.Context(), list); err != nil || len(left) != 1 || len(wait) != 0 {
		t.Errorf("a pod that the node is not for: left %v, wait %v, error %v", left, wait, err)
	}
	w.apply(t, strings.Replace("---"+bindableManifest, "name: web,", "name: bindable,", 1))
	id := model.PodID(w.Namespace + "/bindable")
	w.until(t, "the pod", func(cluster.State) bool { _, there := w.Nominator.Unbound(id); return there })
	requests, is := w.Nominator.Bindable(id)
	if !is || requests.Value(model.CPU) != 100 {
		t.Errorf("it asks for %v, and may be bound: %v", requests, is)
	}
	if err := w.Cluster.UpdateNode(t.Context(), cluster.NodeChange{
		Node: model.NodeName(w.Name), SetLabels: map[string]string{"kerf.test/bound-to": w.Name},
	}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the label", func(s cluster.State) bool {
		return slices.ContainsFunc(s.Nodes, func(n *cluster.Node) bool { return n.Labels["kerf.test/bound-to"] == w.Name })
	})
	seen, _ := w.Nominator.Unbound(id)
	other := seen
	other.UID = "another"
	for i, p := range []cluster.UnboundPod{other, seen} {
		n := cluster.Nomination{Pod: p, Node: model.NodeName(w.Name)}
		if left, wait, err := w.Nominator.Bind(t.Context(), []cluster.Nomination{n}); err != nil || len(left) != 1-i || len(wait) != 0 {
			t.Errorf("pod %s: left %v, wait %v, error %v", p.UID, left, wait, err)
		}
	}
	w.until(t, "the pod on the node", func(s cluster.State) bool { return podOf(s, w.Name, "bindable") != nil })
	if _, is := w.Nominator.Bindable(id); is {
		t.Error("a bound pod may be bound")
	}
	w.apply(t, strings.Replace("---"+bindableManifest, "name: web,", "name: second,", 1)+apartManifest)
	id = model.PodID(w.Namespace + "/second")
	w.until(t, "the second pod", func(cluster.State) bool { _, there := w.Nominator.Unbound(id); return there })
	seen, _ = w.Nominator.Unbound(id)
	_, is = w.Nominator.Bindable(id)
	left, wait, err := w.Nominator.Bind(t.Context(), []cluster.Nomination{{Pod: seen, Node: model.NodeName(w.Name)}})
	if !is || err != nil || len(left) != 0 || len(wait) != 1 {
		t.Errorf("beside a pod that is in the way: may be bound %v, left %v, wait %v, error %v", is, left, wait, err)
	}
}

// apartManifest lets a pod be the only one of its kind while there is one domain.
const apartManifest = `  topologySpreadConstraints:
  - {maxSkew: 1, minDomains: 2, topologyKey: kerf.test/bound-to, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
`

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
