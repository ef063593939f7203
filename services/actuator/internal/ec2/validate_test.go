package ec2

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestWhichLaunchesRightsAreAskedFor(t *testing.T) {
	image := func(id, arch string) cloud.Image {
		return cloud.Image{ID: id, Requirements: []model.Requirement{{Key: labels.Arch, Operator: model.In, Values: []string{arch}}}}
	}
	class := cloud.Class{
		Images:  []cloud.Image{image("ami-x", "amd64"), image("ami-a", "arm64")},
		Subnets: []cloud.Subnet{{ID: "subnet-2", Zone: "b", FreeAddresses: 9}, {ID: "subnet-1", Zone: "a"}},
	}
	a := &Adapter{types: map[string]catalog.Type{}}
	for name, arch := range map[string]string{
		"m5.large": "amd64", "c5.large": "amd64", "m6g.large": "arm64", "c6g.large": "arm64", "m7g.large": "arm64", "c7g.large": "arm64", "r7g.large": "arm64",
	} {
		a.types[name] = catalog.Type{Name: name, Arch: arch, Zones: []string{"a", "b"}}
	}
	a.types["t4g.nano"] = catalog.Type{Name: "t4g.nano", Arch: "arm64", Zones: []string{"c"}} // where the class has no subnet
	for name, tt := range map[string]struct {
		likely []model.TypeName
		want   map[string][]string
	}{
		"what pools allow, and nothing else": {
			[]model.TypeName{"t4g.nano", "m7g.large", "c7g.large", "r7g.large", "m6g.large"},
			map[string][]string{"ami-a": {"m7g.large subnet-1", "c7g.large subnet-2", "r7g.large subnet-1"}},
		},
		"of each image, where pools allow several": {
			[]model.TypeName{"m7g.large", "m5.large"}, map[string][]string{"ami-a": {"m7g.large subnet-1"}, "ami-x": {"m5.large subnet-1"}},
		},
		"ordinary types without a pool": {
			nil, map[string][]string{
				"ami-x": {"m5.large subnet-1", "c5.large subnet-2"}, "ami-a": {"m6g.large subnet-1", "c6g.large subnet-2", "c7g.large subnet-1"},
			},
		},
	} {
		got := map[string][]string{}
		for _, l := range likelyLaunches(class, a.likelyTypes(cloud.ClassSpec{Likely: tt.likely})) {
			for _, p := range l.Places {
				got[l.Image] = append(got[l.Image], p.InstanceType+" "+p.Subnet)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
