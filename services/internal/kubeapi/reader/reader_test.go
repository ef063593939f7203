package reader_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  weight: 10
  limits: {cpu: "1500m", memory: 1Gi, nodes: "0"}
  disruption:
    consolidateAfter: Never
    budgets:
    - {nodes: 10%, reasons: [Drifted, Empty]}
    - {nodes: "0", schedule: 0 9 * * mon-fri, duration: 8h}
  template:
    metadata: {labels: {team: shop}, annotations: {note: a}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      terminationGracePeriod: 10m
      taints: [{key: b, effect: NoExecute}, {key: a, value: x, effect: NoSchedule}]
      requirements:
      - {key: topology.ebs.csi.aws.com/zone, operator: In, values: [b, a, b], minValues: 2}
      - {key: beta.kubernetes.io/arch, operator: Exists, values: [ignored]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Gte, values: ["2"]}
`

func TestNodePool(t *testing.T) {
	got := reader.UnstructuredNodePool(object(t, pool))
	want := model.NodePool{
		Name: "web", Weight: 10, NodeClass: "default",
		Labels: model.Labels{{Key: "team", Value: "shop"}}, Annotations: model.Labels{{Key: "note", Value: "a"}},
		Taints: []model.Taint{{Key: "a", Value: "x", Effect: model.NoSchedule}, {Key: "b", Effect: model.NoExecute}},
		Requirements: []model.Requirement{
			{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Gte, Values: []string{"2"}},
			{Key: "kubernetes.io/arch", Operator: model.Exists},
			{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{"a", "b"}, MinValues: 2},
		},
		Limits:      model.Amounts{{Resource: "cpu", Value: 1500}, {Resource: "memory", Value: 1 << 30}, {Resource: "nodes"}},
		ExpireAfter: new(720 * time.Hour), TerminationGracePeriod: new(10 * time.Minute),
		ConsolidationPolicy: model.WhenEmptyOrUnderutilized,
		Budgets: []model.DisruptionBudget{
			{Count: 10, IsPercent: true, Reasons: []model.DisruptionReason{model.ReasonEmpty, model.ReasonDrifted}},
			{Schedule: "0 9 * * mon-fri", Duration: 8 * time.Hour},
		},
		Hash: got.Hash,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
	if got.Hash == "" {
		t.Error("the pool has no hash")
	}
}

// TestAPoolThatIsNotToBeDisrupted: its annotation is a budget of none before its own, which stay; no other value is one.
func TestAPoolThatIsNotToBeDisrupted(t *testing.T) {
	own := reader.UnstructuredNodePool(object(t, pool)).Budgets
	for value, want := range map[string][]model.DisruptionBudget{
		"true": append([]model.DisruptionBudget{{}}, own...), "false": own, "1h": own,
	} {
		o := object(t, pool)
		o.SetAnnotations(map[string]string{labels.DoNotDisrupt: value})
		if diff := cmp.Diff(want, reader.UnstructuredNodePool(o).Budgets); diff != "" {
			t.Errorf("annotated %q (-want +got):\n%s", value, diff)
		}
	}
}

// TestInvalidPools reads the manifests in testdata. The first line of each is how the reason begins. The watcher's and the
// actuator's tests read them too: a pool that one of them refuses and the other accepts would be planned for and never
// bought, or bought and never planned for.
func TestInvalidPools(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
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
			got := reader.UnstructuredNodePool(object(t, string(text)))
			want := strings.TrimPrefix(line, "# ")
			if got.NotReady.Code != model.CodeNodePoolInvalid || !strings.HasPrefix(got.NotReady.Message, want) {
				t.Errorf("reason %+v, want that the pool is invalid: %s", got.NotReady, want)
			}
			if got.Name != "web" || got.NotReady.Subject != "nodepool/web" {
				t.Errorf("pool %q with a reason about %q", got.Name, got.NotReady.Subject)
			}
		})
	}
}

func TestNodeClass(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"a sound class": {
			`{role: node, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}`, "",
		},
		"without a role": {
			`{amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}`,
			"EC2NodeClass default: spec.role: Required value",
		},
		"a field of another type": {`{role: [a]}`, "EC2NodeClass default: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := reader.UnstructuredNodeClass(object(t, `{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: default}, spec: `+tc.spec+`}`))
			if tc.want == "" {
				if !got.NotReady.OK() || got.Hash == "" || got.Object.Spec.Role != "node" {
					t.Errorf("%+v, want a class that can be used", got)
				}
				return
			}
			if got.NotReady.Code != model.CodeNodeClassNotReady || !strings.HasPrefix(got.NotReady.Message, tc.want) {
				t.Errorf("reason %+v, want %q", got.NotReady, tc.want)
			}
			if got.Object.Name != "default" || got.NotReady.Subject != "ec2nodeclass/default" {
				t.Errorf("class %q with a reason about %q", got.Object.Name, got.NotReady.Subject)
			}
		})
	}
}

func TestTaintsWithoutMeaningAreLeftOut(t *testing.T) {
	got := reader.Taints([]corev1.Taint{
		{Key: "a", Value: "2", Effect: "Sometimes"},
		{Effect: corev1.TaintEffectNoSchedule},
		{Key: "a", Value: "1", Effect: corev1.TaintEffectNoSchedule},
		{Key: "a", Value: "2", Effect: corev1.TaintEffectNoSchedule},
	})
	if diff := cmp.Diff([]model.Taint{{Key: "a", Value: "1", Effect: model.NoSchedule}}, got); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}
