package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/budget"
	"github.com/kerf-dev/kerf/services/planner/ending"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// fillBuffers brings the virtual pods of capacity buffers up to date, which are pods of the base like any other, but not
// of the snapshot.
func (s *Session) fillBuffers(in *model.Input) error {
	s.problems = nil
	if len(s.snapshot.CapacityBuffers) == 0 {
		return nil
	}
	var want []model.Pod
	want, s.problems = s.virtualPods(in)
	var changes []view.PodChange
	for i := range want {
		at, known := find(s.pods, want[i].ID)
		if !known || s.pods[at].Class.ID != want[i].Class {
			changes = append(changes, view.PodChange{ID: want[i].ID, Pod: &want[i]})
		}
	}
	for _, p := range s.pods {
		if !p.ID.Virtual() {
			continue
		}
		if _, still := slices.BinarySearchFunc(want, p.ID, byID); !still {
			changes = append(changes, view.PodChange{ID: p.ID})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(a, b view.PodChange) int { return cmp.Compare(a.ID, b.ID) })
	err := s.base.fold(changes)
	s.pods = s.base.world.Pods
	return err
}

func byID(p model.Pod, id model.PodID) int { return cmp.Compare(p.ID, id) }

// virtualPods are those that buffers want now, by id, and the buffers that ask for nothing.
func (s *Session) virtualPods(in *model.Input) ([]model.Pod, []model.Reason) {
	snapshot := s.snapshot
	if slices.ContainsFunc(snapshot.CapacityBuffers, func(b model.CapacityBuffer) bool { return b.OneShot }) {
		snapshot = s.Snapshot() // it asks for what pods have not used up
	}
	expanded, problems := offer.Expand(snapshot, in.Now)
	var want []model.Pod
	for i := range expanded.Pods {
		if expanded.Pods[i].ID.Virtual() {
			want = append(want, expanded.Pods[i])
		}
	}
	return want, problems
}

// realPods are a session's pods without those of buffers.
func realPods(pods []view.Pod) []view.Pod {
	from, _ := find(pods, model.FirstVirtual)
	to, _ := find(pods, model.AfterVirtual)
	if !slices.ContainsFunc(pods[from:to], func(p view.Pod) bool { return p.ID.Virtual() }) {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(p view.Pod) bool { return p.ID.Virtual() })
}

// assignBuffers places the pods of buffers, after all real pods: where it is already, in what is left on nodes
// and on claims of this plan, and, if that was asked for, on more claims.
func (c *cycle) assignBuffers() {
	if len(c.demand.virtual) == 0 {
		return
	}
	assigned, rest := c.assignMeant(c.demand.virtual)
	items := market.Items(c.World, rest)
	var more []pack.Assignment
	var left []market.Item
	buys := c.asks(model.KindProvision)
	if buys {
		more, items = c.scheduler.TopUp(c.bought, items)
		assigned = append(assigned, more...)
	}
	mark, limits := c.scheduler.Mark(), c.limits.Clone()
	uncount := func() {
		c.bufferPods, c.bufferPending = append(assigned, more...), left
		for _, s := range c.bufferPods {
			c.scheduler.Count(s, -1) // they keep their places, but count for no other pod
		}
	}
	var bought []*purchase.NewClaim
	if buys {
		more, bought, left = c.scheduler.Assign(items, ending.EveryHost)
		uncount()
	}
	if c.buffersWait = len(bought) > 0 && c.scheduler.FirstRefused(c.assigned, true) >= 0; !buys || c.buffersWait {
		c.scheduler.Revert(mark)
		*c.limits, bought = *limits, nil
		more, left = c.scheduler.OnHosts(items, ending.EveryHost)
		uncount()
	}
	c.bought = append(c.bought, bought...)
	c.assigned = append(c.assigned, c.bufferPods...)
}

// explain is why pods have no place. Where nothing can be bought it is what keeps them from the nodes that exist: the
// first rule that fails on the first node that is for pods like them.
func (c *cycle) explain(it market.Item) (model.Reason, []model.PoolMiss) {
	if c.buffersWait && c.Pods[it.Pods[0]].ID.Virtual() {
		return model.Reason{
			Code:    model.CodeSuperseded,
			Message: "where pods of this plan may go depends on which nodes there are; the buffer gets nodes once those pods are bound",
		}, nil
	}
	reason, pools := c.scheduler.Explain(it)
	if !market.NothingToBuy(reason.Code) {
		return reason, pools
	}
	for i, h := range c.view.Hosts {
		if !c.view.Open(i) || !c.matcher.Admits(it.Class, i) {
			continue
		}
		if r := c.matcher.Host(it.Class, i); !r.OK() {
			r.Message, r.Remedy = fmt.Sprintf("%s; on %s: %s", reason.Message, h.Name(), r.Message), reason.Remedy
			return r, pools
		}
	}
	return reason, pools
}

// movedBufferPods are the pods of buffers that move with a node that goes: the disruption says where.
func (c *cycle) movedBufferPods() map[int]bool {
	out := make(map[int]bool)
	for _, d := range c.disruptions.Decisions {
		for _, s := range d.Destinations {
			out[s.Pod] = c.Pods[s.Pod].ID.Virtual()
		}
		for _, b := range d.Replacements {
			for _, it := range b.Items {
				for _, p := range it.Pods {
					out[p] = c.Pods[p].ID.Virtual()
				}
			}
		}
	}
	return out
}

// objects are what became of overlays and buffers, by subject. Pending are the pods that nothing was found for, by pod.
func (c *cycle) objects(pending []model.PendingPod) []model.ObjectState {
	s := c.Snapshot
	if len(s.NodeOverlays)+len(s.CapacityBuffers) == 0 {
		return nil
	}
	refused := make(map[string]model.Reason)
	for _, r := range c.Overlays.Problems() {
		refused[r.Subject] = r
	}
	var out []model.ObjectState
	for i := range s.NodeOverlays {
		o := &s.NodeOverlays[i]
		subject := "nodeoverlay/" + o.Name
		out = append(out, model.ObjectState{Subject: subject, Generation: o.Generation, NotReady: refused[subject]})
	}
	has := bufferCapacity(c, pending)
	for i := range s.CapacityBuffers {
		b := &s.CapacityBuffers[i]
		state := model.ObjectState{Subject: "capacitybuffer/" + string(b.ID), Generation: b.Generation, NotReady: b.NotReady}
		if b.NotReady.OK() {
			state.Capacity = &model.BufferCapacity{TemplateGeneration: b.TemplateGeneration}
			if known := has[b.ID]; known != nil {
				*state.Capacity = *known
				state.Capacity.TemplateGeneration = b.TemplateGeneration
			}
		}
		out = append(out, state)
	}
	slices.SortFunc(out, func(a, b model.ObjectState) int { return cmp.Compare(a.Subject, b.Subject) })
	return out
}

// bufferCapacity counts the buffers' pods that are placed, and those that are pending.
func bufferCapacity(c *cycle, pending []model.PendingPod) map[model.BufferID]*model.BufferCapacity {
	out := make(map[model.BufferID]*model.BufferCapacity)
	of := func(pod model.PodID) *model.BufferCapacity {
		id, ok := pod.Buffer()
		if !ok {
			return nil
		}
		if out[id] == nil {
			out[id] = &model.BufferCapacity{}
		}
		out[id].Replicas++
		return out[id]
	}
	for _, a := range c.bufferPods {
		if b := of(c.Pods[a.Pod].ID); b != nil && (a.Claim != nil || c.view.Hosts[a.Host].Node == nil) {
			b.Coming++
		}
	}
	for i := range pending {
		if b := of(pending[i].Pod); b != nil {
			if b.Missing++; b.Missing == 1 {
				b.Why = pending[i].Reason
			}
		}
	}
	return out
}

// allProblems are what keeps users' objects from having an effect, or all of it, sorted by subject.
func (c *cycle) allProblems() []model.Reason {
	out := slices.Concat(c.Overlays.Problems(), c.problems)
	if c.asks(model.KindDisrupt) {
		out = append(out, budget.Blockers(c.view)...)
	}
	slices.SortStableFunc(out, func(a, b model.Reason) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Message, b.Message))
	})
	return out
}
