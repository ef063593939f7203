package catalog_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// small is a catalogue of two types that uses every kind of field.
func small() *catalog.Catalog {
	return &catalog.Catalog{
		Region:  "eu-x-1",
		Zones:   []catalog.Zone{{Name: "eu-x-1a", ID: "x1-az1"}, {Name: "eu-x-1b", ID: "x1-az2"}},
		Sources: []catalog.Source{{Name: "n", Version: "1", License: "MIT", What: "all <of> it"}},
		Types: []catalog.Type{
			{
				Name: "g5.large", Arch: "arm64", BareMetal: true, VCPU: 2, MemoryMiB: 4096, DefaultENIs: 2, IPv4PerENI: 4,
				CPUManufacturer: "aws", BranchENIs: 3, TrunkingSupported: true,
				GPUs: []catalog.GPU{{Name: "A", Manufacturer: "nvidia", Count: 1, MemoryMiB: 7}}, Zones: []string{"eu-x-1b"},
			},
			{
				Name: "m5.large", Arch: "amd64", Hypervisor: "nitro", VCPU: 2, MemoryMiB: 8192, DefaultENIs: 3, IPv4PerENI: 10,
				CPUManufacturer: "intel", Zones: []string{"eu-x-1a", "eu-x-1b"}, SupportsOnDemand: true, OnDemandMicroUSD: 96_000,
				SpotMicroUSD: map[string]int64{"eu-x-1a": 30_000, "eu-x-1b": 40_000},
			},
		},
	}
}

func written(t *testing.T, c *catalog.Catalog) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := catalog.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	bare := small()
	bare.Sources = nil
	tests := map[string]*catalog.Catalog{
		"a small catalogue": small(), "one without sources": bare, "the bundled one": bundled(t),
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := written(t, want)
			for form, data := range map[string][]byte{"plain": data, "gzipped": zipped(t, data)} {
				got, err := catalog.Read(bytes.NewReader(data))
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", form, diff)
				}
			}
		})
	}
}

func TestWriteIsDeterministicAndReadable(t *testing.T) {
	t.Parallel()
	c := bundled(t)
	a, b := written(t, c), written(t, bundled(t))
	if !bytes.Equal(a, b) {
		t.Error("the same catalogue gave different bytes")
	}
	if !json.Valid(a) {
		t.Error("not JSON")
	}
	perType := 0
	for line := range strings.Lines(string(a)) {
		if strings.HasPrefix(line, `{"name":"`) {
			perType++
		}
	}
	if perType != len(c.Types) {
		t.Errorf("%d lines of types, want one for each of %d", perType, len(c.Types))
	}
}

func TestReadRefusesABadCatalogueAndNamesTheSpot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		old, replaced string   // in the text of small
		want          []string // parts of the error
	}{
		"a field no one knows":           {`"vcpu":2,"memoryMiB":8192`, `"vcpus":2,"memoryMiB":8192`, []string{"m5.large", "vcpus"}},
		"a word for a number":            {`"memoryMiB":8192`, `"memoryMiB":"8 GiB"`, []string{"m5.large", "memoryMiB", "string"}},
		"a fraction":                     {`"vcpu":2,"memoryMiB":8192`, `"vcpu":1.5,"memoryMiB":8192`, []string{"m5.large", "vcpu", "1.5"}},
		"a missing size":                 {`"vcpu":2,"memoryMiB":8192`, `"memoryMiB":8192`, []string{"m5.large", "vcpu", "want 1"}},
		"a negative price":               {`96000`, `-1`, []string{"m5.large", "onDemandMicroUSD", "-1"}},
		"a spot price of nothing":        {`"eu-x-1b":40000`, `"eu-x-1b":0`, []string{"m5.large", "spotMicroUSD", "eu-x-1b"}},
		"a spot price of another zone":   {`"eu-x-1b":40000`, `"eu-x-1c":40000`, []string{"m5.large", "spotMicroUSD", "eu-x-1c"}},
		"too many interfaces":            {`"defaultENIs":3`, `"defaultENIs":1000000`, []string{"m5.large", "defaultENIs"}},
		"an architecture no one knows":   {`"amd64"`, `"x86_64"`, []string{"m5.large", "arch", "x86_64", "amd64"}},
		"a hypervisor on bare metal":     {`"bareMetal":true`, `"bareMetal":true,"hypervisor":"xen"`, []string{"g5.large", "hypervisor"}},
		"no hypervisor and no metal":     {`"hypervisor":"nitro",`, ``, []string{"m5.large", "hypervisor"}},
		"a maker no one knows":           {`"intel"`, `"Intel"`, []string{"m5.large", "cpuManufacturer", "Intel"}},
		"branches without a trunk":       {`,"trunking":true`, ``, []string{"g5.large", "branchENIs"}},
		"a maker as EC2 spells it":       {`"nvidia"`, `"NVIDIA"`, []string{"g5.large", "gpus", "manufacturer"}},
		"a GPU without a maker":          {`"nvidia"`, `""`, []string{"g5.large", "gpus", "manufacturer"}},
		"a GPU with a negative count":    {`"count":1`, `"count":-1`, []string{"g5.large", "gpus", "-1"}},
		"a zone that is not there":       {`["eu-x-1b"]`, `["eu-x-1c"]`, []string{"g5.large", "zones", "eu-x-1c"}},
		"a type's zones out of order":    {`["eu-x-1a","eu-x-1b"]`, `["eu-x-1b","eu-x-1a"]`, []string{"m5.large", "zones"}},
		"a type's zone twice":            {`["eu-x-1a","eu-x-1b"]`, `["eu-x-1a","eu-x-1a"]`, []string{"m5.large", "zones"}},
		"a type without a name":          {`"name":"m5.large",`, ``, []string{"type number 2", "name"}},
		"a type with an impossible name": {`"m5.large"`, `"m5 large"`, []string{"m5 large", "name"}},
		"types out of order":             {`"m5.large"`, `"c5.large"`, []string{"c5.large", "g5.large", "sorted"}},
		"a type twice":                   {`"m5.large"`, `"g5.large"`, []string{"g5.large", "once"}},
		"no region":                      {`"eu-x-1"`, `""`, []string{"region"}},
		"a zone without an id":           {`"id":"x1-az2"`, `"id":""`, []string{"zone number 2", "id"}},
		"zones out of order":             {`"name":"eu-x-1a","id"`, `"name":"eu-x-1c","id"`, []string{"zone eu-x-1b", "sorted"}},
		"an unknown part":                {`"sources"`, `"origins"`, []string{"origins"}},
		"a types field that is no list":  {"\"types\": [\n", "\"types\": {}, \"zones\": [\n", []string{"types", "object"}},
		"something behind":               {"]\n}\n", "]\n}\n{}", []string{"follows"}},
		"an end too early":               {"]\n}\n", "", []string{"EOF"}},
		"no JSON at all":                 {"{\n\"region\"", "region", []string{"not JSON", "byte"}},
	}
	text := string(written(t, small()))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(text, tt.old, tt.replaced, 1)
			if bad == text {
				t.Fatalf("%q is not in the catalogue", tt.old)
			}
			_, err := catalog.Read(strings.NewReader(bad))
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestReadRefusesWhatIsNoCatalogueFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	whole := zipped(t, written(t, small()))
	tests := map[string]struct {
		from io.Reader
		want string
	}{
		"nothing":         {strings.NewReader(""), "empty"},
		"an empty object": {strings.NewReader("{}"), "region"},
		"no zones":        {strings.NewReader(`{"region":"r"}`), "zones"},
		"no types":        {strings.NewReader(`{"region":"r","zones":[{"name":"a","id":"b"}]}`), "types"},
		"a gzip cut off":  {bytes.NewReader(whole[:len(whole)/2]), "EOF"},
		"a gzip damaged":  {bytes.NewReader([]byte{0x1f, 0x8b, 0xff, 0, 0, 0, 0, 0, 0, 0}), "decompress"},
		"a broken disk":   {iotest.ErrReader(broken), "broken"},
		"too much of it":  {bytes.NewReader(zipped(t, bytes.Repeat([]byte(" "), 64<<20+1))), "more than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Read(tt.from)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestWriteRefusesWhatReadWould(t *testing.T) {
	t.Parallel()
	c := small()
	c.Types[1].VCPU = 0
	var b bytes.Buffer
	err := catalog.Write(&b, c)
	if err == nil || !strings.Contains(err.Error(), "m5.large") || b.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, b.Len())
	}
}
