package karpenterv1alpha1_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
)

func TestPricesAreMicroDollars(t *testing.T) {
	tests := map[string]struct {
		want int64
		ok   bool
	}{
		"0": {0, true}, "1": {1_000_000, true}, "0.096": {96_000, true}, "0.0000004": {0, true}, "0.0000005": {1, true},
		"": {0, false}, "-1": {0, false}, "1.": {0, false}, ".5": {0, false}, "1e3": {0, false}, "99999999": {0, false},
	}
	for text, tt := range tests {
		got, err := karpenterv1alpha1.ParsePrice(text)
		if (err == nil) != tt.ok || got != tt.want {
			t.Errorf("%q: got %d, %v; want %d, %v", text, got, err, tt.want, tt.ok)
		}
	}
}

func TestAdjustmentsAreAmountsOrShares(t *testing.T) {
	type adjustment = karpenterv1alpha1.Adjustment
	tests := map[string]struct {
		want adjustment
		ok   bool
	}{
		"+0.01":   {adjustment{Micro: 10_000}, true},
		"-.5":     {adjustment{Micro: -500_000}, true},
		"+10%":    {adjustment{PPM: 100_000, IsPercent: true}, true},
		"+.5%":    {adjustment{PPM: 5_000, IsPercent: true}, true},
		"-12.5%":  {adjustment{PPM: -125_000, IsPercent: true}, true},
		"-100%":   {adjustment{PPM: -1_000_000, IsPercent: true}, true},
		"+200%":   {adjustment{PPM: 2_000_000, IsPercent: true}, true},
		"-100.1%": {adjustment{}, false}, "-150%": {adjustment{}, false}, "10%": {adjustment{}, false},
		"1": {adjustment{}, false}, "": {adjustment{}, false}, "+": {adjustment{}, false},
	}
	for text, tt := range tests {
		got, err := karpenterv1alpha1.ParseAdjustment(text)
		if (err == nil) != tt.ok || got != tt.want {
			t.Errorf("%q: got %+v, %v; want %+v, %v", text, got, err, tt.want, tt.ok)
		}
	}
}
