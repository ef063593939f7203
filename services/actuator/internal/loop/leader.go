package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// passGap is the least time between two passes, so that a storm of pod events costs one.
	passGap = 20 * time.Millisecond
	// idleWake is how long nothing at all may go unlooked at.
	idleWake = 30 * time.Second
)

// leader is the state of one leadership. All of it belongs to the goroutine that runs run.
type leader struct {
	*Loop
	fence   store.Fence
	lost    <-chan struct{}
	calls   *handle
	results chan func()
	workers sync.WaitGroup
	slots   slots
	tasks   map[string]*task

	stored   store.Revision
	revision int64
	born     time.Time

	claims      map[model.ClaimID]*model.Claim
	created     map[model.ClaimID]int64 // inventory revisions
	disruptions map[model.DisruptionID]*model.DisruptionRecord
	notices     map[string]*model.Notice
	shortages   map[apply.OfferingKey]model.Shortage

	now       time.Time // of the pass
	seen      cluster.State
	observed  bool
	nodes     map[string][]*cluster.Node // by provider id
	instances []cloud.Instance
	byClaim   map[model.ClaimID][]cloud.Instance
	listed    time.Time // when instances were asked for; zero before the first list
	pollNow   bool

	world   world
	present map[model.NodeClassName]*apply.Class // the classes of the pass
	queue   map[model.ClaimID][]lifecycle.Event
	blocked map[string]string // by pod: why its last eviction was refused
	orphans map[string]time.Time
	strange map[string]bool // instances that were warned about
	tidied  time.Time
	out     outbox

	wakeAt  time.Time
	again   bool
	dirty   bool  // the inventory has to be told again
	ready   bool  // everything was seen once
	failure error // a write failed between two passes: the term is over
}

func newLeader(l *Loop, term store.Term, h *handle) *leader {
	return &leader{
		Loop: l, fence: term.Fence, lost: term.Lost, calls: h, results: make(chan func()), slots: newSlots(l.cfg),
		tasks:  map[string]*task{},
		claims: map[model.ClaimID]*model.Claim{}, created: map[model.ClaimID]int64{},
		disruptions: map[model.DisruptionID]*model.DisruptionRecord{}, notices: map[string]*model.Notice{},
		shortages: map[apply.OfferingKey]model.Shortage{}, nodes: map[string][]*cluster.Node{},
		queue: map[model.ClaimID][]lifecycle.Event{}, blocked: map[string]string{}, orphans: map[string]time.Time{},
		strange: map[string]bool{}, world: newWorld(), out: newOutbox(), dirty: true,
	}
}

var errLeaseLost = errors.New("the lease is lost")

// run leads until ctx ends, the term is lost or the store fails. After a failed write nobody knows what the store
// holds, so the term ends and the next one loads it afresh.
func (l *leader) run(ctx context.Context) error {
	if err := l.load(ctx); err != nil {
		return err
	}
	l.receive(ctx)
	for {
		select {
		case <-l.lost:
			return errLeaseLost
		default:
		}
		begun := time.Now()
		if err := l.pass(ctx); err != nil {
			return err
		}
		// In a large cluster a pass takes longer: it never has more than half of the time.
		took := time.Since(begun)
		if err := l.wait(ctx, begun.Add(max(passGap, 2*took))); err != nil {
			return err
		}
	}
}

// load reads what former leaders left.
func (l *leader) load(ctx context.Context) error {
	c, err := l.cfg.Store.Load(ctx)
	if err != nil {
		return err
	}
	for i := range c.Claims {
		l.claims[c.Claims[i].ID] = &c.Claims[i]
	}
	for id, r := range c.Created {
		l.created[id] = inventory.FromStore(int64(r))
	}
	for i := range c.Disruptions {
		l.disruptions[c.Disruptions[i].ID] = &c.Disruptions[i]
	}
	for i := range c.Notices {
		l.notices[c.Notices[i].ID] = &c.Notices[i]
	}
	for _, s := range c.Shortages {
		l.shortages[shortageKey(s)] = s
	}
	l.stored, l.born = c.Revision, c.Born
	// The campaign was a write: whatever an older leader told lies below this.
	l.revision = inventory.FromStore(max(int64(c.Revision), l.fence.Revision))
	if l.born.IsZero() {
		l.born = time.Now()
		return l.commit(ctx, store.Batch{Born: l.born})
	}
	return nil
}

func shortageKey(s model.Shortage) apply.OfferingKey {
	return apply.OfferingKey{InstanceType: s.InstanceType, Zone: s.Zone, CapacityType: s.CapacityType}
}

// wait blocks until there is something to do, and not before the given time unless a caller asks.
func (l *leader) wait(ctx context.Context, notBefore time.Time) error {
	for something := l.again; ; {
		wake := l.wakeAt
		if wake.IsZero() || wake.Sub(l.now) > idleWake {
			wake = l.now.Add(idleWake)
		}
		if something || wake.Before(notBefore) {
			wake = notBefore
		}
		timer := time.NewTimer(time.Until(wake))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-l.lost:
			timer.Stop()
			return errLeaseLost
		case <-timer.C:
			return nil
		case <-l.cfg.Kube.Changed():
		case f := <-l.results:
			f()
		case f := <-l.calls.requests:
			f(l)
		}
		timer.Stop()
		if l.failure != nil {
			return l.failure
		}
		something = true
	}
}

// pass looks at everything once: observe, decide, store, act, tell. Intent is stored before anything acts on it.
func (l *leader) pass(ctx context.Context) error {
	l.now, l.wakeAt, l.again = time.Now(), time.Time{}, false
	l.observe(ctx)
	l.refresh(ctx)
	if l.observed {
		writes, effects := l.decide()
		if err := l.write(ctx, writes); err != nil {
			return err
		}
		for _, e := range effects {
			l.act(ctx, e)
		}
		l.sweep(ctx)
		l.tidy()
	}
	l.tell()
	l.publish(ctx)
	return nil
}

// observe takes a new look at the cluster. The caches must have filled once; a claim's node that is not in an empty
// cache is not gone.
func (l *leader) observe(ctx context.Context) {
	state, err := l.cfg.Kube.Observe()
	if err != nil {
		if l.observed || !errors.Is(err, cluster.ErrNotReady) {
			l.cfg.Log.WarnContext(ctx, "observe the cluster", "error", err)
		}
		l.wake(l.now.Add(time.Second))
		return
	}
	l.seen, l.observed = state, true
	clear(l.nodes)
	for i := range state.Nodes {
		n := &state.Nodes[i]
		if n.ProviderID != "" {
			l.nodes[n.ProviderID] = append(l.nodes[n.ProviderID], n)
		}
	}
}

// claimEffect is something to do for a claim.
type claimEffect struct {
	claim  *model.Claim
	effect lifecycle.Effect
}

// decide lets the pure packages answer to what is seen. What they say is not true before it is written.
func (l *leader) decide() (store.Batch, []claimEffect) {
	var b store.Batch
	var effects []claimEffect
	l.present = l.world.presentClasses()
	l.progress(&b)
	l.adopt(&b)
	for _, id := range slices.Sorted(maps.Keys(l.claims)) {
		old := l.claims[id]
		if old.State.Ended() {
			delete(l.queue, id)

			continue
		}
		next, todo := l.step(*old)
		delete(l.queue, id)
		if !reflect.DeepEqual(*old, next) {
			next.Fence = l.fence.Revision
			b.PutClaims = append(b.PutClaims, next)
			l.again = l.again || next.State != old.State
		}
		for _, e := range todo {
			effects = append(effects, claimEffect{claim: &next, effect: e})
		}
	}
	l.prune(&b)
	return b, effects
}

// wake asks for a pass at a time; zero asks for nothing.
func (l *leader) wake(t time.Time) {
	if !t.IsZero() && (l.wakeAt.IsZero() || t.Before(l.wakeAt)) {
		l.wakeAt = t
	}
}

// write stores a batch whose parts need not stand together, in as many commits as it takes.
func (l *leader) write(ctx context.Context, b store.Batch) error {
	for _, part := range chunks(b) {
		if err := l.commit(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// commit stores a batch as one and takes it over into memory.
func (l *leader) commit(ctx context.Context, b store.Batch) error {
	if b.Writes() == 0 {
		return nil
	}
	revision, err := l.cfg.Store.Commit(ctx, l.fence, b)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	l.stored, l.dirty = revision, true
	for i := range b.PutClaims {
		c := &b.PutClaims[i]
		old := l.claims[c.ID]
		l.claims[c.ID] = c
		if old == nil {
			l.created[c.ID] = inventory.Next(l.revision, int64(revision))
		}
		l.moved(ctx, old, c)
	}
	for _, id := range b.DeleteClaims {
		delete(l.claims, id)
		delete(l.created, id)
	}
	for i := range b.PutDisruptions {
		l.disruptions[b.PutDisruptions[i].ID] = &b.PutDisruptions[i]
	}
	for _, id := range b.DeleteDisruptions {
		delete(l.disruptions, id)
	}
	for i := range b.PutNotices {
		l.notices[b.PutNotices[i].ID] = &b.PutNotices[i]
	}
	for _, id := range b.DeleteNotices {
		delete(l.notices, id)
	}
	for _, s := range b.PutShortages {
		l.shortages[shortageKey(s)] = s
	}
	for _, s := range b.DeleteShortages {
		delete(l.shortages, shortageKey(s))
	}
	l.world.repriced = l.world.repriced || len(b.PutShortages)+len(b.DeleteShortages) > 0
	return nil
}

// smallBytes is more than what a notice, a shortage or a deletion takes.
const smallBytes = 2 << 10

// chunks cuts a batch into batches that a store takes.
func chunks(b store.Batch) []store.Batch {
	var out []store.Batch
	var part store.Batch
	size := 0
	room := func(bytes int) *store.Batch {
		if n := part.Writes(); n >= store.MaxWrites || (n > 0 && size+bytes > store.MaxBytes) {
			out = append(out, part)
			part, size = store.Batch{}, 0
		}
		size += bytes
		return &part
	}
	for _, x := range b.PutClaims {
		p := room(store.ClaimBytes(x))
		p.PutClaims = append(p.PutClaims, x)
	}
	for _, x := range b.DeleteClaims {
		p := room(smallBytes)
		p.DeleteClaims = append(p.DeleteClaims, x)
	}
	for _, x := range b.PutDisruptions {
		p := room(store.DisruptionBytes(x))
		p.PutDisruptions = append(p.PutDisruptions, x)
	}
	for _, x := range b.DeleteDisruptions {
		p := room(smallBytes)
		p.DeleteDisruptions = append(p.DeleteDisruptions, x)
	}
	for _, x := range b.DeleteNotices {
		p := room(smallBytes)
		p.DeleteNotices = append(p.DeleteNotices, x)
	}
	for _, x := range b.PutNotices {
		p := room(smallBytes)
		p.PutNotices = append(p.PutNotices, x)
	}
	for _, x := range b.PutShortages {
		p := room(smallBytes)
		p.PutShortages = append(p.PutShortages, x)
	}
	for _, x := range b.DeleteShortages {
		p := room(smallBytes)
		p.DeleteShortages = append(p.DeleteShortages, x)
	}
	return append(out, part)
}

// prune forgets what is long over. A claim is forgotten only once its Kubernetes object is, or nobody would remove it.
func (l *leader) prune(b *store.Batch) {
	objects := make(map[model.ClaimID]bool, len(l.seen.ClaimObjects))
	for _, id := range l.seen.ClaimObjects {
		objects[id] = true
	}
	for id, c := range l.claims {
		if c.State.Ended() && !objects[id] && l.over(c.StateTime) {
			b.DeleteClaims = append(b.DeleteClaims, id)
		}
	}
	b.DeleteDisruptions = l.oldRecords()
	for id, n := range l.notices {
		if c := l.claims[n.Claim]; l.over(n.EventTime) || (n.Claim != "" && (c == nil || c.State.Ended())) {
			b.DeleteNotices = append(b.DeleteNotices, id)
		}
	}
	for _, s := range l.shortages {
		if !l.now.Before(s.Until) {
			b.DeleteShortages = append(b.DeleteShortages, s)
		} else {
			l.wake(s.Until)
		}
	}
	slices.Sort(b.DeleteClaims)
	slices.Sort(b.DeleteDisruptions)
	slices.Sort(b.DeleteNotices)
}

func (l *leader) over(t time.Time) bool { return l.now.Sub(t) >= l.cfg.Intervals.History }
