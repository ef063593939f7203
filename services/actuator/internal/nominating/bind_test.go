package nominating

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestANodeStaysClosedForAsLongAsTheStreamOfPodsIsLate has a binding come back after a while.
func TestANodeStaysClosedForAsLongAsTheStreamOfPodsIsLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bound      map[model.PodID]bool
		late, want time.Duration
	}{
		"no pod was bound":        {map[model.PodID]bool{"shop/a": false}, time.Hour, 0},
		"the stream is in time":   {map[model.PodID]bool{"shop/a": true}, 0, leastSettling},
		"the stream is late":      {map[model.PodID]bool{"shop/a": true, "shop/b": false}, 300 * time.Millisecond, 1200 * time.Millisecond},
		"the stream says nothing": {map[model.PodID]bool{"shop/a": true}, time.Hour, mostUnseen + mostSettling},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := &binding{bound: c.bound, opening: opening{world: nominate.World{
					Unbound: func(model.PodID) (cluster.UnboundPod, bool) { return cluster.UnboundPod{}, time.Since(began) < c.late },
				}}}
				b.settle(t.Context())
				if took := time.Since(began); took != c.want {
					t.Errorf("the node is open after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// asks is of a cluster in which each pod asks for the same.
type asks struct {
	cluster.Nominator
	each model.Amounts
}

func (a asks) Bindable(model.PodID) (model.Amounts, bool) { return a.each, true }

// TestThePodsOfANodeHaveItsRoomOnce has a node with room for one pod, which it was bought for, and another that would
// come in its place.
func TestThePodsOfANodeHaveItsRoomOnce(t *testing.T) {
	t.Parallel()
	const own, other = model.PodID("shop/own"), model.PodID("shop/other")
	room := model.Amounts{{Resource: model.CPU, Value: 1000}}
	listed := func(ids ...model.PodID) (out []cluster.Nomination) {
		for _, id := range ids {
			out = append(out, cluster.Nomination{Pod: cluster.UnboundPod{ID: id}})
		}
		return out
	}
	for name, c := range map[string]struct {
		became func(*binding)
		wanted []cluster.Nomination
		want   model.PodID
	}{
		"it was bound":                     {func(b *binding) { b.bound[own] = true }, listed(other), ""},
		"it may have been bound":           {func(b *binding) { b.held[own], b.refused[own] = true, true }, listed(other), ""},
		"it waits for others":              {func(*binding) {}, listed(own, other), own},
		"the node is not for it":           {func(b *binding) { b.refused[own] = true }, listed(own, other), other},
		"it went elsewhere":                {func(*binding) {}, listed(other), other},
		"the newest plan has it elsewhere": {func(b *binding) { b.bound[own] = false }, listed(other), other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &Nominations{cfg: Config{Nominator: asks{each: room}}}
			b := x.binding(opening{room: nominate.NewRoom(&model.Claim{Pods: []model.PodID{own}, Requests: room}, room)})
			b.room.Arrives(other)
			if got := b.bindable(listed(own)); len(got) != 1 {
				t.Fatalf("at first %+v may be bound, want its own pod", got)
			}
			c.became(b)
			var got model.PodID
			if list := b.bindable(c.wanted); len(list) > 0 {
				got = list[0].Pod.ID
			}
			if got != c.want {
				t.Errorf("then %q may be bound, want %q", got, c.want)
			}
		})
	}
}
