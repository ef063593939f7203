package ec2

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
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

func boot() bootstrap {
	return bootstrap{
		cluster: "demo", api: APIServer{Endpoint: "https://api", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16"},
		family: familyAL2023, maxPods: 29,
		labels: model.Labels{
			{Key: "type", Value: "karpenter"},
			{Key: "topology.kubernetes.io/zone", Value: "a"},
			{Key: "karpenter.sh/nodepool", Value: "default"},
		},
		taints: []model.Taint{{Key: "karpenter.sh/unregistered", Effect: model.NoExecute}},
	}
}

func decoded(t *testing.T, b bootstrap) string {
	t.Helper()
	text, err := userData(b)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestUserData(t *testing.T) {
	tests := map[string]struct {
		change func(*bootstrap)
		holds  []string
		lacks  []string
	}{
		"AL2023 gets a NodeConfig with taints, labels that a kubelet may set, and the DNS of the service range": {
			func(*bootstrap) {},
			[]string{
				"application/node.eks.aws", `"maxPods":29`, `"clusterDNS":["10.100.0.10"]`, `"cidr":"10.100.0.0/16"`,
				`--node-labels=karpenter.sh/nodepool=default,type=karpenter`, `karpenter.sh/unregistered`,
			},
			[]string{"topology.kubernetes.io"},
		},
		"the class's own script comes before the generated part": {
			func(b *bootstrap) { b.custom = "#!/bin/bash\necho hi" }, []string{"text/x-shellscript", "echo hi"}, nil,
		},
		"Bottlerocket gets settings": {
			func(b *bootstrap) {
				b.family = familyBottlerocket
				b.custom = "[settings.host-containers.admin]\nenabled = true"
			},
			[]string{"[settings.host-containers.admin]", "[settings.kubernetes]", "max-pods = 29", `"type" = "karpenter"`, `"karpenter.sh/unregistered" = [":NoExecute"]`},
			nil,
		},
		"Custom is passed on as it is": {
			func(b *bootstrap) { b.family = familyCustom; b.custom = "mine" }, []string{"mine"}, []string{"NodeConfig"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := boot()
			tt.change(&b)
			text := decoded(t, b)
			for _, s := range tt.holds {
				if !strings.Contains(text, s) {
					t.Errorf("user data lacks %q:\n%s", s, text)
				}
			}
			for _, s := range tt.lacks {
				if strings.Contains(text, s) {
					t.Errorf("user data holds %q:\n%s", s, text)
				}
			}
		})
	}
}

func TestUserDataRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*bootstrap)
		names  string
	}{
		"a family without a template":       {func(b *bootstrap) { b.family = "AL2" }, "AL2"},
		"more than EC2 takes":               {func(b *bootstrap) { b.custom = strings.Repeat("#", maxUserData) }, "spec.userData"},
		"Kubernetes settings given by hand": {func(b *bootstrap) { b.family = familyBottlerocket; b.custom = "[settings.kubernetes]" }, "spec.kubelet"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := boot()
			tt.change(&b)
			if _, err := userData(b); !errors.Is(err, cloud.ErrInvalid) || !strings.Contains(err.Error(), tt.names) {
				t.Errorf("error %v: want ErrInvalid that names %s", err, tt.names)
			}
		})
	}
}

func TestGroupSortsOfferingsByTemplate(t *testing.T) {
	offer := func(name, zone string) model.RankedOffering {
		return model.RankedOffering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: model.OnDemand}
	}
	arch := func(id, value string) cloud.Image {
		return cloud.Image{ID: id, Requirements: []model.Requirement{{Key: labelArch, Operator: model.In, Values: []string{value}}}}
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
