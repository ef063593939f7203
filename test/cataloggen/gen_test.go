package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/model"
)

// wheelFiles are the parts of a small wheel, uncompressed, by path.
func wheelFiles() map[string]string {
	return map[string]string{
		"moto-1.2.3.dist-info/METADATA": "Name: moto\n",
		zonesFile: `"us-east-1": [
    Zone(region_name="us-east-1", name="us-east-1b", zone_id="x-az1"),
    Zone(
        region_name="us-east-1", name="us-east-1a", zone_id="x-az2"),
    Zone(region_name="eu-west-9", name="eu-west-9a", zone_id="y-az1")]`,
		offersFolder + "us-east-1.json.gz": `[{"InstanceType":"c5.large","Location":"us-east-1b"},{"InstanceType":"c5.large","Location":"us-east-1a"},
{"InstanceType":"mac1.metal","Location":"us-east-1a"},{"InstanceType":"free.large","Location":"us-east-1a"},{"InstanceType":"m7g.metal","Location":"us-east-1a"}]`,
		typesFile: `{
"c5.large": {"Hypervisor":"nitro","SupportedUsageClasses":["on-demand","spot"],"SupportedVirtualizationTypes":["hvm"],
 "VCpuInfo":{"DefaultVCpus":2},"MemoryInfo":{"SizeInMiB":4096},"BurstablePerformanceSupported":true,
 "ProcessorInfo":{"Manufacturer":"Intel","SupportedArchitectures":["i386","x86_64"],"SupportedFeatures":["nested-virtualization"],"SustainedClockSpeedInGhz":3.4},
 "NetworkInfo":{"DefaultNetworkCardIndex":1,"EncryptionInTransitSupported":true,"Ipv4AddressesPerInterface":10,"EfaInfo":{"MaximumEfaInterfaces":2},
  "NetworkCards":[{"NetworkCardIndex":0,"MaximumNetworkInterfaces":9},{"NetworkCardIndex":1,"MaximumNetworkInterfaces":3}]},
 "EbsInfo":{"EbsOptimizedSupport":"default","EbsOptimizedInfo":{"MaximumBandwidthInMbps":4750},"AttachmentLimitType":"shared","MaximumEbsAttachments":27},
 "InstanceStorageInfo":{"NvmeSupport":"required","TotalSizeInGB":50},
 "GpuInfo":{"Gpus":[{"Name":"L4","Manufacturer":"NVIDIA","Count":1,"MemoryInfo":{"SizeInMiB":22}}]},"PlacementGroupInfo":{"SupportedStrategies":["cluster","partition","spread"]}},
"m7g.metal": {"BareMetal":true,"SupportedUsageClasses":["on-demand"],"SupportedVirtualizationTypes":["hvm"],
 "VCpuInfo":{"DefaultVCpus":64},"MemoryInfo":{"SizeInMiB":8192},
 "ProcessorInfo":{"Manufacturer":"AWS","SupportedArchitectures":["arm64"]},
 "NetworkInfo":{"Ipv4AddressesPerInterface":50,"NetworkCards":[{"NetworkCardIndex":0,"MaximumNetworkInterfaces":15}]},
 "EbsInfo":{"EbsOptimizedSupport":"unsupported"},"InstanceStorageInfo":{"NvmeSupport":"unsupported","TotalSizeInGB":50},
 "InferenceAcceleratorInfo":{"Accelerators":[{"Name":"Old","Manufacturer":"AWS","Count":9}]},
 "PlacementGroupInfo":{"SupportedStrategies":["partition","spread"]},
 "NeuronInfo":{"NeuronDevices":[{"Name":"New","Count":3,"CoreInfo":{"Count":4},"MemoryInfo":{"SizeInMiB":7}}]}},
"mac1.metal": {"SupportedVirtualizationTypes":["hvm"],"ProcessorInfo":{"SupportedArchitectures":["x86_64_mac"]}},
"free.large": {"SupportedVirtualizationTypes":["hvm"],"ProcessorInfo":{"SupportedArchitectures":["x86_64"]}},
"gone.large": {"SupportedVirtualizationTypes":["hvm"],"ProcessorInfo":{"SupportedArchitectures":["x86_64"]}},
"old.large": {"SupportedVirtualizationTypes":["paravirtual"],"ProcessorInfo":{"SupportedArchitectures":["x86_64"]}}}`,
	}
}

// moduleFiles are the parts of a small module by path.
func moduleFiles() map[string]string {
	return map[string]string{
		pricesFile: `package pricing
import ec2types "x"
var other, unused = 1, 2
var InitialOnDemandPricesAWS = map[string]map[ec2types.InstanceType]float64{
	"eu-west-9": {"c5.large": 9},
	"us-east-1": {"c5.large": 0.085000, "m7g.metal": 2.6112, "gone.large": 1, "old.large": 1, "mac1.metal": 1},
}`,
		govFile:   "package pricing\nvar InitialOnDemandPricesUSGov = X{\"us-gov-west-1\": {\"c5.large\": 0.102}}",
		chinaFile: "package pricing\nvar InitialOnDemandPricesCN = X{\"cn-north-1\": {\"c5.large\": 0.739}}",
		bandwidthFile: `package instancetype
var (
	InstanceTypeBandwidthMegabits = map[string]int64{"c5.large": 750}
)`,
		limitsFile: `package instancetype
var Limits = map[string]*VPCLimits{
	"c5.large": {Interface: 3, IsTrunkingCompatible: true, BranchInterface: 9, NetworkCards: []NetworkCard{{NetworkCardIndex: 0}}},
	"m7g.metal": {IsTrunkingCompatible: false, BranchInterface: 5},
}`,
	}
}

func writeWheel(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "moto.whl")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		data := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			data = gzipped(t, text)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeModule(t *testing.T, files map[string]string) string {
	t.Helper()
	return writeFiles(t, "karpenter-provider-aws@v9.8.7", files)
}

func writeFiles(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), folder)
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// instanceRecords are of a small instances module.
const instanceRecords = `[
{"instance_type":"c5.large","pricing":{
 "us-east-1":{"linux":{"ondemand":"0.085","pct_savings_od":60,"pct_interrupt":"<5%"}},
 "us-east-1-bos-1":{"linux":{"ondemand":"9"}},
 "sa-east-1":{"linux":{"ondemand":"0.17","pct_savings_od":70,"pct_interrupt":">20%"}}}},
{"instance_type":"m7g.metal","pricing":{
 "us-east-1":{"linux":{"ondemand":"5.2224","pct_savings_od":null}},
 "sa-east-1":{"linux":{"ondemand":"10.4448"}}}}]`

// generated runs the generator and returns what it made of a region.
func generated(t *testing.T, wheel, karpenter map[string]string, records string) (map[string]*catalog.Catalog, error) {
	t.Helper()
	dir, instances := t.TempDir(), writeFiles(t, "ec2-instances-info@v5", map[string]string{instancesFile: records})
	in := inputs{wheel: writeWheel(t, wheel), karpenter: writeModule(t, karpenter), instances: instances}
	err := run([]string{"-moto", in.wheel, "-karpenter", in.karpenter, "-instances", in.instances, "-o", dir}, &strings.Builder{})
	if wrote, globErr := filepath.Glob(filepath.Join(dir, "*")); globErr != nil || (len(wrote) > 0) != (err == nil) {
		t.Errorf("wrote %v, error %v", wrote, err)
	}
	if err != nil {
		return nil, err
	}
	s, err := in.read()
	if err != nil {
		return nil, err
	}
	out := map[string]*catalog.Catalog{}
	for _, region := range s.regions() {
		if out[region], _, err = s.join(region); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func TestRunJoinsTheSources(t *testing.T) {
	t.Parallel()
	wheel := wheelFiles()
	wheel[offersFolder+"sa-east-1.json.gz"] = `[{"InstanceType":"c5.large","Location":"sa-east-1a"},{"InstanceType":"c5.large","Location":"sa-east-1c"},
{"InstanceType":"m7g.metal","Location":"sa-east-1c"},{"InstanceType":"c5.xlarge","Location":"sa-east-1c"}]`
	wheel[typesFile] = strings.Replace(wheel[typesFile], `"m7g.metal":`, `"c5.xlarge": {"Hypervisor":"nitro","SupportedUsageClasses":["on-demand"],
 "SupportedVirtualizationTypes":["hvm"],"VCpuInfo":{"DefaultVCpus":4},"MemoryInfo":{"SizeInMiB":8192},
 "ProcessorInfo":{"Manufacturer":"Intel","SupportedArchitectures":["x86_64"]},
 "NetworkInfo":{"Ipv4AddressesPerInterface":50,"NetworkCards":[{"NetworkCardIndex":0,"MaximumNetworkInterfaces":15}]},
 "InstanceStorageInfo":{"NvmeSupport":"unsupported"}},
"m7g.metal":`, 1)
	karpenter := moduleFiles()
	karpenter[pricesFile] = strings.Replace(karpenter[pricesFile], `"c5.large": 0.085000,`, `"c5.large": 0.085000, "c5.xlarge": 0.17,`, 1)
	got, err := generated(t, wheel, karpenter, instanceRecords)
	if err != nil {
		t.Fatal(err)
	}
	want := wantJoined()
	if diff := cmp.Diff(want.Sources, got["us-east-1"].Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Zones, got["us-east-1"].Zones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	for _, ty := range want.Types {
		here, _ := got["us-east-1"].Type(ty.Name)
		if diff := cmp.Diff(ty, here); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ty.Name, diff)
		}
	}
	type offer struct {
		Zones            string
		Price            int64
		Estimated        bool
		Saves, Reclaimed int64
	}
	sold := map[string]offer{}
	for _, region := range []string{"sa-east-1", "us-gov-west-1", "cn-northwest-1"} {
		for _, ty := range got[region].Types {
			sold[region+" "+ty.Name] = offer{strings.Join(ty.Zones, " "), ty.OnDemandMicroUSD, ty.PriceEstimated, ty.SpotSavesPercent, int64(ty.Reclaimed)}
		}
	}
	wantSold := map[string]offer{
		"sa-east-1 c5.large":      {"sa-east-1a sa-east-1c", 170_000, false, 70, int64(model.Above20)},
		"sa-east-1 c5.xlarge":     {"sa-east-1c", 340_000, true, 0, 0},   // not seen: twice what it costs in us-east-1, as its family does
		"sa-east-1 m7g.metal":     {"sa-east-1c", 5_222_400, true, 0, 0}, // its price has halved in us-east-1 since
		"us-gov-west-1 c5.large":  {"us-gov-west-1a us-gov-west-1b us-gov-west-1c", 102_000, false, 0, 0},
		"cn-northwest-1 c5.large": {"cn-northwest-1a cn-northwest-1b cn-northwest-1c", 739_000, true, 0, 0},
	}
	if diff := cmp.Diff(wantSold, sold); diff != "" {
		t.Errorf("sold elsewhere (-want +got):\n%s", diff)
	}
	if ids := got["sa-east-1"].Zones; len(ids) != 2 || ids[1].ID != "sae1-az2" || got["cn-northwest-1"].Currency != "CNY" {
		t.Errorf("zones %v, currency %q", ids, got["cn-northwest-1"].Currency)
	}
}

func wantJoined() *catalog.Catalog {
	return &catalog.Catalog{
		Zones: []catalog.Zone{{Name: "us-east-1a", ID: "x-az2"}, {Name: "us-east-1b", ID: "x-az1"}},
		Sources: []catalog.Source{
			{
				Name: "moto (Python package)", Version: "1.2.3", License: "Apache-2.0",
				What: "sizes, devices, interface limits, zones and zone ids",
			},
			{
				Name: "github.com/aws/karpenter-provider-aws (Go module)", Version: "v9.8.7", License: "Apache-2.0",
				What: "on-demand list prices of some regions, baseline network bandwidth, branch interface limits",
			},
			{
				Name: "github.com/cristim/ec2-instances-info (Go module)", Version: "v5", License: "MIT",
				What: "on-demand list prices of other regions, what spot saves and how often it is taken back",
			},
		},
		Types: []catalog.Type{
			{
				Name: "c5.large", Arch: "amd64", Hypervisor: "nitro", VCPU: 2, MemoryMiB: 4096, DefaultENIs: 3, IPv4PerENI: 10,
				NetworkMbps: 750, EBSMbps: 4750, EBSVolumes: 27, EBSVolumesShared: true, NetworkCards: 2, EFAInterfaces: 2, BranchENIs: 9, TrunkingSupported: true,
				EncryptionInTransit: true, LocalNVMeGB: 50, CPUManufacturer: "intel", ClockMHz: 3400, BurstablePerformance: true,
				NestedVirtualization: true,
				GPUs:                 []catalog.GPU{{Name: "L4", Manufacturer: "nvidia", Count: 1, MemoryMiB: 22}},
				SupportsSpot:         true, SupportsOnDemand: true, Zones: []string{"us-east-1a", "us-east-1b"}, OnDemandMicroUSD: 85_000,
				SpotSavesPercent: 60, Reclaimed: model.Below5,
			},
			{
				Name: "m7g.metal", Arch: "arm64", BareMetal: true, VCPU: 64, MemoryMiB: 8192, DefaultENIs: 15, IPv4PerENI: 50,
				CPUManufacturer: "aws", Accelerators: []catalog.GPU{{Name: "New", Manufacturer: "aws", Count: 3, MemoryMiB: 7}},
				NeuronCores: 12, NoClusterPlacement: true, SupportsOnDemand: true, Zones: []string{"us-east-1a"}, OnDemandMicroUSD: 2_611_200,
			},
		},
	}
}

func TestRunRefusesSourcesItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, text string // replaced in either source; no text: removed
		want       string
	}{
		"a wheel of something else":  {"moto-1.2.3.dist-info/METADATA", "", "moto-VERSION.dist-info"},
		"no instance types":          {typesFile, "", typesFile},
		"instance types of no sense": {typesFile, "[", typesFile},
		"no offers at all":           {offersFolder + "us-east-1.json.gz", "", offersFolder},
		"no zones for the region":    {zonesFile, "nothing", "no zones of any region"},
		"no prices file":             {pricesFile, "", "pricing_aws.go"},
		"prices under another name":  {pricesFile, "package p\nvar Prices = map[string]int{}", pricesVar},
		"prices of another region":   {pricesFile, "package p\nvar " + pricesVar + " = X{\"sa-east-1\": {\"c5.large\": 1}}", "us-east-1"},
		"a price too fine":           {pricesFile, "package p\nvar " + pricesVar + " = X{\"us-east-1\": {\"c5.large\": 0.0000001}}", "c5.large"},
		"a price that is computed":   {pricesFile, "package p\nvar " + pricesVar + " = X{\"us-east-1\": {\"c5.large\": f()}}", "c5.large"},
		"a bandwidth that is no number": {
			bandwidthFile, "package p\nvar " + bandwidthVar + " = X{\"c5.large\": f()}", "c5.large",
		},
		"a limit of another form": {
			limitsFile, "package p\nvar " + limitsVar + " = X{\"c5.large\": {IsTrunkingCompatible: 1}}", "IsTrunkingCompatible",
		},
		"Go that does not parse": {limitsFile, "package", "vpclimits.go"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wheel, module := wheelFiles(), moduleFiles()
			for _, files := range []map[string]string{wheel, module} {
				if _, here := files[tt.file]; here {
					files[tt.file] = tt.text
				}
				maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
			}
			_, err := generated(t, wheel, module, instanceRecords)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestRunRefusesBadInstances(t *testing.T) {
	t.Parallel()
	for records, want := range map[string]string{
		"[": instancesFile,
		`[{"instance_type":"c5.large","pricing":{"us-east-1":{"linux":{"ondemand":"0.1","pct_interrupt":"often"}}}}]`: "often",
	} {
		if _, err := generated(t, wheelFiles(), moduleFiles(), records); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", records, err)
		}
	}
	in := inputs{wheel: writeWheel(t, wheelFiles()), karpenter: t.TempDir(), instances: t.TempDir()}
	if _, err := in.read(); err == nil || !strings.Contains(err.Error(), "@VERSION") {
		t.Errorf("a folder without a version: error %v", err)
	}
}
