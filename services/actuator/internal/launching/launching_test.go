package launching

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/internal/registry"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestEachAttemptThatEC2TakesForAnotherIsLookedFor: that EC2 showed nothing of one attempt says nothing of the next.
func TestEachAttemptThatEC2TakesForAnotherIsLookedFor(t *testing.T) {
	instances := observed.NewInstances(nil, nil, nil, nil, observed.Intervals{})
	l := New(Config{Instances: instances, Registry: &registry.Registry{}})
	now := time.Unix(0, 0)
	for attempt := range 3 {
		c := model.Claim{ID: "c", Attempt: attempt}
		for _, tt := range []struct {
			listed time.Duration // after the first answer
			want   lifecycle.Failure
		}{{0, lifecycle.FailureRetry}, {lifecycle.VisibilityDelay - 1, lifecycle.FailureRetry}, {lifecycle.VisibilityDelay, lifecycle.FailureLater}} {
			if attempt == 0 && tt.want == lifecycle.FailureLater {
				continue // it comes to an end by another answer
			}
			instances.Listed = now.Add(tt.listed)
			if got := l.mismatch(c, instances.Listed); got != tt.want {
				t.Errorf("attempt %d, %s after the first answer: %v, want %v", attempt, tt.listed, got, tt.want)
			}
		}
		now = now.Add(time.Hour)
	}
}

func TestSpotThatCostsMoreThanOnDemandIsNotAskedFor(t *testing.T) {
	spot := func(price int64) model.RankedOffering {
		return model.RankedOffering{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot, Price: price}
	}
	onDemand := model.RankedOffering{InstanceType: "c5.large", Zone: "a", CapacityType: model.OnDemand, Price: 80}
	for name, tt := range map[string]struct {
		offerings    []model.RankedOffering
		requirements []model.Requirement
		want         bool
	}{
		"below on demand":              {[]model.RankedOffering{spot(30), onDemand}, nil, true},
		"above on demand":              {[]model.RankedOffering{spot(30), onDemand, spot(90)}, nil, false},
		"spot alone":                   {[]model.RankedOffering{spot(30), spot(90)}, nil, true},
		"a claim that stays flexible":  {[]model.RankedOffering{spot(30), onDemand, spot(90)}, []model.Requirement{{Key: "k", MinValues: 2}}, true},
		"what the claim would be best": {[]model.RankedOffering{spot(90), onDemand}, nil, true},
	} {
		last := tt.offerings[0]
		for _, o := range tt.offerings {
			if o.CapacityType == model.Spot {
				last = o
			}
		}
		is := worth(model.Claim{Offerings: tt.offerings, Requirements: tt.requirements})
		if got := is(last); got != tt.want || !is(onDemand) {
			t.Errorf("%s: asked for %v, want %v; or on demand is not", name, got, tt.want)
		}
	}
}
