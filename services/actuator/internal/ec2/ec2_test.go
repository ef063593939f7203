package ec2

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestFleetError(t *testing.T) {
	failure := func(code, text string) types.CreateFleetError {
		return types.CreateFleetError{
			ErrorCode: aws.String(code), ErrorMessage: aws.String(text),
			LaunchTemplateAndOverrides: &types.LaunchTemplateAndOverridesResponse{Overrides: &types.FleetLaunchTemplateOverrides{
				InstanceType: types.InstanceTypeM5Large, AvailabilityZone: aws.String("us-east-1a"),
			}},
		}
	}
	tests := map[string]struct {
		errs     []types.CreateFleetError
		sentinel error
		capacity int // offerings named
	}{
		"no capacity names each offering": {
			[]types.CreateFleetError{failure("InsufficientInstanceCapacity", "none"), failure("MaxSpotInstanceCountExceeded", "quota")},
			nil, 2,
		},
		"an answer that leaves the override out is capacity too": {
			[]types.CreateFleetError{{ErrorCode: aws.String("UnfulfillableCapacity")}}, nil, 1,
		},
		"a refusal among shortages is a refusal": {
			[]types.CreateFleetError{failure("InsufficientInstanceCapacity", "none"), failure("UnauthorizedOperation", "no")},
			cloud.ErrUnauthorized, 0,
		},
		"throttling":          {[]types.CreateFleetError{failure("RequestLimitExceeded", "slow")}, cloud.ErrThrottled, 0},
		"a bad parameter":     {[]types.CreateFleetError{failure("InvalidParameterValue", "x")}, cloud.ErrInvalid, 0},
		"a vanished subnet":   {[]types.CreateFleetError{failure("InvalidSubnetID.NotFound", "x")}, cloud.ErrClassNotReady, 0},
		"nothing said at all": {nil, nil, 0},
		"a profile that EC2 has not heard of yet is no bad parameter": {
			[]types.CreateFleetError{failure("InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name")},
			nil, 0,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := fleetError(tt.errs, model.OnDemand)
			var short *cloud.CapacityError
			if errors.As(err, &short) != (tt.capacity > 0) || (short != nil && len(short.Offerings) != tt.capacity) {
				t.Errorf("error %v: want %d offerings named", err, tt.capacity)
			}
			for _, s := range []error{cloud.ErrThrottled, cloud.ErrInvalid, cloud.ErrUnauthorized, cloud.ErrClassNotReady} {
				if errors.Is(err, s) != errors.Is(tt.sentinel, s) {
					t.Errorf("error %v: want sentinel %v", err, tt.sentinel)
				}
			}
		})
	}
}

func TestGroupSortsOfferingsByTemplate(t *testing.T) {
	offer := func(name, zone string) model.RankedOffering {
		return model.RankedOffering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: model.OnDemand}
	}
	arch := func(id, value string) cloud.Image {
		return cloud.Image{ID: id, Requirements: []model.Requirement{{Key: labels.Arch, Operator: model.In, Values: []string{value}}}}
	}
	r := cloud.Request{
		Class: cloud.Class{
			Name:    "default",
			Subnets: []cloud.Subnet{{ID: "subnet-2", Zone: "a", FreeAddresses: 9}, {ID: "subnet-1", Zone: "a", FreeAddresses: 5}, {ID: "subnet-3", Zone: "b"}},
			Images:  []cloud.Image{arch("ami-x", "amd64"), arch("ami-a", "arm64")},
		},
		Offerings: []model.RankedOffering{offer("m5.large", "a"), offer("m6g.large", "a"), offer("m5.large", "b"), offer("m5.large", "c"), offer("m5.xlarge", "a")},
		MaxPods:   map[model.TypeName]int64{"m5.large": 29, "m6g.large": 29, "m5.xlarge": 58},
	}
	types := map[string]catalog.Type{"m5.large": {Arch: "amd64"}, "m6g.large": {Arch: "arm64"}, "m5.xlarge": {Arch: "amd64"}}
	groups, err := group(r, types)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, g := range groups {
		name := g.image.ID
		if g.maxPods == 58 {
			name += "/58"
		}
		for _, o := range g.ranked {
			got[name] = append(got[name], string(o.InstanceType)+" "+o.subnet)
		}
	}
	want := map[string][]string{
		"ami-x": {"m5.large subnet-1", "m5.large subnet-3"}, "ami-a": {"m6g.large subnet-1"}, "ami-x/58": {"m5.xlarge subnet-1"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMicroUSDRoundsUpAndRefusesNonsense(t *testing.T) {
	for in, want := range map[string]int64{"0.0960000000": 96_000, "0.0000001": 1, "12": 12_000_000} {
		if got, err := microUSD(in); err != nil || got != want {
			t.Errorf("microUSD(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "a", "1e400"} {
		if got, err := microUSD(in); err == nil {
			t.Errorf("microUSD(%q) = %d, want an error", in, got)
		}
	}
}
