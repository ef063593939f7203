package slips_test

import (
	"strings"
	"testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/slips"
)

func TestSlipsAreAskedAbout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ key, value, want string }{
		"a zone":                  {"topology.kubernetes.io/zone", "us-east-1-a", "there is no topology.kubernetes.io/zone us-east-1-a; did you mean us-east-1a"},
		"an architecture":         {"kubernetes.io/arch", "x86_64", "there is no kubernetes.io/arch x86_64; did you mean amd64?"},
		"a type":                  {"node.kubernetes.io/instance-type", "m5.larg", "did you mean m5.large?"},
		"a zone that there is":    {"topology.kubernetes.io/zone", "us-east-1a", ""},
		"a value unlike any":      {"topology.kubernetes.io/zone", "mars", ""},
		"a label of one's own":    {"team", "us-east-1-a", ""},
		"what nothing is sold by": {"karpenter.k8s.aws/instance-size", "larg", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := &clusterpb.Requirement{Key: tt.key, Operator: clusterpb.Operator_OPERATOR_IN, Values: []string{tt.value}}
			s := &clusterpb.Snapshot{
				Pods: []*clusterpb.Pod{{Id: "a/selects", ClassId: "selects"}, {Id: "a/affine", ClassId: "affine"}},
				PodClasses: []*clusterpb.PodClass{
					{Id: "selects", NodeSelector: []*clusterpb.Label{{Key: tt.key, Value: tt.value}}},
					{Id: "affine", NodeAffinity: []*clusterpb.NodeAffinityTerm{{Requirements: []*clusterpb.Requirement{in}}}},
				},
				Offerings: []*clusterpb.Offering{{Zone: "us-east-1a"}},
				Catalogs: []*clusterpb.Catalog{{InstanceTypes: []*clusterpb.InstanceType{
					{Name: "m5.large", Labels: []*clusterpb.Label{{Key: "node.kubernetes.io/instance-type", Value: "m5.large"}}},
				}}},
			}
			for _, pod := range []string{"a/selects", "a/affine"} {
				got := strings.Join(slips.In(s).Of(pod), "\n")
				if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
					t.Errorf("%s: %q, want %q", pod, got, tt.want)
				}
			}
		})
	}
}
