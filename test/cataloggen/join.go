package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// omission is a type that one source knows and the catalogue does not hold.
type omission struct{ name, why string }

// join makes the catalogue of every type that can run Kubernetes nodes, is offered in the region and has a price.
func join(m *moto, k *karpenter, region string) (*catalog.Catalog, []omission, error) {
	c := &catalog.Catalog{Region: region, Zones: slices.Clone(m.zones), Sources: sources(m, k)}
	slices.SortFunc(c.Zones, func(a, b catalog.Zone) int { return strings.Compare(a.Name, b.Name) })

	names := make([]string, 0, len(m.records))
	for name := range m.records {
		names = append(names, name)
	}
	slices.Sort(names)
	var left []omission
	for _, name := range names {
		r := m.records[name]
		if why := reasonToOmit(r, m.offers[name], k.prices[name]); why != "" {
			left = append(left, omission{name, why})
			continue
		}
		t, err := makeType(name, r)
		if err != nil {
			return nil, nil, fmt.Errorf("type %s: %w", name, err)
		}
		t.Zones = slices.Compact(slices.Sorted(slices.Values(m.offers[name])))
		t.OnDemandMicroUSD = k.prices[name]
		t.NetworkMbps = k.bandwidth[name]
		if l := k.limits[name]; l.trunking {
			t.TrunkingSupported, t.BranchENIs = true, l.branches
		}
		c.Types = append(c.Types, t)
	}
	return c, left, nil
}

func sources(m *moto, k *karpenter) []catalog.Source {
	return []catalog.Source{
		{
			Name: "moto (Python package)", Version: m.version, License: "Apache-2.0",
			What: "sizes, devices, interface limits, zones and zone ids",
		},
		{
			Name: "github.com/aws/karpenter-provider-aws (Go module)", Version: k.version, License: "Apache-2.0",
			What: "on-demand list prices, baseline network bandwidth, branch interface limits",
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
	if r.EbsInfo.EbsOptimizedSupport == "default" {
		t.EBSMbps = r.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps
	}
	if s := r.InstanceStorageInfo; s.NvmeSupport == "required" || s.NvmeSupport == "supported" {
		t.LocalNVMeGB = s.TotalSizeInGB
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
