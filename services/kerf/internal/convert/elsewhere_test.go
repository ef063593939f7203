package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

// TestWhatIsMeantForOthersNodesIsSaid looks at labels of EKS Auto Mode, and at pods that keep off the nodes of pools.
func TestWhatIsMeantForOthersNodesIsSaid(t *testing.T) {
	t.Parallel()
	pool := &karpenterv1.NodePool{}
	pool.SetGroupVersionKind(karpenterv1.NodePoolGVK())
	pool.Name = "p"
	pool.Spec.Template.Spec.Requirements = []karpenterv1.Requirement{
		{Key: "eks.amazonaws.com/instance-family", Operator: karpenterv1.OpIn, Values: []string{"g6e"}},
		{Key: "eks.amazonaws.com/nodegroup", Operator: karpenterv1.OpExists},
		{Key: "node.kubernetes.io/instance-family", Operator: karpenterv1.OpIn, Values: []string{"m5"}},
		{Key: "node.kubernetes.io/instance-type", Operator: karpenterv1.OpExists},
	}
	pod := func(name string, selector map[string]string, terms ...corev1.NodeSelectorTerm) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: selector}}
		p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		p.Name = name
		if terms != nil {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
		}
		return p
	}
	term := func(key string, op corev1.NodeSelectorOperator) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op}}}
	}
	noPool := term("karpenter.sh/nodepool", corev1.NodeSelectorOpDoesNotExist)
	got := convert.Elsewhere([]runtime.Object{
		pool,
		pod("auto", map[string]string{"eks.amazonaws.com/instance-category": "c"}),
		pod("karpenter", nil, noPool),
		pod("either", nil, noPool, term("karpenter.sh/nodepool", corev1.NodeSelectorOpExists)),
	})
	want := []string{
		"NodePool p: spec.template.spec.requirements[0].key: eks.amazonaws.com/instance-family is a label of EKS Auto Mode's nodes: " +
			"here it chooses no instance type, and nodes would only carry it; write karpenter.k8s.aws/instance-family",
		"NodePool p: spec.template.spec.requirements[2].key: node.kubernetes.io/instance-family is a label of no node: " +
			"here it chooses no instance type, and nodes would only carry it; write karpenter.k8s.aws/instance-family",
		"Pod auto: spec.nodeSelector: eks.amazonaws.com/instance-category is a label of EKS Auto Mode's nodes: " +
			"here it is karpenter.k8s.aws/instance-category that says so; don't add the former to a pool, which would not choose by it",
		"Pod karpenter: spec.affinity.nodeAffinity: it wants a node of no pool (karpenter.sh/nodepool DoesNotExist), so that none is bought for it; " +
			"nothing has to be done if a node group takes it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
