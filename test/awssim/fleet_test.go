package awssim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/awssim"
)

func TestFleetAllocation(t *testing.T) {
	od := func(it string) awssim.Pool {
		return awssim.Pool{InstanceType: it, Zone: "us-east-1a", CapacityType: awssim.OnDemand}
	}
	spot := func(it string) awssim.Pool {
		return awssim.Pool{InstanceType: it, Zone: "us-east-1a", CapacityType: awssim.Spot}
	}
	cheapSpot := map[string]int64{"m5.large": 30000, "r5.large": 20000, "m5.xlarge": 10000}

	cases := map[string]struct {
		capacityType string
		strategy     string
		target       int32
		priorities   map[string]float64
		stock        map[awssim.Pool]int64
		want         []string
	}{
		"the cheapest type is bought on demand": {
			capacityType: "on-demand", target: 1, want: []string{"1 m5.large " + subnetA},
		},
		"a pool without stock is reported, and the next cheapest bought": {
			capacityType: "on-demand", target: 1, stock: map[awssim.Pool]int64{od("m5.large"): 0},
			want: []string{"1 r5.large " + subnetA, "InsufficientInstanceCapacity m5.large"},
		},
		"a pool gives what it has, and the next the rest": {
			capacityType: "on-demand", target: 3, stock: map[awssim.Pool]int64{od("m5.large"): 1},
			want: []string{"1 m5.large " + subnetA, "2 r5.large " + subnetA, "InsufficientInstanceCapacity m5.large"},
		},
		"a fleet may stay short": {
			capacityType: "on-demand", target: 9,
			stock: map[awssim.Pool]int64{od("m5.large"): 1, od("r5.large"): 0, od("m5.xlarge"): 1},
			want: []string{
				"1 m5.large " + subnetA, "1 m5.xlarge " + subnetA,
				"InsufficientInstanceCapacity m5.large", "InsufficientInstanceCapacity r5.large", "InsufficientInstanceCapacity m5.xlarge",
			},
		},
		"nothing at all is an answer too": {
			capacityType: "spot", target: 1, stock: map[awssim.Pool]int64{spot("m5.large"): 0, spot("r5.large"): 0, spot("m5.xlarge"): 0},
			want: []string{
				"InsufficientInstanceCapacity m5.large", "InsufficientInstanceCapacity r5.large", "InsufficientInstanceCapacity m5.xlarge",
			},
		},
		"priority beats price on demand": {
			capacityType: "on-demand", strategy: "prioritized", target: 1,
			priorities: map[string]float64{"m5.xlarge": 1, "m5.large": 2}, want: []string{"1 m5.xlarge " + subnetA},
		},
		"spot by the lowest price": {
			capacityType: "spot", strategy: "lowest-price", target: 2, want: []string{"2 m5.xlarge " + subnetA},
		},
		"spot by price and capacity passes over a pool that is too small": {
			capacityType: "spot", strategy: "price-capacity-optimized", target: 2, stock: map[awssim.Pool]int64{spot("m5.xlarge"): 1},
			want: []string{"2 r5.large " + subnetA},
		},
		"spot by capacity and priority": {
			capacityType: "spot", strategy: "capacity-optimized-prioritized", target: 1,
			priorities: map[string]float64{"r5.large": 1, "m5.large": 0, "m5.xlarge": 2},
			stock:      map[awssim.Pool]int64{spot("m5.large"): 0}, want: []string{"1 r5.large " + subnetA},
		},
		"spot by capacity alone takes the deepest pool": {
			capacityType: "spot", strategy: "capacity-optimized", target: 5,
			stock: map[awssim.Pool]int64{spot("m5.large"): 3, spot("r5.large"): 4, spot("m5.xlarge"): 2},
			want:  []string{"1 m5.large " + subnetA, "4 r5.large " + subnetA, "InsufficientInstanceCapacity r5.large"},
		},
		"diversified takes from all": {
			capacityType: "spot", strategy: "diversified", target: 4,
			want: []string{"1 m5.large " + subnetA, "1 r5.large " + subnetA, "2 m5.xlarge " + subnetA},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for it, price := range cheapSpot {
				must(0, w.SetSpotPrice(it, "us-east-1a", price))(t)
			}
			for p, n := range c.stock {
				w.SetStock(p, n)
			}
			in := fleet(w.template(userData), c.capacityType, c.target, "m5.large", "r5.large", "m5.xlarge")
			for i := range in.LaunchTemplateConfigs[0].Overrides {
				o := &in.LaunchTemplateConfigs[0].Overrides[i]
				if p, ok := c.priorities[string(o.InstanceType)]; ok {
					o.Priority = &p
				}
			}
			if c.capacityType == "spot" {
				in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategy(c.strategy)}
			} else if c.strategy != "" {
				in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategy(c.strategy)}
			}
			out := must(w.ec2.CreateFleet(t.Context(), in))(t)
			if d := cmp.Diff(c.want, summary(out)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFleetBelowItsMinimumLaunchesNothing(t *testing.T) {
	w := newWorld(t)
	w.SetStock(awssim.Pool{CapacityType: awssim.OnDemand}, 1)
	in := fleet(w.template(userData), "on-demand", 3, "m5.large", "r5.large")
	in.OnDemandOptions = &types.OnDemandOptionsRequest{MinTargetCapacity: aws.Int32(2), SingleInstanceType: aws.Bool(true)}
	out := must(w.ec2.CreateFleet(t.Context(), in))(t)
	if d := cmp.Diff([]string{"InsufficientInstanceCapacity m5.large"}, summary(out)); d != "" {
		t.Error(d)
	}
	if n := len(w.State().Instances); n != 0 {
		t.Errorf("%d instances", n)
	}
}

func TestTwoOverridesOfOnePoolShareItsStock(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) {
		c.Subnets = append(c.Subnets, awssim.Subnet{ID: "subnet-0second", Zone: "us-east-1a", CIDR: "10.0.128.0/19"})
	})
	w.SetStock(awssim.Pool{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: awssim.OnDemand}, 1)
	in := fleet(w.template(userData), "on-demand", 2, "m5.large")
	in.LaunchTemplateConfigs[0].Overrides = append(in.LaunchTemplateConfigs[0].Overrides,
		types.FleetLaunchTemplateOverridesRequest{InstanceType: "m5.large", SubnetId: aws.String("subnet-0second")})
	if ids := w.launch(in); len(ids) != 1 {
		t.Errorf("%d instances from a pool of one", len(ids))
	}
}

func TestPoolsThatCannotBeLaunchedAreReportedByTheirOwnCode(t *testing.T) {
	cases := map[string]struct {
		change func(*world, *types.FleetLaunchTemplateOverridesRequest)
		want   string
	}{
		"an unknown type": {func(_ *world, o *types.FleetLaunchTemplateOverridesRequest) { o.InstanceType = "m5.enormous" }, "InvalidParameterValue"},
		"an unknown subnet": {func(_ *world, o *types.FleetLaunchTemplateOverridesRequest) {
			o.SubnetId = aws.String("subnet-0nowhere")
		}, "InvalidSubnetID.NotFound"},
		"no subnet": {func(_ *world, o *types.FleetLaunchTemplateOverridesRequest) { o.SubnetId = nil }, "MissingInput"},
		"another zone than the subnet's": {
			func(_ *world, o *types.FleetLaunchTemplateOverridesRequest) {
				o.AvailabilityZone = aws.String("us-east-1b")
			}, "InvalidParameterCombination",
		},
		"an unknown image": {func(_ *world, o *types.FleetLaunchTemplateOverridesRequest) { o.ImageId = aws.String("ami-0") }, "InvalidAMIID.NotFound"},
		"an image of another architecture": {
			func(_ *world, o *types.FleetLaunchTemplateOverridesRequest) { o.InstanceType = "m6g.large" }, "InvalidParameterValue",
		},
		"a subnet without addresses": {
			func(w *world, _ *types.FleetLaunchTemplateOverridesRequest) {
				must(0, w.SetFreeAddresses(subnetA, 0))(w.t)
			}, "InsufficientFreeAddressesInSubnet",
		},
		"a quota": {
			func(w *world, _ *types.FleetLaunchTemplateOverridesRequest) {
				w.FailPool(awssim.Pool{InstanceType: "m5.large"}, "VcpuLimitExceeded")
			}, "VcpuLimitExceeded",
		},
		"a spot price above the limit": {
			func(_ *world, o *types.FleetLaunchTemplateOverridesRequest) { o.MaxPrice = aws.String("0.000001") }, "SpotMaxPriceTooLow",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := fleet(w.template(userData), "spot", 1, "m5.large")
			c.change(w, &in.LaunchTemplateConfigs[0].Overrides[0])
			out := must(w.ec2.CreateFleet(t.Context(), in))(t)
			if len(out.Errors) != 1 || aws.ToString(out.Errors[0].ErrorCode) != c.want || len(out.Instances) != 0 {
				t.Errorf("answer %v, want %s alone", summary(out), c.want)
			}
			if out.Errors[0].LaunchTemplateAndOverrides.LaunchTemplateSpecification.LaunchTemplateName == nil {
				t.Error("the error does not say which launch template")
			}
		})
	}
}

func TestProfilesAreNotKnownToEC2AtOnce(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) { c.ProfileLag = 10 * time.Second })
	in := fleet(w.template(userData), "on-demand", 1, "m5.large")
	out := must(w.ec2.CreateFleet(t.Context(), in))(t)
	if d := cmp.Diff([]string{"InvalidParameterValue m5.large"}, summary(out)); d != "" {
		t.Error(d)
	}
	w.advance(10 * time.Second)
	in.ClientToken = aws.String("another")
	w.launch(in)
}

func TestFleetIsRefusedAsAWhole(t *testing.T) {
	cases := map[string]struct {
		change func(*ec2.CreateFleetInput)
		want   string
	}{
		"a fleet that is not instant": {func(in *ec2.CreateFleetInput) { in.Type = types.FleetTypeMaintain }, "UnsupportedOperation"},
		"no template of that name": {
			func(in *ec2.CreateFleetInput) {
				in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("gone")
			}, "InvalidLaunchTemplateName.NotFoundException",
		},
		"no template of that id": {
			func(in *ec2.CreateFleetInput) {
				in.LaunchTemplateConfigs[0].LaunchTemplateSpecification = &types.FleetLaunchTemplateSpecificationRequest{
					LaunchTemplateId: aws.String("lt-0"), Version: aws.String("1"),
				}
			}, "InvalidLaunchTemplateId.NotFound",
		},
		"a pool twice": {
			func(in *ec2.CreateFleetInput) {
				o := &in.LaunchTemplateConfigs[0].Overrides
				*o = append(*o, (*o)[0])
			}, "InvalidFleetConfig",
		},
		"a weight": {
			func(in *ec2.CreateFleetInput) {
				in.LaunchTemplateConfigs[0].Overrides[0].WeightedCapacity = aws.Float64(2)
			}, "InvalidParameterValue",
		},
		"no capacity": {
			func(in *ec2.CreateFleetInput) { in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(0) }, "InvalidTargetCapacitySpecification",
		},
		"an unknown strategy": {
			func(in *ec2.CreateFleetInput) {
				in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: "highest-price"}
			}, "InvalidParameterValue",
		},
		"a parameter that is not simulated": {
			func(in *ec2.CreateFleetInput) {
				in.OnDemandOptions = &types.OnDemandOptionsRequest{MaxTotalPrice: aws.String("1")}
			}, "UnknownParameter",
		},
		"a reserved tag": {
			func(in *ec2.CreateFleetInput) { in.TagSpecifications[0].Tags[0].Key = aws.String("aws:x") }, "InvalidParameterValue",
		},
		"a token that is too long": {
			func(in *ec2.CreateFleetInput) { in.ClientToken = aws.String(strings.Repeat("x", 65)) }, "InvalidParameterValue",
		},
		"a dry run": {func(in *ec2.CreateFleetInput) { in.DryRun = aws.Bool(true) }, "DryRunOperation"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := fleet(w.template(userData), "on-demand", 1, "m5.large")
			c.change(in)
			_, err := w.ec2.CreateFleet(t.Context(), in)
			wantCode(t, err, c.want)
			if n := len(w.State().Instances); n != 0 {
				t.Errorf("%d instances", n)
			}
		})
	}
}

func TestClientTokens(t *testing.T) {
	w := newWorld(t)
	w.SetStock(awssim.Pool{InstanceType: "m5.large"}, 1)
	in := fleet(w.template(userData), "on-demand", 1, "m5.large")
	in.ClientToken = aws.String("claim-1-attempt-1")
	first := w.launch(in)
	if d := cmp.Diff(first, w.launch(in)); d != "" {
		t.Errorf("the same token gave another instance: %s", d)
	}
	if n := len(w.State().Instances); n != 1 {
		t.Errorf("%d instances", n)
	}

	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(2)
	_, err := w.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "IdempotentParameterMismatch")

	// An answer that was lost on the way is the case that tokens are for.
	w.Fail(awssim.Fault{Action: "ec2:CreateFleet", Code: awssim.CodeDrop, After: true})
	w.SetStock(awssim.Pool{InstanceType: "r5.large"}, 1)
	lost := fleet("lt-0", "on-demand", 1, "r5.large")
	lost.ClientToken = aws.String("claim-2-attempt-1")
	if _, err := w.ec2.CreateFleet(t.Context(), lost); err == nil {
		t.Fatal("the answer was not lost")
	}
	w.launch(lost)
	if n := len(w.State().Instances); n != 2 {
		t.Errorf("%d instances, want 2", n)
	}

	template := &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("named"), ClientToken: aws.String("t"), LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: aws.String("ami-0")},
	}
	one := must(w.ec2.CreateLaunchTemplate(t.Context(), template))(t)
	two := must(w.ec2.CreateLaunchTemplate(t.Context(), template))(t)
	if *one.LaunchTemplate.LaunchTemplateId != *two.LaunchTemplate.LaunchTemplateId {
		t.Error("the same token gave another launch template")
	}
	template.ClientToken = aws.String("u")
	_, err = w.ec2.CreateLaunchTemplate(t.Context(), template)
	wantCode(t, err, "InvalidLaunchTemplateName.AlreadyExistsException")
}

func TestStockComesBackWithUsersAndNotWithInterruptions(t *testing.T) {
	w := newWorld(t)
	pool := awssim.Pool{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: awssim.Spot}
	w.SetStock(pool, 2)
	in := fleet(w.template(userData), "spot", 2, "m5.large")
	ids := w.launch(in)
	w.advance(time.Minute)
	must(w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids[:1]}))(t)
	must(0, w.InterruptSpot(ids[1]))(t)
	w.advance(5 * time.Minute)
	in.ClientToken = aws.String("again")
	if got := w.launch(in); len(got) != 1 {
		t.Errorf("%d instances, want the one that a user has terminated", len(got))
	}
}
