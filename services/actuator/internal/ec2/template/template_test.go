package template

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

func plain() Launch {
	return Launch{
		Spec: cloud.ClassSpec{
			AMIFamily: "AL2023",
			Metadata:  cloud.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
		},
		Class:  cloud.Class{InstanceProfile: "nodes", SecurityGroups: []cloud.SecurityGroup{{ID: "sg-2"}, {ID: "sg-1"}}},
		Region: "us-east-1", ImageID: "ami-1", UserData: "eA==",
	}
}

func data(t *testing.T, change func(*Launch)) *types.RequestLaunchTemplateData {
	t.Helper()
	l := plain()
	change(&l)
	out, err := Data(l)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// words puts interfaces as card/device with what else is said of each.
func words(all []networkInterface) string {
	out := make([]string, 0, len(all))
	for _, n := range all {
		text := fmt.Sprintf("%d/%d", aws.ToInt32(n.NetworkCardIndex), aws.ToInt32(n.DeviceIndex))
		say := func(set bool, format string, args ...any) {
			if set {
				text += " " + fmt.Sprintf(format, args...)
			}
		}
		say(n.InterfaceType != nil, "%s", aws.ToString(n.InterfaceType))
		if n.AssociatePublicIpAddress != nil {
			say(true, "%s", map[bool]string{true: "public", false: "private"}[*n.AssociatePublicIpAddress])
		}
		say(n.Ipv4PrefixCount != nil, "v4prefixes=%d", aws.ToInt32(n.Ipv4PrefixCount))
		say(n.Ipv6PrefixCount != nil, "v6prefixes=%d", aws.ToInt32(n.Ipv6PrefixCount))
		say(n.PrimaryIpv6 != nil, "primaryIPv6=%v addresses=%d", aws.ToBool(n.PrimaryIpv6), aws.ToInt32(n.Ipv6AddressCount))
		if c := n.ConnectionTrackingSpecification; c != nil {
			say(true, "tracking=%d,%d,%d", aws.ToInt32(c.TcpEstablishedTimeout), aws.ToInt32(c.UdpStreamTimeout), aws.ToInt32(c.UdpTimeout))
		}
		say(!cmp.Equal(n.Groups, []string{"sg-1", "sg-2"}), "groups=%v", n.Groups)
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestInterfaces(t *testing.T) {
	listed := []cloud.NetworkInterface{{}, {Device: 1, EFAOnly: true}, {Card: 1, EFAOnly: true}, {Card: 1, Device: 1}}
	tests := map[string]struct {
		change func(*Launch)
		want   string
	}{
		"one, as the subnet has it":    {func(*Launch) {}, "0/0"},
		"with a public address":        {func(l *Launch) { l.Spec.AssociatePublicIP = new(true) }, "0/0 public"},
		"without one":                  {func(l *Launch) { l.Spec.AssociatePublicIP = new(bool) }, "0/0 private"},
		"with prefixes":                {func(l *Launch) { l.Spec.IPPrefixCount = new(int32(3)) }, "0/0 v4prefixes=3"},
		"an IPv6 node has an address":  {func(l *Launch) { l.IPv6 = true }, "0/0 primaryIPv6=true addresses=1"},
		"an IPv6 node's prefixes":      {func(l *Launch) { l.IPv6, l.Spec.IPPrefixCount = true, new(int32(2)) }, "0/0 v6prefixes=2 primaryIPv6=true addresses=1"},
		"adapters on each of 4 cards":  {func(l *Launch) { l.Adapters.Count = 4 }, "0/0 efa, 1/1 efa, 2/1 efa, 3/1 efa"},
		"one adapter":                  {func(l *Launch) { l.Adapters.Count, l.Spec.AssociatePublicIP = 1, new(bool) }, "0/0 efa private"},
		"the first card takes none":    {func(l *Launch) { l.Adapters = Adapters{First: 1, Count: 2} }, "0/0, 1/1 efa, 2/1 efa"},
		"listed ones are as they are":  {func(l *Launch) { l.Spec.NetworkInterfaces = listed }, "0/0, 0/1 efa-only, 1/0 efa-only, 1/1"},
		"and no pod changes them":      {func(l *Launch) { l.Spec.NetworkInterfaces, l.Adapters.Count = listed[:1], 4 }, "0/0"},
		"private beside others is mum": {func(l *Launch) { l.Spec.NetworkInterfaces, l.Spec.AssociatePublicIP = listed[:2], new(bool) }, "0/0, 0/1 efa-only"},
		"addresses go to the node's own": {
			func(l *Launch) { l.Spec.NetworkInterfaces, l.IPv6 = listed, true },
			"0/0 primaryIPv6=true addresses=1, 0/1 efa-only, 1/0 efa-only, 1/1",
		},
		"EFA alone tracks no connections": {
			func(l *Launch) {
				l.Spec.NetworkInterfaces = listed
				l.Spec.ConnectionTracking = cloud.ConnectionTracking{TCPEstablished: 10 * time.Minute, UDP: 30 * time.Second}
			},
			"0/0 tracking=600,0,30, 0/1 efa-only, 1/0 efa-only, 1/1 tracking=600,0,30",
		},
	}
	for name, tt := range tests {
		if got := words(data(t, tt.change).NetworkInterfaces); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for name, change := range map[string]func(*Launch){
		"adapters": func(l *Launch) { l.Adapters.Count = 2 }, "listed": func(l *Launch) { l.Spec.NetworkInterfaces = listed },
	} {
		l := plain()
		l.Spec.AssociatePublicIP = new(true)
		change(&l)
		if _, err := Data(l); !errors.Is(err, cloud.ErrInvalid) || !strings.Contains(err.Error(), "spec.associatePublicIPAddress") {
			t.Errorf("%s beside a public address: error %v, want that the field can't be", name, err)
		}
	}
}

func TestBlockDevices(t *testing.T) {
	disk := func(name string, size int32) types.LaunchTemplateBlockDeviceMappingRequest {
		return types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: aws.String(name), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
			VolumeSize: aws.Int32(size), VolumeType: "gp3", Encrypted: aws.Bool(true),
		}}
	}
	type mappings = []types.LaunchTemplateBlockDeviceMappingRequest
	for family, want := range map[string]mappings{
		"AL2": {disk("/dev/xvda", 20)}, "AL2023": {disk("/dev/xvda", 20)}, "Custom": nil, "Windows2022": {disk("/dev/sda1", 50)},
		"Bottlerocket": {disk("/dev/xvda", 4), disk("/dev/xvdb", 20)},
	} {
		got := data(t, func(l *Launch) { l.Spec.AMIFamily = family }).BlockDeviceMappings
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(types.LaunchTemplateBlockDeviceMappingRequest{}, types.LaunchTemplateEbsBlockDeviceRequest{})); d != "" {
			t.Errorf("%s: %s", family, d)
		}
	}
	got := data(t, func(l *Launch) {
		l.Spec.BlockDevices = []cloud.BlockDevice{{
			DeviceName: "/dev/xvdz", VolumeBytes: 100<<30 + 1, VolumeType: "io2", IOPS: 4000, Throughput: 250, InitializationRate: 200,
			Encrypted: new(true), KMSKeyID: "key", SnapshotID: "snap-1", DeleteOnTermination: new(bool),
		}}
	}).BlockDeviceMappings
	want := mappings{{DeviceName: aws.String("/dev/xvdz"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
		VolumeSize: aws.Int32(101), VolumeType: "io2", Iops: aws.Int32(4000), Throughput: aws.Int32(250), VolumeInitializationRate: aws.Int32(200),
		Encrypted: aws.Bool(true), KmsKeyId: aws.String("key"), SnapshotId: aws.String("snap-1"), DeleteOnTermination: aws.Bool(false),
	}}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.LaunchTemplateBlockDeviceMappingRequest{}, types.LaunchTemplateEbsBlockDeviceRequest{})); d != "" {
		t.Error(d)
	}
}

func TestMetadataOptions(t *testing.T) {
	got := data(t, func(*Launch) {}).MetadataOptions
	if got.HttpTokens != "required" || aws.ToInt32(got.HttpPutResponseHopLimit) != 1 || got.InstanceMetadataTags != "disabled" ||
		got.HttpEndpoint != "enabled" || got.HttpProtocolIpv6 != "disabled" {
		t.Errorf("%+v", got)
	}
	for region, want := range map[string]types.LaunchTemplateInstanceMetadataProtocolIpv6{"us-iso-east-1": "", "us-isof-south-1": "", "us-gov-west-1": "enabled"} {
		got := data(t, func(l *Launch) { l.Region, l.Spec.Metadata.HTTPProtocolIPv6 = region, "enabled" }).MetadataOptions
		if got.HttpProtocolIpv6 != want {
			t.Errorf("%s: the endpoint for IPv6 is %q, want %q", region, got.HttpProtocolIpv6, want)
		}
	}
}

func TestOptionsThatAreNotAskedForAreLeftOut(t *testing.T) {
	got := data(t, func(*Launch) {})
	if got.CpuOptions != nil || got.EnclaveOptions != nil || got.Placement != nil || got.InstanceMarketOptions != nil || aws.ToBool(got.Monitoring.Enabled) {
		t.Errorf("%+v", got)
	}
	got = data(t, func(l *Launch) {
		l.Spec.NestedVirtualization, l.Spec.DetailedMonitoring = "enabled", true
		l.Class.PlacementGroup, l.Enclaves = cloud.PlacementGroup{ID: "pg-1"}, true
	})
	if got.CpuOptions.NestedVirtualization != "enabled" || aws.ToString(got.Placement.GroupId) != "pg-1" || !aws.ToBool(got.EnclaveOptions.Enabled) || !aws.ToBool(got.Monitoring.Enabled) {
		t.Errorf("%+v", got)
	}
}

func TestOnlyPlannedLaunchesGoIntoReservations(t *testing.T) {
	for id, want := range map[string]string{
		"": "none", "cr-1": "capacity-reservations-only cr-1", "cr-2": "capacity-reservations-only cr-2 capacity-block",
		"cr-3": "capacity-reservations-only cr-3 interruptible-capacity-reservation",
	} {
		d := data(t, func(l *Launch) {
			l.ReservationID = id
			l.Class.Reservations = []cloud.Reservation{{ID: "cr-1"}, {ID: "cr-2", Block: true}, {ID: "cr-3", Interruptible: true}}
		})
		got := string(d.CapacityReservationSpecification.CapacityReservationPreference)
		if target := d.CapacityReservationSpecification.CapacityReservationTarget; target != nil {
			got += " " + aws.ToString(target.CapacityReservationId)
		}
		if m := d.InstanceMarketOptions; m != nil {
			got += " " + string(m.MarketType)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}
