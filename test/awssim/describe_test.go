package awssim_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/awssim"
)

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

func TestInstanceTypesAreTheCatalogue(t *testing.T) {
	w := newWorld(t)
	all := must(bundled())(t)
	pages, names := 0, []string{}
	p := ec2.NewDescribeInstanceTypesPaginator(w.ec2, &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{filter("supported-virtualization-type", "hvm")}})
	for p.HasMorePages() {
		for _, it := range must(p.NextPage(t.Context()))(t).InstanceTypes {
			names = append(names, string(it.InstanceType))
		}
		pages++
	}
	var want []string
	for _, it := range all.Types {
		want = append(want, it.Name)
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	if most := (len(want) + 99) / 100; pages != most {
		t.Errorf("%d pages, want %d", pages, most)
	}

	one := must(w.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large"}}))(t).InstanceTypes[0]
	if *one.VCpuInfo.DefaultVCpus != 2 || *one.MemoryInfo.SizeInMiB != 8192 || *one.NetworkInfo.Ipv4AddressesPerInterface != 10 ||
		*one.NetworkInfo.NetworkCards[0].MaximumNetworkInterfaces != 3 || one.Hypervisor != "nitro" || len(one.SupportedUsageClasses) != 2 ||
		one.ProcessorInfo.SupportedArchitectures[0] != "x86_64" || *one.ProcessorInfo.SustainedClockSpeedInGhz < 1 {
		t.Errorf("m5.large is %+v", one)
	}
	gpu := must(w.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"g4dn.xlarge"}}))(t).InstanceTypes[0]
	if g := gpu.GpuInfo.Gpus[0]; *g.Manufacturer != "NVIDIA" || *g.Count != 1 || *gpu.InstanceStorageInfo.TotalSizeInGB != 125 {
		t.Errorf("g4dn.xlarge has %+v", gpu.GpuInfo)
	}
	_, err := w.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.enormous"}})
	wantCode(t, err, "InvalidInstanceType")
	_, err = w.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(101)})
	wantCode(t, err, "InvalidParameterValue")
}

func TestOfferingsAndSpotPricesFollowTheZones(t *testing.T) {
	w := newWorld(t)
	all := must(bundled())(t)
	want, got := map[string]bool{}, map[string]bool{}
	for _, it := range all.Types {
		for _, z := range it.Zones {
			want[it.Name+" "+z] = true
		}
	}
	p := ec2.NewDescribeInstanceTypeOfferingsPaginator(w.ec2, &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone})
	for p.HasMorePages() {
		for _, o := range must(p.NextPage(t.Context()))(t).InstanceTypeOfferings {
			got[string(o.InstanceType)+" "+*o.Location] = true
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	prices := 0
	sp := ec2.NewDescribeSpotPriceHistoryPaginator(w.ec2, &ec2.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(w.Now()), ProductDescriptions: []string{"Linux/UNIX"}, MaxResults: aws.Int32(2000),
	})
	for sp.HasMorePages() {
		for _, r := range must(sp.NextPage(t.Context()))(t).SpotPriceHistory {
			prices++
			it, _ := all.Type(string(r.InstanceType))
			micro := w.SpotPrice(it.Name, *r.AvailabilityZone)
			if micro*100 < it.OnDemandMicroUSD*25-100 || micro*100 > it.OnDemandMicroUSD*45 {
				t.Fatalf("%s in %s: spot %d, on demand %d", it.Name, *r.AvailabilityZone, micro, it.OnDemandMicroUSD)
			}
		}
	}
	if prices < 3000 {
		t.Errorf("only %d spot prices", prices)
	}
	must(0, w.SetSpotPrice("m5.large", "us-east-1a", 12345))(t)
	one := must(w.ec2.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{
		InstanceTypes: []types.InstanceType{"m5.large"}, AvailabilityZone: aws.String("us-east-1a"),
	}))(t).SpotPriceHistory
	if len(one) != 1 || *one[0].SpotPrice != "0.012345" {
		t.Errorf("prices %v", one)
	}
}

func TestNetworkIsFoundByTagIDAndVPC(t *testing.T) {
	w := newWorld(t)
	discovery := filter("tag:karpenter.sh/discovery", cluster)
	subnets := must(w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{discovery}}))(t).Subnets
	if len(subnets) != 3 || *subnets[0].SubnetId != subnetA || *subnets[0].AvailabilityZone != "us-east-1a" || *subnets[0].AvailableIpAddressCount != 8187 {
		t.Errorf("subnets %v", subnets)
	}
	w.launch(fleet(w.template(userData), "on-demand", 2, "m5.large"))
	one := must(w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{subnetA}}))(t).Subnets
	if *one[0].AvailableIpAddressCount != 8185 {
		t.Errorf("%d free addresses", *one[0].AvailableIpAddressCount)
	}
	none := must(w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("tag-key", "absent*")}}))(t).Subnets
	if len(none) != 0 {
		t.Errorf("subnets %v", none)
	}
	groups := must(w.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{discovery}}))(t).SecurityGroups
	if len(groups) != 1 || *groups[0].GroupName != "c1-node" {
		t.Errorf("groups %v", groups)
	}
	_, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-0"}})
	wantCode(t, err, "InvalidSubnetID.NotFound")
	_, err = w.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("colour", "red")}})
	wantCode(t, err, "InvalidParameterValue")
}

func TestImagesOfTheAliasesCanBeDescribed(t *testing.T) {
	w := newWorld(t)
	cases := map[string]struct{ path, arch, name string }{
		"AL2023 for amd64":       {al2023, "x86_64", "amazon-eks-node-al2023-x86_64-standard-1.37-v20260225"},
		"AL2023 for arm64":       {"/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/arm64/nvidia/recommended/image_id", "arm64", "amazon-eks-node-al2023-arm64-nvidia-1.30-v20260225"},
		"AL2023, pinned":         {"/aws/service/eks/optimized-ami/1.37/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.37-v20260115/image_id", "x86_64", "amazon-eks-node-al2023-x86_64-standard-1.37-v20260115"},
		"AL2":                    {"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id", "x86_64", "amazon-eks-node-1.32-v20260225"},
		"AL2 for arm64":          {"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended/image_id", "arm64", "amazon-eks-arm64-node-1.32-v20260225"},
		"Bottlerocket":           {"/aws/service/bottlerocket/aws-k8s-1.37/arm64/latest/image_id", "arm64", "bottlerocket-aws-k8s-1.37-arm64-v1.52.0"},
		"Bottlerocket of nvidia": {"/aws/service/bottlerocket/aws-k8s-1.37-nvidia/x86_64/1.51.0/image_id", "x86_64", "bottlerocket-aws-k8s-1.37-nvidia-x86_64-v1.51.0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			id := must(w.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &c.path}))(t).Parameter.Value
			images := must(w.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{
				ImageIds: []string{*id}, Filters: []types.Filter{filter("state", "available")},
			}))(t).Images
			if len(images) != 1 || *images[0].Name != c.name || string(images[0].Architecture) != c.arch || *images[0].ImageOwnerAlias != "amazon" {
				t.Errorf("images %v", images)
			}
		})
	}
	_, err := w.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id")})
	wantCode(t, err, "ParameterNotFound")
	_, err = w.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-0"}})
	wantCode(t, err, "InvalidAMIID.NotFound")

	w.AddImage(awssim.Image{ID: "ami-0old", Name: "mine", Arch: "amd64", Owner: "amazon", Deprecated: w.Now()})
	named := &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{filter("name", "mi?e")}}
	if got := must(w.ec2.DescribeImages(t.Context(), named))(t).Images; len(got) != 0 {
		t.Errorf("images %v, though deprecated", got)
	}
	named.IncludeDeprecated = aws.Bool(true)
	if got := must(w.ec2.DescribeImages(t.Context(), named))(t).Images; len(got) != 1 {
		t.Errorf("images %v", got)
	}
}

// TestANewReleaseIsWhatIsRecommendedFromNowOn covers what makes nodes of class alias al2023@latest drift: parameters
// lead to new images, while instances keep what they have booted and the images that were pinned stay.
func TestANewReleaseIsWhatIsRecommendedFromNowOn(t *testing.T) {
	const newest = "amazon-eks-node-al2023-x86_64-standard-1.37-v20260501"
	w := newWorld(t)
	parameter := func(path string) *ssmtypes.Parameter {
		return must(w.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &path}))(t).Parameter
	}
	name := func(id string) string {
		images := must(w.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{id}}))(t).Images
		if len(images) != 1 || *images[0].CreationDate != w.Now().Format("2006-01-02T15:04:05.000Z") {
			t.Fatalf("images of %s: %+v", id, images)
		}
		return *images[0].Name
	}
	before := parameter(al2023)
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	w.advance(time.Minute)
	names := must(w.PublishImages("20260501"))(t)

	after := parameter(al2023)
	if got := name(*after.Value); got != newest || names[*after.Value] != newest || after.Version != before.Version+1 || !after.LastModifiedDate.Equal(w.Now()) {
		t.Errorf("parameter version %d of %s leads to %s, before it was version %d", after.Version, after.LastModifiedDate, got, before.Version)
	}
	pinned := parameter(strings.Replace(al2023, "recommended", "amazon-eks-node-al2023-x86_64-standard-1.37-v20260225", 1))
	if *pinned.Value != *before.Value {
		t.Errorf("the older release is %s, it was %s", *pinned.Value, *before.Value)
	}
	if got := *w.describe(byID(id))[0].ImageId; got != *before.Value {
		t.Errorf("the instance runs %s, it has booted %s", got, *before.Value)
	}
	if later := *parameter("/aws/service/bottlerocket/aws-k8s-1.37/x86_64/latest/image_id").Value; later !=
		*parameter("/aws/service/bottlerocket/aws-k8s-1.37/x86_64/1.53.0/image_id").Value {
		t.Errorf("Bottlerocket's latest is %s", later)
	}
	for _, stamp := range []string{"20260501", "20260225", "tomorrow"} {
		if _, err := w.PublishImages(stamp); err == nil {
			t.Errorf("a release of %q was published", stamp)
		}
	}
	must(w.PublishImages(""))(t) // the day of the last one is today
	if id := parameter(strings.Replace(al2023, "recommended", "amazon-eks-node-al2023-x86_64-standard-1.37-v20260502", 1)).Value; *id != w.image() {
		t.Errorf("recommended is %s, the newest release is %s", w.image(), *id)
	}
}

func TestInstancesAreFoundByTheirFilters(t *testing.T) {
	w := newWorld(t)
	name := w.template(userData)
	spot := w.launch(fleet(name, "spot", 1, "m5.large"))
	w.advance(time.Minute)
	pending := w.launch(fleet(name, "on-demand", 1, "r5.large"))
	cases := map[string]struct {
		filters []types.Filter
		want    []string
	}{
		"by tag":            {[]types.Filter{filter("tag:"+fleetTag, claimName)}, append(spot, pending...)},
		"by tag key":        {[]types.Filter{filter("tag-key", "kerf.dev/*")}, append(spot, pending...)},
		"by state":          {[]types.Filter{filter("instance-state-name", "running")}, spot},
		"by two values":     {[]types.Filter{filter("instance-state-name", "pending", "stopped")}, pending},
		"by two filters":    {[]types.Filter{filter("instance-lifecycle", "spot"), filter("instance-type", "r5.*")}, nil},
		"by lifecycle":      {[]types.Filter{filter("instance-lifecycle", "spot")}, spot},
		"by id as a filter": {[]types.Filter{filter("instance-id", pending[0])}, pending},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := map[string]bool{}, map[string]bool{}
			for _, i := range w.describe(&ec2.DescribeInstancesInput{Filters: c.filters}) {
				got[*i.InstanceId] = true
			}
			for _, id := range c.want {
				want[id] = true
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	i := w.describe(byID(spot...))[0]
	if i.InstanceLifecycle != "spot" || i.SpotInstanceRequestId == nil || *i.PrivateDnsName != "ip-10-0-32-4.ec2.internal" ||
		*i.IamInstanceProfile.Arn != "arn:aws:iam::111122223333:instance-profile/"+profile || tag(i, "aws:ec2:fleet-id") == "" {
		t.Errorf("instance %+v", i)
	}
}

// TestFiltersHaveSoManyValuesTogether is of a call's limit: EC2 counts the values of all its filters.
func TestFiltersHaveSoManyValuesTogether(t *testing.T) {
	w := newWorld(t)
	values := make([]string, 200)
	for i := range values {
		values[i] = fmt.Sprint("claim-", i)
	}
	must(w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{filter("tag:"+fleetTag, values...)}}))(t)
	_, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{
		Filters: []types.Filter{filter("tag:"+fleetTag, values...), filter("instance-state-name", "running")},
	})
	wantCode(t, err, "FilterLimitExceeded")
}

func TestInstancesArePaged(t *testing.T) {
	w := newWorld(t)
	ids := w.launch(fleet(w.template(userData), "on-demand", 12, "m5.large"))
	if n := len(w.describe(&ec2.DescribeInstancesInput{MaxResults: aws.Int32(5)})); n != len(ids) {
		t.Errorf("%d instances in pages, want %d", n, len(ids))
	}
	first := must(w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: aws.Int32(5)}))(t)
	if len(first.Reservations) != 5 || first.NextToken == nil {
		t.Errorf("%d on the first page", len(first.Reservations))
	}
	_, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: aws.Int32(4)})
	wantCode(t, err, "InvalidParameterValue")
	_, err = w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: aws.Int32(5), InstanceIds: ids})
	wantCode(t, err, "InvalidParameterCombination")
	_, err = w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{NextToken: aws.String("!")})
	wantCode(t, err, "InvalidParameterValue")
	_, err = w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{ids[0], "i-0000000000000000f"}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	_, err = w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-x"}})
	wantCode(t, err, "InvalidInstanceID.Malformed")
	if s := w.state(ids[0]).State; s != "pending" {
		t.Errorf("state %s after a refused call", s)
	}
}

func TestInstanceStatusShowsWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	ids := w.launch(fleet(w.template(userData), "on-demand", 3, "m5.large"))
	w.advance(time.Minute)
	must(0, w.Impair(ids[0], true))(t)
	must(0, w.Impair(ids[1], false))(t)
	must(0, w.Schedule(ids[2], awssim.StatusEvent{Code: "instance-retirement", Description: "old", NotBefore: w.Now()}))(t)
	for name, c := range map[string]struct {
		filter types.Filter
		want   string
	}{
		"system":   {filter("system-status.status", "impaired"), ids[0]},
		"instance": {filter("instance-status.status", "impaired"), ids[1]},
		"event":    {filter("event.code", "instance-retirement", "instance-stop"), ids[2]},
	} {
		got := must(w.ec2.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{Filters: []types.Filter{c.filter}}))(t).InstanceStatuses
		if len(got) != 1 || *got[0].InstanceId != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLaunchTemplatesComeAndGo(t *testing.T) {
	w := newWorld(t)
	ctx, name := t.Context(), w.template(userData)
	one := must(w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}}))(t).LaunchTemplates
	must(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{*one[0].LaunchTemplateId}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}))(t)
	tagged := must(w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{filter("tag:a", "b")}}))(t).LaunchTemplates
	if len(tagged) != 1 || *tagged[0].LaunchTemplateName != name {
		t.Errorf("templates %v", tagged)
	}
	v := must(w.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: &name, Versions: []string{"$Latest"}}))(t).LaunchTemplateVersions[0]
	if data := must(base64.StdEncoding.DecodeString(*v.LaunchTemplateData.UserData))(t); string(data) != userData || *v.LaunchTemplateData.BlockDeviceMappings[0].Ebs.VolumeSize != 30 {
		t.Errorf("version %v", v)
	}
	must(w.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &name}))(t)
	_, err := w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}})
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")

	create := func(data types.RequestLaunchTemplateData) error {
		_, err := w.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("new"), LaunchTemplateData: &data})
		return err
	}
	big := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 16385)))
	wantCode(t, create(types.RequestLaunchTemplateData{UserData: &big}), "InvalidUserData.Malformed")
	wantCode(t, create(types.RequestLaunchTemplateData{UserData: aws.String("not base64!")}), "InvalidUserData.Malformed")
	wantCode(t, create(types.RequestLaunchTemplateData{RamDiskId: aws.String("r")}), "UnknownParameter")
}

func TestDryRunsOfRunInstances(t *testing.T) {
	w := newWorld(t)
	in := &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), DryRun: aws.Bool(true), InstanceType: "m5.large", SubnetId: aws.String(subnetB),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String(w.template(userData)), Version: aws.String("$Latest")},
	}
	_, err := w.ec2.RunInstances(t.Context(), in)
	wantCode(t, err, "DryRunOperation")
	in.DryRun = aws.Bool(false)
	_, err = w.ec2.RunInstances(t.Context(), in)
	wantCode(t, err, "UnsupportedOperation")
	in.DryRun, in.SubnetId = aws.Bool(true), aws.String("subnet-0")
	_, err = w.ec2.RunInstances(t.Context(), in)
	wantCode(t, err, "InvalidSubnetID.NotFound")
}

func TestReservationsAndPlacementGroupsAreThoseOfTheConfig(t *testing.T) {
	w := newWorld(t)
	if got := must(w.ec2.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{}))(t); len(got.CapacityReservations) != 0 {
		t.Errorf("reservations %v", got.CapacityReservations)
	}
	w = newWorld(t, func(c *awssim.Config) {
		c.CapacityReservations = []awssim.CapacityReservation{{ID: "cr-1", InstanceType: "m5.large", Zone: "us-east-1a", Total: 2, Available: 1}}
		c.PlacementGroups = []awssim.PlacementGroup{{ID: "pg-1", Name: "close", Strategy: "cluster"}}
	})
	reserved := must(w.ec2.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{Filters: []types.Filter{filter("state", "active")}}))(t).CapacityReservations
	if len(reserved) != 1 || *reserved[0].AvailableInstanceCount != 1 {
		t.Errorf("reservations %v", reserved)
	}
	groups := must(w.ec2.DescribePlacementGroups(t.Context(), &ec2.DescribePlacementGroupsInput{GroupNames: []string{"close"}}))(t).PlacementGroups
	if len(groups) != 1 || groups[0].Strategy != "cluster" {
		t.Errorf("groups %v", groups)
	}
	_, err := w.ec2.DescribePlacementGroups(t.Context(), &ec2.DescribePlacementGroupsInput{GroupNames: []string{"far"}})
	wantCode(t, err, "InvalidPlacementGroup.Unknown")
}
