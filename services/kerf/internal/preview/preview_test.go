package preview_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
	"github.com/kerf-dev/kerf/services/planner"
)

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s, budgets: [{nodes: "1"}]}
  template:
    metadata: {labels: {team: a}}
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, c5.large]}
`

const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20250101}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
status:
  subnets: [{id: subnet-1, zone: us-east-1a}]
  amis:
  - {id: ami-1, name: amazon-eks-node-al2023-x86_64-standard-1.34-v20250101, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}
`

const app = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: a, image: a, resources: {requests: {cpu: 800m, memory: 1Gi}}}]
`

func present() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// world is the few types that the pool allows, because the whole catalogue takes longer than all that is looked at here.
func world(t *testing.T) func() (convert.World, error) {
	t.Helper()
	return func() (convert.World, error) {
		all, err := catalog.Bundled()
		if err != nil {
			return convert.World{}, err
		}
		some := *all
		some.Types = nil
		for _, ty := range all.Types {
			if ty.Name == "m5.large" || ty.Name == "c5.large" || ty.Name == "m5.xlarge" {
				some.Types = append(some.Types, ty)
			}
		}
		return convert.World{Catalog: &some}, nil
	}
}

// request is the question about a cluster that runs the app: three nodes, each with two pods.
func request(t *testing.T) *plannerpb.PlanRequest {
	t.Helper()
	in, err := offline.Load(files(pool, class, app), offline.Options{Present: present(), World: world(t)})
	if err != nil {
		t.Fatal(err)
	}
	played, err := preview.Play(t.Context(), planner.Decide, question(in.Snapshot, present()), 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(played.Pending) > 0 || len(played.End.GetNodes()) < 2 || !played.Settled {
		t.Fatalf("want a few nodes and no pending pods, not %d nodes, %v", len(played.End.GetNodes()), played.Pending)
	}
	return question(played.End, played.End.GetObserveTime().AsTime().Add(2*time.Hour))
}

func question(s *clusterpb.Snapshot, now time.Time) *plannerpb.PlanRequest {
	return &plannerpb.PlanRequest{Snapshot: s, Decide: &plannerpb.Decide{Now: timestamppb.New(now), Policy: &clusterpb.Policy{}}}
}

func files(texts ...string) []offline.File {
	var out []offline.File
	for i, text := range texts {
		out = append(out, offline.File{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	return out
}

func edit(t *testing.T, req *plannerpb.PlanRequest, texts ...string) preview.Edited {
	t.Helper()
	with, err := offline.LoadPreview(files(texts...), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := preview.Edit(req.GetSnapshot(), with.Objects, world(t), present())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, req *plannerpb.PlanRequest, edited preview.Edited) preview.Comparison {
	t.Helper()
	with := &plannerpb.PlanRequest{Snapshot: edited.Snapshot, Decide: req.GetDecide()}
	out, err := preview.Compare(t.Context(), planner.Decide, req, with, 20)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatSaysNothingNewChangesNothing(t *testing.T) {
	t.Parallel()
	req := request(t)
	before := proto.CloneOf(req.GetSnapshot())
	edited := edit(t, req, pool, class)
	for _, c := range edited.Changes {
		if c.Effect != preview.Same {
			t.Errorf("%s is said to be %s", c.Object, c.Effect)
		}
	}
	if c := compare(t, req, edited); len(c.Drifts) > 0 || c.With.Gone != c.Without.Gone || c.With.CostAfter != c.Without.CostAfter {
		t.Errorf("drifts %v, %d nodes go and %d would", c.Drifts, c.With.Gone, c.Without.Gone)
	}
	if !proto.Equal(before, req.GetSnapshot()) {
		t.Error("the snapshot at hand was changed")
	}
}

func TestChangesDriftNodes(t *testing.T) {
	t.Parallel()
	replace := func(in, from, to string) string {
		if !strings.Contains(in, from) {
			t.Fatalf("no %q to replace", from)
		}
		return strings.Replace(in, from, to, 1)
	}
	tests := map[string]struct {
		with []string
		// why begins the reason of each node; "" where none drifts.
		why     string
		assumed string
		changed string
	}{
		"another label of the template": {
			[]string{replace(pool, "team: a", "team: b")}, "NodePoolDrifted", "", "NodePool default",
		},
		"a requirement that leaves the nodes' type out": {
			[]string{replace(pool, "[m5.large, c5.large]", "[m5.xlarge]")}, "RequirementsDrifted", "", "NodePool default",
		},
		"a weight is no drift": {
			[]string{replace(pool, "spec:\n", "spec:\n  weight: 7\n")}, "", "", "NodePool default",
		},
		"user data of the class": {
			[]string{replace(class, "  role: node", "  role: node\n  userData: abc")}, "NodeClassDrifted", "", "EC2NodeClass default",
		},
		"a newer version of the alias, with the status as it was": {
			[]string{replace(class, "al2023@v20250101", "al2023@v20260101")}, "AMIDrift", "only AWS knows its id", "EC2NodeClass default",
		},
		"an image by its id": {
			[]string{replace(class, "amiSelectorTerms: [{alias: al2023@v20250101}]", "amiFamily: AL2023\n  amiSelectorTerms: [{id: ami-7}]")},
			"AMIDrift", "in whose place it comes", "EC2NodeClass default",
		},
		"another image in the status": {
			[]string{strings.ReplaceAll(replace(class, "ami-1,", "ami-2,"), "v20250101", "v20260101")}, "AMIDrift", "", "EC2NodeClass default",
		},
	}
	req := request(t)
	nodes := len(req.GetSnapshot().GetNodes())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := edit(t, req, tt.with...)
			if diff := cmp.Diff([]preview.Change{{Object: tt.changed, Effect: preview.Changed}}, edited.Changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if got := strings.Join(edited.Assumed, "\n"); (tt.assumed == "") != (got == "") || !strings.Contains(got, tt.assumed) {
				t.Errorf("assumed %q, want %q", got, tt.assumed)
			}
			c := compare(t, req, edited)
			if tt.why == "" {
				if len(c.Drifts) > 0 {
					t.Errorf("%v drifts", c.Drifts)
				}
				return
			}
			if len(c.Drifts) != nodes {
				t.Errorf("%d of %d nodes drift", len(c.Drifts), nodes)
			}
			for _, d := range c.Drifts {
				if !strings.HasPrefix(d.Why.GetMessage(), tt.why) || d.Pool != "default" {
					t.Errorf("%+v", d)
				}
			}
			if !c.With.Settled || c.With.Drifted != nodes || c.With.DriftRounds < nodes || len(c.With.Pending) > 0 {
				t.Errorf("settled %v, %d drifted nodes gone in %d rounds by a budget of 1, %d pods pending",
					c.With.Settled, c.With.Drifted, c.With.DriftRounds, len(c.With.Pending))
			}
			for _, d := range c.Drifts {
				if f := c.With.Outcomes[d.Node]; f.Round == 0 || f.Reason != clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED {
					t.Errorf("%s: %+v", d.Node, f)
				}
			}
		})
	}
}

func TestAnotherPoolTakesPodsOver(t *testing.T) {
	t.Parallel()
	req := request(t)
	cheap := strings.NewReplacer("name: default}\nspec", "name: spot}\nspec", "on-demand", "spot", `nodes: "1"`, `nodes: "100%"`).Replace(pool)
	edited := edit(t, req, cheap)
	if diff := cmp.Diff([]preview.Change{{Object: "NodePool spot", Effect: preview.Added}}, edited.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	c := compare(t, req, edited)
	if c.With.CostAfter >= c.Without.CostAfter || c.With.CostBefore != c.Without.CostBefore || len(c.Drifts) > 0 {
		t.Errorf("the cost goes from %d to %d, and to %d without the pool; drifts %v",
			c.With.CostBefore, c.With.CostAfter, c.Without.CostAfter, c.Drifts)
	}
}

func TestAPreviewRefuses(t *testing.T) {
	t.Parallel()
	req := request(t)
	tests := map[string]struct {
		with []string
		want string
	}{
		"a kind that is no policy of nodes": {[]string{app}, "Deployment web: can't be previewed"},
		"an object twice":                   {[]string{pool, pool + "  weight: 3\n"}, "NodePool default: defined twice"},
		"a pool whose class no one knows": {
			[]string{strings.Replace(pool, "EC2NodeClass, name: default", "EC2NodeClass, name: other", 1)}, "no EC2NodeClass other in the snapshot",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with, err := offline.LoadPreview(files(tt.with...), manifest.Options{})
			if err == nil {
				_, err = preview.Edit(req.GetSnapshot(), with.Objects, world(t), present())
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestALimitRangeBesideAPoolIsSkipped: charts of namespaces have both, and the pods of a snapshot have what it gives them.
func TestALimitRangeBesideAPoolIsSkipped(t *testing.T) {
	t.Parallel()
	const limits = "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: r, namespace: shop}\nspec: {limits: [{type: Container, default: {cpu: 1}}]}\n"
	with, err := offline.LoadPreview(files(pool+limits), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	edited, err := preview.Edit(request(t).GetSnapshot(), with.Objects, world(t), present())
	if err != nil || len(edited.Changes) != 1 {
		t.Errorf("changes %v, error %v; want the pool's alone", edited.Changes, err)
	}
	if len(with.Warnings) != 1 || !strings.Contains(with.Warnings[0], "LimitRange shop/r: skipped") {
		t.Errorf("warnings %q, want one of the LimitRange", with.Warnings)
	}
}

func TestAPolicyIsToldFromManifests(t *testing.T) {
	t.Parallel()
	with, err := offline.LoadPreview(files("payback: 4h\neviction_price: \"0.01\"\n", pool), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if with.Policy.GetPayback().AsDuration() != 4*time.Hour || with.Policy.GetEvictionPriceMicroUsd() != 10_000 || len(with.Objects) != 1 {
		t.Errorf("got %v and %d objects", with.Policy, len(with.Objects))
	}
	for text, want := range map[string]string{"paybak: 4h": "paybak", "payback: often": "payback", "payback: -1h": "payback"} {
		if _, err := offline.LoadPreview(files(text), manifest.Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.yaml") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := offline.LoadPreview(files("payback: 4h", "payback: 3h"), manifest.Options{}); err == nil {
		t.Error("two policies are taken")
	}
}

// TestADeciderThatFailsIsHeard also looks at how a preview ends that is stopped.
func TestADeciderThatFailsIsHeard(t *testing.T) {
	t.Parallel()
	req := request(t)
	stopped := func(context.Context, *plannerpb.PlanRequest) (*plannerpb.PlanResponse, error) {
		return nil, context.Canceled
	}
	if _, err := preview.Compare(t.Context(), stopped, req, req, 3); err == nil || !strings.Contains(err.Error(), "round 1") {
		t.Errorf("got %v", err)
	}
}

// TestExamplesCanBePreviewed puts the manifests of the examples into a snapshot that was made from them.
func TestExamplesCanBePreviewed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "..", "deploy", "examples", "inflate")
	var texts []string
	for _, name := range []string{"nodepool.yaml", "nodeclass.yaml"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	in, err := offline.Load(files(append(texts, app)...), offline.Options{Present: present(), World: world(t)})
	if err != nil {
		t.Fatal(err)
	}
	edited := edit(t, question(in.Snapshot, present()), texts...)
	for _, c := range edited.Changes {
		if c.Effect != preview.Same {
			t.Errorf("%s is said to be %s", c.Object, c.Effect)
		}
	}
}
