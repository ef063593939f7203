package disrupt

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
)

// worthIt is the least share of a pool's cost that a move must save, per share of the pool's disturbance that it causes,
// under consolidationPolicy Balanced.
const worthIt = 0.5

// balance weighs savings against disturbance for pools with consolidationPolicy Balanced.
type balance struct {
	s *search
	// cost and disturbance are sums over all nodes of each pool.
	cost        []int64
	disturbance []float64
}

func newBalance(s *search) *balance {
	b := &balance{s: s, cost: make([]int64, len(s.v.Pools)), disturbance: make([]float64, len(s.v.Pools))}
	for i, h := range s.v.Hosts {
		if h.Node != nil && h.Pool != nil {
			b.cost[h.Pool.Index] += s.v.WeighedPrice(h.Claim)
			b.disturbance[h.Pool.Index] += s.disturbance(i)
		}
	}
	return b
}

// disturbance is what removing a node does to its pods: 1, and for each pod how hard it is to move.
func (s *search) disturbance(host int) float64 {
	sum := 1.0
	for _, i := range s.moving[host] {
		sum += hardness(s.v.Pods[i])
	}
	return sum
}

// approve says whether a saving is worth giving hosts back: of each of their pools its share of the saving, which is by what
// the hosts cost.
func (b *balance) approve(hosts []int, saving int64) model.Reason {
	disturbs, cost := make([]float64, len(b.cost)), make([]int64, len(b.cost))
	var all int64
	for _, h := range hosts {
		p := b.s.v.Hosts[h].Pool
		disturbs[p.Index] += b.s.disturbance(h)
		cost[p.Index] += b.s.v.WeighedPrice(b.s.v.Hosts[h].Claim)
		all += b.s.v.WeighedPrice(b.s.v.Hosts[h].Claim)
	}
	for i, p := range b.s.v.Pools {
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
				Code: model.CodeConsolidationPolicy, Subject: b.s.v.Hosts[hosts[0]].Name(),
				Message: fmt.Sprintf("the saving is not worth the disturbance: it scores %.2f, and consolidationPolicy Balanced asks for %.1f", score, worthIt),
				Remedy:  "choose consolidationPolicy WhenEmptyOrUnderutilized",
			}
		}
	}
	return model.Reason{}
}
