package shadow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

var shared harness.Shared

func TestMain(m *testing.M) {
	os.Exit(shared.Main(m, harness.Options{Manifests: []string{"deploy/crds"}}))
}

// patience is for machines that compile something beside the test; the waits end as soon as they can.
const patience = time.Minute

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
  annotations: {karpenter.sh/nodepool-hash: "123", karpenter.sh/nodepool-hash-version: v3}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
  annotations: {karpenter.k8s.aws/ec2nodeclass-hash: "456", karpenter.k8s.aws/ec2nodeclass-hash-version: v4}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
`

// nodeClaim is what Karpenter keeps of an m5.xlarge.
func nodeClaim(name string) string {
	return fmt.Sprintf(`
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: %s
  annotations:
    karpenter.sh/nodepool-hash: "123"
    karpenter.sh/nodepool-hash-version: v3
    karpenter.k8s.aws/ec2nodeclass-hash: "456"
    karpenter.k8s.aws/ec2nodeclass-hash-version: v4
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/capacity-type: on-demand
    node.kubernetes.io/instance-type: m5.xlarge
    topology.kubernetes.io/zone: us-east-1a
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: karpenter.sh/nodepool, operator: In, values: [default]}]
`, name)
}

// workload is a pod on a node, with a controller.
func workload(name, node string) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      nodeName: %[2]s
      containers: [{name: main, image: none, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
`, name, node)
}

func claims() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
}

func classes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
}

func pools() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
}

// stage puts into the cluster what Karpenter would have made: a pool, a class, and two nodes with one small pod each.
func stage(t *testing.T, c *harness.Cluster) dynamic.Interface {
	t.Helper()
	ctx := t.Context()
	client, err := c.Client(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	config, err := c.Config(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	manifests := pool
	for _, name := range []string{"one", "two"} {
		addNode(t, client, "node-"+name)
		manifests += nodeClaim("claim-"+name) + workload("web-"+name, "node-"+name)
	}
	if err := c.Apply(ctx, []byte(manifests)); err != nil {
		t.Fatal(err)
	}
	status(ctx, t, dyn, classes(), "default", map[string]any{
		"subnets": []any{map[string]any{"id": "subnet-1", "zone": "us-east-1a"}},
		"amis": []any{map[string]any{"id": "ami-1", "name": "al2023", "requirements": []any{
			map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}},
		}}},
	})
	for _, name := range []string{"one", "two"} {
		var conditions []any
		for _, c := range []string{"Launched", "Registered", "Initialized"} {
			conditions = append(conditions, map[string]any{
				"type": c, "status": "True", "reason": c, "message": "", "lastTransitionTime": "2026-01-31T12:00:00Z",
			})
		}
		status(ctx, t, dyn, claims(), "claim-"+name, map[string]any{
			"nodeName": "node-" + name, "providerID": "aws:///us-east-1a/i-" + name, "imageID": "ami-1", "conditions": conditions,
		})
	}
	err = harness.Until(ctx, "the pods to run", patience, func(ctx context.Context) (string, bool) {
		list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%d run", len(list.Items)), len(list.Items) == 2
	})
	if err != nil {
		t.Fatal(err)
	}
	return dyn
}

func addNode(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3920m"), corev1.ResourceMemory: resource.MustParse("14Gi"), corev1.ResourcePods: resource.MustParse("58"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{harness.KwokAnnotation: harness.KwokValue}, Labels: map[string]string{
				"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "on-demand", "karpenter.k8s.aws/instance-family": "m5",
				"node.kubernetes.io/instance-type": "m5.xlarge", "topology.kubernetes.io/zone": "us-east-1a",
				"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
			},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func status(ctx context.Context, t *testing.T, dyn dynamic.Interface, r schema.GroupVersionResource, name string, value map[string]any) {
	t.Helper()
	o, err := dyn.Resource(r).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedMap(o.Object, value, "status"); err != nil {
		t.Fatal(err)
	}
	if _, err := dyn.Resource(r).UpdateStatus(ctx, o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// versions are the versions of Karpenter's objects: any write would raise one.
func versions(t *testing.T, dyn dynamic.Interface) string {
	t.Helper()
	var out []string
	for _, r := range []schema.GroupVersionResource{pools(), classes(), claims()} {
		list, err := dyn.Resource(r).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out = append(out, o.GetName()+"@"+o.GetResourceVersion())
		}
	}
	return strings.Join(out, " ")
}

// program builds kerf from the working tree.
func program(t *testing.T) string {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := assets.Programs(t.Context(), root, dir, os.Stderr, "./services/kerf/cmd/kerf"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "kerf")
}

func run(t *testing.T, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	return out.String(), errs.String(), err
}

// TestAShadowTellsWhatKerfWouldDo runs the program beside what Karpenter left: two m5.xlarge for pods that one smaller
// node holds. It has the rights of the watcher, so that a write would fail, and nothing it reads is changed.
func TestAShadowTellsWhatKerfWouldDo(t *testing.T) {
	c := shared.Cluster(t)
	dyn := stage(t, c)
	kerf := program(t)
	before := versions(t, dyn)
	kubeconfig := c.Kubeconfig(harness.Watcher)

	t.Run("one plan, for machines", func(t *testing.T) {
		out, errs, err := run(t, kerf, "shadow", "--kubeconfig", kubeconfig, "--once", "-o", "json")
		if err != nil || strings.Count(out, "\n") != 1 {
			t.Fatalf("%v, said %q, printed %q", err, errs, out)
		}
		var got struct {
			Nodes, PodsPending         int
			CostMicroUsdPerHour        string
			CostSettledMicroUsdPerHour string
			Settled                    bool
			Total                      struct{ Plans, NodesRemoved int }
			Plan                       json.RawMessage
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		var plan plannerpb.Plan
		if err := protojson.Unmarshal(got.Plan, &plan); err != nil {
			t.Fatal(err)
		}
		if got.Nodes != 2 || got.PodsPending > 0 || got.CostMicroUsdPerHour != "384000" || got.CostSettledMicroUsdPerHour != "96000" ||
			!got.Settled || got.Total.Plans != 1 || got.Total.NodesRemoved == 0 || len(plan.GetDisruptions()) == 0 {
			t.Errorf("got %+v, %v", got, plan.GetNodes())
		}
	})
	t.Run("one plan, in full", func(t *testing.T) {
		out, errs, err := run(t, kerf, "shadow", "--kubeconfig", kubeconfig, "--once")
		for _, want := range []string{"2 nodes, $0.384 an hour; with Kerf $0.096", "REMOVE  2 nodes", "SUMMARY"} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v, said %q, printed %q, without %q", err, errs, out, want)
			}
		}
	})
	t.Run("for a while", func(t *testing.T) {
		out, errs, err := run(t, kerf, "shadow", "--kubeconfig", kubeconfig, "--interval", "1s", "--for", "2s")
		if err != nil || strings.Count(out, "remove") != 2 || !strings.Contains(out, "WATCHED") || !strings.Contains(out, "nothing was changed") {
			t.Errorf("%v, said %q, printed %q", err, errs, out)
		}
	})
	if after := versions(t, dyn); after != before {
		t.Errorf("something was written: %s became %s", before, after)
	}
	t.Run("and then Karpenter's nodes go, as docs/migrate.md says", func(t *testing.T) {
		migrate(t, c, kerf)
		if left := gone(t, c); left != "" {
			t.Errorf("%s are left", left)
		}
	})
}
