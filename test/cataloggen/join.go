package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// omission is a type that one source knows and the catalogue does not hold.
type omission struct{ name, why string }

// regions are those that any source knows, sorted.
func (s *sources) regions() []string {
	all := map[string]bool{ningxia: true}
	for region := range s.moto.offers {
		all[region] = true
	}
	for region := range s.karpenter.prices {
		all[region] = true
	}
	for region := range s.instances.regions {
		all[region] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// join makes the catalogue of every type that can run Kubernetes nodes, is offered in the region and has a price. Where no
// source says what a region offers, it is what has a price of its own there, in all zones.
func (s *sources) join(region string) (*catalog.Catalog, []omission, error) {
	c := &catalog.Catalog{Region: region, Zones: s.moto.zonesOf(region), Sources: s.named()}
	if strings.HasPrefix(region, "cn-") {
		c.Currency = "CNY"
	}
	offers, known := s.moto.offers[region]
	priced := s.prices(region)
	if region == ningxia {
		priced = s.prices(beijing)
	}
	var left []omission
	for _, name := range slices.Sorted(maps.Keys(s.moto.records)) {
		r := s.moto.records[name]
		price, estimated := priced.of(name)
		zones := offers[name]
		if !known && (!estimated || priced.seen[name].listed > 0) && price > 0 {
			for _, z := range c.Zones {
				zones = append(zones, z.Name)
			}
		}
		if why := reasonToOmit(r, zones, price); why != "" {
			left = append(left, omission{name, why})
			continue
		}
		t, err := makeType(name, r)
		if err != nil {
			return nil, nil, fmt.Errorf("type %s: %w", name, err)
		}
		t.Zones = slices.Compact(slices.Sorted(slices.Values(zones)))
		t.OnDemandMicroUSD, t.PriceEstimated = price, estimated || region == ningxia
		if t.SupportsSpot {
			t.SpotSavesPercent, t.Reclaimed = priced.seen[name].saves, priced.seen[name].reclaimed
		}
		t.NetworkMbps = s.karpenter.bandwidth[name]
		if l := s.karpenter.limits[name]; l.trunking {
			t.TrunkingSupported, t.BranchENIs = true, l.branches
		}
		c.Types = append(c.Types, t)
	}
	return c, left, nil
}

func (s *sources) named() []catalog.Source {
	return []catalog.Source{
		{
			Name: "moto (Python package)", Version: s.moto.version, License: "Apache-2.0",
			What: "sizes, devices, interface limits, zones and zone ids",
		},
		{
			Name: "github.com/aws/karpenter-provider-aws (Go module)", Version: s.karpenter.version, License: "Apache-2.0",
			What: "on-demand list prices of some regions, baseline network bandwidth, branch interface limits",
		},
		{
			Name: "github.com/cristim/ec2-instances-info (Go module)", Version: s.instances.version, License: "MIT",
			What: "on-demand list prices of other regions, what spot saves and how often it is taken back",
		},
	}
}

// reasonToOmit says why the catalogue has no use for a type; empty if it has.
func reasonToOmit(r record, zones []string, price int64) string {
	switch {
	case catalog.Arch(r.ProcessorInfo.SupportedArchitectures...) == "":
		return fmt.Sprintf("architecture %v", r.ProcessorInfo.SupportedArchitectures)
	case !slices.Contains(r.SupportedVirtualizationTypes, "hvm"):
		return "no hvm virtualization"
	case len(zones) == 0:
		return "not offered in the region"
	case price == 0:
		return "no on-demand price"
	}
	return ""
}

func makeType(name string, r record) (catalog.Type, error) {
	clock, err := megahertz(r.ProcessorInfo.SustainedClockSpeedInGhz)
	if err != nil {
		return catalog.Type{}, err
	}
	t := catalog.Type{
		Name: name, Arch: catalog.Arch(r.ProcessorInfo.SupportedArchitectures...), Hypervisor: r.Hypervisor, BareMetal: r.BareMetal,
		VCPU: r.VCpuInfo.DefaultVCpus, MemoryMiB: r.MemoryInfo.SizeInMiB,
		IPv4PerENI:           r.NetworkInfo.Ipv4AddressesPerInterface,
		EFAInterfaces:        r.NetworkInfo.EfaInfo.MaximumEfaInterfaces,
		EncryptionInTransit:  r.NetworkInfo.EncryptionInTransitSupported,
		CPUManufacturer:      catalog.Manufacturer(r.ProcessorInfo.Manufacturer),
		ClockMHz:             clock,
		BurstablePerformance: r.BurstablePerformanceSupported,
		NestedVirtualization: slices.Contains(r.ProcessorInfo.SupportedFeatures, "nested-virtualization"),
		NitroEnclaves:        r.NitroEnclavesSupport == "supported",
		SupportsSpot:         slices.Contains(r.SupportedUsageClasses, "spot"),
		SupportsOnDemand:     slices.Contains(r.SupportedUsageClasses, "on-demand"),
		GPUs:                 devices(r.GpuInfo.Gpus),
	}
	for _, card := range r.NetworkInfo.NetworkCards {
		if card.NetworkCardIndex == r.NetworkInfo.DefaultNetworkCardIndex {
			t.DefaultENIs = card.MaximumNetworkInterfaces
		}
	}
	if n := len(r.NetworkInfo.NetworkCards); n > 1 {
		t.NetworkCards = int64(n)
	}
	if t.EFAInterfaces > 0 {
		for _, card := range r.NetworkInfo.NetworkCards {
			if slices.Contains(card.InterfaceTypes, "efa") {
				t.EFAFirstCard = card.NetworkCardIndex
				break
			}
		}
	}
	t.EBSVolumes, t.EBSVolumesShared = r.EbsInfo.MaximumEbsAttachments, r.EbsInfo.AttachmentLimitType == "shared"
	if r.EbsInfo.EbsOptimizedSupport == "default" {
		t.EBSMbps = r.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps
	}
	if s := r.InstanceStorageInfo; s.NvmeSupport == "required" || s.NvmeSupport == "supported" {
		t.LocalNVMeGB = s.TotalSizeInGB
	}
	if all := r.PlacementGroupInfo.SupportedStrategies; len(all) > 0 {
		t.NoClusterPlacement = !slices.Contains(all, "cluster")
	}
	t.Accelerators, t.NeuronCores = accelerators(r)
	return t, nil
}

// accelerators prefers EC2's newer description of AWS's own chips, which alone has Trainium and core counts but leaves
// the manufacturer out.
func accelerators(r record) ([]catalog.GPU, int64) {
	neuron := r.NeuronInfo.NeuronDevices
	if len(neuron) == 0 {
		return devices(r.InferenceAcceleratorInfo.Accelerators), 0
	}
	var cores int64
	for i := range neuron {
		neuron[i].Manufacturer = "aws"
		cores += neuron[i].Count * neuron[i].CoreInfo.Count
	}
	return devices(neuron), cores
}

func devices(ds []device) []catalog.GPU {
	var out []catalog.GPU
	for _, d := range ds {
		out = append(out, catalog.GPU{
			Name: d.Name, Manufacturer: catalog.Manufacturer(d.Manufacturer), Count: d.Count, MemoryMiB: d.MemoryInfo.SizeInMiB,
		})
	}
	return out
}

// megahertz rounds gigahertz to the nearest whole megahertz; none given is zero.
func megahertz(ghz json.Number) (int64, error) {
	if ghz == "" {
		return 0, nil
	}
	exact, ok := new(big.Rat).SetString(ghz.String())
	if !ok {
		return 0, fmt.Errorf("clock speed %q: not a number", ghz)
	}
	mhz := exact.Mul(exact, big.NewRat(1000, 1)).FloatString(0)
	rounded, ok := new(big.Int).SetString(mhz, 10)
	if !ok || !rounded.IsInt64() {
		return 0, fmt.Errorf("clock speed %q: out of range", ghz)
	}
	return rounded.Int64(), nil
}
