package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostAtOnce is after how many claims to ask whether to stop.
const mostAtOnce = 16

// RankAll lists, for each claim, what it may become, such that no limit breaks even if all become the largest that they
// list. Fits says for a claim what it may become in any other respect.
func (by *Buyer) RankAll(claims []*NewClaim, lim *market.Limits, fits func(b *NewClaim) func(*market.Option) bool) {
	m := by.m
	perPool := make([]int, len(m.World.Pools))
	for _, b := range claims {
		if b.Options == nil {
			perPool[b.Base.Pool.Index]++
		}
	}
	slack := make([]view.Vector, len(m.World.Pools))
	for i, n := range perPool {
		if n > 0 {
			slack[i] = lim.Share(m.World.Pools[i], n)
		}
	}
	for i, b := range claims {
		if i%mostAtOnce == 0 && by.Stop != nil && by.Stop() {
			return
		}
		if b.Options != nil {
			b.FinishRunnersUp()
			continue
		}
		if i > 0 && b.DeviceNumber == 0 && Alike(b, claims[i-1]) && slices.Equal(b.Shown, claims[i-1].Shown) {
			b.Options, b.RunnersUp = claims[i-1].Options, claims[i-1].RunnersUp
		} else {
			fitting := fits(b)
			among := b.Base.Variant.Options
			if b.Shown != nil {
				among = slices.SortedFunc(slices.Values(b.Shown), market.CompareOptions)
			}
			b.Options, _ = m.RankAmong(among, b.Base, b.Items, func(o *market.Option) bool {
				return market.Within(o, b.Base, slack[b.Base.Pool.Index]) && fitting(o)
			})
			b.FinishRunnersUp()
		}
		b.CountLargest(lim)
	}
}
