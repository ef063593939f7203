package ec2

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
	"github.com/kerf-dev/kerf/services/core/model"
)

// described are some of EC2's own descriptions of instance types.
func described(t *testing.T) []types.InstanceTypeInfo {
	t.Helper()
	text, err := os.ReadFile("testdata/instance_types.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []types.InstanceTypeInfo
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	device := func(maker, name string, count int32) *types.GpuInfo {
		return &types.GpuInfo{Gpus: []types.GpuDeviceInfo{{Name: aws.String(name), Manufacturer: aws.String(maker), Count: aws.Int32(count)}}}
	}
	return append(
		out,
		types.InstanceTypeInfo{InstanceType: "g4ad.16xlarge", GpuInfo: device("AMD", "Radeon Pro V520", 4)},
		types.InstanceTypeInfo{InstanceType: "dl1.24xlarge", GpuInfo: device("Habana", "Gaudi HL-205", 8)},
		types.InstanceTypeInfo{
			InstanceType:  "r4.8xlarge",
			ProcessorInfo: &types.ProcessorInfo{SupportedArchitectures: []types.ArchitectureType{types.ArchitectureTypeX8664}},
			EbsInfo: &types.EbsInfo{
				EbsOptimizedSupport: types.EbsOptimizedSupportDefault,
				EbsOptimizedInfo:    &types.EbsOptimizedInfo{MaximumBandwidthInMbps: aws.Int32(7000)},
			},
			NetworkInfo: &types.NetworkInfo{
				NetworkPerformance: aws.String("10 Gigabit"), NetworkCards: []types.NetworkCardInfo{{BaselineBandwidthInGbps: aws.Float64(12)}},
			},
		},
	)
}

func TestWhichTypesGoIntoNoClusterPlacementGroup(t *testing.T) {
	for strategies, want := range map[string]bool{"cluster partition spread": false, "partition spread": true, "": false} { // nothing: not known
		d := types.InstanceTypeInfo{InstanceType: "m7i-flex.large", PlacementGroupInfo: &types.PlacementGroupInfo{}}
		for s := range strings.FieldsSeq(strategies) {
			d.PlacementGroupInfo.SupportedStrategies = append(d.PlacementGroupInfo.SupportedStrategies, types.PlacementGroupStrategy(s))
		}
		if got := instanceType(&d).NoClusterPlacement; got != want {
			t.Errorf("%q: %v, want %v", strategies, got, want)
		}
	}
}

func TestWhichTypesRunEnclaves(t *testing.T) {
	for said, want := range map[types.NitroEnclavesSupport]bool{"supported": true, "unsupported": false, "": false} {
		got := instanceType(&types.InstanceTypeInfo{InstanceType: "m5.xlarge", NitroEnclavesSupport: said}).NitroEnclaves
		if got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
}

func TestDevicesOfTypesAreOfferedToPods(t *testing.T) {
	want := map[string]map[model.Resource]int64{
		"g5.12xlarge":   {"nvidia.com/gpu": 4},
		"g6e.48xlarge":  {"nvidia.com/gpu": 8},
		"p5.48xlarge":   {"nvidia.com/gpu": 8},
		"g6f.large":     {}, // a share of a GPU counts as none
		"g4ad.16xlarge": {"amd.com/gpu": 4},
		"dl1.24xlarge":  {"habana.ai/gaudi": 8},
		"inf1.6xlarge":  {"aws.amazon.com/neuron": 4, "aws.amazon.com/neurondevice": 4, "aws.amazon.com/neuroncore": 16},
		"inf2.24xlarge": {"aws.amazon.com/neuron": 6, "aws.amazon.com/neurondevice": 6, "aws.amazon.com/neuroncore": 12},
		"trn1.32xlarge": {"aws.amazon.com/neuron": 16, "aws.amazon.com/neurondevice": 16, "aws.amazon.com/neuroncore": 32},
	}
	devices := []model.Resource{
		"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "aws.amazon.com/neuroncore",
	}
	for _, d := range described(t) {
		shape, err := instancetype.Resolve(instanceType(&d), instancetype.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[model.Resource]int64{}
		for _, r := range devices {
			if n, ok := shape.Capacity.Get(r); ok {
				got[r] = n
			}
		}
		w := want[string(d.InstanceType)]
		if w == nil {
			w = map[model.Resource]int64{}
		}
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("%s: %s", d.InstanceType, diff)
		}
	}
}

// A type's makers are words of the catalogue, however EC2 spells them.
func TestMakersAreWrittenAsTheCatalogueWritesThem(t *testing.T) {
	want := map[string][]catalog.GPU{
		"g5.12xlarge":   {{Name: "A10G", Manufacturer: "nvidia", Count: 4, MemoryMiB: 22_888}},
		"dl2q.24xlarge": {{Name: "Qualcomm AI100", Manufacturer: "qualcomm", Count: 8, MemoryMiB: 16_000}},
		"inf2.24xlarge": {{Name: "Inferentia2", Manufacturer: "aws", Count: 6, MemoryMiB: 32_768}},
		"trn1.32xlarge": {{Name: "Trainium", Manufacturer: "aws", Count: 16, MemoryMiB: 32_768}},
	}
	got := map[string][]catalog.GPU{}
	for _, d := range described(t) {
		if c := instanceType(&d); want[c.Name] != nil {
			got[c.Name] = append(c.GPUs, c.Accelerators...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEachPartitionHasItsOwnPriceList(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "us-east-1", "us-west-2": "us-east-1", "ca-central-1": "us-east-1", "me-south-1": "us-east-1",
		"ap-southeast-2": "ap-south-1", "eu-west-1": "eu-central-1", "cn-north-1": "cn-northwest-1",
		"us-gov-west-1": "", "us-iso-east-1": "", "us-isob-east-1": "", "eu-isoe-west-1": "", "eusc-de-east-1": "",
	} {
		if got := pricingRegion(region); got != want {
			t.Errorf("%s asks %q, want %q", region, got, want)
		}
	}
	a := &Market{region: "us-gov-west-1", pricing: priceList(aws.Config{Region: "us-gov-west-1"}, "")}
	if prices, err := a.OnDemandPrices(t.Context()); prices == nil || len(prices) > 0 || err != nil {
		t.Errorf("%v, %v; want that there are none, which is no error", prices, err)
	}
	if priceList(aws.Config{Region: "us-gov-west-1"}, "http://localhost") == nil {
		t.Error("an endpoint of one's own is not asked for prices")
	}
}

// Where no endpoint of the price list can be reached, none is asked.
func TestWithoutAPriceListNoPriceIsAskedFor(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	for off, want := range map[bool]int64{true: 0, false: 1} {
		calls.Store(0)
		a, err := New(t.Context(), Config{
			Cluster: "demo", Region: "us-east-1", Endpoint: server.URL, NoPriceList: off,
			API: userdata.APIServer{Endpoint: "https://api", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16", KubernetesVersion: "1.33"},
		})
		if err != nil {
			t.Fatal(err)
		}
		prices, err := a.OnDemandPrices(t.Context())
		if len(prices) > 0 || (err == nil) != off || calls.Load() != want {
			t.Errorf("without a price list %v: %d calls, %v, %v", off, calls.Load(), prices, err)
		}
	}
}

// What EC2 says of these types differs in form: several architectures, network cards and EBS by request only.
func TestTypesAreReadAsTheCatalogueHasThem(t *testing.T) {
	bundled, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		arch         string
		network, ebs int64
	}{
		"m1.small":      {"amd64", 300, 0}, // i386 too
		"c1.xlarge":     {"amd64", 1000, 0},
		"i3.xlarge":     {"amd64", 1250, 850},
		"r4.8xlarge":    {"amd64", 10_000, 7000}, // its card is said to have 12,000
		"m5.large":      {"amd64", 750, 4750},
		"m7g.metal":     {"arm64", 30_000, 20_000},
		"mac1.metal":    {"", 25_000, 14_000},
		"c6in.32xlarge": {"amd64", 200_000, 100_000}, // two cards share them
		"g6e.48xlarge":  {"amd64", 400_000, 60_000},
		"p5.48xlarge":   {"amd64", 3_200_000, 80_000},
	}
	for _, d := range described(t) {
		got := instanceType(&d)
		w, ok := want[got.Name]
		if ok && (got.Arch != w.arch || got.NetworkMbps != w.network || got.EBSMbps != w.ebs) {
			t.Errorf("%s: %s, %d Mbps, EBS %d Mbps; want %+v", got.Name, got.Arch, got.NetworkMbps, got.EBSMbps, w)
		}
		if b, known := bundled.Type(got.Name); known && d.EbsInfo.MaximumEbsAttachments != nil &&
			(b.EBSVolumes != got.EBSVolumes || b.EBSVolumesShared != got.EBSVolumesShared) {
			t.Errorf("%s: %d volumes, shared %t; the catalogue has %d, %t", got.Name, got.EBSVolumes, got.EBSVolumesShared, b.EBSVolumes, b.EBSVolumesShared)
		}
		if b, known := bundled.Type(got.Name); ok && known && (b.EBSMbps != w.ebs || b.NetworkMbps != 0 && b.NetworkMbps != w.network) {
			t.Errorf("%s: the catalogue has %d Mbps, EBS %d", got.Name, b.NetworkMbps, b.EBSMbps)
		}
	}
}
