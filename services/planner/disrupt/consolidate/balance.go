package consolidate

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
)

// worthIt is the least share of a pool's cost that a move must save, per share of the pool's disturbance that it causes,
// under consolidationPolicy Balanced.
const worthIt = 0.5

// balance weighs savings against disturbance for pools with consolidationPolicy Balanced.
type balance struct {
	draft *draft.Draft
	// cost and disturbance are sums over all nodes of each pool.
	cost        []int64
	disturbance []float64
}

func newBalance(dr *draft.Draft) *balance {
	b := &balance{draft: dr, cost: make([]int64, len(dr.View.Pools)), disturbance: make([]float64, len(dr.View.Pools))}
	for i, h := range dr.View.Hosts {
		if h.Node != nil && h.Pool != nil {
			b.cost[h.Pool.Index] += dr.View.WeighedPrice(h.Claim)
			b.disturbance[h.Pool.Index] += dr.Disturbance(i)
		}
	}
	return b
}

// approve says whether a saving is worth removing hosts: of each of their pools its share of the saving, which is by what
// the hosts cost.
func (b *balance) approve(hosts []int, saving int64) model.Reason {
	disturbs, cost := make([]float64, len(b.cost)), make([]int64, len(b.cost))
	var all int64
	for _, h := range hosts {
		p := b.draft.View.Hosts[h].Pool
		disturbs[p.Index] += b.draft.Disturbance(h)
		cost[p.Index] += b.draft.View.WeighedPrice(b.draft.View.Hosts[h].Claim)
		all += b.draft.View.WeighedPrice(b.draft.View.Hosts[h].Claim)
	}
	for i, p := range b.draft.View.Pools {
		if p.ConsolidationPolicy != model.Balanced || cost[i] == 0 {
			continue
		}
		score := 0.0
		if b.cost[i] > 0 && saving > 0 {
			share := float64(saving) * float64(cost[i]) / float64(all)
			score = (share / float64(b.cost[i])) / (disturbs[i] / b.disturbance[i])
		}
		if score < worthIt {
			return model.Reason{
				Code: model.CodeConsolidationPolicy, Subject: b.draft.View.Hosts[hosts[0]].Name(),
				Message: fmt.Sprintf("the saving is not worth the disturbance: it scores %.2f, and consolidationPolicy Balanced asks for %.1f", score, worthIt),
				Remedy:  "choose consolidationPolicy WhenEmptyOrUnderutilized",
			}
		}
	}
	return model.Reason{}
}
