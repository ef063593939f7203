package near_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/near"
)

func TestNames(t *testing.T) {
	t.Parallel()
	all := []string{"m5.large", "m5.xlarge", "m5a.large", "c5.large", "NodePool", "default/web"}
	for name, want := range map[string][]string{
		"m5.larg":  {"m5.large", "c5.large", "m5.xlarge"},
		"Nodepool": {"NodePool"},
		"wep":      {"default/web"},
		"u-24tb1":  nil,
	} {
		if diff := cmp.Diff(want, near.Names(name, all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := near.Value("c6", []string{"c1", "c5", "c6a", "c6g"}); got != "did you mean c6a or c6g or c1?" {
		t.Errorf("of a family without its letter: %s", got)
	}
	if got := near.Question("Nodepool", all); got != "did you mean NodePool?" {
		t.Error(got)
	}
	if got := near.Question("Containers", []string{"initContainers", "containers"}); got != "did you mean containers?" {
		t.Errorf("of another capital: %s", got)
	}
	if got := near.Question("x", nil); got != "" {
		t.Error(got)
	}
	if got := near.Value("m5.larg", all); got != "did you mean m5.large or m5.xlarge or m5a.large?" {
		t.Error(got)
	}
	if got := near.Value("p3.large", all); got != "" {
		t.Errorf("of another family: %s", got)
	}
}
