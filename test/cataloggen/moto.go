package main

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// Where the wheel keeps what is read. The JSON files are the answers of EC2's own describe calls.
const (
	typesFile     = "moto/ec2/resources/instance_types.json.gz"
	offersFolder  = "moto/ec2/resources/instance_type_offerings/availability-zone/"
	zonesFile     = "moto/ec2/models/availability_zones_and_regions.py"
	wheelMetadata = "METADATA"
)

// moto is what the wheel says.
type moto struct {
	version string
	records map[string]record
	zones   map[string][]catalog.Zone      // by region, as written; of some regions only
	offers  map[string]map[string][]string // by region and type, zone names
}

// record is the part of EC2's description of an instance type that the catalogue holds.
type record struct {
	BareMetal                     bool
	BurstablePerformanceSupported bool
	Hypervisor                    string
	NitroEnclavesSupport          string
	SupportedUsageClasses         []string
	SupportedVirtualizationTypes  []string
	VCpuInfo                      struct{ DefaultVCpus int64 }
	MemoryInfo                    memoryInfo
	ProcessorInfo                 struct {
		Manufacturer             string
		SupportedArchitectures   []string
		SupportedFeatures        []string
		SustainedClockSpeedInGhz json.Number
	}
	NetworkInfo struct {
		DefaultNetworkCardIndex      int64
		EncryptionInTransitSupported bool
		Ipv4AddressesPerInterface    int64
		EfaInfo                      struct{ MaximumEfaInterfaces int64 }
		NetworkCards                 []struct {
			NetworkCardIndex         int64
			MaximumNetworkInterfaces int64
			InterfaceTypes           []string
		}
	}
	EbsInfo struct {
		EbsOptimizedSupport   string
		EbsOptimizedInfo      struct{ MaximumBandwidthInMbps int64 }
		AttachmentLimitType   string
		MaximumEbsAttachments int64
	}
	InstanceStorageInfo struct {
		NvmeSupport   string
		TotalSizeInGB int64
	}
	GpuInfo                  struct{ Gpus []device }
	InferenceAcceleratorInfo struct{ Accelerators []device }
	NeuronInfo               struct{ NeuronDevices []device }
	PlacementGroupInfo       struct{ SupportedStrategies []string }
}

type memoryInfo struct{ SizeInMiB int64 }

type device struct {
	Name, Manufacturer string
	Count              int64
	MemoryInfo         memoryInfo
	CoreInfo           struct{ Count int64 }
}

func readMoto(wheel string) (*moto, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }() // it was only read

	m := &moto{offers: map[string]map[string][]string{}}
	if m.version, err = wheelVersion(z.File); err != nil {
		return nil, err
	}
	if err := readGzipJSON(z, typesFile, &m.records); err != nil {
		return nil, fmt.Errorf("%s: %w", typesFile, err)
	}
	for _, f := range z.File {
		name, here := strings.CutPrefix(f.Name, offersFolder)
		region, isData := strings.CutSuffix(name, ".json.gz")
		if !here || !isData {
			continue
		}
		var offers []struct{ InstanceType, Location string }
		if err := readGzipJSON(z, f.Name, &offers); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		m.offers[region] = map[string][]string{}
		for _, o := range offers {
			m.offers[region][o.InstanceType] = append(m.offers[region][o.InstanceType], o.Location)
		}
	}
	if len(m.offers) == 0 {
		return nil, fmt.Errorf("%s: no regions", offersFolder)
	}
	if m.zones, err = readZones(z); err != nil {
		return nil, fmt.Errorf("%s: %w", zonesFile, err)
	}
	return m, nil
}

// wheelVersion takes the version from the name of the folder that every wheel keeps its metadata in.
func wheelVersion(files []*zip.File) (string, error) {
	for _, f := range files {
		folder, file, _ := strings.Cut(f.Name, "/")
		version, isInfo := strings.CutSuffix(folder, ".dist-info")
		version, isMoto := strings.CutPrefix(version, "moto-")
		if isInfo && isMoto && file == wheelMetadata {
			return version, nil
		}
	}
	return "", errors.New("no moto-VERSION.dist-info/METADATA: want the moto package's wheel")
}

func readGzipJSON(z *zip.ReadCloser, name string, into any) error {
	f, err := z.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	g, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return json.NewDecoder(g).Decode(into)
}

// readZones finds the zones and their IDs in the one table that the wheel keeps as Python source, not as data.
func readZones(z *zip.ReadCloser) (map[string][]catalog.Zone, error) {
	f, err := z.Open(zonesFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	call := regexp.MustCompile(`Zone\(\s*region_name="([^"]+)",\s*name="([^"]+)",\s*zone_id="([^"]+)"`)
	zones := map[string][]catalog.Zone{}
	for _, m := range call.FindAllSubmatch(text, -1) {
		zones[string(m[1])] = append(zones[string(m[1])], catalog.Zone{Name: string(m[2]), ID: string(m[3])})
	}
	if len(zones) == 0 {
		return nil, errors.New("no zones of any region")
	}
	return zones, nil
}

// zonesOf are the zones of a region: those of the table, and those that sell something; three where neither is known.
// What the table does not have gets an id that is left of those that such a region has.
func (m *moto) zonesOf(region string) []catalog.Zone {
	out := slices.Clone(m.zones[region])
	names := map[string]bool{}
	for _, zones := range m.offers[region] {
		for _, z := range zones {
			names[z] = true
		}
	}
	if len(out)+len(names) == 0 {
		names = map[string]bool{region + "a": true, region + "b": true, region + "c": true}
	}
	ids := map[string]bool{}
	for _, z := range out {
		ids[z.ID] = true
		delete(names, z.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		id := ""
		for n := 1; id == "" || ids[id]; n++ {
			id = fmt.Sprintf("%s-az%d", short(region), n)
		}
		ids[id] = true
		out = append(out, catalog.Zone{Name: name, ID: id})
	}
	slices.SortFunc(out, func(a, b catalog.Zone) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// short is a region as zone ids begin: of each word its first letter, both of a word like "southeast".
func short(region string) string {
	parts := strings.Split(region, "-")
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		out.WriteString(p[:1])
		for _, side := range []string{"east", "west"} {
			if len(p) > len(side) && strings.HasSuffix(p, side) {
				out.WriteString(side[:1])
			}
		}
	}
	return out.String()
}
