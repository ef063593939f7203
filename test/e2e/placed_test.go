package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
)

const (
	placedDeployments = 12
	placedReplicas    = 15
)

const placedPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, m5, r5]}
        - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
`

const placedDeployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%[1]d, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: web-%[1]d}}
  template:
    metadata: {labels: {app: web-%[1]d}}
    spec:
      containers: [{name: main, image: none, resources: {requests: {cpu: %[3]dm, memory: %[4]dMi}}}]
`

// TestThePodsOfABurstLandWhereThePlansHaveThem lets all of Kerf buy nodes for a burst of pods, with nominations and
// without, and counts the pods that landed as planned: ADR 10 says what it is for.
func TestThePodsOfABurstLandWhereThePlansHaveThem(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the control plane, which -short leaves out")
	}
	n := seed(t)
	landed := map[string]int{}
	for _, nominations := range []string{"off", "auto"} {
		t.Run(nominations, func(t *testing.T) {
			landed[nominations] = placedAsPlanned(t, startWith(t, stack.Options{Seed: n, Nominations: nominations}), n)
		})
	}
	// All of them do where the machine has nothing else to do, and most in any case: with the rest the scheduler was
	// quicker.
	if all := placedDeployments * placedReplicas; 2*landed["auto"] < all || landed["auto"] <= landed["off"] {
		t.Errorf("%d of %d pods landed as planned with nominations, and %d without", landed["auto"], all, landed["off"])
	}
}

func placedAsPlanned(t *testing.T, s *stack.Stack, seed uint64) int {
	t.Helper()
	if err := s.Cluster.ApplyFile(t.Context(), filepath.Join(s.Root(), "deploy/examples/inflate/nodeclass.yaml")); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 2))
	var burst strings.Builder
	for i := range placedDeployments {
		fmt.Fprintf(&burst, placedDeployment, i, placedReplicas, 100*(1+random.IntN(15)), 128*(1+random.IntN(40)))
	}
	if err := s.Cluster.Apply(t.Context(), []byte(placedPool)); err != nil {
		t.Fatal(err)
	}
	<-time.After(3 * time.Second) // the pool is ready, and prices are known
	if err := s.Cluster.Apply(t.Context(), []byte(burst.String())); err != nil {
		t.Fatal(err)
	}
	f := follower{stack: s, planned: map[string]place{}, nodes: map[string]string{}, joined: map[string]string{}}
	harness.Eventually(t, "all pods bound", 3*time.Minute, f.look)
	landed := 0
	for pod, node := range f.nodes {
		if p := f.planned[pod]; node == cmp.Or(p.node, f.joined[p.claim]) {
			landed++
		} else {
			t.Logf("pod %s is on node %s, and was planned on %s", pod, node, cmp.Or(p.node, f.joined[p.claim], "that of claim "+p.claim))
		}
	}
	t.Logf("%d of %d pods landed as planned, on %d nodes for $%.3f an hour",
		landed, placedDeployments*placedReplicas, f.claims, float64(f.price)/1e6)
	return landed
}

// place is where a pod is expected: on a node, or on that of a claim.
type place struct{ node, claim string }

// follower follows where plans have pods, until they are bound.
type follower struct {
	stack *stack.Stack
	// planned are places by pod, nodes the names of the nodes that pods got, and joined those of claims.
	planned map[string]place
	nodes   map[string]string
	joined  map[string]string
	// claims are the claims that are there, and price what they cost, micro-dollars per hour.
	claims int
	price  int64
	// settled says that each of them has its node.
	settled bool
}

func (f *follower) look(ctx context.Context) (string, bool) {
	// Pods are listed first: a plan that is read after they were unbound may be the one that they are bound by.
	pods, err := f.stack.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err.Error(), false
	}
	places, err := f.places(ctx)
	if err != nil {
		return err.Error(), false
	}
	for i := range pods.Items {
		id := pods.Items[i].Namespace + "/" + pods.Items[i].Name
		if at, is := places[id]; is && f.nodes[id] == "" {
			f.planned[id] = at
		}
		if at := pods.Items[i].Spec.NodeName; at != "" {
			f.nodes[id] = at
		}
	}
	// A pod may be bound before it is stored which node is its claim's.
	return fmt.Sprintf("%d of %d, on %d of %d claims", len(f.nodes), len(pods.Items), len(f.joined), f.claims),
		len(f.nodes) == placedDeployments*placedReplicas && f.settled
}

// places are where pods are expected: on the claim that was bought for them, or where the newest plan has them.
func (f *follower) places(ctx context.Context) (map[string]place, error) {
	claims, err := f.stack.Actuator.ListClaims(ctx, &actuatorpb.ListClaimsRequest{PageSize: 500})
	if err != nil {
		return nil, err
	}
	out := map[string]place{}
	f.claims, f.price, f.settled = 0, 0, true
	for _, c := range claims.GetClaims() {
		f.claims++
		f.price += c.GetPriceMicroUsdPerHour()
		if c.GetNode() != "" {
			f.joined[c.GetId()] = c.GetNode()
		}
		f.settled = f.settled && c.GetNode() != ""
		for _, pod := range c.GetPods() {
			out[pod] = place{claim: c.GetId()}
		}
	}
	plan, err := f.stack.Watcher.GetPlan(ctx, &watcherpb.GetPlanRequest{})
	if err != nil {
		return out, nil // there is none yet
	}
	for _, p := range plan.GetPlan().GetPlacements() {
		out[p.GetPod()] = place{node: p.GetNode(), claim: p.GetClaim()}
	}
	return out, nil
}
