package awssim_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/test/awssim"
)

func TestTemplatesAreRefusedAsByEC2(t *testing.T) {
	type data = types.RequestLaunchTemplateData
	volume := func(e types.LaunchTemplateEbsBlockDeviceRequest) func(*data) {
		return func(d *data) {
			d.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"), Ebs: &e}}
		}
	}
	hops := func(n int32) func(*data) {
		return func(d *data) {
			d.MetadataOptions = &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpPutResponseHopLimit: aws.Int32(n)}
		}
	}
	type ebs = types.LaunchTemplateEbsBlockDeviceRequest
	cases := map[string]struct {
		change func(*data)
		want   string
	}{
		"as it should be":          {volume(ebs{VolumeSize: aws.Int32(20), VolumeType: "gp3", Iops: aws.Int32(4000), Throughput: aws.Int32(500)}), ""},
		"64 hops":                  {hops(64), ""},
		"no hop":                   {hops(0), "InvalidParameterValue"},
		"65 hops":                  {hops(65), "InvalidParameterValue"},
		"a volume type of no kind": {volume(ebs{VolumeType: "gp9"}), "InvalidParameterValue"},
		"gp3 of one IOPS":          {volume(ebs{VolumeType: "gp3", Iops: aws.Int32(1)}), "InvalidParameterValue"},
		"gp3 of great throughput":  {volume(ebs{VolumeType: "gp3", Throughput: aws.Int32(2001)}), "InvalidParameterValue"},
		"gp2 with IOPS":            {volume(ebs{VolumeType: "gp2", Iops: aws.Int32(3000)}), "InvalidParameterCombination"},
		"io2 without IOPS":         {volume(ebs{VolumeType: "io2"}), "MissingParameter"},
		"a small st1":              {volume(ebs{VolumeType: "st1", VolumeSize: aws.Int32(20)}), "InvalidParameterValue"},
		"one device twice": {func(d *data) {
			volume(ebs{VolumeType: "gp3"})(d)
			d.BlockDeviceMappings = append(d.BlockDeviceMappings, d.BlockDeviceMappings[0])
		}, "InvalidBlockDeviceMapping"},
		"groups beside interfaces": {func(d *data) {
			d.SecurityGroupIds = []string{"sg-0123456789abcdef0"}
			d.NetworkInterfaces = []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}}
		}, "InvalidParameterCombination"},
	}
	w := newWorld(t)
	for name, c := range cases {
		d := data{ImageId: aws.String(w.image())}
		c.change(&d)
		_, err := w.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("strict"), LaunchTemplateData: &d})
		if got := code(err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if err == nil {
			must(w.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("strict")}))(t)
		}
	}
}

func TestFleetsHaveLimits(t *testing.T) {
	w := newWorld(t)
	in := fleet(w.template(userData), "on-demand", 1, "m5.large")
	config := in.LaunchTemplateConfigs[0]
	for len(in.LaunchTemplateConfigs) <= 50 {
		in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, config)
	}
	_, err := w.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "InvalidParameterValue")

	for len(config.Overrides) <= 300 {
		config.Overrides = append(config.Overrides, config.Overrides[0])
	}
	in.LaunchTemplateConfigs = []types.FleetLaunchTemplateConfigRequest{config}
	_, err = w.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "InvalidParameterValue")
}

func TestTagsHoldNoControlCharacters(t *testing.T) {
	w := newWorld(t)
	in := fleet(w.template(userData), "on-demand", 1, "m5.large")
	in.TagSpecifications[0].Tags[0].Value = aws.String("a\nb")
	_, err := w.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "InvalidParameterValue")
}

func TestTemplatesAreNotSeenByLaunchesAtOnce(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) { c.TemplateLag = 2 * time.Second })
	in := fleet(w.template(userData), "on-demand", 1, "m5.large")
	_, err := w.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
	w.advance(2 * time.Second)
	w.launch(in)
}
