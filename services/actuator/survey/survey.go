// Package survey asks AWS what a region sells, where and for how much, and makes a catalogue of the answers: what
// `kerf catalog fetch` writes. It asks as the actuator does, by the same adapter, and needs no cluster.
//
// It never writes a file and makes nothing in AWS. Start reading at Region; errors.go says what its errors are about.
package survey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Config says what is asked.
type Config struct {
	// Region is the AWS region; "" takes it from the environment or the profile.
	Region string
	// Endpoint replaces every AWS endpoint; "" for AWS itself.
	Endpoint string
	// NoPriceList says not to ask for list prices: the bundled ones stand in, as estimates.
	NoPriceList bool
	// Say is told each step; nil for no one.
	Say func(string)
	// Now is the clock.
	Now func() time.Time
}

// Region is what the region sells now. Errors say what a user can do about them.
func Region(ctx context.Context, c Config) (*catalog.Catalog, error) {
	conf, err := ec2.LoadAWS(ctx, c.Region, c.Endpoint)
	if errors.Is(err, ec2.ErrNoRegion) {
		return nil, errors.New("no region: name it with --region, or set AWS_REGION")
	}
	if err != nil {
		return nil, err
	}
	c.Region = conf.Region
	if _, err := conf.Credentials.Retrieve(ctx); err != nil {
		return nil, c.noCredentials(ctx, err)
	}
	bundled, err := catalog.BundledFor(c.Region)
	if errors.Is(err, catalog.ErrUnknownRegion) {
		bundled, err = &catalog.Catalog{}, nil
	}
	if err != nil {
		return nil, err
	}
	m := ec2.OpenMarket(conf, ec2.Config{Endpoint: c.Endpoint, Known: bundled, NoPriceList: c.NoPriceList, Now: c.Now})
	return c.ask(ctx, m, bundled)
}

func (c Config) ask(ctx context.Context, m *ec2.Market, bundled *catalog.Catalog) (*catalog.Catalog, error) {
	out := &catalog.Catalog{Region: c.Region, Currency: currency(c.Region)}
	var err error
	if out.Zones, err = m.Zones(ctx); err != nil {
		return nil, c.refused(ctx, err)
	}
	c.say("%d zones in %s; asking for instance types", len(out.Zones), c.Region)
	if out.Types, err = m.InstanceTypes(ctx); err != nil {
		return nil, c.refused(ctx, err)
	}
	if len(out.Types) == 0 {
		return nil, fmt.Errorf("EC2 names no instance type of %s", c.Region)
	}
	listed := map[model.TypeName]int64{}
	if m.HasPriceList() {
		c.say("%d instance types; asking for list prices", len(out.Types))
		if listed, err = m.OnDemandPrices(ctx); err != nil {
			return nil, c.noPrices(ctx, err)
		}
		c.say("%d list prices; asking for spot prices, which takes longest", len(listed))
	} else {
		c.say("%d instance types; no price list is asked, and the bundled list prices stand in; asking for spot prices", len(out.Types))
	}
	spot, err := m.SpotPrices(ctx)
	if err != nil {
		return nil, c.refused(ctx, err)
	}
	c.say("%d spot prices", len(spot))
	price(out, listed, spot, bundled)
	out.Sources = []catalog.Source{{
		Name: "AWS, as it told an account", Version: c.Now().UTC().Format(time.RFC3339),
		What: "types, zones and prices, but for what is marked as estimated and how often spot is taken back",
	}}
	out.Sources = append(out.Sources, bundled.Sources...)
	return out, nil
}

// price enters prices: those of AWS, where it has none the bundled ones as estimates. What AWS does not tell, it takes
// over.
func price(c *catalog.Catalog, listed map[model.TypeName]int64, spot map[cloud.TypeZone]int64, bundled *catalog.Catalog) {
	here := map[string]bool{}
	for _, z := range c.Zones {
		here[z.Name] = true
	}
	for i := range c.Types {
		t := &c.Types[i]
		t.Zones = slices.DeleteFunc(slices.Clone(t.Zones), func(z string) bool { return !here[z] })
		known, _ := bundled.Type(t.Name)
		if t.OnDemandMicroUSD = listed[model.TypeName(t.Name)]; t.OnDemandMicroUSD == 0 {
			t.OnDemandMicroUSD, t.PriceEstimated = known.OnDemandMicroUSD, known.OnDemandMicroUSD > 0
		}
		t.SpotSavesPercent, t.Reclaimed = known.SpotSavesPercent, known.Reclaimed
		for _, z := range t.Zones {
			p := spot[cloud.TypeZone{InstanceType: model.TypeName(t.Name), Zone: z}]
			if p == 0 || !t.SupportsSpot {
				continue
			}
			if t.SpotMicroUSD == nil {
				t.SpotMicroUSD = map[string]int64{}
			}
			t.SpotMicroUSD[z] = p
		}
	}
}

// Unpriced are the types without any price, and how many prices are estimates.
func Unpriced(c *catalog.Catalog) (names []string, estimated int) {
	for _, t := range c.Types {
		if t.OnDemandMicroUSD == 0 && len(t.SpotMicroUSD) == 0 {
			names = append(names, t.Name)
		}
		if t.PriceEstimated {
			estimated++
		}
	}
	return names, estimated
}

// currency is what AWS's prices in the region's partition are in; "" for US dollars.
func currency(region string) string {
	in := map[string]string{"cn-": "CNY", "eusc-": "EUR"}
	for _, prefix := range slices.Sorted(maps.Keys(in)) {
		if strings.HasPrefix(region, prefix) {
			return in[prefix]
		}
	}
	return ""
}

func (c Config) say(format string, args ...any) {
	if c.Say != nil {
		c.Say(fmt.Sprintf(format, args...))
	}
}
