package consolidate

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/view"
)

func TestFreeCapacityIsTakenToHoldWhatIsWorthMost(t *testing.T) {
	tests := map[string]struct {
		worth []float64
		asks  []view.Vector
		free  view.Vector
		want  float64
	}{
		"nothing fits":                             {[]float64{5}, []view.Vector{{4, 1}}, view.Vector{3, 9}, 0},
		"what is worth nothing does not count":     {[]float64{0}, []view.Vector{{1, 1}}, view.Vector{8, 8}, 0},
		"capacity that is overdrawn holds nothing": {[]float64{5}, []view.Vector{{1, 1}}, view.Vector{-1, 8}, 0},
		"a resource that is not asked for":         {[]float64{5}, []view.Vector{{4, 0}}, view.Vector{8, 0}, 10},
		"two kinds fill what neither does alone":   {[]float64{3, 3}, []view.Vector{{3, 1}, {1, 3}}, view.Vector{8, 8}, 12},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.free)
			f := &filler{worth: tt.worth, asks: tt.asks}
			if got := f.fill(tt.free); got != tt.want {
				t.Errorf("worth %v, want %v", got, tt.want)
			}
			if !slices.Equal(tt.free, before) {
				t.Errorf("the free capacity became %v", tt.free)
			}
		})
	}
}
