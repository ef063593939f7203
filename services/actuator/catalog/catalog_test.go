package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/model"
)

func bundled(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBundledHoldsTheRegion(t *testing.T) {
	t.Parallel()
	c := bundled(t)
	if c.Region != "us-east-1" {
		t.Errorf("region %q", c.Region)
	}
	var zones []string
	for _, z := range c.Zones {
		zones = append(zones, z.Name)
		if !strings.HasPrefix(z.ID, "use1-az") {
			t.Errorf("zone %s has id %q", z.Name, z.ID)
		}
	}
	want := []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1e", "us-east-1f"}
	if diff := cmp.Diff(want, zones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	if len(c.Types) < 700 {
		t.Errorf("%d types, want at least 700", len(c.Types))
	}
	if len(c.Sources) == 0 {
		t.Error("no sources named")
	}
	for _, s := range c.Sources {
		if s.Name == "" || s.Version == "" || s.License == "" || s.What == "" {
			t.Errorf("source lacks something: %+v", s)
		}
	}
}

func TestBundledTypesAreForSale(t *testing.T) {
	t.Parallel()
	c := bundled(t)
	var gpus, accelerators, metal, spot int
	for _, ty := range c.Types {
		if ty.OnDemandMicroUSD == 0 || len(ty.Zones) == 0 || !ty.SupportsOnDemand {
			t.Errorf("%s: price %d, zones %v, on-demand %v", ty.Name, ty.OnDemandMicroUSD, ty.Zones, ty.SupportsOnDemand)
		}
		gpus += min(len(ty.GPUs), 1)
		accelerators += min(len(ty.Accelerators), 1)
		if ty.BareMetal {
			metal++
		}
		if ty.SupportsSpot {
			spot++
		}
	}
	for what, n := range map[string]int{"GPUs": gpus, "accelerators": accelerators, "bare metal": metal, "spot": spot} {
		if n < 5 {
			t.Errorf("only %d types with %s", n, what)
		}
	}
}

func TestBundledTypeHasItsPublishedFigures(t *testing.T) {
	t.Parallel()
	zones := []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"}
	tests := map[string]catalog.Type{
		"a plain one": {
			Name: "m5.large", Arch: "amd64", Hypervisor: "nitro", VCPU: 2, MemoryMiB: 8192, DefaultENIs: 3, IPv4PerENI: 10,
			NetworkMbps: 750, EBSMbps: 4750, EBSVolumes: 27, EBSVolumesShared: true, BranchENIs: 9, TrunkingSupported: true, CPUManufacturer: "intel", ClockMHz: 3100,
			SupportsSpot: true, SupportsOnDemand: true, Zones: zones, OnDemandMicroUSD: 96_000, SpotSavesPercent: 67, Reclaimed: model.Below15,
		},
		"one with GPUs and local disks": {
			Name: "g5.12xlarge", Arch: "amd64", Hypervisor: "nitro", VCPU: 48, MemoryMiB: 196_608, DefaultENIs: 15, IPv4PerENI: 50,
			NetworkMbps: 40_000, EBSMbps: 16_000, EBSVolumes: 22, EBSVolumesShared: true, EFAInterfaces: 1, BranchENIs: 107, TrunkingSupported: true,
			EncryptionInTransit: true, LocalNVMeGB: 3800, CPUManufacturer: "amd", ClockMHz: 3300, NitroEnclaves: true,
			GPUs:         []catalog.GPU{{Name: "A10G", Manufacturer: "nvidia", Count: 4, MemoryMiB: 22_888}},
			SupportsSpot: true, SupportsOnDemand: true, Zones: []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"},
			OnDemandMicroUSD: 5_672_000, SpotSavesPercent: 60, Reclaimed: model.Above20,
		},
		"one with machine-learning chips": {
			Name: "inf2.48xlarge", Arch: "amd64", Hypervisor: "nitro", VCPU: 192, MemoryMiB: 786_432, DefaultENIs: 15, IPv4PerENI: 50,
			NetworkMbps: 100_000, EBSMbps: 60_000, EBSVolumes: 28, EBSVolumesShared: true, BranchENIs: 107, TrunkingSupported: true, EncryptionInTransit: true,
			CPUManufacturer: "amd", ClockMHz: 3600, NitroEnclaves: true,
			Accelerators: []catalog.GPU{{Name: "Inferentia2", Manufacturer: "aws", Count: 12, MemoryMiB: 32_768}}, NeuronCores: 24,
			SupportsSpot: true, SupportsOnDemand: true, Zones: []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1f"},
			OnDemandMicroUSD: 12_981_270, SpotSavesPercent: 88, Reclaimed: model.Below5,
		},
	}
	c := bundled(t)
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := c.Type(want.Name)
			if !ok {
				t.Fatalf("no type %s", want.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBundledPrices(t *testing.T) {
	t.Parallel()
	c := bundled(t)
	want := map[string]int64{
		"c5.large": 85_000, "m5.large": 96_000, "r5.large": 126_000, "m5.xlarge": 192_000, "t3.micro": 10_400,
	}
	got := map[string]int64{}
	for name := range want {
		ty, _ := c.Type(name)
		got[name] = ty.OnDemandMicroUSD
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("micro-dollars per hour (-want +got):\n%s", diff)
	}
}

func TestBundledIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	a, b := bundled(t), bundled(t)
	a.Types[0].Name, a.Types[0].Zones[0] = "changed", "changed"
	if b.Types[0].Name == "changed" || b.Types[0].Zones[0] == "changed" {
		t.Error("two calls share memory")
	}
}

func TestTypeFindsEveryTypeAndNoOther(t *testing.T) {
	t.Parallel()
	c := bundled(t)
	for _, want := range c.Types {
		if got, ok := c.Type(want.Name); !ok || got.Name != want.Name {
			t.Fatalf("%s: found %v, %s", want.Name, ok, got.Name)
		}
	}
	for _, name := range []string{"", "a", "m5.largest", "zz.large"} {
		if got, ok := c.Type(name); ok {
			t.Errorf("%q: found %s", name, got.Name)
		}
	}
	if !slices.IsSortedFunc(c.Types, func(a, b catalog.Type) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("types are not sorted")
	}
}

func BenchmarkBundled(b *testing.B) {
	for b.Loop() {
		if _, err := catalog.Bundled(); err != nil {
			b.Fatal(err)
		}
	}
}
