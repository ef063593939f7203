package objects_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/labels"
)

func TestANodeClaimOfKerfIsNoUsersWithoutItsPool(t *testing.T) {
	for name, x := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"a user's":                        {nil, true},
		"a pool's":                        {map[string]string{labels.NodePool: "default"}, false},
		"Kerf's, which has lost its pool": {map[string]string{labels.Claim: "a"}, false},
		"a user's with another's name":    {map[string]string{labels.Claim: "b"}, true},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetName("a")
		o.SetLabels(x.labels)
		if got := objects.OfUser(o); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
