package convert_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
)

// validPool fills in what every pool has after defaulting.
func validPool(p *karpenterv1.NodePool) *karpenterv1.NodePool {
	p.Spec.Template.Spec.NodeClassRef = karpenterv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	p.Spec.Template.Spec.ExpireAfter = "720h"
	p.Spec.Disruption.ConsolidateAfter = "0s"
	p.Spec.Disruption.ConsolidationPolicy = karpenterv1.ConsolidateWhenEmptyOrUnderutilized
	return p
}

func TestNodePool(t *testing.T) {
	grace := karpenterv1.Duration("10m")
	p := validPool(&karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	p.Spec.Weight = new(int32(10))
	p.Spec.Limits = list("cpu", "1000", "memory", "1000Gi", "nodes", "0")
	spec := &p.Spec.Template.Spec
	p.Spec.Template.Metadata.Labels = map[string]karpenterv1.LabelValue{"type": "karpenter"}
	spec.Taints = []karpenterv1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
	spec.TerminationGracePeriod = &grace
	spec.Requirements = []karpenterv1.Requirement{
		{Key: "node.kubernetes.io/instance-type", Operator: karpenterv1.OpIn, Values: []string{"m5.large", "c5.large"}, MinValues: new(int32(2))},
		{Key: "karpenter.k8s.aws/instance-cpu", Operator: karpenterv1.OpGte, Values: []string{"2"}},
	}
	p.Spec.Disruption.Budgets = []karpenterv1.Budget{
		{Nodes: "10%"},
		{Nodes: "0", Reasons: []karpenterv1.DisruptionReason{karpenterv1.ReasonUnderutilized, karpenterv1.ReasonEmpty}, Schedule: new("0 9 * * 1-5"), Duration: new("8h")},
	}
	want := &clusterpb.NodePool{
		Name: "default", Weight: 10, NodeClass: "default",
		Labels: []*clusterpb.Label{{Key: "type", Value: "karpenter"}},
		Taints: []*clusterpb.Taint{{Key: "team", Value: "a", Effect: clusterpb.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE}},
		Requirements: []*clusterpb.Requirement{
			req("karpenter.k8s.aws/instance-cpu", clusterpb.Operator_OPERATOR_GTE, "2"),
			{Key: "node.kubernetes.io/instance-type", Operator: opIn, Values: []string{"c5.large", "m5.large"}, MinValues: new(int32(2))},
		},
		Limits: []*clusterpb.Amount{
			{Resource: "cpu", Value: 1_000_000}, {Resource: "memory", Value: 1000 << 30}, {Resource: "nodes", Value: 0},
		},
		ExpireAfter: durationpb.New(720 * time.Hour), TerminationGracePeriod: durationpb.New(10 * time.Minute),
		ConsolidationPolicy: clusterpb.ConsolidationPolicy_CONSOLIDATION_POLICY_WHEN_EMPTY_OR_UNDERUTILIZED,
		ConsolidateAfter:    durationpb.New(0),
		Budgets: []*clusterpb.DisruptionBudget{
			{Nodes: &clusterpb.DisruptionBudget_Percent{Percent: 10}},
			{
				Nodes: &clusterpb.DisruptionBudget_Count{Count: 0}, Schedule: "0 9 * * 1-5", Duration: durationpb.New(8 * time.Hour),
				Reasons: []clusterpb.DisruptionReason{clusterpb.DisruptionReason_DISRUPTION_REASON_EMPTY, clusterpb.DisruptionReason_DISRUPTION_REASON_UNDERUTILIZED},
			},
		},
	}
	got := convert.NodePool(p, convert.PoolFacts{NodeClasses: func(name string) bool { return name == "default" }})
	hash, err := karpenterv1.HashNodePool(p)
	if err != nil {
		t.Fatal(err)
	}
	want.Hash = hash
	if diff := cmp.Diff(want, got.Payload, protocmp.Transform()); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
}

func TestNodePoolThatIsNotReadySaysWhy(t *testing.T) {
	type answer struct {
		Code    clusterpb.ReasonCode
		Message string
	}
	const invalid, notFound = clusterpb.ReasonCode_REASON_CODE_NODE_POOL_INVALID, clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_FOUND
	const deleted = clusterpb.ReasonCode_REASON_CODE_BEING_DELETED
	for name, tc := range map[string]struct {
		edit  func(*karpenterv1.NodePool)
		facts convert.PoolFacts
		want  answer
	}{
		"it did not pass validation": {
			func(*karpenterv1.NodePool) {},
			convert.PoolFacts{Problem: errors.New("spec.weight: 101 is out of range")},
			answer{invalid, "spec.weight: 101 is out of range"},
		},
		"it is being deleted": {
			func(p *karpenterv1.NodePool) { p.DeletionTimestamp = new(metav1.NewTime(start())) },
			convert.PoolFacts{},
			answer{deleted, "the pool is being deleted"},
		},
		"it is being deleted, and was never valid": {
			func(p *karpenterv1.NodePool) { p.DeletionTimestamp = new(metav1.NewTime(start())) },
			convert.PoolFacts{Problem: errors.New("spec.weight: 101 is out of range")},
			answer{deleted, "the pool is being deleted"},
		},
		"its class is of another provider": {
			func(p *karpenterv1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Kind = "KWOKNodeClass" },
			convert.PoolFacts{},
			answer{invalid, "spec.template.spec.nodeClassRef: want group karpenter.k8s.aws and kind EC2NodeClass"},
		},
		"its class is not there": {
			func(*karpenterv1.NodePool) {},
			convert.PoolFacts{NodeClasses: func(string) bool { return false }},
			answer{notFound, "spec.template.spec.nodeClassRef.name: there is no EC2NodeClass default"},
		},
		"a duration that is none": {
			func(p *karpenterv1.NodePool) { p.Spec.Disruption.ConsolidateAfter = "soon" },
			convert.PoolFacts{},
			answer{invalid, "spec.disruption.consolidateAfter"},
		},
		"an unknown operator": {
			func(p *karpenterv1.NodePool) {
				p.Spec.Template.Spec.Requirements = []karpenterv1.Requirement{{Key: "a", Operator: "Near"}}
			},
			convert.PoolFacts{},
			answer{invalid, "spec.template.spec.requirements[0].operator"},
		},
		"a budget that is none": {
			func(p *karpenterv1.NodePool) { p.Spec.Disruption.Budgets = []karpenterv1.Budget{{Nodes: "few"}} },
			convert.PoolFacts{},
			answer{invalid, "spec.disruption.budgets[0].nodes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := validPool(&karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}})
			tc.edit(p)
			got := convert.NodePool(p, tc.facts).Payload.(*clusterpb.NodePool).GetNotReady()
			if got.GetCode() != tc.want.Code || !strings.Contains(got.GetMessage(), tc.want.Message) {
				t.Errorf("%s %q, want %s about %q", got.GetCode(), got.GetMessage(), tc.want.Code, tc.want.Message)
			}
			if got.GetSubject().GetName() != "p" {
				t.Errorf("subject %q", got.GetSubject())
			}
		})
	}
}

// TestInvalidPools reads the manifests that package reader refuses. The actuator's test of the same name does so too.
func TestInvalidPools(t *testing.T) {
	files, err := filepath.Glob("../../internal/kubeapi/reader/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(text), "\n")
			p := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			problem := yaml.Unmarshal(text, p)
			if problem != nil {
				problem = fmt.Errorf("NodePool web: %w", problem)
			}
			got := convert.NodePool(p, convert.PoolFacts{Problem: problem}).Payload.(*clusterpb.NodePool).GetNotReady()
			if want := strings.TrimPrefix(line, "# "); !strings.HasPrefix(got.GetMessage(), want) {
				t.Errorf("reason %v, want %s", got, want)
			}
		})
	}
}

// TestABadPoolStaysInsideTheContract makes sure that a pool that some API server let through says that it is not ready,
// and does not make the whole snapshot invalid.
func TestABadPoolStaysInsideTheContract(t *testing.T) {
	twice := []karpenterv1.Taint{{Key: "a", Value: "1", Effect: corev1.TaintEffectNoSchedule}, {Key: "a", Value: "2", Effect: corev1.TaintEffectNoSchedule}}
	p := validPool(&karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}})
	p.Spec.Weight, p.Spec.Replicas = new(int32(1000)), new(int64(-1))
	spec := &p.Spec.Template.Spec
	spec.Taints, spec.StartupTaints = twice, append(twice, karpenterv1.Taint{Effect: corev1.TaintEffectNoSchedule})
	spec.Requirements = []karpenterv1.Requirement{
		{Key: "in", Operator: karpenterv1.OpIn},
		{Key: "gt", Operator: karpenterv1.OpGt, Values: []string{"few"}},
		{Key: "", Operator: karpenterv1.OpExists},
		{Key: "kept", Operator: karpenterv1.OpExists, Values: []string{"x"}, MinValues: new(int32(0))},
	}
	p.Spec.Disruption.Budgets = []karpenterv1.Budget{
		{Nodes: "1", Schedule: new("0 9 * * *"), Duration: new("0m")}, {Nodes: "1", Schedule: new("0 9 * * *")}, {Nodes: "2"},
	}
	got := convert.NodePool(p, convert.PoolFacts{}).Payload.(*clusterpb.NodePool)
	if got.GetNotReady().GetCode() != clusterpb.ReasonCode_REASON_CODE_NODE_POOL_INVALID {
		t.Errorf("not ready is %v, want that the pool is invalid", got.GetNotReady())
	}
	one := []*clusterpb.Taint{{Key: "a", Value: "1", Effect: clusterpb.TaintEffect_TAINT_EFFECT_NO_SCHEDULE}}
	want := &clusterpb.NodePool{
		Weight: 100, Replicas: new(int64(0)), Taints: one, StartupTaints: one,
		Requirements: []*clusterpb.Requirement{{Key: "kept", Operator: clusterpb.Operator_OPERATOR_EXISTS}},
		Budgets:      []*clusterpb.DisruptionBudget{{Nodes: &clusterpb.DisruptionBudget_Count{Count: 2}}},
	}
	parts := &clusterpb.NodePool{
		Weight: got.GetWeight(), Replicas: got.Replicas, Taints: got.GetTaints(), StartupTaints: got.GetStartupTaints(),
		Requirements: got.GetRequirements(), Budgets: got.GetBudgets(),
	}
	if diff := cmp.Diff(want, parts, protocmp.Transform()); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
}

func TestWhatAPoolLeavesOutOfDisruption(t *testing.T) {
	p := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = karpenterv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	got := convert.NodePool(p, convert.PoolFacts{}).Payload.(*clusterpb.NodePool)
	want := &clusterpb.NodePool{
		ConsolidationPolicy: clusterpb.ConsolidationPolicy_CONSOLIDATION_POLICY_WHEN_EMPTY_OR_UNDERUTILIZED,
		ConsolidateAfter:    durationpb.New(0), ExpireAfter: durationpb.New(720 * time.Hour),
		Budgets: []*clusterpb.DisruptionBudget{{Nodes: &clusterpb.DisruptionBudget_Percent{Percent: 10}}},
	}
	parts := &clusterpb.NodePool{
		ConsolidationPolicy: got.GetConsolidationPolicy(), ConsolidateAfter: got.GetConsolidateAfter(),
		ExpireAfter: got.GetExpireAfter(), Budgets: got.GetBudgets(), NotReady: got.GetNotReady(),
	}
	if diff := cmp.Diff(want, parts, protocmp.Transform()); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
}

// TestWordsOfOtherVersionsAreRefused holds for v1 objects that no CRD has looked at; kerf convert reads the old forms.
func TestWordsOfOtherVersionsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*karpenterv1.Disruption)
		want string
	}{
		"v1beta1's policy": {
			func(d *karpenterv1.Disruption) { d.ConsolidationPolicy = "WhenUnderutilized" }, `spec.disruption.consolidationPolicy: Unsupported value: "WhenUnderutilized"`,
		},
		"a reason as logs and metrics spell it": {
			func(d *karpenterv1.Disruption) {
				d.Budgets = []karpenterv1.Budget{{Nodes: "1", Reasons: []karpenterv1.DisruptionReason{"drifted"}}}
			}, `spec.disruption.budgets[0].reasons[0]: Unsupported value: "drifted": supported values: "Underutilized", "Empty", "Drifted"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := validPool(&karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}})
			tc.edit(&p.Spec.Disruption)
			got := convert.NodePool(p, convert.PoolFacts{}).Payload.(*clusterpb.NodePool).GetNotReady()
			if got.GetCode() != clusterpb.ReasonCode_REASON_CODE_NODE_POOL_INVALID || !strings.Contains(got.GetMessage(), tc.want) {
				t.Errorf("%s %q, want %q in it", got.GetCode(), got.GetMessage(), tc.want)
			}
		})
	}
}
