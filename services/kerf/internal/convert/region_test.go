package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

// TestObjectsOfAnotherRegion looks at the zones in which something is sold, and whether that was said to be assumed.
func TestObjectsOfAnotherRegion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		labels  [][2]string
		subnets []string
		flag    []string
		want    string // zones of the catalogue
		assumed string
	}{
		"none is named":                {nil, nil, nil, "us-east-1a us-east-1b us-east-1c us-east-1d us-east-1e us-east-1f", ""},
		"the catalogue's own":          {[][2]string{{"topology.kubernetes.io/zone", "us-east-1a"}, {"topology.kubernetes.io/zone", "us-west-2a"}}, nil, nil, "us-east-1a us-east-1b us-east-1c us-east-1d us-east-1e us-east-1f", ""},
		"a zone":                       {[][2]string{{"topology.kubernetes.io/zone", "us-west-2d"}}, nil, nil, "us-west-2a us-west-2b us-west-2c us-west-2d", "us-west-2"},
		"a zone by its old label":      {[][2]string{{"failure-domain.beta.kubernetes.io/zone", "eu-central-1a"}}, nil, nil, "eu-central-1a eu-central-1b eu-central-1c", "eu-central-1"},
		"a region":                     {[][2]string{{"topology.kubernetes.io/region", "ap-southeast-2"}}, nil, nil, "ap-southeast-2a ap-southeast-2b ap-southeast-2c", "ap-southeast-2"},
		"a local zone":                 {[][2]string{{"topology.kubernetes.io/zone", "us-west-2-lax-1a"}}, nil, nil, "us-west-2-lax-1a us-west-2a us-west-2b us-west-2c", "us-west-2"},
		"a region of the government's": {[][2]string{{"topology.kubernetes.io/region", "us-gov-west-1"}}, nil, nil, "us-gov-west-1a us-gov-west-1b us-gov-west-1c", "us-gov-west-1"},
		"subnets":                      {nil, []string{"eu-west-1a"}, nil, "eu-west-1a eu-west-1b eu-west-1c", "eu-west-1"},
		"a flag":                       {nil, nil, []string{"sa-east-1c"}, "sa-east-1a sa-east-1b sa-east-1c", "sa-east-1"},
		"a slip":                       {[][2]string{{"topology.kubernetes.io/zone", "us-eats-1a"}}, nil, nil, "us-east-1a us-east-1b us-east-1c us-east-1d us-east-1e us-east-1f", ""},
		"another label":                {[][2]string{{"team", "us-west-2a"}}, nil, nil, "us-east-1a us-east-1b us-east-1c us-east-1d us-east-1e us-east-1f", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p convert.Places
			for _, l := range tt.labels {
				p.Label(l[0], l[1])
			}
			c := &awsv1.EC2NodeClass{}
			for _, z := range tt.subnets {
				c.Status.Subnets = append(c.Status.Subnets, awsv1.Subnet{Zone: z})
			}
			p.Classes([]*awsv1.EC2NodeClass{c})
			w, assumed := convert.World{Catalog: bundled(t), Zones: tt.flag}.In(p)
			var zones []string
			for _, z := range w.Catalog.Zones {
				zones = append(zones, z.Name)
			}
			if diff := cmp.Diff(tt.want, strings.Join(zones, " ")); diff != "" {
				t.Errorf("zones (-want +got):\n%s", diff)
			}
			if (assumed == "") != (tt.assumed == "") || !strings.Contains(assumed, "those of "+tt.assumed) && tt.assumed != "" {
				t.Errorf("assumed %q", assumed)
			}
			if err := w.CheckZones(); err != nil {
				t.Error(err)
			}
		})
	}
	var p convert.Places
	p.Label("topology.kubernetes.io/zone", "eu-central-1-ham-1a")
	w, assumed := convert.World{Catalog: bundled(t), Bundled: true}.In(p)
	m5, _ := w.Catalog.Type("m5.large")
	if diff := cmp.Diff([]string{"eu-central-1-ham-1a", "eu-central-1a", "eu-central-1b", "eu-central-1c"}, m5.Zones); diff != "" {
		t.Errorf("zones of m5.large in Frankfurt (-want +got):\n%s", diff)
	}
	if m5.OnDemandMicroUSD != 115_000 || !strings.Contains(assumed, "eu-central-1-ham-1a") {
		t.Errorf("m5.large costs %d in Frankfurt; assumed %q", m5.OnDemandMicroUSD, assumed)
	}
	if err := (convert.World{Catalog: bundled(t), Zones: []string{"us-east-1z"}}).CheckZones(); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("got %v", err)
	}
}

// TestWhereVolumesLieIsTheRegionOfObjectsThatNameNone: their pods can run nowhere else.
func TestWhereVolumesLieIsTheRegionOfObjectsThatNameNone(t *testing.T) {
	t.Parallel()
	in := func(zone string) []*clusterpb.VolumeTopology {
		return []*clusterpb.VolumeTopology{{Terms: []*clusterpb.NodeAffinityTerm{{Requirements: []*clusterpb.Requirement{
			{Key: "topology.kubernetes.io/zone", Operator: clusterpb.Operator_OPERATOR_IN, Values: []string{zone}},
		}}}}}
	}
	for name, tt := range map[string]struct {
		s    *clusterpb.Snapshot
		flag []string
		want string
	}{
		"only a volume": {&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{{Volumes: in("eu-west-1b")}}}, nil, "eu-west-1"},
		"a flag too":    {&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{{Volumes: in("eu-west-1b")}}}, []string{"us-west-2a"}, "us-west-2"},
		"the pods too": {&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{
			{Volumes: in("eu-west-1b")},
			{Volumes: in("eu-west-1c")},
			{NodeSelector: []*clusterpb.Label{{Key: "topology.kubernetes.io/region", Value: "us-west-2"}}},
		}}, nil, "us-west-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p convert.Places
			p.Snapshot(tt.s)
			if w, _ := (convert.World{Catalog: bundled(t), Zones: tt.flag, Bundled: true}).In(p); w.Catalog.Region != tt.want {
				t.Errorf("the region is %s, want %s", w.Catalog.Region, tt.want)
			}
		})
	}
}
