package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
)

// regionVariable is where AWS's programs look for the region that no flag names.
const regionVariable = "AWS_REGION"

// world reads the catalogue that the flags name, and says where in it nodes are bought.
func (p *planFlags) world(std IO) func() (convert.World, error) {
	return func() (convert.World, error) {
		c, err := p.readCatalog()
		if err != nil {
			return convert.World{}, err
		}
		w := convert.World{Catalog: c, Zones: p.zones, Bundled: p.catalog == "", ReservedENIs: int64(p.enis)}
		if err := p.nameRegion(&w, std.Getenv(regionVariable)); err != nil {
			return convert.World{}, err
		}
		there, _ := w.In(convert.Places{})
		switch err := there.CheckZones(); {
		case err != nil && w.Fixed:
			return convert.World{}, fmt.Errorf("--region %s and --zones: %w", w.Region, err)
		case err != nil:
			return convert.World{}, fmt.Errorf("--zones: %w", err)
		}
		return w, nil
	}
}

// nameRegion says which region is planned for, and by what: the flag, which decides, or a catalogue of one's own, or what
// the environment has for all programs of AWS, which counts where the objects name none.
func (p *planFlags) nameRegion(w *convert.World, environment string) error {
	switch {
	case p.region != "" && !w.Bundled && p.region != w.Catalog.Region:
		return fmt.Errorf("--region %s and --catalog %s: the catalogue is of %s", p.region, p.catalog, w.Catalog.Region)
	case p.region != "":
		w.Region, w.Fixed, w.By = p.region, true, "--region"
	case !w.Bundled:
		w.By = "--catalog"
		return nil
	case environment != "":
		w.Region, w.By = environment, regionVariable
	default:
		w.By = "default; --region or " + regionVariable + " names another"
		return nil
	}
	if w.Bundled && !places.IsRegion(w.Region) {
		return fmt.Errorf("%s %s: no region of AWS; %s", w.By, w.Region, cmp.Or(near.Question(w.Region, catalog.Regions()), "want one such as eu-west-1"))
	}
	return nil
}

func (p *planFlags) addRegion(c *cobra.Command) {
	c.Flags().StringVar(&p.region, "region", "", "the `region` to buy in, such as eu-west-1; by default the one that the objects name, else "+regionVariable+", else "+catalog.DefaultRegion)
	complete(c, "region", catalog.Regions)
}

func (p *planFlags) readCatalog() (*catalog.Catalog, error) {
	if p.catalog == "" {
		return catalog.Bundled()
	}
	f, err := os.Open(p.catalog)
	if err != nil {
		return nil, fmt.Errorf("--catalog %s: %w", p.catalog, errors.Unwrap(err)) // without the path, and open, a second time
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	c, err := catalog.Read(f)
	if err != nil {
		return nil, fmt.Errorf("--catalog %s: %w", p.catalog, err)
	}
	return c, nil
}

func addENIs(f *pflag.FlagSet, enis *uint8) {
	f.Uint8Var(enis, "reserved-enis", 0, "how many network `interfaces` of each node pods can't use, as nodes.reserved_enis of the actuator's config")
}

// completeZones makes the shell suggest the catalogue's zones.
func (p *planFlags) completeZones(c *cobra.Command) {
	complete(c, "zones", func() []string {
		known, err := p.readCatalog()
		if err != nil {
			return nil
		}
		names := make([]string, len(known.Zones))
		for i, z := range known.Zones {
			names[i] = z.Name
		}
		return names
	})
}
