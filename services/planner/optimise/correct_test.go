package optimise_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise"
)

// Corrected packings have fillings that one packing does not have: the programme begins nearer to its end.
func TestCorrectedPackingsLeadTheProgramme(t *testing.T) {
	var sumAlone, sumLed float64
	for seed := range uint64(10) {
		alone, led := optimise.Led(generated(600, 60, seed))
		if led >= alone {
			t.Errorf("seed %d: the programme begins at %.0f with corrected packings, want less than %.0f", seed, led, alone)
		}
		sumAlone, sumLed = sumAlone+alone, sumLed+led
	}
	if sumLed > 0.99*sumAlone {
		t.Errorf("the programmes begin at %.0f with corrected packings, want less than 0.99 of %.0f", sumLed, sumAlone)
	}
}
