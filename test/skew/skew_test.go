package skew_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/skew"
)

var previous = flag.String("previous", "", "the `commit` that services of the working tree run beside; without it that of the last release")

// patience is for machines that have much else to do.
const patience = 3 * time.Minute

// objects are a pool whose nodes stay, and pods of which each needs a node of its own.
const objects = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, m5]}
        - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: none, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]
`

// TestServicesOfTwoReleasesWorkTogether begins with all services of the previous release and exchanges them one by one
// for those of the working tree, and back. After each exchange pods come that need nodes; they must run, and all claims
// and instances from before must be there still.
func TestServicesOfTwoReleasesWorkTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the control plane, which -short leaves out")
	}
	old := release(t)
	w := &world{Stack: start(t, old, false), claims: map[string]string{}}
	w.apply(t)

	const now = "" // the working tree
	for _, step := range []struct {
		name     string
		exchange map[string]string
	}{
		{"all of the previous release", nil},
		{"the new watcher with the old planner and the old actuator", map[string]string{"watcher": now}},
		{"the new planner with the old watcher and the old actuator", map[string]string{"watcher": old, "planner": now}},
		{"the new actuator, on the old one's etcd, with the old watcher", map[string]string{"actuator": now}},
		{"all of the working tree", map[string]string{"watcher": now}},
		{"the old actuator, on the new one's etcd", map[string]string{"actuator": old}},
		{"all of the previous release again", map[string]string{"watcher": old, "planner": old}},
	} {
		began := time.Now()
		for _, service := range slices.Sorted(maps.Keys(step.exchange)) {
			if err := w.Exchange(t.Context(), service, step.exchange[service]); err != nil {
				t.Fatalf("%s: %v%s", step.name, err, w.Tails(10))
			}
		}
		w.grow(t, step.name)
		t.Logf("%s: %d nodes (%.1fs)", step.name, w.pods, time.Since(began).Seconds())
		if step.exchange == nil {
			w.upgradeCRDs(t)
		}
	}
	w.replace(t)
}

// release builds the previous release, once.
func release(t *testing.T) string {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	commit := previousCommit(t, root)
	began := time.Now()
	dir, err := skew.Release(t.Context(), root, commit)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the previous release is commit %s (%.1fs)", commit, time.Since(began).Seconds())
	return dir
}

// previousCommit is the previous release's.
func previousCommit(t *testing.T, root string) string {
	t.Helper()
	if *previous != "" {
		return *previous
	}
	commit, err := skew.Previous(t.Context(), root)
	if errors.Is(err, skew.ErrNoHistory) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return commit
}

// start runs the previous release, with its CRDs, and where it says so with those that stand by.
func start(t *testing.T, old string, standby bool) *stack.Stack {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Build(t.Context(), root, os.Stderr); err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{stack.ActuatorStandby: old, stack.WatcherStandby: old}
	for _, service := range stack.Services() {
		programs[service] = old
	}
	s, err := stack.Start(t.Context(), stack.Options{
		Dir: t.TempDir(), Programs: programs, CRDs: filepath.Join(old, "crds"), Standby: standby,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Tails(20))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// world is the cluster and what is known of it.
type world struct {
	*stack.Stack
	pods   int
	claims map[string]string // to instances
}

func (w *world) apply(t *testing.T) {
	t.Helper()
	if err := w.Cluster.ApplyFile(t.Context(), filepath.Join(w.Root(), "deploy/examples/inflate/nodeclass.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := w.Cluster.Apply(t.Context(), []byte(objects)); err != nil {
		t.Fatal(err)
	}
}

// grow lets one pod more come, and waits until all run and claims and instances agree.
func (w *world) grow(t *testing.T, what string) {
	t.Helper()
	w.pods++
	replicas := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, w.pods) // a patch never conflicts with the deployment's controller
	_, err := w.Kubernetes.AppsV1().Deployments(metav1.NamespaceDefault).Patch(t.Context(), "web", types.MergePatchType, replicas, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claims := w.settled(t, what)
	for claim, instance := range w.claims {
		if claims[claim] != instance {
			t.Errorf("%s: claim %s had instance %s and has %q", what, claim, instance, claims[claim])
		}
	}
	w.claims = claims
}

// settled waits until all pods run, each on an instance of its own that has a claim, and returns those.
func (w *world) settled(t *testing.T, what string) map[string]string {
	t.Helper()
	var claims map[string]string
	running := harness.Pods(w.Kubernetes, metav1.NamespaceDefault, "app=web", w.pods, corev1.PodRunning)
	harness.Eventually(t, what, patience, func(ctx context.Context) (string, bool) {
		if state, ok := running(ctx); !ok {
			return "pods: " + state, false
		}
		var err error
		if claims, err = w.agreed(ctx); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%d instances", len(claims)), len(claims) == w.pods
	})
	return claims
}

// agreed are the instances of the claims, where AWS and the actuator say the same.
func (w *world) agreed(ctx context.Context) (map[string]string, error) {
	state, err := w.Sim.State(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]string{}
	for _, i := range state.Instances {
		if i.State != "terminated" {
			ours[i.Tags[labels.Claim]] = i.ID
		}
	}
	list, err := w.Actuator.ListClaims(ctx, &actuatorpb.ListClaimsRequest{})
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, c := range list.GetClaims() {
		known[c.GetId()] = c.GetInstanceId()
	}
	if !maps.Equal(ours, known) {
		return nil, fmt.Errorf("AWS has %v, the actuator %v", ours, known)
	}
	return ours, nil
}

// replace has the actuator give one claim up, and waits until another has taken its place.
func (w *world) replace(t *testing.T) {
	t.Helper()
	gone := slices.Min(slices.Collect(maps.Keys(w.claims)))
	if _, err := w.Actuator.DeleteClaim(t.Context(), &actuatorpb.DeleteClaimRequest{Id: gone}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "claim "+gone+" to be replaced", patience, func(ctx context.Context) (string, bool) {
		claims, err := w.agreed(ctx)
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(claims), claims[gone] == "" && len(claims) == w.pods
	})
	w.settled(t, "the pod of the claim that was given up")
}

// upgradeCRDs applies the definitions of the working tree over those of the previous release: what is stored must be valid
// under them, too.
func (w *world) upgradeCRDs(t *testing.T) {
	t.Helper()
	if err := w.Cluster.ApplyFile(t.Context(), filepath.Join(w.Root(), "deploy/crds")); err != nil {
		t.Fatal(err)
	}
	for resource, group := range map[string]string{"nodepools": "karpenter.sh", "nodeclaims": "karpenter.sh", "ec2nodeclasses": "karpenter.k8s.aws"} {
		of := w.Dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource})
		harness.Eventually(t, resource+" to be valid", patience, func(ctx context.Context) (string, bool) {
			list, err := of.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err.Error(), false
			}
			for i := range list.Items {
				options := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
				if _, err := of.Update(ctx, &list.Items[i], options); err != nil {
					return err.Error(), false // one that was written meanwhile is read again
				}
			}
			return fmt.Sprintf("%d", len(list.Items)), len(list.Items) > 0
		})
	}
}
