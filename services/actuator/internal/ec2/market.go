package ec2

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// InstanceTypes asks EC2 what the region offers, and remembers it for launches.
func (a *Adapter) InstanceTypes(ctx context.Context) ([]catalog.Type, error) {
	zones, err := a.zonesByType(ctx)
	if err != nil {
		return nil, err
	}
	pages := sdk.NewDescribeInstanceTypesPaginator(a.ec2, &sdk.DescribeInstanceTypesInput{
		Filters: []types.Filter{
			filter("supported-virtualization-type", "hvm"),
			filter("processor-info.supported-architecture", "x86_64", "arm64"),
		},
		MaxResults: aws.Int32(100),
	})
	var out []catalog.Type
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe instance types: %w", classify(err))
		}
		for i := range page.InstanceTypes {
			t := instanceType(&page.InstanceTypes[i])
			if t.Arch == "" {
				continue
			}
			t.Zones = zones[t.Name]
			if known, ok := a.known.Type(t.Name); ok { // EC2 does not tell
				t.TrunkingSupported, t.BranchENIs = known.TrunkingSupported, known.BranchENIs
			}
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(x, y catalog.Type) int { return cmp.Compare(x.Name, y.Name) })

	byName := make(map[string]catalog.Type, len(out))
	for _, t := range out {
		byName[t.Name] = t
	}
	a.mu.Lock()
	a.types = byName
	a.mu.Unlock()
	return out, nil
}

func (a *Adapter) typesByName(ctx context.Context) (map[string]catalog.Type, error) {
	a.mu.Lock()
	known := a.types
	a.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if _, err := a.InstanceTypes(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.types, nil
}

func (a *Adapter) zonesByType(ctx context.Context) (map[string][]string, error) {
	pages := sdk.NewDescribeInstanceTypeOfferingsPaginator(a.ec2, &sdk.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(1000),
	})
	out := map[string][]string{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe instance type offerings: %w", classify(err))
		}
		for _, o := range page.InstanceTypeOfferings {
			out[string(o.InstanceType)] = append(out[string(o.InstanceType)], aws.ToString(o.Location))
		}
	}
	for _, zones := range out {
		slices.Sort(zones)
	}
	return out, nil
}

// instanceType reads EC2's description; what it leaves out stays zero, which means "none" or "unknown".
func instanceType(i *types.InstanceTypeInfo) catalog.Type {
	t := catalog.Type{
		Name: string(i.InstanceType), Hypervisor: string(i.Hypervisor), BareMetal: aws.ToBool(i.BareMetal),
		BurstablePerformance: aws.ToBool(i.BurstablePerformanceSupported),
		SupportsSpot:         slices.Contains(i.SupportedUsageClasses, types.UsageClassTypeSpot),
		SupportsOnDemand:     slices.Contains(i.SupportedUsageClasses, types.UsageClassTypeOnDemand),
	}
	if p := i.ProcessorInfo; p != nil {
		said := make([]string, 0, len(p.SupportedArchitectures))
		for _, a := range p.SupportedArchitectures {
			said = append(said, string(a))
		}
		t.Arch = catalog.Arch(said...)
		t.CPUManufacturer = catalog.Manufacturer(aws.ToString(p.Manufacturer))
		t.ClockMHz = int64(aws.ToFloat64(p.SustainedClockSpeedInGhz)*1000 + 0.5)
	}
	if v := i.VCpuInfo; v != nil {
		t.VCPU = int64(aws.ToInt32(v.DefaultVCpus))
	}
	if m := i.MemoryInfo; m != nil {
		t.MemoryMiB = aws.ToInt64(m.SizeInMiB)
	}
	// Where it is not the default, an instance has the bandwidth only when a launch asks for it.
	if e := i.EbsInfo; e != nil && e.EbsOptimizedInfo != nil && e.EbsOptimizedSupport == types.EbsOptimizedSupportDefault {
		t.EBSMbps = int64(aws.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
	if s := i.InstanceStorageInfo; s != nil && s.NvmeSupport != types.EphemeralNvmeSupportUnsupported {
		t.LocalNVMeGB = aws.ToInt64(s.TotalSizeInGB)
	}
	network(&t, i.NetworkInfo)
	accelerators(&t, i)
	return t
}

func network(t *catalog.Type, n *types.NetworkInfo) {
	if n == nil {
		return
	}
	t.IPv4PerENI = int64(aws.ToInt32(n.Ipv4AddressesPerInterface))
	t.EncryptionInTransit = aws.ToBool(n.EncryptionInTransitSupported)
	t.DefaultENIs = int64(aws.ToInt32(n.MaximumNetworkInterfaces))
	for _, c := range n.NetworkCards {
		if aws.ToInt32(c.NetworkCardIndex) == aws.ToInt32(n.DefaultNetworkCardIndex) {
			t.DefaultENIs = int64(aws.ToInt32(c.MaximumNetworkInterfaces))
		}
	}
	t.NetworkMbps = bandwidth(n)
	if len(n.NetworkCards) > 1 {
		t.NetworkCards = int64(len(n.NetworkCards))
	}
	if n.EfaInfo == nil {
		return
	}
	t.EFAInterfaces = int64(aws.ToInt32(n.EfaInfo.MaximumEfaInterfaces))
	takes := func(c types.NetworkCardInfo) bool {
		return slices.Contains(c.InterfaceTypes, types.NetworkCardInterfaceTypeEfa)
	}
	if i := slices.IndexFunc(n.NetworkCards, takes); i >= 0 {
		t.EFAFirstCard = int64(aws.ToInt32(n.NetworkCards[i].NetworkCardIndex))
	}
}

// bandwidth is the baseline of all network cards together. Several cards may share what EC2 names for the type as a whole
// ("400 Gigabit"), and then that bounds the sum.
func bandwidth(n *types.NetworkInfo) int64 {
	var sum int64
	for _, c := range n.NetworkCards {
		sum += mbps(aws.ToFloat64(c.BaselineBandwidthInGbps))
	}
	text, found := strings.CutSuffix(strings.TrimPrefix(aws.ToString(n.NetworkPerformance), "Up to "), " Gigabit")
	if whole, err := strconv.ParseFloat(text, 64); found && err == nil && len(n.NetworkCards) > 1 {
		return min(sum, mbps(whole))
	}
	return sum
}

func mbps(gigabits float64) int64 { return int64(gigabits*1000 + 0.5) }

// accelerators reads GPUs, and other chips by EC2's newer description of AWS's own where there is one: it alone has Trainium
// and the cores.
func accelerators(t *catalog.Type, i *types.InstanceTypeInfo) {
	device := func(name, maker *string, count *int32, memory int32) catalog.GPU {
		return catalog.GPU{
			Name: aws.ToString(name), Manufacturer: catalog.Manufacturer(aws.ToString(maker)),
			Count: int64(aws.ToInt32(count)), MemoryMiB: int64(memory),
		}
	}
	if g := i.GpuInfo; g != nil {
		for _, d := range g.Gpus {
			var memory int32
			if d.MemoryInfo != nil {
				memory = aws.ToInt32(d.MemoryInfo.SizeInMiB)
			}
			t.GPUs = append(t.GPUs, device(d.Name, d.Manufacturer, d.Count, memory))
		}
	}
	if n := i.NeuronInfo; n != nil && len(n.NeuronDevices) > 0 {
		for _, d := range n.NeuronDevices {
			var memory int32
			if d.MemoryInfo != nil {
				memory = aws.ToInt32(d.MemoryInfo.SizeInMiB)
			}
			t.Accelerators = append(t.Accelerators, device(d.Name, aws.String("AWS"), d.Count, memory)) // EC2 leaves the maker out
			if d.CoreInfo != nil {
				t.NeuronCores += int64(aws.ToInt32(d.CoreInfo.Count)) * int64(aws.ToInt32(d.Count))
			}
		}
		return
	}
	if a := i.InferenceAcceleratorInfo; a != nil {
		for _, d := range a.Accelerators {
			var memory int32
			if d.MemoryInfo != nil {
				memory = aws.ToInt32(d.MemoryInfo.SizeInMiB)
			}
			t.Accelerators = append(t.Accelerators, device(d.Name, d.Manufacturer, d.Count, memory))
		}
	}
}
