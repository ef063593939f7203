package loop

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// buyer plans for pods without a node, again and again, and counts the claims that came to nothing.
type buyer struct {
	r       *rig
	pending map[model.PodID]bool // true: nothing but an m5.xlarge will do
	claims  int
	failed  map[model.ClaimID]bool
}

// plan asks for a node for each pending pod that no claim serves, of what EC2 is believed to have.
func (b *buyer) plan() {
	inv, err := b.r.loop.Inventory(context.Background())
	if err != nil {
		return
	}
	c, _ := b.r.store.Load(context.Background())
	served := map[model.PodID]bool{}
	for _, x := range c.Claims {
		if x.State == model.ClaimFailed {
			b.failed[x.ID] = true
		}
		for _, p := range x.Pods {
			served[p] = served[p] || x.State <= model.ClaimInitialized
			if x.State >= model.ClaimLaunched && x.State <= model.ClaimInitialized {
				delete(b.pending, p)
			}
		}
	}
	var sold []model.RankedOffering
	for _, o := range inv.Offerings {
		if (o.Zone == "us-east-1a" || o.Zone == "us-east-1b") && !time.Now().Before(o.UnavailableUntil) {
			sold = append(sold, model.RankedOffering{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price})
		}
	}
	slices.SortFunc(sold, func(x, y model.RankedOffering) int { return cmp.Compare(x.Price, y.Price) })
	p := model.Plan{ID: model.PlanID(fmt.Sprint("p-", time.Now().UnixNano())), InventoryRevision: inv.Revision}
	for pod, pinned := range b.pending {
		w := nodeClaim(fmt.Sprintf("c%d-%d", time.Now().Unix(), len(p.NodeClaims)))
		w.Pods, w.Offerings = []model.PodID{pod}, slices.DeleteFunc(slices.Clone(sold), func(o model.RankedOffering) bool {
			return pinned && o.InstanceType != "m5.xlarge"
		})
		if !served[pod] && len(w.Offerings) > 0 {
			p.NodeClaims = append(p.NodeClaims, w)
		}
	}
	if len(p.NodeClaims) == 0 {
		return
	}
	for _, v := range b.r.apply(p) {
		if v.Accepted {
			b.claims++
		}
	}
}

// TestNinetyMinutesOfShortage has pods come while spot is short of everything, and m5.xlarge on demand too, of which
// few come back now and then; a tenth of the pods can use nothing else. Where each shortage is forgotten after three
// minutes, and what is left is asked for by all at once, more than half of the claims of such an hour and a half come
// to nothing.
func TestNinetyMinutesOfShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 1))
		r := newRig(t)
		var short []model.RankedOffering
		for _, name := range []model.TypeName{"c5.large", "m5.large", "m5.xlarge"} {
			for _, zone := range []string{"us-east-1a", "us-east-1b"} {
				short = append(short, model.RankedOffering{InstanceType: name, Zone: zone, CapacityType: model.Spot})
				if name == "m5.xlarge" {
					short = append(short, model.RankedOffering{InstanceType: name, Zone: zone, CapacityType: model.OnDemand})
				}
			}
		}
		for _, o := range short {
			r.ec2.Exhaust(o)
		}
		r.cfg = func(c *Config) { c.passedOver = nil } // it is slow for many claims
		r.kube.change(func() { r.kube.pace = 5 * time.Second })
		r.start()
		b := &buyer{r: r, pending: map[model.PodID]bool{}, failed: map[model.ClaimID]bool{}}
		for minute := range 90 {
			for k := range 12 * (1 - min(minute%3, 1)) {
				b.pending[model.PodID(fmt.Sprintf("default/pod-%d-%d", minute, k))] = k == 0
			}
			if minute%5 == 4 {
				o := short[random.IntN(len(short))]
				r.ec2.Limit(o, 1+random.IntN(3))
				r.ec2.Restock(o)
			}
			for range 6 {
				b.plan()
				time.Sleep(10 * time.Second)
			}
		}
		wasted := len(b.failed)
		t.Logf("%d claims in ninety minutes of shortage, %d came to nothing (%.1f %%); %d pods wait for what there is none of",
			b.claims, wasted, 100*float64(wasted)/float64(b.claims), len(b.pending))
		if b.claims < 300 || wasted*20 > b.claims {
			t.Errorf("%d of %d claims came to nothing, want at most 5 %%", wasted, b.claims)
		}
	})
}
