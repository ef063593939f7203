package model_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestReclaimBandsAreAsAWSWritesThem(t *testing.T) {
	t.Parallel()
	for b := model.Below5; b <= model.Above20; b++ {
		if got, err := model.ParseReclaimBand(b.String()); err != nil || got != b {
			t.Errorf("%s: %v, %v", b, got, err)
		}
	}
	if b, err := model.ParseReclaimBand("5%"); err == nil {
		t.Errorf("5%% is %v", b)
	}
	if text := model.ReclaimBand(0).String(); text != "" {
		t.Errorf("unknown is %q", text)
	}
}

func TestAnInterruptionCostsWhatMovingThePodsDoes(t *testing.T) {
	t.Parallel()
	const moving = 730_000
	for _, tt := range []struct {
		band, than model.ReclaimBand
		want       int64
	}{{model.Above20, model.Below5, 225}, {model.Below5, model.Above20, -225}, {model.Below15, model.Below15, 0}, {model.Below10, 0, 75}} {
		if got := tt.band.InterruptionPrice(tt.than, moving); got != tt.want {
			t.Errorf("%s rather than %s: %d, want %d", tt.band, tt.than, got, tt.want)
		}
	}
}
