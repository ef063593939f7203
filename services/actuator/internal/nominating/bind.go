package nominating

import (
	"context"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// kubeletLag is how long a kubelet may take to see its node's labels and taints change. It ends pods for good that
	// come before it has seen that they may run.
	kubeletLag = 250 * time.Millisecond
	// mostBinding is how long it waits for its pods to be bound. The rule of a pod that is to be spread over zones
	// holds once nodes of the other zones have theirs, and nodes that were bought within a ramp's first seconds join
	// some seconds apart. All else that was planned runs meanwhile, and the scheduler could not place those pods here
	// either. What waits for longer may as well go elsewhere.
	mostBinding = 10 * time.Second
	// bindEvery is how often pods are tried whose rules about others did not hold, and mostStill how long without any
	// of them being bound once no other node is to come that could change it.
	bindEvery = 25 * time.Millisecond
	mostStill = 500 * time.Millisecond
	// seenEvery is how often it is looked whether the bound pods are seen to be, mostUnseen how long at most.
	seenEvery  = 10 * time.Millisecond
	mostUnseen = 5 * time.Second
	// settleFactor is how many times as long as that took the node stays closed, and leastSettling and mostSettling its
	// limits.
	settleFactor  = 3
	leastSettling = 100 * time.Millisecond
	mostSettling  = 5 * time.Second
)

// binding is what becomes of the pods of one node that opens, in its worker.
type binding struct {
	*Nominations
	opening
	bound, refused map[model.PodID]bool
	// held are pods of which it is not known whether they were bound here: an answer was an error, and what was asked
	// may be done all the same.
	held map[model.PodID]bool
	// came are the arrivals among those that were bound, with their controllers.
	came map[model.PodID]string
	// waits says that rules about other pods keep some from the node for now.
	waits bool
	// moved is when a pod was bound last; until, from the first turn on, is how long others are waited for.
	moved, until time.Time
}

func (x *Nominations) binding(o opening) *binding {
	return &binding{Nominations: x, opening: o, bound: map[model.PodID]bool{}, refused: map[model.PodID]bool{}, held: map[model.PodID]bool{}, came: map[model.PodID]string{}, moved: time.Now()}
}

// run binds the pods of the node and returns those that are left to be nominated. Pods whose rules about others do not
// hold are tried again as others are bound, and so are those that newer plans have there.
func (b *binding) run(ctx context.Context) []cluster.Nomination {
	if b.room == nil {
		return b.due(b.opening)
	}
	defer func() {
		if b.waits {
			b.waiting.Add(-1)
		}
	}()
	for pause := kubeletLag; ; pause = bindEvery {
		list := b.wanted()
		if try := b.bindable(list); len(try) == 0 || b.waits && b.waitedEnough() {
			return list
		}
		select {
		case <-ctx.Done():
			return list
		case <-time.After(pause):
		}
		b.attempt(ctx)
	}
}

// wanted are all that are to come to the node and have not: those that the newest plan has there, and arrivals.
func (b *binding) wanted() []cluster.Nomination {
	list := without(b.due(b.opening), b.bound)
	if b.arrivals != nil { // where some went elsewhere, the newest plan knows whom there is room for
		for _, n := range list {
			b.room.Arrives(n.Pod.ID)
		}
	}
	for _, p := range b.arrivals.Next(b.opening.world.Waiting, b.came, b.refused) {
		b.room.Arrives(p.ID)
		if b.bound[p.ID] || slices.ContainsFunc(list, func(n cluster.Nomination) bool { return n.Pod.ID == p.ID }) {
			continue
		}
		list = append(list, cluster.Nomination{Pod: p, Node: b.node})
	}
	return list
}

func (b *binding) bindable(list []cluster.Nomination) []cluster.Nomination {
	list = without(list, b.refused)
	b.room.GiveBack(func(id model.PodID) bool {
		return b.bound[id] || b.held[id] || slices.ContainsFunc(list, func(n cluster.Nomination) bool { return n.Pod.ID == id })
	})
	try, _ := b.room.Bind(list, b.cfg.Nominator.Bindable)
	return try
}

func (b *binding) waitedEnough() bool {
	return time.Now().After(b.until) || b.coming.Load() <= b.waiting.Load() && time.Since(b.moved) > mostStill
}

// attempt binds those whose rules hold now.
func (b *binding) attempt(ctx context.Context) {
	var try, left, wait []cluster.Nomination
	err := b.turn(ctx, func() (err error) {
		if b.until.IsZero() {
			b.until = time.Now().Add(mostBinding)
		}
		try = b.bindable(b.wanted()) // a newer plan may have come meanwhile
		left, wait, err = b.cfg.Nominator.Bind(ctx, try)
		return err
	})
	if err != nil {
		b.cfg.Log.WarnContext(ctx, "bind", "node", b.node, "pods", len(try), "error", err)
		note(b.held, left, true)
	}
	note(b.bound, try, true)
	note(b.refused, left, true)
	note(b.bound, left, false)
	note(b.bound, wait, false)
	for _, n := range try {
		if b.bound[n.Pod.ID] && b.arrivals[n.Pod.Owner] > 0 {
			b.came[n.Pod.ID] = n.Pod.Owner
		}
	}
	if len(left)+len(wait) < len(try) {
		b.moved = time.Now()
	}
	if len(wait) > 0 && !b.waits {
		b.waits = true
		b.waiting.Add(1)
	}
}

// settle waits until the scheduler has heard of the pods that were bound. It hears of pods and of nodes by two streams:
// where it hears first that the node is open it takes the node for empty, and binds more pods than it holds, which the
// kubelet refuses. Nothing tells how far it has read. But Kerf reads the same stream of pods: how long its own binding
// takes to come back is how late the stream is, and the node stays closed for some times as long.
func (b *binding) settle(ctx context.Context) {
	began, some := time.Now(), false
	for id, bound := range b.bound {
		some = some || bound
		for bound && time.Since(began) < mostUnseen {
			if _, unbound := b.opening.world.Unbound(id); !unbound {
				break
			}
			if !pause(ctx, seenEvery) {
				return
			}
		}
	}
	if some {
		pause(ctx, min(mostSettling, max(leastSettling, settleFactor*time.Since(began))))
	}
}

// pause says that time has passed, and not the context's.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func note(pods map[model.PodID]bool, list []cluster.Nomination, is bool) {
	for _, n := range list {
		pods[n.Pod.ID] = is
	}
}

func without(list []cluster.Nomination, pods map[model.PodID]bool) []cluster.Nomination {
	return slices.DeleteFunc(slices.Clone(list), func(n cluster.Nomination) bool { return pods[n.Pod.ID] })
}
