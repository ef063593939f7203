// Package suitetest is what every implementation of the cluster port must do: the in-memory fake and the real adapter
// pass it. Start at Run.
package suitetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/core/model"
)

// World is an implementation under test and the levers that the suite needs. Others may use the same cluster: the suite
// looks only at what has the world's name.
type World struct {
	Cluster cluster.Cluster
	// Nominator and Replicas are the same implementation.
	Nominator cluster.Nominator
	Replicas  cluster.Replicas
	// Cold is an implementation that has not begun to look.
	Cold cluster.Cluster
	// Name is what the suite calls the objects that it makes, or what their names begin with; no other world has it.
	Name string
	// Namespace is where the suite's pods are.
	Namespace string
	// Apply creates objects from YAML documents. A Node gets a kubelet that makes it ready and runs its pods.
	Apply func(t *testing.T, manifests string)
	// Delete asks for the end of an object without a namespace, as its user would.
	Delete func(t *testing.T, kind, name string)
	// Read reads an object; pods are those of the world's namespace. Nil if there is none.
	Read func(t *testing.T, kind, name string) *unstructured.Unstructured
	// Preempt nominates a pod of the world's namespace as the scheduler does.
	Preempt func(t *testing.T, pod string, node model.NodeName)
	// Events are those that Kerf told of an object, in any order.
	Events func(t *testing.T, kind, name string) []clustertest.Event
	// Advance moves the implementation's clock.
	Advance func(d time.Duration)
}

// patience is for clusters that share a machine with a compiler; waits end as soon as they can.
const patience = 30 * time.Second

// Run runs it. open makes a fresh world for each test.
func Run(t *testing.T, open func(t *testing.T) World) {
	t.Helper()
	tests := map[string]func(*testing.T, World){
		"what has not begun to look is not ready":                         testCold,
		"nodes and their pods are values":                                 testNodes,
		"pools and classes are values":                                    testPolicy,
		"what a user got wrong stays visible, with the reason":            testWrongPolicy,
		"a node's change adds, removes, and leaves what others set":       testUpdateNode,
		"the finalizer holds a node that is deleted, until it is removed": testFinalizer,
		"deleting a node that the finalizer holds only marks it":          testDeleteNode,
		"only the node that was meant is changed and deleted":             testOtherNode,
		"the claim's object becomes the node's owner":                     testOwner,
		"the server itself says which pods are on a node":                 testPodsOn,
		"an evicted pod ends":                                             testEvict,
		"a budget blocks an eviction but not a forced one":                testBudget,
		"only the pod that was meant is evicted":                          testOtherPod,
		"a pod is nominated, to another node, and no more":                testNominate,
		"preemption's nominations are told from Kerf's, and kept":         testPreemption,
		"only the pod that was meant is nominated":                        testNominateOther,
		"a pod is bound to a node that is for it":                         testBind,
		"a replica's deletion cost is written, and a user's left alone":   testDeletionCost,
		"a claim is mirrored through its life":                            testClaim,
		"a claim can be read from its object":                             testReadClaim,
		"a claim's spec stays as it was made":                             testSpec,
		"what is right already is not written":                            testUnchanged,
		"the last publication is what stays":                              testChangeBack,
		"a disruption that was rolled back leaves no trace":               testRollback,
		"a claim says that its node is quiet, while it is":                testQuiet,
		"a pool says whether launches become nodes":                       testRegistration,
		"a claim's object goes when it is forgotten":                      testForget,
		"a user's deletion of a claim waits for Kerf":                     testDeletedClaim,
		"a pool shows what it has and why it is not ready":                testPoolStatus,
		"a class shows what it resolves to, and stays while it is used":   testClassStatus,
		"an overlay says whether it has an effect":                        testOverlayStatus,
		"a buffer says what it asks for and has":                          testBufferStatus,
		"an event is said once, until it is forgotten or another":         testEvents,
		"one entry that fails does not stop the others":                   testPartial,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// until waits, on nothing but the cluster's own signal, for something to be observed.
func (w World) until(t *testing.T, what string, ok func(cluster.State) bool) cluster.State {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		s, err := w.Cluster.Observe()
		if err == nil && ok(s) {
			return s
		}
		if err != nil && !errors.Is(err, cluster.ErrNotReady) {
			t.Fatalf("observe: %v", err)
		}
		select {
		case <-w.Cluster.Changed():
		case <-end.C:
			t.Fatalf("never observed: %s; last: node %+v, claims %v, deleted %v", what, nodeOf(s, w.Name), s.ClaimObjects, s.DeletedClaims)
		}
	}
}

// apply creates objects; NAME and NAMESPACE stand for the world's.
func (w World) apply(t *testing.T, manifests string) {
	t.Helper()
	w.Apply(t, strings.NewReplacer("NAMESPACE", w.Namespace, "NAME", w.Name).Replace(manifests))
}

func (w World) publish(t *testing.T, p cluster.Publication) {
	t.Helper()
	if err := w.Cluster.Publish(t.Context(), p); err != nil {
		t.Fatalf("publish: %v", err)
	}
}

func (w World) update(t *testing.T, c cluster.NodeChange) {
	t.Helper()
	c.Node = model.NodeName(w.Name)
	if err := w.Cluster.UpdateNode(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// object reads an object that must be there.
func (w World) object(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	o := w.Read(t, kind, name)
	if o == nil {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return o
}

func nodeOf(s cluster.State, name string) *cluster.Node {
	i := slices.IndexFunc(s.Nodes, func(n *cluster.Node) bool { return string(n.Name) == name })
	if i < 0 {
		return nil
	}
	return s.Nodes[i]
}

func podOf(s cluster.State, node, name string) *cluster.Pod {
	n := nodeOf(s, node)
	if n == nil {
		return nil
	}
	i := slices.IndexFunc(n.Pods, func(p cluster.Pod) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &n.Pods[i]
}

func poolOf(s cluster.State, name string) *cluster.Pool {
	i := slices.IndexFunc(s.Pools, func(p cluster.Pool) bool { return string(p.Name) == name })
	if i < 0 {
		return nil
	}
	return &s.Pools[i]
}

func classOf(s cluster.State, name string) *cluster.Class {
	i := slices.IndexFunc(s.Classes, func(c cluster.Class) bool { return string(c.Spec.Name) == name })
	if i < 0 {
		return nil
	}
	return &s.Classes[i]
}

// condition is one of an object's conditions; the zero value if it has none of that type.
type condition struct{ status, reason, message, since string }

func conditionOf(t *testing.T, o *unstructured.Unstructured, kind string) condition {
	t.Helper()
	list, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		t.Fatalf("conditions of %s: %v", o.GetName(), err)
	}
	for _, x := range list {
		c, ok := x.(map[string]any)
		if !ok || c["type"] != kind {
			continue
		}
		text := func(field string) string {
			s, ok := c[field].(string)
			if !ok {
				t.Fatalf("condition %s of %s: %s is %v", kind, o.GetName(), field, c[field])
			}
			return s
		}
		return condition{text("status"), text("reason"), text("message"), text("lastTransitionTime")}
	}
	return condition{}
}

func field(o *unstructured.Unstructured, path ...string) any {
	v, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return err
	}
	return v
}

const nodeManifest = `
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {theirs: "1"}}
spec:
  providerID: aws:///us-east-1a/i-NAME
  taints: [{key: theirs, value: v, effect: NoSchedule}]
status:
  capacity: {cpu: "2", memory: 8Gi, pods: "29"}
  allocatable: {cpu: 1930m, memory: 7Gi, pods: "29"}
`

const podManifest = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: NAMESPACE, labels: {app: web}}
spec:
  nodeName: NAME
  terminationGracePeriodSeconds: 5
  containers: [{name: main, image: none}]
`

const poolManifest = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    metadata: {labels: {type: karpenter}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]
      taints: [{key: dedicated, value: ci, effect: PreferNoSchedule}]
      expireAfter: 48h
      terminationGracePeriod: 10m
  limits: {cpu: 1000, memory: 1000Gi}
  disruption:
    budgets: [{nodes: "20%", reasons: [Empty]}, {nodes: "3", schedule: "0 9 * * 1-5", duration: 8h}]
`

const classManifest = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: NAME}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: kerf}}]
  securityGroupSelectorTerms: [{id: sg-12345678}]
`

// claim is one as the planner asks for it.
func (w World) claim() model.Claim {
	return model.Claim{
		ID: model.ClaimID(w.Name + "-c1"), NodePool: model.PoolName(w.Name), NodeClass: model.NodeClassName(w.Name), State: model.ClaimPlanned,
		Reached: model.ClaimPlanned, PoolHash: "1", ClassHash: "2",
		Labels:       model.Labels{{Key: "type", Value: "karpenter"}},
		Requirements: []model.Requirement{{Key: "node.kubernetes.io/instance-type", Operator: model.In, Values: []string{"m5.large"}}},
		Requests:     model.Amounts{{Resource: "cpu", Value: 1250}, {Resource: "memory", Value: 5 << 30}},
	}
}

// launched is the claim once EC2 has answered.
func launched(c model.Claim) model.Claim {
	c.State, c.Reached = model.ClaimLaunched, model.ClaimLaunched
	c.InstanceType, c.Zone, c.CapacityType = "m5.large", "us-east-1a", model.Spot
	c.InstanceID, c.ProviderID, c.ImageID = "i-1", "aws:///us-east-1a/i-1", "ami-1"
	c.Capacity = model.Amounts{{Resource: "cpu", Value: 2000}, {Resource: "memory", Value: 8 << 30}}
	return c
}
