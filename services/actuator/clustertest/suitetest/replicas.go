package suitetest

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// The owner is of a group that no server knows: of one that is known and not there the garbage collector would delete
// the pods.
const replicaManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: WHICH
  namespace: NAMESPACE
  annotations: {ANNOTATION}
  ownerReferences: [{apiVersion: kerf.test/v1, kind: KIND, name: web, uid: 00000000-0000-0000-0000-000000000001, controller: true}]
spec:
  nodeName: NAME
  containers: [{name: main, image: none}]
`

func testDeletionCost(t *testing.T, w World) {
	if can, why, err := w.Replicas.CanCost(t.Context()); err != nil || !can {
		t.Fatalf("can write deletion costs: %v, %s, error %v", can, why, err)
	}
	w.apply(t, nodeManifest)
	for which, as := range map[string][2]string{
		"replica": {"ReplicaSet", ""}, "chosen": {"ReplicaSet", `controller.kubernetes.io/pod-deletion-cost: "7"`}, "stateful": {"StatefulSet", ""},
	} {
		w.apply(t, "---"+strings.NewReplacer("WHICH", which, "KIND", as[0], "ANNOTATION", as[1]).Replace(replicaManifest))
	}
	node := model.NodeName(w.Name)
	var seen []cluster.Replica
	w.until(t, "all pods", func(s cluster.State) bool {
		seen = w.Replicas.On(node)
		ready := func(name string) bool { p := podOf(s, w.Name, name); return p != nil && p.Ready }
		return len(seen) > 0 && ready("replica") && ready("chosen") && ready("stateful")
	})
	if len(seen) != 1 || string(seen[0].ID) != w.Namespace+"/replica" || seen[0].DeletionCost != 0 {
		t.Fatalf("the replicas are %+v", seen)
	}
	w.untilCost(t, -7)
	before := w.Replicas.On(node)[0]
	w.untilCost(t, -9)
	w.cost(t, before, -8) // as it was seen before
	other := w.Replicas.On(node)[0]
	other.UID = "00000000-0000-0000-0000-000000000002"
	w.cost(t, other, -8)
	other.ID += "-another"
	w.cost(t, other, -8)
	if got := w.object(t, "Pod", "replica").GetAnnotations()["controller.kubernetes.io/pod-deletion-cost"]; got != "-9" {
		t.Errorf("the pod says %q", got)
	}
}

func (w World) cost(t *testing.T, r cluster.Replica, cost int32) {
	t.Helper()
	r.DeletionCost = cost
	if err := w.Replicas.Cost(t.Context(), []cluster.Replica{r}); err != nil {
		t.Fatal(err)
	}
}

// untilCost writes the replica's cost until it is seen: what happens to the pod meanwhile makes a write void. Nothing
// is signalled for a cost, because nothing follows from it.
func (w World) untilCost(t *testing.T, want int32) {
	t.Helper()
	end, again := time.NewTimer(patience), time.NewTicker(20*time.Millisecond)
	defer end.Stop()
	defer again.Stop()
	for {
		r := w.Replicas.On(model.NodeName(w.Name))
		if len(r) != 1 {
			t.Fatalf("the replicas are %+v", r)
		}
		if r[0].DeletionCost == want {
			return
		}
		w.cost(t, r[0], want)
		select {
		case <-again.C:
		case <-end.C:
			t.Fatalf("cost %d is never seen, %+v", want, r)
		}
	}
}
