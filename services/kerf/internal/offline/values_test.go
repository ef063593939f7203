package offline_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

// TestWhatHasNoEffectIsSaid looks at what is said of instance types that are not in the catalogue, and at
// what of a class's images and kubelets, and of pods' protection, has no effect.
func TestWhatHasNoEffectIsSaid(t *testing.T) {
	t.Parallel()
	const text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p, annotations: {karpenter.sh/do-not-disrupt: \"1h\"}}\nspec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}, " +
		"requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5.larg, g4ad.xlarge, m5.7xlarge]}]}}}\n---\n" +
		"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: c}\nspec: {role: r, amiFamily: AL2023, amiSelectorTerms: [{ssmParameter: a, tags: {a: b}}], " +
		"subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{tags: {a: b}}], kubelet: {registryPulQPS: 10, registryBurst: 10}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {karpenter.sh/do-not-disrupt: 30x}}\nspec: {containers: [{name: c, image: x}]}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: b, annotations: {karpenter.sh/do-not-disrupt: 30m}}\nspec: {containers: [{name: c, image: x}]}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: c, annotations: {karpenter.sh/do-not-disrupt: \"false\", karpenter.sh/disruption-cost: high}}\nspec: {containers: [{name: c, image: x}]}\n" +
		"---\napiVersion: v1\nkind: Node\nmetadata: {name: n1, annotations: {karpenter.sh/do-not-disrupt: \"2h\", karpenter.sh/do-not-repair: \"true\"}}\n"
	in, err := offline.Load([]offline.File{{Name: "f.yaml", Data: []byte(text)}}, options())
	if err != nil {
		t.Fatal(err)
	}
	const before = "NodePool p: spec.template.spec.requirements[0].values: there is no node.kubernetes.io/instance-type "
	for _, want := range []string{
		before + "m5.larg in the catalogue of us-east-1; did you mean m5.large",
		before + "m5.7xlarge in the catalogue of us-east-1; did you mean m5.",
		before + "g4ad.xlarge in the catalogue of us-east-1, which has none of g4ad; if AWS sells it, kerf catalog fetch makes a catalogue that has it; did you mean g4dn.xlarge",
		"EC2NodeClass c: spec.kubelet.registryPulQPS: kubelets of Kubernetes 1.37 and before pass over it; did you mean registryPullQPS?",
		`Pod a: metadata.annotations[karpenter.sh/do-not-disrupt]: "30x" protects nothing: write "true", or a duration such as "30m"`,
		"EC2NodeClass c: spec.amiSelectorTerms[0]: tags, name and owner have no effect beside ssmParameter",
		`Pod c: metadata.annotations[karpenter.sh/disruption-cost]: "high" counts for nothing: write a whole number from -2147483648`,
		`Node n1: metadata.annotations[karpenter.sh/do-not-disrupt]: "2h" protects nothing: write "true"`,
		`NodePool p: metadata.annotations[karpenter.sh/do-not-disrupt]: "1h" protects nothing: write "true"`,
	} {
		if !strings.Contains(strings.Join(in.Warnings, "\n"), want) {
			t.Errorf("warnings %q, want %q among them", in.Warnings, want)
		}
	}
	if all := strings.Join(in.Warnings, "\n"); strings.Count(all, "protects nothing") != 3 {
		t.Errorf("warnings %q, want the annotations of pod a, node n1 and pool p to protect nothing, and no other's", in.Warnings)
	}
}

// TestWhatPodsAskOfNodesIsKnownWithoutPools: the catalogue has what it has, whatever classes are among the files.
func TestWhatPodsAskOfNodesIsKnownWithoutPools(t *testing.T) {
	t.Parallel()
	const text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c, image: x}]\n" +
		"  nodeSelector: {karpenter.k8s.aws/instance-category: m, karpenter.k8s.aws/instance-size: large, topology.kubernetes.io/zone: us-east-1a}\n" +
		"  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [" +
		"{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m6g, a1]}, {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5.larg]}]}]}}}\n"
	in, err := offline.Load([]offline.File{{Name: "f.yaml", Data: []byte(text)}}, options())
	if err != nil {
		t.Fatal(err)
	}
	const want = "Pod a: spec.affinity.nodeAffinity: there is no node.kubernetes.io/instance-type m5.larg in the catalogue of us-east-1; did you mean m5.large"
	if len(in.Warnings) != 1 || !strings.Contains(in.Warnings[0], want) {
		t.Errorf("warnings %q, want one: %q", in.Warnings, want)
	}
}
