package verify_test

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// TestEvictionsAreWeighed takes one pod that is moved for money: 1000 by default, more where it is hard to move.
func TestEvictionsAreWeighed(t *testing.T) {
	weighs := func(churn int64, change func(in *model.Input, p *model.Pod)) func(*model.Input, *model.Plan) {
		return func(in *model.Input, p *model.Plan) {
			change(in, pod(in, "shop/api-0"))
			d := &p.Disruptions[0]
			d.Churn, d.PayBack = churn, time.Duration(churn*3600/d.Saving)*time.Second
		}
	}
	costs := func(cost int32) func(*model.Input, *model.Pod) {
		return func(_ *model.Input, p *model.Pod) { p.DeletionCost = cost }
	}
	first := func(priority int32) func(*model.Input, *model.Pod) {
		return func(in *model.Input, _ *model.Pod) { classNamed(in, "api").Priority = priority }
	}
	ran := func(d time.Duration) func(*model.Input, *model.Pod) {
		return func(in *model.Input, p *model.Pod) { p.BindTime = in.Now.Add(-d) }
	}
	priced := func(price int64) func(*model.Input, *model.Pod) {
		return func(in *model.Input, _ *model.Pod) { in.Policy.EvictionPrice = &price }
	}
	const other = "it says that its evictions weigh"
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"an ordinary pod":               {weighs(1000, ran(30*time.Minute)), ""},
		"one for more":                  {weighs(1001, ran(30*time.Minute)), other},
		"one for less":                  {weighs(999, ran(30*time.Minute)), other},
		"a deletion cost":               {weighs(1500, costs(1<<26)), ""},
		"a deletion cost left out":      {weighs(1000, costs(1<<26)), other},
		"a deletion cost below nothing": {weighs(0, costs(-1<<28)), ""},
		"a priority":                    {weighs(1250, first(1<<23)), ""},
		"a priority left out":           {weighs(1000, first(1<<23)), other},
		"at most ten times as much":     {weighs(10_000, first(2_000_000_000)), ""},
		"just bound":                    {weighs(20_000, ran(0)), ""},
		"bound in the future":           {weighs(20_000, ran(-5*time.Minute)), ""},
		"bound twenty seconds ago":      {weighs(9000, ran(20*time.Second)), ""},
		"less than that":                {weighs(8999, ran(20*time.Second)), other},
		"bound a minute ago":            {weighs(1000, ran(time.Minute)), ""},
		"bound long ago":                {weighs(1000, ran(5*time.Hour)), ""},
		"another price":                 {weighs(7, priced(7)), ""},
		"no price":                      {weighs(0, priced(0)), ""},
		"a price for nothing":           {weighs(1000, priced(-1)), other},
		"rest of half a minute": {weighs(4000, func(in *model.Input, p *model.Pod) {
			in.Policy.PodRest = ptr(30 * time.Second)
			ran(15*time.Second)(in, p)
		}), ""},
		"no rest": {weighs(1000, func(in *model.Input, p *model.Pod) {
			in.Policy.PodRest = ptr(time.Duration(0))
			ran(0)(in, p)
		}), ""},
		"another workload": {func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Workloads[0].Name = "web" }, "it says that it evicts [shop/ReplicaSet/web=1]"},
		"more of it":       {func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Workloads[0].Pods++ }, "it evicts [shop/ReplicaSet/api=1]"},
		"none of it":       {func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Workloads = nil }, "it evicts [shop/ReplicaSet/api=1]"},
		"a pay-back":       {weighs(1001, priced(1001)), ""},
		"a pay-back a second late": {func(in *model.Input, p *model.Plan) {
			weighs(1001, priced(1001))(in, p)
			p.Disruptions[0].PayBack += time.Second
		}, "it says that it pays back in 19s, it does in 18"},
		"a pay-back a second early": {func(in *model.Input, p *model.Plan) {
			weighs(1001, priced(1001))(in, p)
			p.Disruptions[0].PayBack -= time.Second
		}, "it says that it pays back in 17s, it does in 18"},
		"a pay-back to the millisecond": {func(_ *model.Input, p *model.Plan) {
			p.Disruptions[0].Churn, p.Disruptions[0].PayBack = 1000, 18*time.Second+time.Millisecond
		}, "it says that it pays back"},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonUnderutilized), tc.change, tc.want}.run)
	}
	t.Run("drift says as well", disruptionCase{one(model.ReasonDrifted), func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Churn = 0 }, other}.run)
	t.Run("drift does not pay back", disruptionCase{one(model.ReasonDrifted), func(_ *model.Input, p *model.Plan) {
		p.Disruptions[0].PayBack = time.Second
	}, "it says that it pays back"}.run)
	t.Run("what is empty costs nothing to move", disruptionCase{one(model.ReasonEmpty), func(_ *model.Input, p *model.Plan) { p.Disruptions[0].Churn = 1 }, other}.run)
	t.Run("pods of two workloads, out of order", disruptionCase{func() *scene {
		s := one(model.ReasonUnderutilized)()
		s.evicted("web-0", "web", "n-0", "wide")
		return s
	}, func(_ *model.Input, p *model.Plan) {
		w := p.Disruptions[0].Workloads
		w[0], w[1] = w[1], w[0]
	}, "it evicts [shop/ReplicaSet/api=1 shop/ReplicaSet/web=1]"}.run)
}

// TestMoneyMustMakeUpForEvictions takes nodes that are disrupted for their price, 200000 an hour, and raises what it
// costs to move their pods.
func TestMoneyMustMakeUpForEvictions(t *testing.T) {
	expensive := func(price int64, within time.Duration) func(*model.Input, *model.Plan) {
		return func(in *model.Input, p *model.Plan) {
			in.Policy.EvictionPrice = &price
			if within > 0 {
				in.Policy.Payback = ptr(within)
			}
			d := &p.Disruptions[0]
			d.Churn = price * int64(d.Evictions)
			if d.Saving > 0 {
				d.PayBack = time.Duration(d.Churn*3600/d.Saving) * time.Second
			}
		}
	}
	replaced := func() *scene { // saves 100000
		s := one(model.ReasonUnderutilized)()
		s.replaced("c-new")
		s.evicted("api-1", "api", "n-0", "c-new")
		return s
	}
	spots := func(nodes ...string) func() *scene { // two for one saves 300000
		return func() *scene {
			s := poolOf("n-0", "n-1")
			for _, n := range nodes {
				claimNamed(&s.in, model.ClaimID("c-"+n)).CapacityType = model.Spot
			}
			s.in.Snapshot.NodePools[0].Requirements[0].Values = []string{"on-demand", "spot"}
			s.disrupt(model.ReasonUnderutilized, "n-0", "n-1")
			s.replaced("c-new")
			offerings := &s.p.NodeClaims[0].Offerings
			*offerings = append([]model.RankedOffering{{InstanceType: "small", Zone: "r-1a", CapacityType: model.Spot, Price: 30_000}}, *offerings...)
			s.evicted("api-0", "api", "n-0", "wide")
			s.evicted("api-1", "api", "n-1", "c-new")
			return s
		}
	}
	costs := func(price, evictions int64) func(*model.Input, *model.Plan) { // what replaces it
		return func(in *model.Input, p *model.Plan) {
			for i := range in.Snapshot.Offerings {
				if o := &in.Snapshot.Offerings[i]; o.InstanceType == "small" && o.CapacityType == model.OnDemand {
					o.Price = price
				}
			}
			c, d := &p.NodeClaims[0], &p.Disruptions[0]
			d.Saving, p.CostAfter, c.Price = d.Saving+c.Price-price, p.CostAfter-c.Price+price, price
			for i := range c.Offerings {
				c.Offerings[i].Price = price
			}
			expensive(evictions, 0)(in, p)
		}
	}
	tests := map[string]disruptionCase{
		"as much":                        {one(model.ReasonUnderutilized), expensive(200_000, 0), ""},
		"less":                           {one(model.ReasonUnderutilized), expensive(200_001, 0), "within 1h0m0s that is not 1 times what its evictions weigh, 200001"},
		"in two hours":                   {one(model.ReasonUnderutilized), expensive(400_000, 2*time.Hour), ""},
		"not in two hours":               {one(model.ReasonUnderutilized), expensive(400_001, 2*time.Hour), "within 2h0m0s"},
		"drift does not pay":             {one(model.ReasonDrifted), expensive(900_000, 0), ""},
		"a replacement, twice":           {replaced, expensive(25_000, 0), ""},
		"a replacement, not twice":       {replaced, expensive(25_001, 0), "not 2 times"},
		"a replacement, a tenth":         {replaced, costs(180_000, 1), ""},
		"a replacement, not a tenth":     {replaced, costs(180_001, 1), "must save a tenth"},
		"not a tenth, for no evictions":  {replaced, costs(180_001, 0), ""},
		"spot for spot, three times":     {spots("n-0", "n-1"), expensive(61_666, 0), ""},
		"spot for spot, not three times": {spots("n-0", "n-1"), expensive(61_667, 0), "not 3 times"},
		"spot for some spot, twice":      {spots("n-0"), expensive(92_500, 0), ""},
		"spot for some spot, not twice":  {spots("n-0"), expensive(92_501, 0), "not 2 times"},
	}
	for name, tc := range tests {
		t.Run(name, tc.run)
	}
}
