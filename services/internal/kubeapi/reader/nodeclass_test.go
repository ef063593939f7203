package reader_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func TestAnInvalidClassHasTheReasonOfItsCondition(t *testing.T) {
	const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: FAMILY@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
`
	for name, tt := range map[string]struct{ family, more, want string }{
		"nothing wrong":                           {"al2023", "", ""},
		"a kubelet key that AL2 can't be given":   {"al2", `kubelet: {topologyManagerPolicy: none}`, "UnsupportedKubeletConfiguration"},
		"the same key for AL2023":                 {"al2023", `kubelet: {topologyManagerPolicy: none}`, ""},
		"two DNS servers for Bottlerocket":        {"bottlerocket", `kubelet: {clusterDNS: [10.0.0.1, 10.0.0.2]}`, "UnsupportedKubeletConfiguration"},
		"a soft threshold without a grace period": {"al2023", `kubelet: {evictionSoft: {memory.available: 5%}}`, "InvalidKubeletConfiguration"},
		"an expression that can't be read":        {"al2023", `kubelet: {maxPods: vcpus *}`, "KubeletExpressionInvalid"},
		"a tag of the controller":                 {"al2023", `tags: {karpenter.sh/nodepool: x}`, "TagValidationFailed"},
		"two identities":                          {"al2023", `instanceProfile: p`, "InvalidSpec"},
		"a number that is none":                   {"al2023", `ipPrefixCount: x`, "InvalidSpec"},
	} {
		got := reader.UnstructuredNodeClass(object(t, strings.ReplaceAll(class, "FAMILY", tt.family)+"  "+tt.more+"\n"))
		if got.Why != tt.want || got.NotReady.OK() != (tt.want == "") {
			t.Errorf("%s: %q, %+v; want %q", name, got.Why, got.NotReady, tt.want)
		}
	}
}
