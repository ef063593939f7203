package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestAdopt(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	told := model.Amounts{{Resource: model.CPU, Value: 1930}}
	instance := &Instance{
		ID: "i-1", ProviderID: "aws:///us-east-1a/i-1", ImageID: "ami-1", LaunchTime: now.Add(-time.Hour), Allocatable: model.Amounts{{Resource: model.CPU, Value: 2000}},
		Offering: model.RankedOffering{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Price: 40_000},
	}
	running := func(s model.ClaimState) model.Claim {
		return model.Claim{
			ID: "c1", State: s, Reached: s, StateTime: now, Attempt: 1, InstanceID: "i-1", ProviderID: "aws:///us-east-1a/i-1", ImageID: "ami-1",
			InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Price: 40_000, LaunchTime: now.Add(-time.Hour), Allocatable: instance.Allocatable,
		}
	}
	with := func(c model.Claim, edit func(*model.Claim)) model.Claim {
		edit(&c)
		return c
	}
	for name, c := range map[string]struct {
		object   model.Claim
		instance *Instance
		leaving  bool
		want     model.Claim
	}{
		"the object does not know of the launch yet": {
			object: model.Claim{ID: "c1", State: model.ClaimPlanned, Reached: model.ClaimPlanned}, instance: instance, want: running(model.ClaimLaunched),
		},
		"a node that has told what it has": {
			object: model.Claim{ID: "c1", State: model.ClaimInitialized, Reached: model.ClaimInitialized, Allocatable: told}, instance: instance,
			want: with(running(model.ClaimInitialized), func(c *model.Claim) { c.Allocatable = told }),
		},
		"a node that was being emptied": {
			object: model.Claim{ID: "c1", State: model.ClaimInitialized, Reached: model.ClaimInitialized}, instance: instance, leaving: true,
			want: with(running(model.ClaimInitialized), func(c *model.Claim) { c.Disruption = "lost-with-c1" }),
		},
		"one that its user has deleted": {
			object: model.Claim{ID: "c1", State: model.ClaimTerminating, Reached: model.ClaimRegistered, DrainDeadline: now}, instance: instance,
			want: running(model.ClaimRegistered),
		},
		"nothing is left": {
			object: model.Claim{ID: "c1", State: model.ClaimInitialized, Reached: model.ClaimInitialized, InstanceID: "i-1"},
			want: model.Claim{
				ID: "c1", State: model.ClaimTerminating, Reached: model.ClaimInitialized, InstanceID: "i-1", StateTime: now, Attempt: 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Adopt(c.object, c.instance, c.leaving, now)); d != "" {
				t.Error(d)
			}
		})
	}
}
