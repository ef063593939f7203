package convert_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/watcher/convert"
)

func TestNode(t *testing.T) {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n1", CreationTimestamp: metav1.NewTime(start()),
			Labels:      map[string]string{"b": "2", "a": "1", labels.Claim: "default-abc"},
			Annotations: map[string]string{"karpenter.sh/do-not-disrupt": "true", "karpenter.sh/do-not-repair": "true"},
		},
		Spec: corev1.NodeSpec{
			ProviderID: "aws:///us-east-1a/i-1", Unschedulable: true,
			Taints: []corev1.Taint{
				{Key: "z", Effect: corev1.TaintEffectNoExecute}, {Key: "a", Value: "v", Effect: corev1.TaintEffectPreferNoSchedule}, {Key: "odd", Effect: "Sometimes"},
			},
		},
		Status: corev1.NodeStatus{
			Allocatable: list("cpu", "1930m", "memory", "7Gi", "pods", "29"), Capacity: list("cpu", "2", "ephemeral-storage", "20Gi"),
			Conditions:       []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			DeclaredFeatures: []string{"B", "A"},
		},
	}
	facts := convert.NodeFacts{
		Claim: "another", LastPodEvent: start(), ForeignVolumes: map[string]int64{"ebs.csi.aws.com": 2},
		CSI: &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "efs.csi.aws.com"}, {Name: "ebs.csi.aws.com", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(25))}},
		}}},
	}
	want := &clusterpb.Node{
		Name: "n1", ProviderId: "aws:///us-east-1a/i-1", Claim: "default-abc",
		Labels: []*clusterpb.Label{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}, {Key: labels.Claim, Value: "default-abc"}},
		Taints: []*clusterpb.Taint{
			{Key: "a", Value: "v", Effect: clusterpb.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE},
			{Key: "z", Effect: clusterpb.TaintEffect_TAINT_EFFECT_NO_EXECUTE},
		},
		Allocatable: []*clusterpb.Amount{{Resource: "cpu", Value: 1930}, {Resource: "memory", Value: 7 << 30}, {Resource: "pods", Value: 29}},
		Capacity:    []*clusterpb.Amount{{Resource: "cpu", Value: 2000}, {Resource: "ephemeral-storage", Value: 20 << 30}},
		Ready:       true, Unschedulable: true, DoNotDisrupt: true, DoNotRepair: true,
		CreateTime: timestamppb.New(start()), LastPodEventTime: timestamppb.New(start()),
		VolumeLimits: []*clusterpb.Amount{{Resource: "ebs.csi.aws.com", Value: 23}},
		Drivers:      []string{"ebs.csi.aws.com", "efs.csi.aws.com"}, Features: []string{"A", "B"},
	}
	if diff := cmp.Diff(want, convert.Node(n, facts).Payload, protocmp.Transform()); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	delete(n.Labels, labels.Claim)
	if got := convert.Node(n, facts).Payload.(*clusterpb.Node).GetClaim(); got != "another" {
		t.Errorf("claim %q without the label, want the one that its NodeClaim names", got)
	}
}

func TestNodeHeartbeatIsNoChange(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: "1"}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	before := convert.Node(n, convert.NodeFacts{})
	n.ResourceVersion, n.Status.Conditions[0].LastHeartbeatTime = "2", metav1.NewTime(start())
	if convert.Node(n, convert.NodeFacts{}).Hash != before.Hash {
		t.Error("a heartbeat changes the node")
	}
}

func TestConditionsThatMayMeanThatANodeIsUnhealthy(t *testing.T) {
	cond := func(kind, status string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), LastTransitionTime: metav1.NewTime(start()),
		}
	}
	condition := func(kind, status string) *clusterpb.NodeCondition {
		return &clusterpb.NodeCondition{Type: kind, Status: status, TransitionTime: timestamppb.New(start())}
	}
	undated := cond("Ready", "False")
	undated.LastTransitionTime = metav1.Time{}
	for name, tc := range map[string]struct {
		uid  types.UID
		has  []corev1.NodeCondition
		also []*clusterpb.RepairCondition
		want []*clusterpb.NodeCondition
	}{
		"a node that is well": {
			has: []corev1.NodeCondition{cond("Ready", "True"), cond("KernelReady", "True"), cond("MemoryPressure", "True")},
		},
		"all that can be wrong, sorted": {
			has: []corev1.NodeCondition{
				cond("StorageReady", "False"), cond("Ready", "Unknown"), cond("NetworkingReady", "Unknown"),
				cond("ContainerRuntimeReady", "False"), cond("KernelReady", "False"), cond("AcceleratedHardwareReady", "False"),
				cond("DiskPressure", "True"),
			},
			want: []*clusterpb.NodeCondition{
				condition("AcceleratedHardwareReady", "False"), condition("ContainerRuntimeReady", "False"), condition("KernelReady", "False"),
				condition("NetworkingReady", "Unknown"), condition("Ready", "Unknown"), condition("StorageReady", "False"),
			},
		},
		"conditions of the policy, where they have the status that it names": {
			has: []corev1.NodeCondition{
				cond("Ready", "True"), cond("DiskPressure", "True"), cond("PIDPressure", "Unknown"), cond("MemoryPressure", "True"),
			},
			also: []*clusterpb.RepairCondition{{Type: "DiskPressure", Status: "True"}, {Type: "PIDPressure", Status: "True"}},
			want: []*clusterpb.NodeCondition{condition("DiskPressure", "True")},
		},
		"a kubelet that never said anything": {has: []corev1.NodeCondition{cond("StorageReady", "False")}},
		"a condition of a manifest without a date": {
			has:  []corev1.NodeCondition{undated},
			want: []*clusterpb.NodeCondition{condition("Ready", "False")},
		},
		"a condition of a running node that its reporter does not date": {uid: "u1", has: []corev1.NodeCondition{undated}},
	} {
		t.Run(name, func(t *testing.T) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: tc.uid, CreationTimestamp: metav1.NewTime(start())}}
			n.Status.Conditions = tc.has
			facts := convert.NodeFacts{Repair: &clusterpb.RepairPolicy{Conditions: tc.also}}
			got := convert.Node(n, facts)
			if diff := cmp.Diff(tc.want, got.Payload.(*clusterpb.Node).GetConditions(), protocmp.Transform()); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			for i := range n.Status.Conditions {
				n.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(start().Add(time.Hour))
			}
			if convert.Node(n, facts).Hash != got.Hash {
				t.Error("a heartbeat changes the node")
			}
		})
	}
}

func TestPodsThatAreNotReadyMayGo(t *testing.T) {
	for name, tc := range map[string]struct {
		policy           policyv1.UnhealthyPodEvictionPolicyType // "" for none
		current, desired int32
		observed         int64
		want             bool
	}{
		"always":                              {policyv1.AlwaysAllow, 1, 2, 2, true},
		"while just enough are ready":         {policyv1.IfHealthyBudget, 2, 2, 2, true},
		"while more than enough are":          {policyv1.IfHealthyBudget, 3, 2, 2, true},
		"not while too few are":               {policyv1.IfHealthyBudget, 1, 2, 2, false},
		"which holds without a policy, too":   {"", 2, 2, 2, true},
		"and forbids it":                      {"", 1, 2, 2, false},
		"a budget that asks for none":         {policyv1.IfHealthyBudget, 2, 0, 2, false},
		"the status is older than the object": {policyv1.IfHealthyBudget, 2, 2, 1, false},
		"a policy that no one knows":          {"Sometimes", 1, 2, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "shop", Generation: 2},
				Status:     policyv1.PodDisruptionBudgetStatus{CurrentHealthy: tc.current, DesiredHealthy: tc.desired, ObservedGeneration: tc.observed},
			}
			if tc.policy != "" {
				b.Spec.UnhealthyPodEvictionPolicy = &tc.policy
			}
			if got := convert.PodDisruptionBudget(b).Payload.(*clusterpb.PodDisruptionBudget).GetAlwaysAllowUnhealthy(); got != tc.want {
				t.Errorf("pods that are not ready may go: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestPodDisruptionBudget(t *testing.T) {
	count := func(n int) *intstr.IntOrString { return new(intstr.FromInt32(int32(n))) }
	share := func(s string) *intstr.IntOrString { return new(intstr.FromString(s)) }
	type facts struct {
		Allowed int32
		Never   bool
	}
	for name, tc := range map[string]struct {
		spec     policyv1.PodDisruptionBudgetSpec
		expected int32
		observed int64
		want     facts
	}{
		"one may go":                          {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: count(1)}, 3, 2, facts{Allowed: 1}},
		"the status is older than the object": {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: count(1)}, 3, 1, facts{}},
		"none may ever go":                    {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: count(0)}, 3, 2, facts{Allowed: 1, Never: true}},
		"no share may ever go":                {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: share("0%")}, 3, 2, facts{Allowed: 1, Never: true}},
		"a small share is rounded up":         {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: share("1%")}, 3, 2, facts{Allowed: 1}},
		"all must stay":                       {policyv1.PodDisruptionBudgetSpec{MinAvailable: share("100%")}, 0, 2, facts{Allowed: 1, Never: true}},
		"as many must stay as there are":      {policyv1.PodDisruptionBudgetSpec{MinAvailable: count(3)}, 3, 2, facts{Allowed: 1, Never: true}},
		"fewer must stay than there are":      {policyv1.PodDisruptionBudgetSpec{MinAvailable: count(2)}, 3, 2, facts{Allowed: 1}},
		"more must stay than there are":       {policyv1.PodDisruptionBudgetSpec{MinAvailable: count(5)}, 3, 2, facts{Allowed: 1, Never: true}},
		"the only pod must stay":              {policyv1.PodDisruptionBudgetSpec{MinAvailable: count(1)}, 1, 2, facts{Allowed: 1, Never: true}},
		"none must stay":                      {policyv1.PodDisruptionBudgetSpec{MinAvailable: count(0)}, 3, 2, facts{Allowed: 1}},
		"no share must stay":                  {policyv1.PodDisruptionBudgetSpec{MinAvailable: share("0%")}, 3, 2, facts{Allowed: 1}},
		"all must stay, and there are none":   {policyv1.PodDisruptionBudgetSpec{MinAvailable: count(3)}, 0, 2, facts{Allowed: 1}},
		"all may go":                          {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: share("100%")}, 3, 2, facts{Allowed: 1}},
		"as many may go as somebody meant":    {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: share("some")}, 5, 2, facts{Allowed: 1, Never: true}},
		"a count that is text":                {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: share("1")}, 5, 2, facts{Allowed: 1, Never: true}},
		"nothing is said":                     {policyv1.PodDisruptionBudgetSpec{}, 5, 2, facts{Allowed: 1}},
		"a share that is all, rounded up":     {policyv1.PodDisruptionBudgetSpec{MinAvailable: share("90%")}, 5, 2, facts{Allowed: 1, Never: true}},
		"a share that leaves one":             {policyv1.PodDisruptionBudgetSpec{MinAvailable: share("80%")}, 5, 2, facts{Allowed: 1}},
		"a share that can't be read":          {policyv1.PodDisruptionBudgetSpec{MinAvailable: share("most")}, 5, 2, facts{Allowed: 1, Never: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := convert.PodDisruptionBudget(&policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "shop", Generation: 2}, Spec: tc.spec,
				Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, ExpectedPods: tc.expected, ObservedGeneration: tc.observed},
			}).Payload.(*clusterpb.PodDisruptionBudget)
			if diff := cmp.Diff(tc.want, facts{got.GetDisruptionsAllowed(), got.GetNeverAllows()}); diff != "" {
				t.Errorf("budget (-want +got):\n%s", diff)
			}
			if got.GetSelector() != nil {
				t.Errorf("a budget without a selector covers %v", got.GetSelector())
			}
		})
	}
}
