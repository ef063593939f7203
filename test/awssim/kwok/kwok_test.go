package kwok_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/awssim/kwok"
	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

func boot() awssim.Boot {
	return awssim.Boot{
		InstanceID: "i-1", NodeName: "ip-10-0-32-4.ec2.internal", PrivateIP: "10.0.32.4", ProviderID: "aws:///us-east-1a/i-1",
		Region: "us-east-1", Zone: "us-east-1a", ZoneID: "use1-az6", InstanceType: "m5.large", ImageID: "ami-1", Arch: "amd64", OS: "linux",
		CapacityType: "spot", KubernetesVersion: "1.37",
		UserData: userdata.Node{
			Labels: map[string]string{"type": "karpenter", "kubernetes.io/arch": "a lie"},
			Taints: []userdata.Taint{{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}},
		},
		Capacity:    awssim.Resources{CPUMilli: 2000, MemoryBytes: 7577 << 20, EphemeralBytes: 20 << 30, Pods: 29, Devices: map[string]int64{"nvidia.com/gpu": 1}},
		Allocatable: awssim.Resources{CPUMilli: 1930, MemoryBytes: 6903 << 20, EphemeralBytes: 17 << 30, Pods: 29, Devices: map[string]int64{"nvidia.com/gpu": 1}},
	}
}

func kubelet(objects ...runtime.Object) (kwok.Kubelet, *fake.Clientset) {
	c := fake.NewClientset(objects...)
	return kwok.Kubelet{Client: c, Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }}, c
}

func TestAJoinedNodeIsWhatTheKubeletWouldRegister(t *testing.T) {
	k, c := kubelet()
	for range 2 { // joining again is no error
		if err := k.Join(t.Context(), boot()); err != nil {
			t.Fatal(err)
		}
	}
	n, err := c.CoreV1().Nodes().Get(t.Context(), "ip-10-0-32-4.ec2.internal", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantLabels := map[string]string{
		"type": "karpenter", "kubernetes.io/hostname": "ip-10-0-32-4.ec2.internal", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/instance-type": "m5.large",
		"node.kubernetes.io/instance-type": "m5.large", "topology.kubernetes.io/zone": "us-east-1a", "topology.kubernetes.io/region": "us-east-1",
		"failure-domain.beta.kubernetes.io/zone": "us-east-1a", "failure-domain.beta.kubernetes.io/region": "us-east-1",
		"topology.k8s.aws/zone-id": "use1-az6",
	}
	if d := cmp.Diff(wantLabels, n.Labels); d != "" {
		t.Error(d)
	}
	wantSpec := corev1.NodeSpec{
		ProviderID: "aws:///us-east-1a/i-1", Taints: []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
	}
	if d := cmp.Diff(wantSpec, n.Spec); d != "" {
		t.Error(d)
	}
	for name, want := range map[corev1.ResourceName]string{
		"cpu": "1930m", "memory": "6903Mi", "ephemeral-storage": "17Gi", "pods": "29", "nvidia.com/gpu": "1",
	} {
		if got := n.Status.Allocatable[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("allocatable %s is %s, want %s", name, got.String(), want)
		}
	}
	if n.Annotations[kwok.Annotation] != "fake" {
		t.Error("kwok will not adopt the node")
	}
}

func TestANameThatStandsForAnotherInstanceIsRefused(t *testing.T) {
	other := boot()
	other.ProviderID = "aws:///us-east-1a/i-2"
	k, _ := kubelet(kwok.Node(other, time.Time{}))
	if err := k.Join(t.Context(), boot()); err == nil {
		t.Error("a node was taken over")
	}
}

func TestLeavingSilencesAndDeletesTheNode(t *testing.T) {
	k, c := kubelet(kwok.Node(boot(), time.Time{}))
	var kept *corev1.Node
	c.PrependReactor("delete", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		o, err := c.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", boot().NodeName)
		if err != nil {
			return true, nil, err
		}
		kept = o.(*corev1.Node).DeepCopy()
		return false, nil, nil
	})
	for range 2 { // leaving again is no error
		if err := k.Leave(t.Context(), boot().NodeName); err != nil {
			t.Fatal(err)
		}
	}
	if kept == nil {
		t.Fatal("the node was never deleted")
	}
	if _, ok := kept.Annotations[kwok.Annotation]; ok {
		t.Error("kwok still keeps the node alive when it is deleted")
	}
	for _, condition := range kept.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionUnknown {
			t.Errorf("the node is Ready=%s when it is deleted", condition.Status)
		}
	}
	if _, err := c.CoreV1().Nodes().Get(t.Context(), boot().NodeName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node is still there: %v", err)
	}
}

func TestAnUnhealthyNodeSaysSoAndStaysUnhealthy(t *testing.T) {
	k, c := kubelet(kwok.Node(boot(), time.Time{}))
	if err := k.MakeUnhealthy(t.Context(), boot().NodeName, "the runtime is stuck"); err != nil {
		t.Fatal(err)
	}
	n, err := c.CoreV1().Nodes().Get(t.Context(), boot().NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := n.Annotations[kwok.Annotation]; ok {
		t.Error("kwok still keeps the node well")
	}
	for _, got := range n.Status.Conditions {
		if got.Type == corev1.NodeReady && (got.Status != corev1.ConditionFalse || got.Message != "the runtime is stuck" || !got.LastTransitionTime.Equal(&metav1.Time{Time: k.Now()})) {
			t.Errorf("the node says %+v", got)
		}
	}
	if err := k.MakeUnhealthy(t.Context(), "absent", "…"); err == nil {
		t.Error("a node that is not there became unhealthy")
	}
}

func TestErrorsOfTheClusterComeBack(t *testing.T) {
	k, c := kubelet()
	away := errors.New("away")
	c.PrependReactor("*", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, away })
	if err := k.Join(t.Context(), boot()); !errors.Is(err, away) {
		t.Errorf("join: %v", err)
	}
	if err := k.Leave(t.Context(), boot().NodeName); !errors.Is(err, away) {
		t.Errorf("leave: %v", err)
	}
	if err := k.MakeUnhealthy(t.Context(), boot().NodeName, ""); !errors.Is(err, away) {
		t.Errorf("make unhealthy: %v", err)
	}
}
