package meant_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/meant"
)

// TestLabelsOfUsersAreTheirOwn: the name and the values of a label say what was meant only where no user makes up labels.
func TestLabelsOfUsersAreTheirOwn(t *testing.T) {
	t.Parallel()
	known := map[string]map[string]bool{
		labels.Arch: {"amd64": true}, labels.Zone: {"us-east-1a": true}, labels.CapacityType: {"spot": true},
		labels.KarpenterAWS + "/instance-category": {"c": true},
	}
	for key, want := range map[string]string{
		"arch":                                labels.Arch,
		"k8s.io/arch":                         labels.Arch,
		"node.kubernetes.io/zone":             labels.Zone,
		"node.k8s.aws/capacity-type":          labels.CapacityType,
		"karpenter.aws/capacity-type":         labels.CapacityType,
		"eks.amazonaws.com/instance-category": labels.KarpenterAWS + "/instance-category",
		"topology.kuberntes.io/zone":          labels.Zone,
		"example.com/arch":                    "",
		"corp.io/zone":                        "",
		"kubernetes.mycompany.io/arch":        "",
		"team":                                "",
		labels.Zone:                           "",
	} {
		r := karpenterv1.Requirement{Key: key, Operator: "In", Values: []string{"amd64", "us-east-1a", "spot", "c"}}
		if got := meant.Label(r, known); got != want {
			t.Errorf("%s means %q, want %q", key, got, want)
		}
	}
}
