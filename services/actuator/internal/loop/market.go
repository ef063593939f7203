package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

// refreshMarket asks for types, list prices and spot prices when they are due.
func (l *leader) refreshMarket(ctx context.Context) {
	w := &l.world
	if due := w.typesAt.Add(l.cfg.Intervals.Types); w.typesAt.IsZero() || !l.now.Before(due) {
		var types []catalog.Type
		var prices map[model.TypeName]int64
		var priceErr error
		l.do(ctx, job{
			key: "types", slot: l.slots.other, first: time.Second, most: time.Minute,
			run: func(ctx context.Context) (err error) {
				if types, err = l.cfg.Market.InstanceTypes(ctx); err != nil {
					return fmt.Errorf("instance types: %w", err)
				}
				prices, priceErr = l.cfg.Market.OnDemandPrices(ctx)
				return nil
			},
			done: func(err error) {
				w.asked["types"] = true
				if err = errors.Join(err, priceErr); err != nil {
					l.cfg.Log.WarnContext(ctx, "refresh what EC2 sells", "error", err)
				}
				if types == nil {
					return
				}
				w.types, w.typesAt, w.repriced = types, time.Now(), true
				if w.unpriced = prices == nil; !w.unpriced {
					w.onDemand = prices
				}
				clear(w.catalogs)
				for _, c := range w.classes {
					l.shape(ctx, c)
				}
			},
		})
	}
	if w.unpriced {
		l.refreshPrices(ctx)
	}
	if due := w.spotAt.Add(l.cfg.Intervals.Spot); w.spotAt.IsZero() || !l.now.Before(due) {
		var prices map[cloud.TypeZone]int64
		l.do(ctx, job{
			key: "spot", slot: l.slots.other, first: time.Second, most: time.Minute,
			run: func(ctx context.Context) (err error) {
				prices, err = l.cfg.Market.SpotPrices(ctx)
				return err
			},
			done: func(err error) {
				w.asked["spot"] = true
				if err != nil {
					l.cfg.Log.WarnContext(ctx, "refresh spot prices", "error", err)
					return
				}
				w.spot, w.spotAt, w.repriced = prices, time.Now(), true
			},
		})
	} else {
		l.wake(due)
	}
}

// reprice makes the list of offerings anew when prices or shortages have changed.
func (l *leader) reprice() {
	w := &l.world
	if !w.repriced {
		return
	}
	w.repriced, l.dirty = false, true
	w.prices = map[apply.OfferingKey]apply.Offering{}
	var offers []model.Offering
	for _, t := range w.types {
		for _, zone := range t.Zones {
			for _, o := range l.offeringsOf(t, zone) {
				o.UnavailableUntil = l.shortUntil(o.InstanceType, o.Zone, o.CapacityType)
				offers = append(offers, o)
				w.prices[apply.OfferingKey{InstanceType: o.InstanceType, Zone: zone, CapacityType: o.CapacityType}] = apply.Offering{
					Price: o.Price, Estimated: o.PriceEstimated, UnavailableUntil: o.UnavailableUntil,
				}
			}
		}
	}
	slices.SortFunc(offers, model.Offering.Compare)
	w.offers = offers
}

// offeringsOf prices a type in a zone: by the market, or where that has no price by the bundled list, or for spot by an
// estimate, and then says so. What has no price at all is not offered.
func (l *leader) offeringsOf(t catalog.Type, zone string) []model.Offering {
	name := model.TypeName(t.Name)
	listed, estimated := l.world.onDemand[name], false
	if listed == 0 {
		listed, estimated = l.fallbackPrice(t.Name), true
	}
	var out []model.Offering
	if t.SupportsOnDemand && listed > 0 {
		out = append(out, model.Offering{
			InstanceType: name, Zone: zone, CapacityType: model.OnDemand, Price: listed, PriceEstimated: estimated,
		})
	}
	if !t.SupportsSpot {
		return out
	}
	spot, guessed := l.world.spot[cloud.TypeZone{InstanceType: name, Zone: zone}], false
	if spot == 0 {
		spot, guessed = instancetype.SpotEstimate(listed), true
	}
	if spot > 0 {
		out = append(out, model.Offering{
			InstanceType: name, Zone: zone, CapacityType: model.Spot, Price: spot, PriceEstimated: guessed,
		})
	}
	return out
}

func (l *leader) fallbackPrice(name string) int64 {
	if l.cfg.Fallback == nil {
		return 0
	}
	t, _ := l.cfg.Fallback.Type(name)
	return t.OnDemandMicroUSD
}

// refreshPrices asks again for list prices that could not be had with the types: what stands in for them is an estimate.
func (l *leader) refreshPrices(ctx context.Context) {
	w := &l.world
	var prices map[model.TypeName]int64
	l.do(ctx, job{
		key: "prices", slot: l.slots.other, first: time.Minute, most: 30 * time.Minute,
		run: func(ctx context.Context) (err error) {
			prices, err = l.cfg.Market.OnDemandPrices(ctx)
			return err
		},
		done: func(err error) {
			if err != nil {
				l.cfg.Log.WarnContext(ctx, "refresh list prices", "error", err)
				return
			}
			w.onDemand, w.unpriced, w.repriced = prices, false, true
		},
	})
}
