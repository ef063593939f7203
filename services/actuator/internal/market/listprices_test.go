package market

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// priceList is an EC2 of one type, whose price list can be reached or not.
type priceList struct {
	listed map[model.TypeName]int64 // nil: it can't be reached
}

func (p *priceList) InstanceTypes(context.Context) ([]catalog.Type, error) {
	return []catalog.Type{{Name: "m5.large", Zones: []string{"a"}, SupportsOnDemand: true}}, nil
}

func (p *priceList) OnDemandPrices(context.Context) (map[model.TypeName]int64, error) {
	if p.listed == nil {
		return nil, errors.New("no route to host")
	}
	return p.listed, nil
}

func (p *priceList) SpotPrices(context.Context) (map[cloud.TypeZone]int64, error) {
	return map[cloud.TypeZone]int64{}, nil
}

// pass plays the market's owner for a time.
func pass(t *testing.T, m *Market, by time.Duration) {
	t.Helper()
	for until := time.Now().Add(by); time.Now().Before(until); {
		m.cfg.Agenda.Begin(time.Now())
		m.Refresh(t.Context())
		select {
		case done := <-m.cfg.Jobs.Results():
			done()
		case <-time.After(time.Second):
		}
	}
	m.Reprice(false, nil)
}

// TestWhileThePriceListIsOutOfReachTheLastPricesCount or, where it never was within, the bundled ones as estimates.
func TestWhileThePriceListIsOutOfReachTheLastPricesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &priceList{}
		c := config()
		c.Market, c.TypesEvery, c.SpotEvery = aws, 12*time.Hour, 12*time.Hour
		c.Fallback = &catalog.Catalog{Types: []catalog.Type{{Name: "m5.large", OnDemandMicroUSD: 96_000}}}
		m := New(c)
		costs := func(when string, price int64, estimated bool) {
			t.Helper()
			want := []model.Offering{{InstanceType: "m5.large", Zone: "a", CapacityType: model.OnDemand, Price: price, PriceEstimated: estimated}}
			if d := cmp.Diff(want, m.Offerings()); d != "" {
				t.Errorf("%s: %s", when, d)
			}
			if m.Known() == estimated {
				t.Errorf("%s: all prices are known: %v", when, m.Known())
			}
		}
		pass(t, m, time.Minute)
		costs("at the start, out of reach", 96_000, true)

		aws.listed = map[model.TypeName]int64{"m5.large": 100_000}
		pass(t, m, time.Hour)
		costs("once it is within reach", 100_000, false)

		aws.listed = nil
		asked := m.typesAt
		pass(t, m, 13*time.Hour)
		if !m.typesAt.After(asked) || !m.unpriced {
			t.Fatalf("types of %s, then of %s, without prices: %v; want that prices were asked for again and not told", asked, m.typesAt, m.unpriced)
		}
		if got := m.Offerings()[0]; got.Price != 100_000 || got.PriceEstimated {
			t.Errorf("out of reach again: %+v, want the last price", got)
		}
		m.cfg.Jobs.Wait()
	})
}
