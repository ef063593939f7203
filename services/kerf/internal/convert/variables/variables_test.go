package variables_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/variables"
)

// TestTheFirstVariableIsSaid: each field once, and what is said is of the first, whether it is a key or a value.
func TestTheFirstVariableIsSaid(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tags map[string]string
		want string
	}{
		"a value before a key": {map[string]string{"a": "${TEAM}", "kubernetes.io/cluster/__NAME__": "owned"}, "spec.tags.a, spec.tags.kubernetes.io/cluster/__NAME__: ${…} was not filled in: envsubst does that"},
		"a key before a value": {map[string]string{"__NAME__": "owned", "a": "${TEAM}"}, "spec.tags.__NAME__, spec.tags.a: __NAME__ was not filled in"},
		"both of one":          {map[string]string{"__NAME__": "${TEAM}"}, "spec.tags.__NAME__: __NAME__ was not filled in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: awsv1.EC2NodeClassSpec{Tags: tt.tags}}
			class.SetGroupVersionKind(awsv1.EC2NodeClassGVK())
			want := []string{"EC2NodeClass default: " + tt.want + "; the plan does not depend on it"}
			if got := variables.Notes([]runtime.Object{class}); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
