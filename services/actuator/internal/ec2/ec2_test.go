package ec2

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

const noProfile = "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"

func TestFleetError(t *testing.T) {
	failure := func(code, text string) types.CreateFleetError {
		return types.CreateFleetError{
			ErrorCode: aws.String(code), ErrorMessage: aws.String(text),
			LaunchTemplateAndOverrides: &types.LaunchTemplateAndOverridesResponse{Overrides: &types.FleetLaunchTemplateOverrides{
				InstanceType: types.InstanceTypeM5Large, AvailabilityZone: aws.String("us-east-1a"),
			}},
		}
	}
	in := func(zone string, e types.CreateFleetError) types.CreateFleetError {
		e.LaunchTemplateAndOverrides.Overrides.AvailabilityZone = aws.String(zone)
		return e
	}
	tests := map[string]struct {
		errs     []types.CreateFleetError
		sentinel error
		capacity int // offerings named; -1: all that were asked for
	}{
		"no capacity names each offering": {
			[]types.CreateFleetError{failure("InsufficientInstanceCapacity", "none"), in("us-east-1b", failure("UnfulfillableCapacity", "none"))},
			nil, 2,
		},
		"an answer that leaves the override out is capacity too": {
			[]types.CreateFleetError{{ErrorCode: aws.String("UnfulfillableCapacity")}}, nil, -1,
		},
		"what is short is remembered beside a refusal too, and the rest is tried alone": {
			[]types.CreateFleetError{in("us-east-1b", failure("UnauthorizedOperation", "no")), failure("InsufficientInstanceCapacity", "none")},
			nil, 1,
		},
		"a refusal beside a shortage of who knows what is a refusal": {
			[]types.CreateFleetError{{ErrorCode: aws.String("UnfulfillableCapacity")}, failure("UnauthorizedOperation", "no")},
			cloud.ErrUnauthorized, 0,
		},
		"throttling":          {[]types.CreateFleetError{failure("RequestLimitExceeded", "slow")}, cloud.ErrThrottled, 0},
		"a bad parameter":     {[]types.CreateFleetError{failure("InvalidParameterValue", "x")}, cloud.ErrInvalid, 0},
		"a vanished subnet":   {[]types.CreateFleetError{failure("InvalidSubnetID.NotFound", "x")}, cloud.ErrClassNotReady, 0},
		"nothing said at all": {nil, nil, 0},
		"a type that the zone does not sell is about that offering": {
			[]types.CreateFleetError{failure("InvalidFleetConfiguration", "Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1a).")},
			nil, 1,
		},
		"an image that is not available any more": {[]types.CreateFleetError{failure("InvalidAMIID.Unavailable", "x")}, cloud.ErrClassNotReady, 0},
		"a template that EC2 does not see yet":    {[]types.CreateFleetError{failure("InvalidLaunchTemplateId.NotFound", "x")}, nil, 0},
		"a profile that EC2 has not heard of yet is no bad parameter": {
			[]types.CreateFleetError{failure("InvalidParameterValue", noProfile)}, nil, 0,
		},
		"unless a user has named it": {[]types.CreateFleetError{failure("InvalidParameterValue", noProfile)}, cloud.ErrClassNotReady, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := launch{Request: cloud.Request{Offerings: []model.RankedOffering{
				{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}, {InstanceType: "m5.large", Zone: "us-east-1b", CapacityType: model.OnDemand},
			}}}
			if strings.Contains(name, "a user has named") {
				l.Spec.InstanceProfile = "x"
			}
			err := l.fleetError(tt.errs)
			var short *cloud.CapacityError
			if errors.As(err, &short) != (tt.capacity != 0) || (short != nil && len(short.Offerings) != max(tt.capacity, 0)) {
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

func TestShortagesSayWhatTheyAreAbout(t *testing.T) {
	spot := func(name, zone string) model.RankedOffering {
		return model.RankedOffering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: model.Spot}
	}
	l := launch{
		Request: cloud.Request{Offerings: []model.RankedOffering{
			spot("m5.large", "a"), spot("m5.xlarge", "a"), spot("m5.xlarge", "b"), spot("c5.2xlarge", "a"), spot("g5.2xlarge", "a"), spot("p4d.24xlarge", "a"),
		}},
		types: map[string]catalog.Type{"m5.large": {VCPU: 2}, "m5.xlarge": {VCPU: 4}, "c5.2xlarge": {VCPU: 8}, "g5.2xlarge": {VCPU: 8}, "p4d.24xlarge": {VCPU: 96}},
		open:  func(zone string) bool { return zone == "a" },
	}
	failure := func(code, name, zone string) types.CreateFleetError {
		return types.CreateFleetError{
			ErrorCode: aws.String(code),
			LaunchTemplateAndOverrides: &types.LaunchTemplateAndOverridesResponse{Overrides: &types.FleetLaunchTemplateOverrides{
				InstanceType: types.InstanceType(name), AvailabilityZone: aws.String(zone),
			}},
		}
	}
	tests := map[string]struct {
		errs []types.CreateFleetError
		want []string
	}{
		"no stock is about one offering": {
			[]types.CreateFleetError{failure("InsufficientInstanceCapacity", "m5.xlarge", "b"), failure("InsufficientInstanceCapacity", "m5.xlarge", "b")},
			[]string{"m5.xlarge b"},
		},
		"a quota is about all zones, and all types of it that need no less": {
			[]types.CreateFleetError{failure("MaxSpotInstanceCountExceeded", "m5.xlarge", "a")}, []string{"quota:standard:4 "},
		},
		"without the role of spot there is no spot at all": {
			[]types.CreateFleetError{failure("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "m5.large", "a")}, []string{"account: "},
		},
		"a full subnet is about all of its zone": {
			[]types.CreateFleetError{failure("InsufficientFreeAddressesInSubnet", "m5.xlarge", "b")}, []string{"m5.xlarge b"},
		},
		"so is one that is in too many pieces for prefixes": {
			[]types.CreateFleetError{failure("InsufficientCidrBlocks", "m5.xlarge", "b")}, []string{"m5.xlarge b"},
		},
		"but not where the zone has another":  {[]types.CreateFleetError{failure("InsufficientFreeAddressesInSubnet", "m5.xlarge", "a")}, nil},
		"what EC2 does not name is about all": {[]types.CreateFleetError{failure("InsufficientInstanceCapacity", "", "")}, []string{"all"}},
		"a refusal is about no capacity":      {[]types.CreateFleetError{failure("InvalidParameterValue", "m5.large", "a")}, nil},
	}
	for name, tt := range tests {
		var got []string
		short, all := l.shortages(tt.errs)
		if all {
			got = []string{"all"}
		}
		for _, s := range short {
			got = append(got, string(s.InstanceType)+" "+s.Zone)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestAnInstanceComesWithWhatEC2HadNoneOf(t *testing.T) {
	l := launch{Request: cloud.Request{Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "a"}, {InstanceType: "m5.xlarge", Zone: "a"}}}}
	override := func(name types.InstanceType) *types.LaunchTemplateAndOverridesResponse {
		return &types.LaunchTemplateAndOverridesResponse{Overrides: &types.FleetLaunchTemplateOverrides{InstanceType: name, AvailabilityZone: aws.String("a")}}
	}
	got, err := l.launched(&sdk.CreateFleetOutput{
		Instances: []types.CreateFleetInstance{{InstanceIds: []string{"i-1"}, InstanceType: "m5.xlarge", LaunchTemplateAndOverrides: override("m5.xlarge")}},
		Errors:    []types.CreateFleetError{{ErrorCode: aws.String("InsufficientInstanceCapacity"), LaunchTemplateAndOverrides: override("m5.large")}},
	}, nil)
	if err != nil || len(got) != 1 || got[0].ID != "i-1" || len(got[0].Short) != 1 || got[0].Short[0].InstanceType != "m5.large" {
		t.Errorf("%+v, %v; want i-1, short of m5.large", got, err)
	}
}

func TestWhatALaunchsCallFailsWith(t *testing.T) {
	all := []error{cloud.ErrThrottled, cloud.ErrInvalid, cloud.ErrUnauthorized, cloud.ErrClassNotReady, cloud.ErrNoInstance, cloud.ErrTokenMismatch}
	for code, want := range map[string]error{ // nil: none of them
		"InvalidLaunchTemplateName.NotFoundException": cloud.ErrNoInstance, // it was made again a moment ago
		"InvalidSubnetID.NotFound":                    cloud.ErrClassNotReady,
		"EC2ThrottledException":                       cloud.ErrThrottled,
		"UnauthorizedOperation":                       cloud.ErrUnauthorized,
		"InvalidParameterValue":                       cloud.ErrInvalid,
		"IdempotentParameterMismatch":                 cloud.ErrTokenMismatch,
		"InternalError":                               nil,
	} {
		err := launchError(fmt.Errorf("create fleet: %w", &smithy.GenericAPIError{Code: code, Message: "x"}), cloud.Request{Offerings: []model.RankedOffering{{CapacityType: model.Spot}}})
		for _, s := range all {
			if errors.Is(err, s) != errors.Is(want, s) {
				t.Errorf("%s: error %v, want %v", code, err, want)
			}
		}
	}
}

func TestALaunchsCallThatNamesNoProfile(t *testing.T) {
	unknown := &smithy.GenericAPIError{Code: "InvalidParameterValue", Message: noProfile}
	var r cloud.Request
	if err := launchError(unknown, r); !errors.Is(err, cloud.ErrNoInstance) || errors.Is(err, cloud.ErrClassNotReady) {
		t.Errorf("of Kerf's own: %v, want that it is tried again", err)
	}
	r.Spec.InstanceProfile = "x"
	if err := launchError(unknown, r); !errors.Is(err, cloud.ErrClassNotReady) {
		t.Errorf("of its user's: %v, want that the class is not ready", err)
	}
}

// first picks the first subnet of a zone.
func first(all []cloud.Subnet) func(string) (string, bool) {
	return func(zone string) (string, bool) {
		i := slices.IndexFunc(all, func(s cloud.Subnet) bool { return s.Zone == zone })
		if i < 0 {
			return "", false
		}
		return all[i].ID, true
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
	groups, err := group(r, types, first(r.Class.Subnets))
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
		"ami-x": {"m5.large subnet-2", "m5.large subnet-3"}, "ami-a": {"m6g.large subnet-2"}, "ami-x/58": {"m5.xlarge subnet-2"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAFleetIsNoLargerThanEC2Takes(t *testing.T) {
	r := cloud.Request{
		Class: cloud.Class{
			Subnets: []cloud.Subnet{{ID: "subnet-1", Zone: "a", FreeAddresses: 9}},
			Images:  []cloud.Image{{ID: "ami-x"}},
		},
		MaxPods: map[model.TypeName]int64{},
	}
	types := map[string]catalog.Type{}
	for i := range 400 {
		name := model.TypeName(fmt.Sprintf("m5.%dxlarge", i))
		r.Offerings = append(r.Offerings, model.RankedOffering{InstanceType: name, Zone: "a"})
		r.MaxPods[name] = int64(i % 60)
		types[string(name)] = catalog.Type{}
	}
	groups, err := group(r, types, first(r.Class.Subnets))
	if err != nil {
		t.Fatal(err)
	}
	overrides, last := 0, 0
	for _, g := range groups {
		overrides += len(g.ranked)
		for _, o := range g.ranked {
			last = max(last, o.rank)
		}
	}
	if len(groups) != 50 || overrides != 300 || last != 349 { // ten of sixty pod limits are left out
		t.Errorf("%d templates, %d overrides up to rank %d; want 50, 300, 349", len(groups), overrides, last)
	}
}

func TestTypesWithOtherCardsNeedOtherTemplates(t *testing.T) {
	r := cloud.Request{
		EFA: true, Class: cloud.Class{Subnets: []cloud.Subnet{{ID: "subnet-1", Zone: "a"}}, Images: []cloud.Image{{ID: "ami-x"}}},
		Offerings: []model.RankedOffering{{InstanceType: "p4d.24xlarge", Zone: "a"}, {InstanceType: "p4de.24xlarge", Zone: "a"}, {InstanceType: "p5.48xlarge", Zone: "a"}},
	}
	types := map[string]catalog.Type{"p4d.24xlarge": {EFAInterfaces: 4}, "p4de.24xlarge": {EFAInterfaces: 4}, "p5.48xlarge": {EFAInterfaces: 32}}
	for _, ask := range []bool{true, false} {
		r.EFA = ask
		groups, err := group(r, types, first(r.Class.Subnets))
		if want := map[bool]int{true: 2, false: 1}[ask]; err != nil || len(groups) != want {
			t.Errorf("%d templates, %v; want %d", len(groups), err, want)
		}
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
