package replicas_test

import (
	"math"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/replicas"
)

func TestSomePodsAndNotTooMany(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]bool{math.MinInt64: false, -1: false, 0: true, 1: true, 100_000: true, 100_001: false, math.MaxInt64: false} {
		if err := replicas.Check(n); (err == nil) != want {
			t.Errorf("Check(%d): %v", n, err)
		}
	}
}
