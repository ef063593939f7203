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
)

// wheelFiles are the parts of a small wheel, uncompressed, by path.
func wheelFiles() map[string]string {
	return map[string]string{
		"moto-1.2.3.dist-info/METADATA": "Name: moto\n",
		zonesFile: `"r1": [
    Zone(region_name="r1", name="r1b", zone_id="x-az1"),
    Zone(
        region_name="r1", name="r1a", zone_id="x-az2"),
    Zone(region_name="r10", name="r10a", zone_id="y-az1")]`,
		offersFolder + "r1.json.gz": `[{"InstanceType":"c5.large","Location":"r1b"},{"InstanceType":"c5.large","Location":"r1a"},
{"InstanceType":"mac1.metal","Location":"r1a"},{"InstanceType":"free.large","Location":"r1a"},{"InstanceType":"m7g.metal","Location":"r1a"}]`,
		typesFile: `{
"c5.large": {"Hypervisor":"nitro","SupportedUsageClasses":["on-demand","spot"],"SupportedVirtualizationTypes":["hvm"],
 "VCpuInfo":{"DefaultVCpus":2},"MemoryInfo":{"SizeInMiB":4096},"BurstablePerformanceSupported":true,
 "ProcessorInfo":{"Manufacturer":"Intel","SupportedArchitectures":["i386","x86_64"],"SustainedClockSpeedInGhz":3.4},
 "NetworkInfo":{"DefaultNetworkCardIndex":1,"EncryptionInTransitSupported":true,"Ipv4AddressesPerInterface":10,"EfaInfo":{"MaximumEfaInterfaces":2},
  "NetworkCards":[{"NetworkCardIndex":0,"MaximumNetworkInterfaces":9},{"NetworkCardIndex":1,"MaximumNetworkInterfaces":3}]},
 "EbsInfo":{"EbsOptimizedSupport":"default","EbsOptimizedInfo":{"MaximumBandwidthInMbps":4750}},
 "InstanceStorageInfo":{"NvmeSupport":"required","TotalSizeInGB":50},
 "GpuInfo":{"Gpus":[{"Name":"L4","Manufacturer":"NVIDIA","Count":1,"MemoryInfo":{"SizeInMiB":22}}]}},
"m7g.metal": {"BareMetal":true,"SupportedUsageClasses":["on-demand"],"SupportedVirtualizationTypes":["hvm"],
 "VCpuInfo":{"DefaultVCpus":64},"MemoryInfo":{"SizeInMiB":8192},
 "ProcessorInfo":{"Manufacturer":"AWS","SupportedArchitectures":["arm64"]},
 "NetworkInfo":{"Ipv4AddressesPerInterface":50,"NetworkCards":[{"NetworkCardIndex":0,"MaximumNetworkInterfaces":15}]},
 "EbsInfo":{"EbsOptimizedSupport":"unsupported"},"InstanceStorageInfo":{"NvmeSupport":"unsupported","TotalSizeInGB":50},
 "InferenceAcceleratorInfo":{"Accelerators":[{"Name":"Old","Manufacturer":"AWS","Count":9}]},
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
	"r2": {"c5.large": 9},
	"r1": {"c5.large": 0.085000, "m7g.metal": 2.6112, "gone.large": 1, "old.large": 1, "mac1.metal": 1},
}`,
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
	dir := filepath.Join(t.TempDir(), "karpenter-provider-aws@v9.8.7")
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

func TestRunJoinsBothSources(t *testing.T) {
	t.Parallel()
	wheel, module := writeWheel(t, wheelFiles()), writeModule(t, moduleFiles())
	for _, name := range []string{"out.json", "out.json.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			var said strings.Builder
			if err := run([]string{"-moto", wheel, "-karpenter", module, "-region", "r1", "-o", path}, &said); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if zipped := data[0] == 0x1f; zipped != strings.HasSuffix(name, ".gz") {
				t.Errorf("gzipped: %v", zipped)
			}
			got, err := catalog.Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantJoined(), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, line := range []string{
				"2 types, 2 zones", "left out mac1.metal: architecture [x86_64_mac]", "left out free.large: no on-demand price",
				"left out gone.large: not offered in the region", "left out old.large: no hvm virtualization",
			} {
				if !strings.Contains(said.String(), line) {
					t.Errorf("output lacks %q:\n%s", line, said.String())
				}
			}
		})
	}
}

func wantJoined() *catalog.Catalog {
	return &catalog.Catalog{
		Region: "r1",
		Zones:  []catalog.Zone{{Name: "r1a", ID: "x-az2"}, {Name: "r1b", ID: "x-az1"}},
		Sources: []catalog.Source{
			{
				Name: "moto (Python package)", Version: "1.2.3", License: "Apache-2.0",
				What: "sizes, devices, interface limits, zones and zone ids",
			},
			{
				Name: "github.com/aws/karpenter-provider-aws (Go module)", Version: "v9.8.7", License: "Apache-2.0",
				What: "on-demand list prices, baseline network bandwidth, branch interface limits",
			},
		},
		Types: []catalog.Type{
			{
				Name: "c5.large", Arch: "amd64", Hypervisor: "nitro", VCPU: 2, MemoryMiB: 4096, DefaultENIs: 3, IPv4PerENI: 10,
				NetworkMbps: 750, EBSMbps: 4750, NetworkCards: 2, EFAInterfaces: 2, BranchENIs: 9, TrunkingSupported: true,
				EncryptionInTransit: true, LocalNVMeGB: 50, CPUManufacturer: "intel", ClockMHz: 3400, BurstablePerformance: true,
				GPUs:         []catalog.GPU{{Name: "L4", Manufacturer: "nvidia", Count: 1, MemoryMiB: 22}},
				SupportsSpot: true, SupportsOnDemand: true, Zones: []string{"r1a", "r1b"}, OnDemandMicroUSD: 85_000,
			},
			{
				Name: "m7g.metal", Arch: "arm64", BareMetal: true, VCPU: 64, MemoryMiB: 8192, DefaultENIs: 15, IPv4PerENI: 50,
				CPUManufacturer: "aws", Accelerators: []catalog.GPU{{Name: "New", Manufacturer: "aws", Count: 3, MemoryMiB: 7}},
				NeuronCores: 12, SupportsOnDemand: true, Zones: []string{"r1a"}, OnDemandMicroUSD: 2_611_200,
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
		"a wheel of something else":   {"moto-1.2.3.dist-info/METADATA", "", "moto-VERSION.dist-info"},
		"no instance types":           {typesFile, "", typesFile},
		"instance types of no sense":  {typesFile, "[", typesFile},
		"no offers for the region":    {offersFolder + "r1.json.gz", "", "r1.json.gz"},
		"no zones for the region":     {zonesFile, "nothing", "no zones of region r1"},
		"an offer in an unknown zone": {offersFolder + "r1.json.gz", `[{"InstanceType":"c5.large","Location":"r1z"}]`, "r1z"},
		"no prices file":              {pricesFile, "", "pricing_aws.go"},
		"prices under another name":   {pricesFile, "package p\nvar Prices = map[string]int{}", pricesVar},
		"prices of another region":    {pricesFile, "package p\nvar " + pricesVar + " = X{\"r2\": {\"c5.large\": 1}}", "r1"},
		"a price too fine":            {pricesFile, "package p\nvar " + pricesVar + " = X{\"r1\": {\"c5.large\": 0.0000001}}", "c5.large"},
		"a price that is computed":    {pricesFile, "package p\nvar " + pricesVar + " = X{\"r1\": {\"c5.large\": f()}}", "c5.large"},
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
			to := filepath.Join(t.TempDir(), "o.json")
			args := []string{"-moto", writeWheel(t, wheel), "-karpenter", writeModule(t, module), "-region", "r1", "-o", to}
			err := run(args, &strings.Builder{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
			if _, err := os.Stat(to); err == nil {
				t.Error("wrote a file all the same")
			}
		})
	}
}

func TestRunNeedsBothSources(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"-moto", "x"}, {"-karpenter", "x"}} {
		if err := run(args, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "SOURCES.md") {
			t.Errorf("%v: error %v", args, err)
		}
	}
	err := run([]string{"-moto", writeWheel(t, wheelFiles()), "-karpenter", t.TempDir(), "-region", "r1"}, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "@VERSION") {
		t.Errorf("a folder without a version: error %v", err)
	}
}
