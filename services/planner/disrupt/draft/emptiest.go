package draft

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// emptiest puts pods where the scheduler is likely to put them: on the node that takes them and has the largest share of its CPU and
// memory left then, which is what its NodeResourcesFit plugin likes best (LeastAllocated,
// https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins). What else has a score is left out: which node it is matters
// less than that it need not be the fullest, as in a plan.
type emptiest struct {
	draft     *Draft
	resources []int // CPU and memory
	// hosts are nodes that take pods; claims are replacements.
	hosts, claims []*receiver
}

// receiver is a node, or a claim that is one by then.
type receiver struct {
	host  int
	claim *purchase.NewClaim
	free  view.Vector
	// share is what one unit is of all that there is, by resource as in resources.
	share []float64
}

func newEmptiest(dr *Draft, usable func(host int) bool) *emptiest {
	e := &emptiest{draft: dr}
	for _, r := range []model.Resource{model.CPU, model.Memory} {
		if i, ok := dr.View.Index.Place(r); ok {
			e.resources = append(e.resources, i)
		}
	}
	for h, host := range dr.View.Hosts {
		if usable(h) && dr.View.Open(h) && dr.Ready(h) {
			e.hosts = append(e.hosts, &receiver{host: h, free: dr.View.Free(h), share: e.shares(host.Allocatable)})
		}
	}
	return e
}

// addClaim adds what a claim will most likely become, without its pods.
func (e *emptiest) addClaim(b *purchase.NewClaim) {
	free := b.Best().Free
	e.claims = append(e.claims, &receiver{host: -1, claim: b, free: slices.Clone(free), share: e.shares(free)})
}

func (e *emptiest) shares(of view.Vector) []float64 {
	out := make([]float64, len(e.resources))
	for i, r := range e.resources {
		out[i] = 1 / float64(max(of[r], 1))
	}
	return out
}

// spreadOut puts pods elsewhere than where a plan has them, those of high priority first. Those that find no node so stay.
func (e *emptiest) spreadOut(placed []pack.Assignment) {
	pods := e.draft.View.Pods
	placed = slices.Clone(placed)
	slices.SortStableFunc(placed, func(a, b pack.Assignment) int {
		return cmp.Compare(pods[b.Pod].Class.Priority, pods[a.Pod].Class.Priority)
	})
	for _, a := range placed {
		e.take(a)
	}
	all := slices.Concat(e.hosts, e.claims)
	for _, a := range placed {
		if !e.put(a.Pod, all) {
			e.add(a.Pod, e.receiverOf(a), 1)
		}
	}
}

func (e *emptiest) receiverOf(a pack.Assignment) *receiver {
	if a.Claim == nil {
		return &receiver{host: a.Host, free: e.draft.View.Free(a.Host), share: e.shares(e.draft.View.Hosts[a.Host].Allocatable)}
	}
	return e.claims[slices.IndexFunc(e.claims, func(r *receiver) bool { return r.claim == a.Claim })]
}

// staysPut says that pods of a class can't be taken back from where a plan has them: a view does not know whose a port or a device is.
func staysPut(c *view.Class) bool { return len(c.HostPorts) > 0 || devices.ClaimsDevices(c.PodClass) }

// keep leaves a pod where a plan has it.
func (e *emptiest) keep(a pack.Assignment) {
	if a.Claim != nil { // the claim's capacity is counted without its pods
		e.receiverOf(a).free.Add(e.draft.View.Pods[a.Pod].Class.Requested, -1)
	}
}

// take takes a pod back from where a plan has it.
func (e *emptiest) take(a pack.Assignment) {
	if a.Claim == nil {
		e.add(a.Pod, e.receiverOf(a), -1)
	} else if a.Claim.Site != nil {
		e.draft.Scheduler.Uncount(a)
	}
}

func (e *emptiest) add(pod int, to *receiver, n int) {
	c := e.draft.View.Pods[pod].Class
	if to.claim == nil {
		e.draft.View.Place(to.host, c, n)
		return
	}
	to.free.Add(c.Requested, -int64(n))
	if to.claim.Site != nil {
		e.draft.Scheduler.Tally().Add(c, to.claim.Site, n)
	}
}

// put puts a pod on the emptiest of some receivers that take it; false where none does.
func (e *emptiest) put(pod int, receivers []*receiver) bool {
	c := e.draft.View.Pods[pod].Class
	var best *receiver
	most := 0.0
	for _, to := range receivers {
		score := 0.0
		for i, r := range e.resources {
			score += float64(to.free[r]-c.Requested[r]) * to.share[i]
		}
		if (best == nil || score > most) && e.takes(to, c) {
			best, most = to, score
		}
	}
	if best != nil {
		e.add(pod, best, 1)
	}
	return best != nil
}

func (e *emptiest) takes(to *receiver, c *view.Class) bool {
	tally := e.draft.Scheduler.Tally()
	if to.claim == nil {
		return e.draft.Matcher.Capacity(c, to.host, 1) == 1 && tally.Allows(c, tally.Host(to.host))
	}
	fits := view.Fits(to.free, c.Requested, 1) == 1 && to.claim.Best().Takes(&market.Item{Class: c}, false)
	return fits && (!e.draft.Scheduler.Rules().Constrained(c) || to.claim.Site != nil && tally.Allows(c, to.claim.Site))
}
