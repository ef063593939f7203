package main

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
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
	zones   []catalog.Zone      // of the region, as written
	offers  map[string][]string // type name to zone names
}

// record is the part of EC2's description of an instance type that the catalogue holds.
type record struct {
	BareMetal                     bool
	BurstablePerformanceSupported bool
	Hypervisor                    string
	SupportedUsageClasses         []string
	SupportedVirtualizationTypes  []string
	VCpuInfo                      struct{ DefaultVCpus int64 }
	MemoryInfo                    memoryInfo
	ProcessorInfo                 struct {
		Manufacturer             string
		SupportedArchitectures   []string
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
		EbsOptimizedSupport string
		EbsOptimizedInfo    struct{ MaximumBandwidthInMbps int64 }
	}
	InstanceStorageInfo struct {
		NvmeSupport   string
		TotalSizeInGB int64
	}
	GpuInfo                  struct{ Gpus []device }
	InferenceAcceleratorInfo struct{ Accelerators []device }
	NeuronInfo               struct{ NeuronDevices []device }
}

type memoryInfo struct{ SizeInMiB int64 }

type device struct {
	Name, Manufacturer string
	Count              int64
	MemoryInfo         memoryInfo
	CoreInfo           struct{ Count int64 }
}

func readMoto(wheel, region string) (*moto, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }() // it was only read

	m := &moto{offers: map[string][]string{}}
	if m.version, err = wheelVersion(z.File); err != nil {
		return nil, err
	}
	if err := readGzipJSON(z, typesFile, &m.records); err != nil {
		return nil, fmt.Errorf("%s: %w", typesFile, err)
	}
	var offers []struct{ InstanceType, Location string }
	if err := readGzipJSON(z, offersFolder+region+".json.gz", &offers); err != nil {
		return nil, fmt.Errorf("%s%s.json.gz: %w", offersFolder, region, err)
	}
	for _, o := range offers {
		m.offers[o.InstanceType] = append(m.offers[o.InstanceType], o.Location)
	}
	if m.zones, err = readZones(z, region); err != nil {
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
func readZones(z *zip.ReadCloser, region string) ([]catalog.Zone, error) {
	f, err := z.Open(zonesFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	call := regexp.MustCompile(`Zone\(\s*region_name="` + regexp.QuoteMeta(region) + `",\s*name="([^"]+)",\s*zone_id="([^"]+)"`)
	var zones []catalog.Zone
	for _, m := range call.FindAllSubmatch(text, -1) {
		zones = append(zones, catalog.Zone{Name: string(m[1]), ID: string(m[2])})
	}
	if len(zones) == 0 {
		return nil, fmt.Errorf("no zones of region %s", region)
	}
	return zones, nil
}
