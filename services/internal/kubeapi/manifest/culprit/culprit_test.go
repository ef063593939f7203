package culprit_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/culprit"
)

// TestEachWrongValueIsFound, and no more than were asked for.
func TestEachWrongValueIsFound(t *testing.T) {
	t.Parallel()
	decode := func(text []byte) error {
		var form struct {
			A struct{ B []int }
			C int
		}
		return json.Unmarshal(text, &form)
	}
	for most, want := range map[int][]string{0: nil, 1: {"A.B[1]"}, 3: {"A.B[1]", "C"}} {
		var got []string
		for _, c := range culprit.Find([]byte(`{"A": {"B": [1, "x", 2]}, "C": "y"}`), most, decode) {
			got = append(got, c.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of %d (-want +got):\n%s", most, diff)
		}
	}
}
