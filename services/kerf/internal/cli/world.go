package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/world"
)

// world reads the catalogue that the flags name, and says where in it nodes are bought.
func (p *planFlags) world(std IO) func() (convert.World, error) {
	return func() (convert.World, error) { return p.buy.World(std.Getenv) }
}

func (p *planFlags) addRegion(c *cobra.Command) {
	c.Flags().StringVar(&p.buy.Region, "region", "", "the `region` to buy in, such as eu-west-1; by default the one that the objects name, else "+world.RegionVariable+", else "+catalog.DefaultRegion)
	complete(c, "region", catalog.Regions)
}

func addENIs(f *pflag.FlagSet, enis *uint8) {
	f.Uint8Var(enis, "reserved-enis", 0, "how many network `interfaces` of each node pods can't use, as nodes.reserved_enis of the actuator's config")
}

// completeZones makes the shell suggest the catalogue's zones.
func (p *planFlags) completeZones(c *cobra.Command) {
	complete(c, "zones", func() []string {
		known, err := p.buy.ReadCatalog()
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
