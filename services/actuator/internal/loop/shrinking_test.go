package loop

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestReplicasAreToldWhichGoFirst has more replicas on a node than are written at once, and one that comes later.
func TestReplicasAreToldWhichGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Replicas = clustertest.Replicas{Cluster: r.kube.Fake} }
		replica := func(i int) {
			t.Helper()
			err := r.kube.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: web-%d
  namespace: default
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]
spec: {nodeName: n1, containers: []}`, i))
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.kube.Apply("apiVersion: v1\nkind: Node\nmetadata: {name: n1}"); err != nil {
			t.Fatal(err)
		}
		const many = 250
		for i := range many {
			replica(i)
		}
		r.start()
		costs := func() (n map[int32]int) {
			n = map[int32]int{}
			for _, x := range (clustertest.Replicas{Cluster: r.kube.Fake}).On("n1") {
				n[x.DeletionCost]++
			}
			return n
		}
		r.accepted(model.Plan{ID: "p1", Nodes: []model.NodeVerdict{{Node: "n1", PodDeletionCost: -500}}})
		time.Sleep(10 * time.Second)
		if got := costs(); got[-500] != many {
			t.Errorf("the deletion costs are %v", got)
		}
		replica(many)
		r.accepted(model.Plan{ID: "p2", Nodes: []model.NodeVerdict{{Node: "n1", PodDeletionCost: -550}}}) // hardly another
		time.Sleep(20 * time.Second)
		if got := costs(); got[-500] != many || got[-550] != 1 {
			t.Errorf("with one more they are %v", got)
		}
		r.accepted(model.Plan{ID: "p3", Nodes: []model.NodeVerdict{{Node: "n1", PodDeletionCost: -1000}}})
		time.Sleep(20 * time.Second)
		if got := costs(); got[-1000] != many+1 {
			t.Errorf("of a node that goes they are %v", got)
		}
	})
}
