package plan

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

// mostHeirs is how many kinds of pods are tried for a volume: there may be as many that wait for it as there are Jobs.
const mostHeirs = 16

// passOn has pods that got no place pass on the volumes that one pod at a time may use, to those that wait for them and
// have a place beside all that was planned. Where that is not settled, but will be planned for anew, it may have to move.
func passOn(c *cycle, settled bool) {
	without := make(map[int]bool) // pods that have no place, and are bound nowhere
	for _, it := range c.unplaced {
		for _, p := range it.Pods {
			without[p] = c.Pods[p].Node == ""
		}
	}
	tried := make(map[string]bool) // by likeness
	for range mostHeirs {
		heirs := findHeirs(c, without, tried)
		if len(heirs) == 0 {
			return
		}
		n, kept := len(c.assigned), c.unplaced
		c.unplaced = market.Items(c.World, heirs)
		placeBeside(c, settled)
		c.assigned, c.unplaced = c.awaited.Last(c.scheduler, c.view, c.assigned, c.unplaced)
		for _, it := range c.unplaced {
			tried[podrules.Likeness(c.World, c.tally.Rules(), it.Class)] = true
		}
		c.unplaced = kept
		for _, s := range c.assigned[n:] {
			c.demand.volumes.Give(c.Pods[s.Pod].Class.PodClass, s.Pod)
			c.heirs = append(c.heirs, s.Pod)
		}
		if len(c.assigned) > n {
			askAgain(c)
			placeBeside(c, settled) // others may be where these are
		}
		for _, s := range c.assigned[n:] {
			delete(without, s.Pod)
		}
	}
}

// findHeirs finds pods, at most one for each volume, that wait for volumes of those without a place, and were not tried.
func findHeirs(c *cycle, without map[int]bool, tried map[string]bool) (out []int) {
	asked := make(volumes.Exclusive)
	for _, r := range c.demand.refused {
		class := c.Pods[r.pod].Class
		if r.reason.Code != model.CodeVolumeInUse || c.Pods[r.pod].ID.Virtual() || !c.demand.volumes.OnlyOf(class.PodClass, without) {
			continue
		}
		if tried[podrules.Likeness(c.World, c.tally.Rules(), class)] {
			continue
		}
		if _, taken := asked.Take(class.PodClass, r.pod); taken == "" {
			out = append(out, r.pod)
		}
	}
	return out
}

// askAgain finds out anew which pods wait for a volume that one pod at a time may use. Those that have it do no longer.
func askAgain(c *cycle) {
	var refused []refusal
	for _, r := range c.demand.refused {
		if r.reason.Code == model.CodeVolumeInUse {
			r.reason = c.demand.refusal(c, r.pod)
		}
		if !r.reason.OK() {
			refused = append(refused, r)
		}
	}
	var unplaced []int
	for _, it := range c.unplaced {
		for _, p := range it.Pods {
			if r := c.demand.refusal(c, p); !r.OK() {
				refused = append(refused, refusal{p, r})
			} else {
				unplaced = append(unplaced, p)
			}
		}
	}
	c.demand.refused, c.unplaced = refused, market.Items(c.World, unplaced)
}
