package catalog_test

import (
	"math"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

func TestSpotEstimate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ onDemand, saves, want int64 }{
		"unknown stays unknown":      {0, 0, 0},
		"nonsense stays unknown":     {-5, 70, 0},
		"the usual, 35 percent left": {96_000, 0, 33_600},
		"what the type saves":        {96_000, 70, 28_800},
		"rounded up":                 {1, 99, 1},
		"rounded up in between":      {103, 0, 37},
		"without overflow":           {math.MaxInt64, 0, 3_228_180_212_899_171_533},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := catalog.SpotEstimate(tt.onDemand, tt.saves); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}
