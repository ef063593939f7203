package nodeclass

import (
	"strings"
	"testing"

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
		EphemeralStorageBytes: 100 << 30,
	}
	if d := cmp.Diff(settings, Settings(got)); d != "" {
		t.Error(d)
	}
}

func TestSpecRefusesWhatItDoesNotCarryOut(t *testing.T) {
	tests := map[string]struct {
		change func(*awsv1.EC2NodeClassSpec)
		names  string
	}{
		"a placement group": {
			func(s *awsv1.EC2NodeClassSpec) { s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "x"} },
			"spec.placementGroupSelector",
		},
		"capacity reservations": {
			func(s *awsv1.EC2NodeClassSpec) {
				s.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
			},
			"spec.capacityReservationSelectorTerms",
		},
		"a family without user data": {
			func(s *awsv1.EC2NodeClassSpec) { s.AMIFamily = ptr(awsv1.FamilyWindows2022) }, "Windows2022",
		},
		"a kubelet setting that it would only pass on": {
			func(s *awsv1.EC2NodeClassSpec) {
				s.Kubelet = &runtime.RawExtension{Raw: []byte(`{"topologyManagerPolicy":"x"}`)}
			},
			"topologyManagerPolicy",
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
