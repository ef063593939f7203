package ec2

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/answer"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/budget"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/filter"
)

// Market is what a region sells. Safe for concurrent use.
type Market struct {
	region  string
	ec2     *sdk.Client
	pricing *pricing.Client // nil where there is no price list to ask
	known   *catalog.Catalog
	now     func() time.Time
}

// OpenMarket is the market of the configuration's region, whose cluster and API server are not asked for. It calls
// nothing yet.
func OpenMarket(conf aws.Config, c Config) *Market {
	budget.New().Attach(&conf)
	return openMarket(conf, c)
}

func openMarket(conf aws.Config, c Config) *Market {
	m := &Market{region: conf.Region, ec2: sdk.NewFromConfig(conf), known: c.Known, now: c.Now}
	if !c.NoPriceList {
		m.pricing = priceList(conf, c.Endpoint)
	}
	if m.known == nil {
		m.known = &catalog.Catalog{}
	}
	if m.now == nil {
		m.now = time.Now
	}
	return m
}

// HasPriceList says whether there is a price list to ask.
func (m *Market) HasPriceList() bool { return m.pricing != nil }

// InstanceTypes asks EC2 what the region offers, and remembers it for launches.
func (a *Adapter) InstanceTypes(ctx context.Context) ([]catalog.Type, error) {
	out, err := a.Market.InstanceTypes(ctx)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]catalog.Type, len(out))
	for _, t := range out {
		byName[t.Name] = t
	}
	a.mu.Lock()
	a.types = byName
	a.mu.Unlock()
	return out, nil
}

// InstanceTypes asks EC2 what the region offers.
func (m *Market) InstanceTypes(ctx context.Context) ([]catalog.Type, error) {
	zones, err := m.zonesByType(ctx)
	if err != nil {
		return nil, err
	}
	pages := sdk.NewDescribeInstanceTypesPaginator(m.ec2, &sdk.DescribeInstanceTypesInput{
		Filters: []types.Filter{
			filter.Of("supported-virtualization-type", "hvm"),
			filter.Of("processor-info.supported-architecture", "x86_64", "arm64"),
		},
		MaxResults: aws.Int32(100),
	})
	var out []catalog.Type
	read := answer.Of[sdk.DescribeInstanceTypesOutput]()
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, read)
		if err != nil {
			return nil, fmt.Errorf("describe instance types: %w", classify(err))
		}
		for i := range page.InstanceTypes {
			t := instanceType(&page.InstanceTypes[i])
			if t.Arch == "" {
				continue
			}
			t.Zones = zones[t.Name]
			if known, ok := m.known.Type(t.Name); ok { // EC2 does not tell
				t.TrunkingSupported, t.BranchENIs = known.TrunkingSupported, known.BranchENIs
			}
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(x, y catalog.Type) int { return cmp.Compare(x.Name, y.Name) })
	return out, nil
}

// typesByName are the types that were told last. Launches that begin together before that ask once.
func (a *Adapter) typesByName(ctx context.Context) (map[string]catalog.Type, error) {
	if known := a.typesTold(); known != nil {
		return known, nil
	}
	a.asking.Lock()
	defer a.asking.Unlock()
	if known := a.typesTold(); known != nil {
		return known, nil
	}
	if _, err := a.InstanceTypes(ctx); err != nil {
		return nil, err
	}
	return a.typesTold(), nil
}

func (a *Adapter) typesTold() map[string]catalog.Type {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.types
}

// Zones asks EC2 for the region's zones that the account has, sorted by name.
func (m *Market) Zones(ctx context.Context) ([]catalog.Zone, error) {
	answer, err := m.ec2.DescribeAvailabilityZones(ctx, &sdk.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("describe availability zones: %w", classify(err))
	}
	var out []catalog.Zone
	for _, z := range answer.AvailabilityZones {
		out = append(out, catalog.Zone{Name: aws.ToString(z.ZoneName), ID: aws.ToString(z.ZoneId)})
	}
	slices.SortFunc(out, func(x, y catalog.Zone) int { return cmp.Compare(x.Name, y.Name) })
	return out, nil
}

func (m *Market) zonesByType(ctx context.Context) (map[string][]string, error) {
	pages := sdk.NewDescribeInstanceTypeOfferingsPaginator(m.ec2, &sdk.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(1000),
	})
	out := map[string][]string{}
	read := answer.Of[sdk.DescribeInstanceTypeOfferingsOutput]()
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, read)
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
		NitroEnclaves:        i.NitroEnclavesSupport == types.NitroEnclavesSupportSupported,
	}
	if p := i.ProcessorInfo; p != nil {
		said := make([]string, 0, len(p.SupportedArchitectures))
		for _, a := range p.SupportedArchitectures {
			said = append(said, string(a))
		}
		t.Arch = catalog.Arch(said...)
		t.CPUManufacturer = catalog.Manufacturer(aws.ToString(p.Manufacturer))
		t.NestedVirtualization = slices.Contains(p.SupportedFeatures, types.SupportedAdditionalProcessorFeatureNestedVirtualization)
		t.ClockMHz = int64(aws.ToFloat64(p.SustainedClockSpeedInGhz)*1000 + 0.5)
	}
	if v := i.VCpuInfo; v != nil {
		t.VCPU = int64(aws.ToInt32(v.DefaultVCpus))
	}
	if m := i.MemoryInfo; m != nil {
		t.MemoryMiB = aws.ToInt64(m.SizeInMiB)
	}
	if e := i.EbsInfo; e != nil {
		t.EBSVolumes = int64(aws.ToInt32(e.MaximumEbsAttachments))
		t.EBSVolumesShared = t.EBSVolumes > 0 && e.AttachmentLimitType == types.AttachmentLimitTypeShared
	}
	// Where it is not the default, an instance has the bandwidth only when a launch asks for it.
	if e := i.EbsInfo; e != nil && e.EbsOptimizedInfo != nil && e.EbsOptimizedSupport == types.EbsOptimizedSupportDefault {
		t.EBSMbps = int64(aws.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
	if s := i.InstanceStorageInfo; s != nil && s.NvmeSupport != types.EphemeralNvmeSupportUnsupported {
		t.LocalNVMeGB = aws.ToInt64(s.TotalSizeInGB)
	}
	if g := i.PlacementGroupInfo; g != nil && len(g.SupportedStrategies) > 0 {
		t.NoClusterPlacement = !slices.Contains(g.SupportedStrategies, types.PlacementGroupStrategyCluster)
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

// bandwidth is the baseline of all network cards together. What EC2 names for the type as a whole ("400 Gigabit")
// bounds it: several cards may share that, and some cards alone are named above it.
func bandwidth(n *types.NetworkInfo) int64 {
	var sum int64
	for _, c := range n.NetworkCards {
		sum += mbps(aws.ToFloat64(c.BaselineBandwidthInGbps))
	}
	text, found := strings.CutSuffix(strings.TrimPrefix(aws.ToString(n.NetworkPerformance), "Up to "), " Gigabit")
	if whole, err := strconv.ParseFloat(text, 64); found && err == nil {
		return min(sum, mbps(whole))
	}
	return sum
}

func mbps(gigabits float64) int64 { return int64(gigabits*1000 + 0.5) }

// accelerators reads GPUs, and other chips by EC2's newer description of AWS's own where there is one: it alone has
// Trainium and the cores.
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
