package market

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// spotPrices is an EC2 of one type in two zones, which tells the prices of as many of them as it likes.
type spotPrices struct {
	priceList
	byZone map[string]int64
	asked  int
}

func (p *spotPrices) InstanceTypes(context.Context) ([]catalog.Type, error) {
	return []catalog.Type{{Name: "m5.large", Zones: []string{"a", "b"}, SupportsSpot: true}}, nil
}

func (p *spotPrices) SpotPrices(context.Context) (map[cloud.TypeZone]int64, error) {
	p.asked++
	out := map[cloud.TypeZone]int64{}
	for zone, price := range p.byZone {
		out[cloud.TypeZone{InstanceType: "m5.large", Zone: zone}] = price
	}
	return out, nil
}

// TestWhatAnAnswerLacksKeepsItsSpotPrice has EC2 leave out a zone, and then everything.
func TestWhatAnAnswerLacksKeepsItsSpotPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &spotPrices{priceList: priceList{listed: map[model.TypeName]int64{"m5.large": 96_000}}}
		c := config()
		c.Market, c.TypesEvery, c.SpotEvery = aws, 12*time.Hour, 5*time.Minute
		m := New(c)
		for _, step := range []struct {
			when         string
			told, counts map[string]int64
			estimated    bool
		}{
			{"before there was any", nil, map[string]int64{"a": 30_000, "b": 30_000}, true},
			{"all of them", map[string]int64{"a": 20_000, "b": 25_000}, map[string]int64{"a": 20_000, "b": 25_000}, false},
			{"one zone alone", map[string]int64{"a": 21_000}, map[string]int64{"a": 21_000, "b": 25_000}, false},
			{"none at all", nil, map[string]int64{"a": 21_000, "b": 25_000}, false},
		} {
			aws.byZone = step.told
			before := aws.asked
			pass(t, m, 6*time.Minute)
			got := map[string]int64{}
			for _, o := range m.Offerings() {
				got[o.Zone] = o.Price
				if o.PriceEstimated != step.estimated {
					t.Errorf("%s: %s is estimated: %v", step.when, o.Zone, o.PriceEstimated)
				}
			}
			if step.estimated {
				for zone := range got {
					if got[zone] > 0 {
						got[zone] = 30_000 // how much is for the catalogue to say
					}
				}
			}
			if !maps.Equal(got, step.counts) {
				t.Errorf("%s: %s", step.when, cmp.Diff(step.counts, got))
			}
			if asked := aws.asked - before; step.told == nil && asked < 3 || step.told != nil && asked > 2 {
				t.Errorf("%s: EC2 was asked %d times", step.when, asked)
			}
		}
	})
}

// TestARegionWithoutSpotIsKnown has no price because there is nothing to price.
func TestARegionWithoutSpotIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.Market, c.TypesEvery, c.SpotEvery = &priceList{listed: map[model.TypeName]int64{"m5.large": 96_000}}, 12*time.Hour, 12*time.Hour
		m := New(c)
		if pass(t, m, 10*time.Minute); !m.Known() {
			t.Error("its prices are not known")
		}
	})
}
