package plan

import (
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// base is what plans of a snapshot have in common: the world, with nothing tried out.
type base struct {
	world       *view.World
	view        *view.View
	matcher     *fit.Matcher
	unsupported []model.Reason
	// podCount is how many pods each class has, by index.
	podCount []int32

	// priced says that the world has the prices of the snapshot's offerings, and stale that it has others than the
	// snapshot's nodes, claims, notices and pods.
	priced, stale bool

	// offers says that these are worked out. They depend on what can be bought at a time.
	offers   bool
	podRules *podrules.Rules
	market   *market.Market
	// from and until are the times between which nothing becomes available; zero where there is no such time.
	from, until time.Time

	// counted says that these are worked out, for offers and the view.
	counted bool
	tally   *topology.Tally
	limits  *market.Limits
	// weight is that of the tally when it was new.
	weight int
}

func newBase(s *model.Snapshot, pods []view.Pod, in *model.Input, stop func() bool) (*base, error) {
	w, err := view.Compile(s, pods, in.Policy, in.Now)
	if err != nil {
		return nil, err
	}
	b := &base{world: w, priced: true}
	return b, b.look(stop)
}

// look works out what depends on who is where.
func (b *base) look(stop func() bool) error {
	err := inTurn(stop, func() { b.view = view.NewView(b.world) }, func() { b.unsupported = fit.Unsupported(b.world) },
		func() { fit.ReserveDaemons(b.view) }, func() { b.matcher = fit.NewMatcher(b.view) })
	b.countPods()
	return err
}

func (b *base) countPods() {
	b.podCount = make([]int32, len(b.world.Classes))
	for i := range b.world.Pods {
		b.podCount[b.world.Pods[i].Class.Index]++
	}
}

// rehost makes the base what it is after nodes, claims, notices and pods changed. It says false where that can't be
// done. What can be bought is mostly the same after that, and is most of what a base of few nodes takes.
func (b *base) rehost(pods []view.Pod, stop func() bool) (bool, error) {
	same, ok, err := view.Rehost(b.world, pods)
	if !ok {
		return false, err
	}
	b.counted = false
	if b.offers = b.offers && same; b.offers {
		keys := market.PodRuleKeys(b.world, b.podRules)
		b.podRules = podrules.New(b.world)
		b.offers = slices.Equal(keys, market.PodRuleKeys(b.world, b.podRules))
	}
	if err := b.reprice(); err != nil { // hosts have labels of places that are new
		return true, err
	}
	if err := b.look(stop); err != nil {
		return true, err
	}
	b.stale = false
	return true, nil
}

// reprice makes the world's market what it is after offerings changed.
func (b *base) reprice() error {
	if b.priced {
		return nil
	}
	err := b.world.Reprice()
	b.priced = err == nil
	return err
}

// inTurn takes steps one after the other, until it is stopped.
func inTurn(stop func() bool, steps ...func()) error {
	for _, step := range steps {
		if stop() {
			return ErrStopped
		}
		step()
	}
	return nil
}

// suits says whether the base was made for a policy, and what volumes are tied to has not changed with time.
func (b *base) suits(p *model.Policy, now time.Time) bool {
	return reflect.DeepEqual(&b.world.Policy, p) && view.HasDisks(b.world, now)
}

// at makes the base what it is at a time.
func (b *base) at(now time.Time, stop func() bool) error {
	b.world.Now = now
	const slack = 1 << 14
	known := b.offers && b.world.Devices == nil && // what new nodes will have depends on how old others are
		!now.Before(b.from) && (b.until.IsZero() || now.Before(b.until)) && (!b.counted || b.tally.Size() < 2*b.weight+slack)
	if known && b.counted {
		return nil
	}
	b.counted = false
	var steps []func()
	if !known {
		b.offers = false
		if err := b.reprice(); err != nil {
			return err
		}
		steps = []func(){
			func() { b.podRules = podrules.New(b.world) }, func() { b.market = market.NewMarket(b.world, b.podRules, stop) },
		}
	}
	err := inTurn(stop, append(steps, func() { b.limits = market.NewLimits(b.world) },
		func() { b.tally = topology.NewTally(b.podRules, b.view, nil) },
		func() { b.market.EachOffer(b.tally.Offer); b.matcher.CheckPeers(b.tally) })...)
	if err != nil {
		return err
	}
	b.weight, b.counted = b.tally.Size(), true
	if known {
		return nil
	}
	b.from, b.until = time.Time{}, time.Time{}
	for i := range b.world.Snapshot.Offerings {
		o := &b.world.Snapshot.Offerings[i]
		if unavailable, until := rules.Unavailable(o, now); unavailable {
			b.until = rules.Earliest(b.until, until)
		} else if o.UnavailableUntil.After(b.from) {
			b.from = o.UnavailableUntil
		}
	}
	b.offers = true
	return nil
}

// lacks says that none of some classes was there before.
func (b *base) lacks(classes []model.PodClass) bool {
	return !slices.ContainsFunc(classes, func(c model.PodClass) bool { return b.world.ClassOf(c.ID) != nil })
}

// reclass makes the base what it is after classes came, or went that no pod has. It says false where that can't be done.
func (b *base) reclass() (bool, error) {
	same, ok, err := b.view.Reclass()
	if !ok {
		return false, err
	}
	b.unsupported = fit.Unsupported(b.world)
	b.countPods()
	if !same {
		b.matcher, b.offers = fit.NewMatcher(b.view), false
	}
	if b.offers = b.offers && b.counted; b.offers {
		b.podRules = podrules.New(b.world)
		b.offers = b.tally.Adopt(b.podRules)
	}
	return true, nil
}

// fold puts changes of pods in.
func (b *base) fold(changes []view.PodChange) error {
	before := make([]*view.Class, len(changes))
	for i, c := range changes {
		if at, known := b.world.Find(c.ID); known {
			before[i] = b.world.Pods[at].Class
		}
	}
	touched, counted := b.view.Touched(changes), b.offers && b.counted
	if counted {
		for _, h := range touched {
			b.tally.UncountHost(b.view, h)
		}
	}
	if err := b.view.Fold(changes, touched); err != nil {
		return err
	}
	for _, h := range touched {
		fit.ReserveDaemonsOn(b.view, h)
		if counted {
			b.tally.CountHost(b.view, h)
		}
	}
	for i, c := range changes {
		b.settle(before[i], -1)
		if c.Pod != nil {
			b.settle(b.world.ClassOf(c.Pod.Class), 1)
		}
	}
	return nil
}

// settle counts a class's pods. Only rules of classes that have pods hold.
func (b *base) settle(c *view.Class, n int32) {
	if c == nil {
		return
	}
	had := b.podCount[c.Index] > 0
	b.podCount[c.Index] += n
	if had != (b.podCount[c.Index] > 0) && !podrules.HasNoPodRules(b.world, c) {
		b.offers = false
	}
}
