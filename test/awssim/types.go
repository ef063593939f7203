package awssim

import (
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

type instanceTypesAnswer struct {
	Types     []typeInfo `xml:"instanceTypeSet>item"`
	NextToken string     `xml:"nextToken,omitempty"`
}

// typeInfo is one record of DescribeInstanceTypes, as far as the catalogue knows.
type typeInfo struct {
	Name              string        `xml:"instanceType"`
	CurrentGeneration bool          `xml:"currentGeneration"`
	UsageClasses      []string      `xml:"supportedUsageClasses>item"`
	Virtualization    []string      `xml:"supportedVirtualizationTypes>item"`
	RootDevices       []string      `xml:"supportedRootDeviceTypes>item"`
	BareMetal         bool          `xml:"bareMetal"`
	Hypervisor        string        `xml:"hypervisor,omitempty"`
	Burstable         bool          `xml:"burstablePerformanceSupported"`
	Processor         processorInfo `xml:"processorInfo"`
	VCPU              int64         `xml:"vCpuInfo>defaultVCpus"`
	MemoryMiB         int64         `xml:"memoryInfo>sizeInMiB"`
	HasStorage        bool          `xml:"instanceStorageSupported"`
	Storage           *storageInfo  `xml:"instanceStorageInfo"`
	EBS               ebsInfo       `xml:"ebsInfo"`
	Network           networkInfo   `xml:"networkInfo"`
	GPU               *gpuInfo      `xml:"gpuInfo"`
	Inference         *acceleInfo   `xml:"inferenceAcceleratorInfo"`
	Neuron            *neuronInfo   `xml:"neuronInfo"`
	Enclaves          string        `xml:"nitroEnclavesSupport"`
	Strategies        []string      `xml:"placementGroupInfo>supportedStrategies>item"`
}

type processorInfo struct {
	Architectures []string `xml:"supportedArchitectures>item"`
	Features      []string `xml:"supportedFeatures>item"`
	ClockGHz      string   `xml:"sustainedClockSpeedInGhz,omitempty"`
	Manufacturer  string   `xml:"manufacturer,omitempty"`
}

type storageInfo struct {
	TotalGB int64  `xml:"totalSizeInGB"`
	NVMe    string `xml:"nvmeSupport"`
}

type ebsInfo struct {
	OptimizedSupport string      `xml:"ebsOptimizedSupport"`
	Encryption       string      `xml:"encryptionSupport"`
	Optimized        *ebsNumbers `xml:"ebsOptimizedInfo"`
	Attachments      int64       `xml:"maximumEbsAttachments,omitempty"`
	LimitType        string      `xml:"attachmentLimitType,omitempty"`
}

type ebsNumbers struct {
	BaselineMbps int64 `xml:"baselineBandwidthInMbps"`
	MaximumMbps  int64 `xml:"maximumBandwidthInMbps"`
}

type networkInfo struct {
	Performance   string        `xml:"networkPerformance,omitempty"`
	MaxInterfaces int64         `xml:"maximumNetworkInterfaces"`
	MaxCards      int           `xml:"maximumNetworkCards"`
	DefaultCard   int           `xml:"defaultNetworkCardIndex"`
	Cards         []networkCard `xml:"networkCards>item"`
	IPv4PerENI    int64         `xml:"ipv4AddressesPerInterface"`
	EFASupported  bool          `xml:"efaSupported"`
	EFA           *efaInfo      `xml:"efaInfo"`
	EncryptedPath bool          `xml:"encryptionInTransitSupported"`
}

type networkCard struct {
	Index         int      `xml:"networkCardIndex"`
	Performance   string   `xml:"networkPerformance,omitempty"`
	MaxInterfaces int64    `xml:"maximumNetworkInterfaces"`
	Kinds         []string `xml:"interfaceTypeSet>item"`
	BaselineGbps  string   `xml:"baselineBandwidthInGbps,omitempty"`
}

type efaInfo struct {
	Max int64 `xml:"maximumEfaInterfaces"`
}

type device struct {
	Name         string `xml:"name"`
	Manufacturer string `xml:"manufacturer,omitempty"`
	Count        int64  `xml:"count"`
	MemoryMiB    int64  `xml:"memoryInfo>sizeInMiB"`
}

type gpuInfo struct {
	GPUs     []device `xml:"gpus>item"`
	TotalMiB int64    `xml:"totalGpuMemoryInMiB"`
}

type acceleInfo struct {
	Accelerators []device `xml:"accelerators>member"`
}

type neuronInfo struct {
	Devices []neuronDevice `xml:"neuronDevices>item"`
}

type neuronDevice struct {
	Name      string `xml:"name"`
	Count     int64  `xml:"count"`
	Cores     int64  `xml:"coreInfo>count"`
	MemoryMiB int64  `xml:"memoryInfo>sizeInMiB"`
}

// describeInstanceTypes pages by 100 at most, and names unknown types in its error.
func (s *Sim) describeInstanceTypes(f *form) (any, error) {
	f.ignore("IncludeUnsupportedInRegion")
	names := f.list("InstanceType")
	attrs := typeAttributes()
	fs := filters(f, attrs)
	var types []*catalog.Type
	for i := range s.cfg.Catalog.Types {
		if t := &s.cfg.Catalog.Types[i]; attrs.passes(t, fs) {
			types = append(types, t)
		}
	}
	if len(names) > 0 {
		asked, err := s.typesNamed(names)
		if err != nil {
			return nil, err
		}
		kept := types[:0:0]
		for _, t := range types {
			if asked[t.Name] {
				kept = append(kept, t)
			}
		}
		types = kept
	}
	types, token := page(f, types, func(t *catalog.Type) string { return t.Name }, pageBounds{5, 100, 100})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := instanceTypesAnswer{NextToken: token}
	for _, t := range types {
		out.Types = append(out.Types, describeType(t))
	}
	return out, nil
}

func (s *Sim) typesNamed(names []string) (map[string]bool, error) {
	if len(names) > 100 {
		return nil, fail("InvalidParameterValue", "More than 100 instance types were named.")
	}
	asked := map[string]bool{}
	for _, n := range names {
		if s.types[n] == nil {
			return nil, fail("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", n)
		}
		asked[n] = true
	}
	return asked, nil
}

func typeAttributes() attributes[*catalog.Type] {
	return attributes[*catalog.Type]{by: map[string]func(*catalog.Type) []string{
		"instance-type":                         func(t *catalog.Type) []string { return one(t.Name) },
		"supported-virtualization-type":         func(*catalog.Type) []string { return one("hvm") },
		"processor-info.supported-architecture": architectures,
		"bare-metal":                            func(t *catalog.Type) []string { return one(strconv.FormatBool(t.BareMetal)) },
		"supported-usage-class":                 usageClasses,
		"hypervisor":                            func(t *catalog.Type) []string { return one(t.Hypervisor) },
		"current-generation":                    func(*catalog.Type) []string { return one("true") },
		"vcpu-info.default-vcpus":               func(t *catalog.Type) []string { return one(strconv.FormatInt(t.VCPU, 10)) },
		"memory-info.size-in-mib":               func(t *catalog.Type) []string { return one(strconv.FormatInt(t.MemoryMiB, 10)) },
	}}
}

func usageClasses(t *catalog.Type) []string {
	var out []string
	if t.SupportsOnDemand {
		out = append(out, "on-demand")
	}
	if t.SupportsSpot {
		out = append(out, "spot")
	}
	return out
}

func ec2Arch(arch string) string {
	if arch == "amd64" {
		return "x86_64"
	}
	return arch
}

func features(t *catalog.Type) []string {
	if t.NestedVirtualization {
		return one("nested-virtualization")
	}
	return nil
}

// architectures are those of a type; the small ones of before 2015 run 32-bit images too.
func architectures(t *catalog.Type) []string {
	switch t.Name {
	case "c1.medium", "c3.large", "m1.medium", "m1.small", "t2.medium", "t2.micro", "t2.nano", "t2.small":
		return []string{"i386", "x86_64"}
	}
	return one(ec2Arch(t.Arch))
}

func describeType(t *catalog.Type) typeInfo {
	info := typeInfo{
		Name: t.Name, CurrentGeneration: true, BareMetal: t.BareMetal, Hypervisor: t.Hypervisor,
		UsageClasses: usageClasses(t), Virtualization: one("hvm"), RootDevices: one("ebs"),
		Burstable: t.BurstablePerformance, Enclaves: "unsupported",
		Processor: processorInfo{
			Architectures: architectures(t), ClockGHz: thousandths(t.ClockMHz),
			Manufacturer: properName(t.CPUManufacturer), Features: features(t),
		},
		VCPU: t.VCPU, MemoryMiB: t.MemoryMiB,
		EBS:     ebsInfo{OptimizedSupport: "default", Encryption: "supported"},
		Network: describeNetwork(t),
	}
	if t.LocalNVMeGB > 0 {
		info.HasStorage, info.Storage = true, &storageInfo{TotalGB: t.LocalNVMeGB, NVMe: "required"}
	}
	if t.EBSMbps > 0 {
		info.EBS.Optimized = &ebsNumbers{BaselineMbps: t.EBSMbps, MaximumMbps: t.EBSMbps}
	} else { // old types have it where a launch asks for it
		info.EBS.OptimizedSupport, info.EBS.Optimized = "supported", &ebsNumbers{BaselineMbps: 1000, MaximumMbps: 1000}
	}
	if t.EBSVolumes > 0 {
		info.EBS.Attachments, info.EBS.LimitType = t.EBSVolumes, "dedicated"
		if t.EBSVolumesShared {
			info.EBS.LimitType = "shared"
		}
	}
	if t.NitroEnclaves {
		info.Enclaves = "supported"
	}
	if len(t.GPUs) > 0 {
		info.GPU = &gpuInfo{GPUs: devices(t.GPUs)}
		for _, g := range t.GPUs {
			info.GPU.TotalMiB += g.Count * g.MemoryMiB
		}
	}
	info.Inference, info.Neuron = describeChips(t)
	info.Strategies = []string{"partition", "spread"}
	if !t.NoClusterPlacement {
		info.Strategies = append([]string{"cluster"}, info.Strategies...)
	}
	return info
}

func describeNetwork(t *catalog.Type) networkInfo {
	performance := ""
	if t.NetworkMbps > 0 {
		performance = thousandths(t.NetworkMbps) + " Gigabit"
	}
	cards := max(t.NetworkCards, 1)
	n := networkInfo{
		Performance: performance, MaxInterfaces: cards * t.DefaultENIs, MaxCards: int(cards), IPv4PerENI: t.IPv4PerENI,
		EncryptedPath: t.EncryptionInTransit,
	}
	for c := range cards { // each could have all, and together they have what is said above
		card := networkCard{
			Index: int(c), Performance: performance, MaxInterfaces: t.DefaultENIs, Kinds: one("interface"), BaselineGbps: thousandths(t.NetworkMbps),
		}
		if takesEFA(t, c) {
			card.Kinds = append(card.Kinds, "efa", "efa-only")
		}
		n.Cards = append(n.Cards, card)
	}
	if t.EFAInterfaces > 0 {
		n.EFASupported, n.EFA = true, &efaInfo{Max: t.EFAInterfaces}
	}
	return n
}

// takesEFA says that a network card of the type takes an elastic fabric adapter.
func takesEFA(t *catalog.Type, card int64) bool {
	return t.EFAInterfaces > 0 && card >= t.EFAFirstCard && card < max(t.NetworkCards, 1)
}

// describeChips shows accelerators as EC2 does: Inferentia in its older and its newer form, Trainium in the newer
// alone, and those of other makers in the older alone.
func describeChips(t *catalog.Type) (*acceleInfo, *neuronInfo) {
	inference, neuron := &acceleInfo{}, describeNeuron(t)
	for _, a := range t.Accelerators {
		if !strings.HasPrefix(a.Name, "Trainium") {
			inference.Accelerators = append(inference.Accelerators, devices([]catalog.GPU{a})...)
		}
	}
	if len(inference.Accelerators) == 0 {
		inference = nil
	}
	if len(neuron.Devices) == 0 {
		neuron = nil
	}
	return inference, neuron
}

// describeNeuron is EC2's newer form, which has AWS's own chips alone and does not name their maker.
func describeNeuron(t *catalog.Type) *neuronInfo {
	var total int64
	for _, a := range t.Accelerators {
		total += a.Count
	}
	out := &neuronInfo{}
	for _, a := range t.Accelerators {
		if a.Manufacturer != "aws" {
			continue
		}
		d := neuronDevice{Name: a.Name, Count: a.Count, MemoryMiB: a.MemoryMiB}
		if total > 0 {
			d.Cores = t.NeuronCores / total
		}
		out.Devices = append(out.Devices, d)
	}
	return out
}

func devices(gpus []catalog.GPU) []device {
	var out []device
	for _, g := range gpus {
		out = append(out, device{Name: g.Name, Manufacturer: properName(g.Manufacturer), Count: g.Count, MemoryMiB: g.MemoryMiB})
	}
	return out
}

// properName is a maker's name as EC2 writes it.
func properName(maker string) string {
	switch maker {
	case "nvidia":
		return "NVIDIA"
	case "amd":
		return "AMD"
	case "aws":
		return "AWS"
	case "habana":
		return "Habana"
	case "intel":
		return "Intel"
	case "qualcomm":
		return "Qualcomm"
	}
	return maker
}

// thousandths writes n/1000 without needless zeros; empty for zero, which means unknown.
func thousandths(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

type offeringsAnswer struct {
	Offerings []offering `xml:"instanceTypeOfferingSet>item"`
	NextToken string     `xml:"nextToken,omitempty"`
}

type offering struct {
	InstanceType string `xml:"instanceType"`
	LocationType string `xml:"locationType"`
	Location     string `xml:"location"`
}

// describeInstanceTypeOfferings lists what is offered where, by region, zone or zone id.
func (s *Sim) describeInstanceTypeOfferings(f *form) (any, error) {
	attrs := attributes[offering]{by: map[string]func(offering) []string{
		"instance-type": func(o offering) []string { return one(o.InstanceType) },
		"location":      func(o offering) []string { return one(o.Location) },
	}}
	fs := filters(f, attrs)
	kind := f.str("LocationType")
	if kind == "" {
		kind = "region"
	}
	var all []offering
	for _, t := range s.cfg.Catalog.Types {
		locations, err := s.locations(t, kind)
		if err != nil {
			return nil, err
		}
		for _, l := range locations {
			if o := (offering{t.Name, kind, l}); attrs.passes(o, fs) {
				all = append(all, o)
			}
		}
	}
	key := func(o offering) string { return o.InstanceType + "\x00" + o.Location }
	sortBy(all, key)
	all, token := page(f, all, key, pageBounds{5, 1000, 1000})
	if err := f.checked(); err != nil {
		return nil, err
	}
	return offeringsAnswer{all, token}, nil
}

func (s *Sim) locations(t catalog.Type, kind string) ([]string, error) {
	switch kind {
	case "region":
		return one(s.cfg.Region), nil
	case "availability-zone":
		return t.Zones, nil
	case "availability-zone-id":
		var ids []string
		for _, z := range t.Zones {
			ids = append(ids, s.zoneIDs[z])
		}
		return ids, nil
	}
	return nil, fail("InvalidParameterValue", "Value (%s) for parameter locationType is invalid.", kind)
}
