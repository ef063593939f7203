package convert_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

func now() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

func object[T any](t *testing.T, file string) *T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../../deploy/examples/inflate", file))
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := yaml.UnmarshalStrict(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func pool(t *testing.T) *karpenterv1.NodePool {
	t.Helper()
	p := object[karpenterv1.NodePool](t, "nodepool.yaml")
	p.SetDefaults()
	return p
}

func class(t *testing.T) *awsv1.EC2NodeClass {
	t.Helper()
	c := object[awsv1.EC2NodeClass](t, "nodeclass.yaml")
	c.SetDefaults()
	return c
}

func bundled(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func builder(t *testing.T, objects ...runtime.Object) *convert.Builder {
	t.Helper()
	b := &convert.Builder{}
	for _, o := range objects {
		if err := b.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestSnapshotOfTheStory(t *testing.T) {
	t.Parallel()
	c := bundled(t)
	b := builder(t, pool(t), class(t), object[appsv1.Deployment](t, "inflate-5.yaml"))
	built, err := b.Snapshot(convert.World{Catalog: c}, now())
	if err != nil {
		t.Fatal(err)
	}
	s := built.Snapshot
	if b.Len() != 3 || len(s.GetPods()) != 5 || len(s.GetPodClasses()) != 1 || len(s.GetNodePools()) != 1 {
		t.Errorf("%d objects, %d pods, %d classes, %d pools; want 3, 5, 1, 1",
			b.Len(), len(s.GetPods()), len(s.GetPodClasses()), len(s.GetNodePools()))
	}
	nc := s.GetNodeClasses()[0]
	if len(nc.GetZones()) != len(c.Zones) || nc.GetCatalogId() != s.GetCatalogs()[0].GetId() || nc.GetNotReady() != nil || nc.GetHash() == "" {
		t.Errorf("node class %v", nc)
	}
	var arch []string
	for _, i := range nc.GetImages() {
		arch = append(arch, i.GetRequirements()[0].GetValues()...)
	}
	if diff := cmp.Diff([]string{"amd64", "arm64"}, arch); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	want := []string{"list prices of us-east-1, and a subnet in each of its zones", "no DaemonSets, because none is among the files"}
	if diff := cmp.Diff(want, built.Assumed); diff != "" {
		t.Errorf("assumed (-want +got):\n%s", diff)
	}
	if len(s.GetCatalogs()[0].GetInstanceTypes()) < 700 {
		t.Errorf("%d instance types", len(s.GetCatalogs()[0].GetInstanceTypes()))
	}
}

func TestOfferingsArePricedOnceForEachPlace(t *testing.T) {
	t.Parallel()
	built, err := builder(t, class(t)).Snapshot(convert.World{Catalog: bundled(t), Zones: []string{"us-east-1b"}}, now())
	if err != nil {
		t.Fatal(err)
	}
	var got []*clusterpb.Offering
	for _, o := range built.Snapshot.GetOfferings() {
		if o.GetZone() != "us-east-1b" {
			t.Fatalf("%v is not in us-east-1b", o)
		}
		if o.GetInstanceType() == "m5.large" {
			got = append(got, o)
		}
	}
	want := []*clusterpb.Offering{
		{InstanceType: "m5.large", Zone: "us-east-1b", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND, PriceMicroUsdPerHour: 96_000},
		{
			InstanceType: "m5.large", Zone: "us-east-1b", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_SPOT, PriceMicroUsdPerHour: 31_680, PriceEstimated: true,
			ReclaimBand: clusterpb.ReclaimBand_RECLAIM_BAND_BELOW_15,
		},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhatEC2HasNoSpotPriceOfIsNotSold is of a catalogue that has spot prices: no other is estimated.
func TestWhatEC2HasNoSpotPriceOfIsNotSold(t *testing.T) {
	t.Parallel()
	c := bundled(t)
	for i := range c.Types {
		if ty := &c.Types[i]; ty.Name == "m5.large" {
			ty.SpotMicroUSD = map[string]int64{"us-east-1b": 12_345}
		}
	}
	built, err := builder(t, class(t)).Snapshot(convert.World{Catalog: c}, now())
	if err != nil {
		t.Fatal(err)
	}
	var got []*clusterpb.Offering
	for _, o := range built.Snapshot.GetOfferings() {
		if o.GetCapacityType() == clusterpb.CapacityType_CAPACITY_TYPE_SPOT {
			got = append(got, o)
		}
	}
	want := []*clusterpb.Offering{{
		InstanceType: "m5.large", Zone: "us-east-1b", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_SPOT, PriceMicroUsdPerHour: 12_345,
		ReclaimBand: clusterpb.ReclaimBand_RECLAIM_BAND_BELOW_15,
	}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Contains(built.Assumed, "list and spot prices of us-east-1, and a subnet in each of its zones") {
		t.Errorf("assumed %q", built.Assumed)
	}
}

func TestZonesHaveTheIDsOfTheStatus(t *testing.T) {
	t.Parallel()
	c := class(t)
	c.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1a", ZoneID: "use1-az2"}, {ID: "subnet-2", Zone: "us-east-1b"}}
	built, err := builder(t, c).Snapshot(convert.World{Catalog: bundled(t)}, now())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range built.Snapshot.GetOfferings() {
		got[o.GetZone()] = o.GetZoneId()
	}
	if diff := cmp.Diff(map[string]string{"us-east-1a": "use1-az2", "us-east-1b": ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClassesWithEqualSettingsShareACatalog(t *testing.T) {
	t.Parallel()
	same, other := class(t), class(t)
	same.Name, other.Name = "same", "other"
	other.Spec.Kubelet = &runtime.RawExtension{Raw: []byte(`{"maxPods": 20}`)}
	built, err := builder(t, class(t), same, other).Snapshot(convert.World{Catalog: bundled(t)}, now())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, c := range built.Snapshot.GetNodeClasses() {
		ids[c.GetName()] = c.GetCatalogId()
	}
	if len(built.Snapshot.GetCatalogs()) != 2 || ids["default"] != ids["same"] || ids["default"] == ids["other"] {
		t.Errorf("%d catalogs, ids %v", len(built.Snapshot.GetCatalogs()), ids)
	}
	var pods []int64
	for _, c := range built.Snapshot.GetCatalogs() {
		i := slices.IndexFunc(c.GetInstanceTypes(), func(x *clusterpb.InstanceType) bool { return x.GetName() == "m5.large" })
		for _, a := range c.GetInstanceTypes()[i].GetAllocatable() {
			if a.GetResource() == "pods" {
				pods = append(pods, a.GetValue())
			}
		}
	}
	slices.Sort(pods)
	if diff := cmp.Diff([]int64{20, 29}, pods); diff != "" {
		t.Errorf("pods of m5.large (-want +got):\n%s", diff)
	}
}

func TestTheStatusOfALiveClassIsTakenAtItsWord(t *testing.T) {
	t.Parallel()
	c := class(t)
	c.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1c"}, {ID: "subnet-2", Zone: "us-east-1a"}, {ID: "subnet-3", Zone: "us-east-1a"}}
	if err := yaml.Unmarshal([]byte(`[{id: ami-1, name: mine, requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]`), &c.Status.AMIs); err != nil {
		t.Fatal(err)
	}
	built, err := builder(t, c).Snapshot(convert.World{Catalog: bundled(t)}, now())
	if err != nil {
		t.Fatal(err)
	}
	got := built.Snapshot.GetNodeClasses()[0]
	want := &clusterpb.NodeClass{
		Name: "default", CatalogId: got.GetCatalogId(), Hash: got.GetHash(), Zones: []string{"us-east-1a", "us-east-1c"},
		Images: []*clusterpb.MachineImage{{Id: "ami-1", Name: "mine", Requirements: []*clusterpb.Requirement{
			{Key: "kubernetes.io/arch", Operator: clusterpb.Operator_OPERATOR_IN, Values: []string{"arm64"}},
		}}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if built.Assumed[0] != "list prices of us-east-1" {
		t.Errorf("assumed %q", built.Assumed)
	}
}

func TestImagesThatOnlyAWSKnowsAreAssumedAloud(t *testing.T) {
	t.Parallel()
	c, family := class(t), awsv1.FamilyAL2023
	c.Spec.AMIFamily, c.Spec.AMISelectorTerms = &family, []awsv1.AMISelectorTerm{{ID: "ami-0123456789abcdef0"}}
	built, err := builder(t, c).Snapshot(convert.World{Catalog: bundled(t)}, now())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(built.Assumed, "EC2NodeClass default has images for amd64 and arm64") {
		t.Errorf("assumed %q", built.Assumed)
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(p *karpenterv1.NodePool, c *awsv1.EC2NodeClass)
		want   string
	}{
		"a subnet in a zone that there is not": {
			func(_ *karpenterv1.NodePool, c *awsv1.EC2NodeClass) {
				c.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1z"}}
			},
			"EC2NodeClass default: status.subnets: zone us-east-1z",
		},
		"a reservation that is no quantity": {
			func(_ *karpenterv1.NodePool, c *awsv1.EC2NodeClass) {
				c.Spec.Kubelet = &runtime.RawExtension{Raw: []byte(`{"kubeReserved": {"cpu": "much"}}`)}
			},
			"EC2NodeClass default: spec",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c := pool(t), class(t)
			tt.change(p, c)
			_, err := builder(t, p, c).Snapshot(convert.World{Catalog: bundled(t)}, now())
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestPodsThatThePlannerRefusesAreNamed by what makes them.
func TestPodsThatThePlannerRefusesAreNamed(t *testing.T) {
	t.Parallel()
	spread := []corev1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: new(int32), WhenUnsatisfiable: corev1.DoNotSchedule}}
	d := object[appsv1.Deployment](t, "inflate-5.yaml")
	d.Spec.Template.Spec.TopologySpreadConstraints = spread
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "shop"}, Spec: corev1.PodSpec{TopologySpreadConstraints: spread}}
	for want, o := range map[string]runtime.Object{"Deployment inflate": d, "Pod shop/one": pod} {
		_, err := builder(t, pool(t), class(t), o).Snapshot(convert.World{Catalog: bundled(t)}, now())
		if err == nil || err.Error() != want+": topology_spread[0].min_domains 0 is below 1" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestWhatSaysNothingIsLeftOut(t *testing.T) {
	t.Parallel()
	var b convert.Builder
	if err := b.Add(&storagev1.VolumeAttachment{}); err != nil || b.Len() != 0 {
		t.Errorf("%v, and %d objects", err, b.Len())
	}
}

func TestPodsPayForTheirRuntime(t *testing.T) {
	t.Parallel()
	d, name := object[appsv1.Deployment](t, "inflate-5.yaml"), "gvisor"
	d.Spec.Template.Spec.RuntimeClassName = &name
	rc := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Overhead:   &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}},
		Scheduling: &nodev1.Scheduling{
			NodeSelector: map[string]string{"runtime": "gvisor"},
			Tolerations:  []corev1.Toleration{{Key: "gvisor", Operator: corev1.TolerationOpExists}},
		},
	}
	built, err := builder(t, pool(t), class(t), d, rc).Snapshot(convert.World{Catalog: bundled(t)}, now())
	if err != nil {
		t.Fatal(err)
	}
	got := built.Snapshot.GetPodClasses()[0]
	if cpu := got.GetRequests()[0]; cpu.GetResource() != "cpu" || cpu.GetValue() != 300 {
		t.Errorf("requests %v, want 300 millicores", cpu)
	}
	want := []*clusterpb.Label{{Key: "runtime", Value: "gvisor"}, {Key: "type", Value: "karpenter"}}
	if diff := cmp.Diff(want, got.GetNodeSelector(), protocmp.Transform()); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if len(got.GetTolerations()) != 1 || got.GetTolerations()[0].GetKey() != "gvisor" {
		t.Errorf("tolerations %v", got.GetTolerations())
	}
}

// TestWhatKerfLaunchesNothingWithIsPlannedFor: a dry run is for those who don't run Kerf yet.
func TestWhatKerfLaunchesNothingWithIsPlannedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(c *awsv1.EC2NodeClassSpec)
		want   []string
	}{
		"what AWS alone knows": {
			func(c *awsv1.EC2NodeClassSpec) {
				c.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "near"}
			},
			[]string{"EC2NodeClass default: spec.placementGroupSelector: the plan is made as if it were not set"},
		},
		"AL2": {
			func(c *awsv1.EC2NodeClassSpec) { c.AMISelectorTerms[0].Alias = "al2@latest" },
			[]string{"EKS publishes no newer images"},
		},
		"Windows": {
			func(c *awsv1.EC2NodeClassSpec) { c.AMISelectorTerms[0].Alias = "windows2022@latest" },
			[]string{"the licence of Windows comes on top"},
		},
		"a setting that the family can't be given": {
			func(c *awsv1.EC2NodeClassSpec) {
				c.AMISelectorTerms[0].Alias = "bottlerocket@latest"
				c.Kubelet = &runtime.RawExtension{Raw: []byte(`{"podsPerCore": 4}`)}
			},
			[]string{"spec.kubelet.podsPerCore: Bottlerocket has no such setting"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := class(t)
			tt.change(&c.Spec)
			built, err := builder(t, c).Snapshot(convert.World{Catalog: bundled(t)}, now())
			if err != nil {
				t.Fatal(err)
			}
			resolved, err := convert.Resolve(c, nil, convert.World{Catalog: bundled(t)})
			if err != nil {
				t.Fatal(err)
			}
			for _, said := range []string{strings.Join(built.Warnings, "\n"), strings.Join(resolved.Assumed, "\n")} {
				for _, want := range tt.want {
					if !strings.Contains(said, want) {
						t.Errorf("said %q, without %q", said, want)
					}
				}
			}
		})
	}
}
