package catalog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

// The files must be the generator's own output, so that the next run shows nothing but real changes.
func TestTheBundledFilesAreWhatPackMakes(t *testing.T) {
	t.Parallel()
	var all []*Catalog
	for _, region := range Regions() {
		c, err := BundledFor(region)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	want, err := Pack(all)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := files.ReadDir(filesDir)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, e := range entries {
		data, err := files.ReadFile(path.Join(filesDir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
		if !bytes.Equal(plain(t, data), plain(t, want[e.Name()])) {
			t.Errorf("%s is not what Pack makes of it: run the generator (SOURCES.md)", e.Name())
		}
	}
	if len(entries) != len(want) || size > 1<<20 {
		t.Errorf("%d files of %d bytes, want %d of less than 1 MiB", len(entries), size, len(want))
	}
}

func plain(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("gzip header holds time %v, name %q", z.ModTime, z.Name)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryRegionSellsTheUsualTypes(t *testing.T) {
	t.Parallel()
	for _, region := range Regions() {
		c, err := BundledFor(region)
		if err != nil {
			t.Fatal(err)
		}
		sources, priced := len(c.Sources), 0
		for _, ty := range c.Types {
			if ty.OnDemandMicroUSD > 0 && len(ty.Zones) > 0 {
				priced++
			}
		}
		if c.Region != region || len(c.Zones) < 2 || len(c.Types) < 200 || priced != len(c.Types) || sources != 3 {
			t.Errorf("%s: region %s, %d zones, %d types, %d priced, %d sources", region, c.Region, len(c.Zones), len(c.Types), priced, sources)
		}
		for _, z := range c.Zones {
			if !strings.HasPrefix(z.Name, region) || !strings.Contains(z.ID, "-az") {
				t.Errorf("%s: zone %+v", region, z)
			}
		}
		usual, ok := c.Type("m5.large")
		if !ok {
			usual, ok = c.Type("t3.large") // newer regions have no m5
		}
		if !ok || (c.Currency == "") == strings.HasPrefix(region, "cn-") || usual.OnDemandMicroUSD < 80_000 {
			t.Errorf("%s: %s costs %d %s", region, usual.Name, usual.OnDemandMicroUSD, c.Currency)
		}
	}
	for _, region := range []string{"us-gov-west-1", "us-gov-east-1", "cn-north-1", "cn-northwest-1", "eu-central-1", "ap-southeast-7"} {
		if !slices.Contains(Regions(), region) {
			t.Errorf("nothing of %s is bundled", region)
		}
	}
}

func TestARegionsOwnFigures(t *testing.T) {
	t.Parallel()
	c, err := BundledFor("eu-central-1")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := c.Type("m5.large")
	if got.OnDemandMicroUSD != 115_000 || got.PriceEstimated || got.SpotSavesPercent != 65 || got.Reclaimed != model.Above20 {
		t.Errorf("m5.large costs %d (estimated: %v), spot saves %d%%, %s are reclaimed",
			got.OnDemandMicroUSD, got.PriceEstimated, got.SpotSavesPercent, got.Reclaimed)
	}
	if _, err := BundledFor("eu-central-9"); !errors.Is(err, ErrUnknownRegion) || !strings.Contains(err.Error(), "eu-central-1") {
		t.Errorf("an unknown region: %v", err)
	}
}
