package reader_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

const nodeClaim = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: web-1
  creationTimestamp: "2026-03-01T10:00:00Z"
  labels:
    karpenter.sh/nodepool: web
    karpenter.sh/capacity-type: spot
    node.kubernetes.io/instance-type: m5.large
    topology.kubernetes.io/zone: us-east-1a
  annotations:
    karpenter.sh/nodepool-hash: "1"
    karpenter.k8s.aws/ec2nodeclass-hash: "2"
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: small}
  requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m], minValues: 2}
  resources: {requests: {cpu: 1250m, memory: 5Gi}}
  taints: [{key: only, value: web, effect: NoSchedule}]
  startupTaints: [{key: cni, effect: NoExecute}]
  expireAfter: 720h
  terminationGracePeriod: 1h30m
status:
  providerID: aws:///us-east-1a/i-1
  imageID: ami-1
  nodeName: ip-10-0-0-1
  capacity: {cpu: "2", pods: "29"}
  allocatable: {cpu: 1930m, pods: "29"}
  conditions:
  - {type: Launched, status: "True", lastTransitionTime: "2026-03-01T10:00:05Z"}
  - {type: Registered, status: "True", lastTransitionTime: "2026-03-01T10:01:00Z"}
  - {type: Initialized, status: "True", lastTransitionTime: "2026-03-01T10:02:00Z"}
  - {type: Drifted, status: "True", reason: AMIDrift, message: its image is not selected}
`

func read(t *testing.T, text string) (model.Claim, error) {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return reader.UnstructuredNodeClaim(&unstructured.Unstructured{Object: o})
}

func TestNodeClaim(t *testing.T) {
	got, err := read(t, nodeClaim)
	if err != nil {
		t.Fatal(err)
	}
	born, grace := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), 90*time.Minute
	want := model.Claim{
		ID: "web-1", NodePool: "web", NodeClass: "small", State: model.ClaimInitialized, Reached: model.ClaimInitialized,
		Requirements: []model.Requirement{
			{Key: "karpenter.k8s.aws/instance-category", Operator: model.In, Values: []string{"c", "m"}, MinValues: 2},
		},
		Requests: model.Amounts{{Resource: model.CPU, Value: 1250}, {Resource: model.Memory, Value: 5 << 30}},
		Labels: model.Labels{
			{Key: "karpenter.sh/capacity-type", Value: "spot"},
			{Key: "karpenter.sh/nodepool", Value: "web"},
			{Key: "node.kubernetes.io/instance-type", Value: "m5.large"},
			{Key: "topology.kubernetes.io/zone", Value: "us-east-1a"},
		},
		Annotations: model.Labels{{Key: "karpenter.k8s.aws/ec2nodeclass-hash", Value: "2"}, {Key: "karpenter.sh/nodepool-hash", Value: "1"}},
		Taints:      []model.Taint{{Key: "only", Value: "web", Effect: model.NoSchedule}},
		StartupTaints: []model.Taint{
			{Key: "cni", Effect: model.NoExecute},
		},
		PoolHash: "1", ClassHash: "2", InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot,
		InstanceID: "i-1", ProviderID: "aws:///us-east-1a/i-1", ImageID: "ami-1", Node: "ip-10-0-0-1",
		Capacity:    model.Amounts{{Resource: model.CPU, Value: 2000}, {Resource: "pods", Value: 29}},
		Allocatable: model.Amounts{{Resource: model.CPU, Value: 1930}, {Resource: "pods", Value: 29}},
		CreateTime:  born, StateTime: born, LaunchTime: born.Add(5 * time.Second), InitializeTime: born.Add(2 * time.Minute),
		ExpireTime: born.Add(720 * time.Hour), TerminationGracePeriod: &grace,
		Drifted: model.Reason{Code: model.CodeDrifted, Message: "AMIDrift: its image is not selected", Subject: "nodeclaim/web-1"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAClaimOfAnUnknownAgeDoesNotExpire(t *testing.T) {
	got, err := read(t, strings.Replace(nodeClaim, "  creationTimestamp: \"2026-03-01T10:00:00Z\"\n", "", 1))
	if err != nil || !got.CreateTime.IsZero() || !got.ExpireTime.IsZero() {
		t.Errorf("made %v, expires %v: %v", got.CreateTime, got.ExpireTime, err)
	}
}

func TestAClaimThatIsToLiveForNoTimeHasExpired(t *testing.T) {
	got, err := read(t, strings.Replace(nodeClaim, "expireAfter: 720h", "expireAfter: 0s", 1))
	if err != nil || got.CreateTime.IsZero() || !got.ExpireTime.Equal(got.CreateTime) {
		t.Errorf("made %v, expires %v: %v", got.CreateTime, got.ExpireTime, err)
	}
}

func TestHowFarAClaimIs(t *testing.T) {
	deleted := "name: web-1\n  deletionTimestamp: \"2026-03-02T10:00:00Z\""
	for name, c := range map[string]struct {
		edit           []string // pairs of old and new
		state, reached model.ClaimState
	}{
		"nothing was launched": {
			edit:  []string{"    karpenter.sh/capacity-type: spot\n    node.kubernetes.io/instance-type: m5.large\n", "", `"True"`, `"False"`},
			state: model.ClaimPlanned, reached: model.ClaimPlanned,
		},
		"launched":        {edit: []string{"type: Registered, status: \"True\"", "type: Registered, status: \"False\"", "type: Initialized, status: \"True\"", "type: Initialized, status: \"Unknown\""}, state: model.ClaimLaunched, reached: model.ClaimLaunched},
		"registered":      {edit: []string{"type: Initialized, status: \"True\"", "type: Initialized, status: \"False\""}, state: model.ClaimRegistered, reached: model.ClaimRegistered},
		"being drained":   {edit: []string{"name: web-1", deleted}, state: model.ClaimDraining, reached: model.ClaimInitialized},
		"its machine end": {edit: []string{"name: web-1", deleted, "type: Drifted", "type: InstanceTerminating"}, state: model.ClaimTerminating, reached: model.ClaimInitialized},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, strings.NewReplacer(c.edit...).Replace(nodeClaim))
			if err != nil || got.State != c.state || got.Reached != c.reached {
				t.Errorf("%s, reached %s (%v), want %s, reached %s", got.State, got.Reached, err, c.state, c.reached)
			}
		})
	}
}

func TestAClaimThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ old, now, want string }{
		"operator":      {"operator: In", "operator: Near", "spec.requirements[0]."},
		"grace":         {"1h30m", "soon", "spec.terminationGracePeriod: "},
		"expiry":        {"720h", "soon", "spec.expireAfter: "},
		"capacity type": {"capacity-type: spot", "capacity-type: cheap", "metadata.labels[karpenter.sh/capacity-type]: "},
		"requests":      {"cpu: 1250m", "cpu: -1", "spec.resources.requests[cpu]: "},
		"deadline":      {"karpenter.sh/nodepool-hash: \"1\"", "karpenter.sh/nodeclaim-termination-timestamp: soon", "metadata.annotations["},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := read(t, strings.Replace(nodeClaim, c.old, c.now, 1)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want one that begins with %q", err, c.want)
			}
		})
	}
}

// TestHashesOfKarpentersSayNothing: Karpenter writes its own on claims of Kerf's too, and a cluster may come back from it.
func TestHashesOfKarpentersSayNothing(t *testing.T) {
	theirs := strings.Replace(nodeClaim, "    karpenter.sh/nodepool-hash: \"1\"\n", `    karpenter.sh/nodepool-hash: "1"
    karpenter.sh/nodepool-hash-version: v3
    karpenter.k8s.aws/ec2nodeclass-hash-version: v4
`, 1)
	got, err := read(t, theirs)
	if err != nil || got.PoolHash != "karpenter-1" || got.ClassHash != "karpenter-2" {
		t.Errorf("hashes %q and %q, error %v; want those of another version", got.PoolHash, got.ClassHash, err)
	}
}
