package nodeclass

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

func object(change func(*awsv1.EC2NodeClassSpec)) *awsv1.EC2NodeClass {
	o := &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: awsv1.EC2NodeClassSpec{
			Role:                       "nodes",
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: map[string]string{"b": "2", "a": "1"}}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}},
		},
	}
	change(&o.Spec)
	o.SetDefaults()
	return o
}

func ptr[T any](v T) *T { return new(v) }

func TestSpec(t *testing.T) {
	got, err := Spec(object(func(s *awsv1.EC2NodeClassSpec) {
		s.Kubelet = &runtime.RawExtension{Raw: []byte(`{"maxPods":40,"kubeReserved":{"cpu":"200m"}}`)}
		s.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{
			DeviceName: new("/dev/xvda"), EBS: &awsv1.BlockDevice{VolumeSize: ptr(awsv1.VolumeSize("100Gi"))},
		}}
	}), "h")
	if err != nil {
		t.Fatal(err)
	}
	want := cloud.ClassSpec{
		Name: "default", Hash: "h", Role: "nodes", AMIFamily: "AL2023", Tags: model.Labels{},
		SubnetTerms:        []cloud.SelectorTerm{{Tags: model.Labels{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}}},
		SecurityGroupTerms: []cloud.SelectorTerm{{ID: "sg-1", Tags: model.Labels{}}},
		ImageTerms:         []cloud.ImageTerm{{Alias: "al2023@latest", Tags: model.Labels{}}},
		Metadata:           cloud.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
		Kubelet:            cloud.Kubelet{MaxPods: new(int64(40)), KubeReserved: map[string]string{"cpu": "200m"}},
		BlockDevices:       []cloud.BlockDevice{{DeviceName: "/dev/xvda", VolumeType: "gp3", VolumeBytes: 100 << 30}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	settings := instancetype.Settings{
		AMIFamily: "AL2023", MaxPods: new(int64(40)), KubeReserved: map[string]string{"cpu": "200m"},
		EphemeralStorageBytes: 100 << 30, BlockDevices: 1,
	}
	if d := cmp.Diff(settings, Settings(got)); d != "" {
		t.Error(d)
	}
}

func TestEachFieldIsRead(t *testing.T) {
	o := object(func(s *awsv1.EC2NodeClassSpec) {
		s.Kubelet = &runtime.RawExtension{Raw: []byte(`{"topologyManagerPolicy":"none","cpuManagerPolicy":"static"}`)}
		s.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{
			DeviceName: new("/dev/xvda"), EBS: &awsv1.BlockDevice{SnapshotID: new("snap-1"), VolumeInitializationRate: new(int32(200))},
		}}
		s.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{
			Tags: map[string]string{"a": "*"}, OwnerID: "123456789012", InstanceMatchCriteria: "targeted",
		}}
		s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "near"}
		s.IPPrefixCount = new(int32(2))
		s.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: "efa-only"}}
		s.ConnectionTracking = &awsv1.ConnectionTracking{TCPEstablishedTimeout: new(int32(600)), UDPTimeout: new(int32(30))}
		s.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")}
		s.Context = new("c")
	})
	got, errs := read(o, "h")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := cloud.ClassSpec{
		Kubelet: cloud.Kubelet{Extra: []cloud.KubeletField{
			{Name: "cpuManagerPolicy", JSON: `"static"`}, {Name: "topologyManagerPolicy", JSON: `"none"`},
		}},
		BlockDevices:  []cloud.BlockDevice{{DeviceName: "/dev/xvda", VolumeType: "gp3", SnapshotID: "snap-1", InitializationRate: 200}},
		Reservations:  []cloud.ReservationTerm{{Tags: model.Labels{{Key: "a", Value: "*"}}, OwnerID: "123456789012", MatchesLaunches: "targeted"}},
		IPPrefixCount: new(int32(2)), PlacementGroup: cloud.PlacementGroupTerm{Name: "near"},
		NetworkInterfaces:    []cloud.NetworkInterface{{}, {Card: 1, Device: 1, EFAOnly: true}},
		ConnectionTracking:   cloud.ConnectionTracking{TCPEstablished: 10 * time.Minute, UDP: 30 * time.Second},
		NestedVirtualization: "enabled", Context: "c",
	}
	if n := Settings(got).Prefixes; n != 2 {
		t.Errorf("types are to take %d prefixes, want 2", n)
	}
	bare, _ := read(object(func(*awsv1.EC2NodeClassSpec) {}), "h")
	want.Name, want.Hash, want.Role, want.AMIFamily, want.Tags = bare.Name, bare.Hash, bare.Role, bare.AMIFamily, bare.Tags
	want.SubnetTerms, want.SecurityGroupTerms, want.ImageTerms, want.Metadata = bare.SubnetTerms, bare.SecurityGroupTerms, bare.ImageTerms, bare.Metadata
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPlansKnowWhichTypesRunVirtualMachines(t *testing.T) {
	o := object(func(s *awsv1.EC2NodeClassSpec) {
		s.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")}
	})
	if s, notes, err := ForPlan(o, "h"); err != nil || len(notes) > 0 || !s.NestedVirtualization {
		t.Errorf("settings %+v, notes %q, %v; want that only types that can are planned with", s, notes, err)
	}
}

func TestPlansKnowThatNodesGetAPublicAddress(t *testing.T) {
	for public, want := range map[*bool]bool{nil: false, new(false): false, new(true): true} {
		o := object(func(s *awsv1.EC2NodeClassSpec) { s.AssociatePublicIPAddress = public })
		if s, _, err := ForPlan(o, "h"); err != nil || s.PublicAddress != want {
			t.Errorf("settings %+v, %v; want a public address: %v", s, err, want)
		}
	}
}

func TestPlansSayWhichUserDataNoLaunchTakes(t *testing.T) {
	for name, tc := range map[string]struct{ alias, text, says string }{
		"settings of Bottlerocket":          {"bottlerocket@latest", "[settings.kubernetes]\ncluster-domain = 'x'\n", ""},
		"a script for Bottlerocket":         {"bottlerocket@latest", "#!/bin/bash\necho hello\n", "spec.userData"},
		"a script for AL2023":               {"al2023@latest", "#!/bin/bash\necho hello\n", ""},
		"more than EC2 takes":               {"al2023@latest", "#!/bin/bash\n" + strings.Repeat("#", 17_000), "user data is too long"},
		"none, and what Kerf writes itself": {"al2023@latest", "", ""},
	} {
		_, notes, err := ForPlan(object(func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms[0].Alias, s.UserData = tc.alias, &tc.text
		}), "h")
		got := strings.Join(notes, "; ")
		if err != nil || (tc.says == "") != (got == "") || !strings.HasPrefix(got, tc.says) {
			t.Errorf("%s: noted %q, %v; want %q", name, got, err, tc.says)
		}
	}
}

func TestSpecRefusesWhatItDoesNotCarryOut(t *testing.T) {
	tests := map[string]struct {
		change func(*awsv1.EC2NodeClassSpec)
		names  string
	}{
		"a kubelet setting that the family can't be given": {
			func(s *awsv1.EC2NodeClassSpec) {
				s.AMISelectorTerms[0].Alias = "bottlerocket@latest"
				s.Kubelet = &runtime.RawExtension{Raw: []byte(`{"podsPerCore":4}`)}
			},
			"spec.kubelet.podsPerCore",
		},
		"a kubelet setting of the wrong kind": {
			func(s *awsv1.EC2NodeClassSpec) { s.Kubelet = &runtime.RawExtension{Raw: []byte(`{"maxPods":"many"}`)} },
			"spec.kubelet.maxPods",
		},
		"a disk without a volume": {
			func(s *awsv1.EC2NodeClassSpec) {
				s.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: new("/dev/xvda")}}
			},
			"spec.blockDeviceMappings",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Spec(object(tt.change), "h")
			if err == nil || !strings.Contains(err.Error(), tt.names) || !strings.Contains(err.Error(), "EC2NodeClass default") {
				t.Errorf("error %v: want one that names the object and %s", err, tt.names)
			}
		})
	}
}

func TestWhichDiskIsTheNodesEphemeralStorage(t *testing.T) {
	disk := func(name, size string, root bool) awsv1.BlockDeviceMapping {
		return awsv1.BlockDeviceMapping{DeviceName: &name, RootVolume: root, EBS: &awsv1.BlockDevice{VolumeSize: ptr(awsv1.VolumeSize(size))}}
	}
	three := func(root bool) []awsv1.BlockDeviceMapping {
		return []awsv1.BlockDeviceMapping{disk("/dev/xvda", "10Gi", false), disk("/dev/xvdb", "20Gi", root), disk("/dev/sda1", "30Gi", false)}
	}
	for family, want := range map[awsv1.AMIFamily]int64{
		awsv1.FamilyAL2023: 10, awsv1.FamilyBottlerocket: 20, awsv1.FamilyWindows2022: 30, awsv1.FamilyCustom: 30,
	} {
		for _, marked := range []bool{false, true} {
			s, err := Spec(object(func(s *awsv1.EC2NodeClassSpec) {
				s.AMIFamily, s.AMISelectorTerms = &family, []awsv1.AMISelectorTerm{{ID: "ami-1"}}
				s.BlockDeviceMappings = three(marked)
			}), "h")
			if err != nil {
				t.Fatal(err)
			}
			if marked {
				want = 20
			}
			if got := Settings(s).EphemeralStorageBytes; got != want<<30 {
				t.Errorf("%s, marked %v: %d GiB, want %d", family, marked, got>>30, want)
			}
		}
	}
}
