package e2e_test

import (
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

// TestThePodsOfABurstLandWhereThePlansHaveThem lets all of Kerf buy nodes for a burst of pods, with nominations and without,
// and counts the pods that landed as planned: ADR 10 says what it is for.
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
	// Most of them do: the rest is what the scheduler was quicker with.
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
	f := follower{stack: s, planned: map[string]string{}, nodes: map[string]string{}}
	harness.Eventually(t, "all pods bound", 3*time.Minute, f.look)
	landed := 0
	for pod, node := range f.nodes {
		if f.planned[pod] == node {
			landed++
		}
	}
	t.Logf("%d of %d pods landed as planned, on %d nodes for $%.3f an hour",
		landed, placedDeployments*placedReplicas, f.claims, float64(f.price)/1e6)
	return landed
}

// follower follows where plans have pods, until they are bound.
type follower struct {
	stack *stack.Stack
	// planned and nodes are the names of nodes by pod.
	planned, nodes map[string]string
	// claims are the claims that are there, and price what they cost, micro-dollars per hour.
	claims int
	price  int64
}

func (f *follower) look(ctx context.Context) (string, bool) {
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
		if f.nodes[id] == "" && places[id] != "" {
			f.planned[id] = places[id]
		}
		if at := pods.Items[i].Spec.NodeName; at != "" {
			f.nodes[id] = at
		}
	}
	return fmt.Sprintf("%d of %d", len(f.nodes), len(pods.Items)), len(f.nodes) == placedDeployments*placedReplicas
}

// places are the nodes where pods are expected: by the claim that was bought for them, or by the newest plan.
func (f *follower) places(ctx context.Context) (map[string]string, error) {
	claims, err := f.stack.Actuator.ListClaims(ctx, &actuatorpb.ListClaimsRequest{PageSize: 500})
	if err != nil {
		return nil, err
	}
	out, node := map[string]string{}, map[string]string{}
	f.claims, f.price = 0, 0
	for _, c := range claims.GetClaims() {
		f.claims++
		f.price += c.GetPriceMicroUsdPerHour()
		node[c.GetId()] = c.GetNode()
		for _, pod := range c.GetPods() {
			out[pod] = c.GetNode()
		}
	}
	plan, err := f.stack.Watcher.GetPlan(ctx, &watcherpb.GetPlanRequest{})
	if err != nil {
		return out, nil // there is none yet
	}
	for _, p := range plan.GetPlan().GetPlacements() {
		if out[p.GetPod()] = p.GetNode(); p.GetNode() == "" {
			out[p.GetPod()] = node[p.GetClaim()]
		}
	}
	return out, nil
}
