package draft

import (
	"container/heap"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// emptiest puts pods where the scheduler is likely to put them: on the node that takes them and has the largest share
// of its CPU and memory left then, which is what its NodeResourcesFit plugin likes best (LeastAllocated,
// https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins). What else has a score is left out: which
// node it is matters less than that it need not be the fullest, as in a plan. Replacements come after all nodes: they
// are closed until their pods have no other place.
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
	// share is what one unit of CPU is of all that there is, and of memory.
	share [2]float64
}

func newEmptiest(dr *Draft, usable func(host int) bool) *emptiest {
	e := &emptiest{draft: dr}
	for _, r := range []model.Resource{model.CPU, model.Memory} {
		if i, ok := dr.View.Index.Place(r); ok {
			e.resources = append(e.resources, i)
		}
	}
	all := make([]receiver, 0, len(dr.View.Hosts))
	for h, host := range dr.View.Hosts {
		if usable(h) && dr.View.Open(h) && dr.Ready(h) {
			all = append(all, receiver{host: h, free: dr.View.Free(h), share: e.shares(host.Allocatable)})
			e.hosts = append(e.hosts, &all[len(all)-1])
		}
	}
	return e
}

// addClaim adds what a claim will most likely become, without its pods.
func (e *emptiest) addClaim(b *purchase.NewClaim) {
	free := b.Best().Free
	e.claims = append(e.claims, &receiver{host: -1, claim: b, free: slices.Clone(free), share: e.shares(free)})
}

func (e *emptiest) shares(of view.Vector) (out [2]float64) {
	for i, r := range e.resources {
		out[i] = 1 / float64(max(of[r], 1))
	}
	return out
}

// spreadOut puts pods elsewhere than where a plan has them: those of high priority first, and of these large ones,
// which leaves the emptiest nodes to the small ones. Those that find no node so stay.
func (e *emptiest) spreadOut(placed []pack.Assignment) {
	at, pods := make(map[int]pack.Assignment, len(placed)), make([]int, len(placed))
	for i, a := range placed {
		at[a.Pod], pods[i] = a, a.Pod
		e.take(a)
	}
	for _, it := range market.Items(e.draft.View.World, pods) {
		for _, p := range e.put(it.Class, e.put(it.Class, it.Pods, e.hosts), e.claims) {
			e.add(p, e.receiverOf(at[p]), 1)
		}
	}
}

func (e *emptiest) receiverOf(a pack.Assignment) *receiver {
	if a.Claim == nil {
		return &receiver{host: a.Host, free: e.draft.View.Free(a.Host)}
	}
	return e.claims[slices.IndexFunc(e.claims, func(r *receiver) bool { return r.claim == a.Claim })]
}

// staysPut says that pods of a class can't be taken back from where a plan has them: a view does not know whose a port
// or a device is.
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
		e.draft.Scheduler.Count(a, -1)
	}
}

// putBack puts a pod where a plan has it, if there is capacity for it still and some of what the nodes may become
// allows it there.
func (e *emptiest) putBack(a pack.Assignment) bool {
	c, to := e.draft.View.Pods[a.Pod].Class, e.receiverOf(a)
	site := pack.PlacedAs(e.draft.Scheduler, a).Site
	if view.Fits(to.free, c.Requested, 1) == 0 || site != nil && !e.draft.Scheduler.Tally().AllowsEither(c, site, podrules.AnyKey) {
		return false
	}
	e.add(a.Pod, to, 1)
	return true
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

// put puts pods of a class on the emptiest of some receivers that take them, and returns those that none takes. One
// that does not is not asked again, unless it is for a rule about pods: another pod may change that.
func (e *emptiest) put(c *view.Class, pods []int, receivers []*receiver) (left []int) {
	q := &queue{of: e, class: c, all: slices.Clone(receivers), scores: make([]float64, len(receivers))}
	for i, to := range q.all {
		q.scores[i] = q.score(to)
	}
	heap.Init(q)
	var aside []*receiver
	tied := e.draft.Scheduler.Tally().Rules().Constrained(c)
	for len(pods) > 0 && q.Len() > 0 {
		to := q.all[0]
		if !e.takes(to, c) {
			if tied && view.Fits(to.free, c.Requested, 1) == 1 {
				aside = append(aside, to)
			}
			heap.Pop(q)
			continue
		}
		e.add(pods[0], to, 1)
		pods, q.scores[0] = pods[1:], q.score(to)
		heap.Fix(q, 0)
		for _, to := range aside {
			heap.Push(q, to)
		}
		aside = aside[:0]
	}
	return pods
}

func (e *emptiest) takes(to *receiver, c *view.Class) bool {
	if to.claim == nil {
		return e.draft.uncapped.Capacity(c, to.host, 1) == 1
	}
	fits := view.Fits(to.free, c.Requested, 1) == 1 && to.claim.Best().Takes(&market.Item{Class: c}, false)
	return fits && (!e.draft.Scheduler.Tally().Rules().Constrained(c) || to.claim.Site != nil && e.draft.Scheduler.Tally().Allows(c, to.claim.Site))
}

// queue has the emptiest of some receivers first; of equal ones that which came first.
type queue struct {
	of     *emptiest
	class  *view.Class
	all    []*receiver
	scores []float64
}

// score is what share of its CPU and of its memory a receiver has left with one more pod, together.
func (q *queue) score(to *receiver) (sum float64) {
	for i, r := range q.of.resources {
		sum += float64(to.free[r]-q.class.Requested[r]) * to.share[i]
	}
	return sum
}

func (q *queue) Len() int { return len(q.all) }

func (q *queue) Less(i, j int) bool {
	if q.scores[i] != q.scores[j] {
		return q.scores[i] > q.scores[j]
	}
	return q.all[i].host < q.all[j].host
}

func (q *queue) Swap(i, j int) {
	q.all[i], q.all[j] = q.all[j], q.all[i]
	q.scores[i], q.scores[j] = q.scores[j], q.scores[i]
}

func (q *queue) Push(x any) {
	if to, ok := x.(*receiver); ok {
		q.all, q.scores = append(q.all, to), append(q.scores, q.score(to))
	}
}

func (q *queue) Pop() any {
	n := len(q.all) - 1
	q.all, q.scores = q.all[:n], q.scores[:n]
	return nil
}
