package catalog

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// files are what Pack made of all regions: the types' sizes once, and for each region what it sells of them.
//
//go:generate go run ../../../test/cataloggen -o bundled
//go:embed bundled/*.json.gz
var files embed.FS

const (
	filesDir  = "bundled"
	typesName = "types"
	ending    = ".json.gz"
)

// DefaultRegion is the region of Bundled.
const DefaultRegion = "us-east-1"

// ErrUnknownRegion says that nothing of a region is bundled; test with errors.Is.
var ErrUnknownRegion = errors.New("no bundled catalogue")

// shelf is what a region sells, as its file holds it.
type shelf struct {
	Region   string   `json:"region"`
	Currency string   `json:"currency,omitempty"`
	Zones    []Zone   `json:"zones"`
	Sources  []Source `json:"sources,omitempty"`
	Sold     []sold   `json:"sold"`
}

// sold is what of a Type depends on the region. Its names are short: there are tens of thousands.
type sold struct {
	Type string `json:"t"`
	// In holds the places in Zones, from 0, as the bits of a number.
	In        uint64            `json:"z"`
	Price     int64             `json:"p,omitempty"`
	Estimated bool              `json:"e,omitempty"`
	Saves     int64             `json:"s,omitempty"`
	Reclaimed model.ReclaimBand `json:"r,omitempty"`
}

// Bundled is the bundled catalogue of DefaultRegion. Each call decodes afresh, in a few tens of milliseconds, and the
// caller owns the result: call it once per process.
func Bundled() (*Catalog, error) { return BundledFor(DefaultRegion) }

// BundledFor is the bundled catalogue of a region, the caller's own; ErrUnknownRegion, wrapped, where there is none.
func BundledFor(region string) (*Catalog, error) {
	var on shelf
	if err := readFile(region, &on); err != nil {
		return nil, err
	}
	var types []Type
	if err := readFile(typesName, &types); err != nil {
		return nil, err
	}
	c, err := on.catalog(types)
	if err != nil {
		return nil, fmt.Errorf("bundled catalogue of %s: %w", region, err)
	}
	return c, nil
}

// Regions are those that have a bundled catalogue, sorted.
func Regions() []string {
	entries, err := files.ReadDir(filesDir)
	if err != nil {
		return nil // the folder is embedded, so it is there
	}
	var out []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ending); name != typesName {
			out = append(out, name)
		}
	}
	return out
}

func readFile(name string, into any) error {
	data, err := files.ReadFile(path.Join(filesDir, name+ending))
	if err != nil {
		return fmt.Errorf("%w of region %q: want one of %s", ErrUnknownRegion, name, strings.Join(Regions(), ", "))
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("bundled file %s: %w", name, err)
	}
	d := json.NewDecoder(z)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("bundled file %s: %w", name, err)
	}
	return nil
}

// catalog joins what is sold with the types, which are sorted by name and no longer used by the caller.
func (s *shelf) catalog(types []Type) (*Catalog, error) {
	c := &Catalog{Region: s.Region, Currency: s.Currency, Zones: s.Zones, Sources: s.Sources, Types: make([]Type, 0, len(s.Sold))}
	all := Catalog{Types: types}
	for _, o := range s.Sold {
		t, ok := all.Type(o.Type)
		if !ok {
			return nil, fmt.Errorf("type %s: not among the types", o.Type)
		}
		t.GPUs, t.Accelerators = slices.Clone(t.GPUs), slices.Clone(t.Accelerators)
		for i, z := range s.Zones {
			if o.In>>i&1 == 1 {
				t.Zones = append(t.Zones, z.Name)
			}
		}
		t.OnDemandMicroUSD, t.PriceEstimated, t.SpotSavesPercent, t.Reclaimed = o.Price, o.Estimated, o.Saves, o.Reclaimed
		c.Types = append(c.Types, t)
	}
	return c, c.validate()
}

// Pack makes the bundled files of the catalogues of all regions, by file name. A type must be the same in all of them
// but for its zones and what it costs. The same catalogues give the same bytes.
func Pack(catalogs []*Catalog) (map[string][]byte, error) {
	out := map[string][]byte{}
	types := map[string]Type{}
	for _, c := range catalogs {
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("region %s: %w", c.Region, err)
		}
		on := shelf{Region: c.Region, Currency: c.Currency, Zones: c.Zones, Sources: c.Sources}
		for _, t := range c.Types {
			o := sold{Type: t.Name, Price: t.OnDemandMicroUSD, Estimated: t.PriceEstimated, Saves: t.SpotSavesPercent, Reclaimed: t.Reclaimed}
			for i, z := range c.Zones {
				if slices.Contains(t.Zones, z.Name) {
					o.In |= 1 << i
				}
			}
			if len(t.SpotMicroUSD) > 0 {
				return nil, fmt.Errorf("region %s: type %s: spot prices are of a moment, and not bundled", c.Region, t.Name)
			}
			on.Sold = append(on.Sold, o)
			t.Zones, t.OnDemandMicroUSD, t.PriceEstimated, t.SpotSavesPercent, t.Reclaimed = nil, 0, false, 0, 0
			if known, ok := types[t.Name]; ok && !reflect.DeepEqual(known, t) {
				return nil, fmt.Errorf("region %s: type %s: not what it is in another region", c.Region, t.Name)
			}
			types[t.Name] = t
		}
		data, err := packed(on)
		if err != nil {
			return nil, fmt.Errorf("region %s: %w", c.Region, err)
		}
		out[c.Region+ending] = data
	}
	sorted := make([]Type, 0, len(types))
	for _, name := range slices.Sorted(maps.Keys(types)) {
		sorted = append(sorted, types[name])
	}
	data, err := packed(sorted)
	out[typesName+ending] = data
	return out, err
}

// packed is v as gzipped JSON, whose header has neither a time nor a name.
func packed(v any) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
