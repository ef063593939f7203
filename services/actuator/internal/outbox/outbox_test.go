package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/core/model"
)

// kube is a cluster that keeps what is published, or refuses all or some of it.
type kube struct {
	cluster.Cluster
	got     []cluster.Publication
	fail    bool
	refuses map[cluster.Entry]bool
	tried   map[cluster.Entry][]time.Time
}

func (k *kube) Publish(_ context.Context, p cluster.Publication) error {
	if k.fail {
		return errors.New("no")
	}
	k.got = append(k.got, p)
	failed := cluster.NotPublished{}
	for _, e := range entries(p) {
		k.tried[e] = append(k.tried[e], time.Now())
		if k.refuses[e] {
			failed[e] = errors.New("denied")
		}
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// entries are those of a publication that tests look at.
func entries(p cluster.Publication) []cluster.Entry {
	var out []cluster.Entry
	for _, c := range p.Claims {
		out = append(out, cluster.ClaimEntry(c.ID))
	}
	for _, s := range p.Pools {
		out = append(out, cluster.PoolEntry(s.Name))
	}
	for _, id := range p.ForgetClaims {
		out = append(out, cluster.ForgetClaimEntry(id))
	}
	for _, name := range p.ForgetClasses {
		out = append(out, cluster.ForgetClassEntry(name))
	}
	for _, e := range p.Events {
		out = append(out, cluster.EventEntry(e))
	}
	return out
}

type rig struct {
	*Outbox
	kube *kube
	jobs *jobs.Pool
	a    *agenda.Agenda
	now  time.Time
	step time.Duration // between two publications
}

func newRig() *rig {
	a := &agenda.Agenda{}
	r := &rig{kube: &kube{tried: map[cluster.Entry][]time.Time{}}, a: a, jobs: jobs.New(a, 1, 1), now: time.Now(), step: time.Minute}
	r.Outbox = New(r.kube, a, r.jobs, slog.New(slog.DiscardHandler))
	return r
}

// publish shows a view and returns what was sent; nothing where there was nothing to send.
func (r *rig) publish(t *testing.T, v View) cluster.Publication {
	t.Helper()
	r.now = r.now.Add(r.step)
	r.a.Begin(r.now)
	sent, done := cluster.Publication{}, false
	r.Publish(t.Context(), nil, v, func(p cluster.Publication) { sent, done = p, true })
	if news, _ := r.news(v); !done && len(news.Claims)+len(news.Pools)+len(news.Classes)+len(news.Events)+len(news.ForgetClaims)+len(news.ForgetClasses)+len(news.States) > 0 {
		(<-r.jobs.Results())()
	}
	r.jobs.Wait()
	return sent
}

func TestOnlyWhatIsNewIsPublished(t *testing.T) {
	r := newRig()
	c := &model.Claim{ID: "c1", State: model.ClaimLaunched}
	v := View{
		Claims: []*model.Claim{c}, Objects: []model.ClaimID{"c1"}, Pools: []cluster.PoolStatus{{Name: "default"}},
		Classes: []cluster.ClassStatus{{Name: "default"}},
	}
	r.kube.fail = true
	r.publish(t, v)
	r.kube.fail = false
	if p := r.publish(t, v); len(p.Claims) != 1 || len(p.Pools) != 1 || len(p.Classes) != 1 {
		t.Fatalf("%+v, want everything, because the first try failed", p)
	}
	r.publish(t, v)
	if len(r.kube.got) != 1 {
		t.Fatalf("%d publications, want none for what was shown", len(r.kube.got))
	}
	v.Objects = nil
	if p := r.publish(t, v); len(p.Claims) != 1 || len(p.Pools) != 0 {
		t.Errorf("%+v, want the object that was removed by force", p)
	}
	v.Objects, v.Pools = []model.ClaimID{"c1"}, nil
	r.publish(t, v)
	v.Pools = []cluster.PoolStatus{{Name: "default"}}
	if p := r.publish(t, v); len(p.Pools) != 1 {
		t.Errorf("%+v, want the status of a pool that was made again", p)
	}
	v.Claims = []*model.Claim{{ID: "c1", State: model.ClaimGone}}
	if p := r.publish(t, v); len(p.ForgetClaims) != 1 || len(p.Claims) != 0 {
		t.Errorf("%+v, want that the object of a claim that has ended goes", p)
	}
}

func TestQuietNodesMakeWayForWhatHappens(t *testing.T) {
	r := newRig()
	v := View{Consolidatable: map[model.ClaimID]bool{}}
	for i := range 10 * maxHints {
		id := model.ClaimID(fmt.Sprintf("c%03d", i))
		v.Claims, v.Objects = append(v.Claims, &model.Claim{ID: id, State: model.ClaimInitialized}), append(v.Objects, id)
		v.Consolidatable[id] = true
	}
	for range 10 { // they were shown by a leader before, perhaps
		r.publish(t, v)
	}
	if p := r.publish(t, v); len(p.Claims) != 0 {
		t.Fatalf("%d claims again", len(p.Claims))
	}
	v.Consolidatable = nil
	last := len(v.Claims) - 1
	v.Claims[last] = &model.Claim{ID: v.Claims[last].ID, State: model.ClaimDraining}
	if p := r.publish(t, v); len(p.Claims) != maxHints+1 || p.Claims[maxHints].State != model.ClaimDraining {
		t.Errorf("%d claims, want %d and the one that drains", len(p.Claims), maxHints)
	}
	for range 9 {
		r.publish(t, v)
	}
	if p := r.publish(t, v); len(p.Claims) != 0 {
		t.Errorf("%d claims are left, want all to be published", len(p.Claims))
	}
}

func TestWhatPlansMakeOfObjectsIsPublishedOnce(t *testing.T) {
	r := newRig()
	r.publish(t, View{})
	r.publishedAt, r.seen = r.now, 1
	if r.Due(1) {
		t.Fatal("there is something to publish")
	}
	states := []model.ObjectState{{Subject: "nodeoverlay/a"}, {Subject: "nodeoverlay/b"}}
	r.Became(states)
	r.a.Begin(r.now.Add(time.Minute))
	if !r.Due(1) {
		t.Error("a plan's word is not published")
	}
	if p := r.publish(t, View{}); len(p.States) != 2 {
		t.Errorf("%+v, want both", p.States)
	}
	r.Became([]model.ObjectState{{Subject: "nodeoverlay/a"}, {Subject: "nodeoverlay/b", Generation: 2}})
	if p := r.publish(t, View{}); len(p.States) != 1 || p.States[0].Generation != 2 {
		t.Errorf("%+v, want the one that has changed", p.States)
	}
}

func TestEventsOfAClaim(t *testing.T) {
	r := newRig()
	waits := model.Reason{Code: model.CodeDrainBlocked, Message: "pod default/web must not be disrupted"}
	old := model.Claim{ID: "c1", State: model.ClaimInitialized, Node: "n1"}
	draining := model.Claim{ID: "c1", State: model.ClaimDraining, Node: "n1", DisruptionReason: model.ReasonEmpty}
	blocked := draining
	blocked.Failure = waits
	r.Changed(old, draining)
	r.Changed(draining, blocked)
	r.Changed(blocked, draining)
	r.Changed(draining, blocked) // said already
	var got []string
	for _, e := range r.events {
		got = append(got, e.Kind+" "+e.Reason)
	}
	if s := strings.Join(got, ", "); s != "Node Disrupted, NodeClaim Disrupted, NodeClaim FailedDraining" {
		t.Errorf("told %s", s)
	}
}

// TestADrainSaysWhatItsPlanSaid: in the words of the disruption that the claim goes by, and of no other one.
func TestADrainSaysWhatItsPlanSaid(t *testing.T) {
	r := newRig()
	r.Goes("d1", []model.ClaimID{"c1", "c2"}, "no pod but those of DaemonSets runs there")
	for id, d := range map[model.ClaimID]model.DisruptionID{"c1": "d1", "c2": "d2", "c3": ""} {
		old := model.Claim{ID: id, State: model.ClaimInitialized, Node: "n1", Disruption: d, DisruptionReason: model.ReasonEmpty}
		draining := old
		draining.State = model.ClaimDraining
		want := "node n1 is being drained: Empty"
		if id == "c1" {
			want += ": no pod but those of DaemonSets runs there"
		}
		r.events = nil
		r.Changed(old, draining)
		if len(r.events) != 2 || r.events[0].Message != want || r.events[1].Message != want {
			t.Errorf("of %s told %+v, want %q of the claim and its node", id, r.events, want)
		}
	}
	r.forget("c1")
	if _, ok := r.going["c1"]; ok {
		t.Error("remembers why a claim went that is gone")
	}
}

func TestTheNewestEventsStay(t *testing.T) {
	r := newRig()
	for range maxEvents {
		r.Event(cluster.Event{Reason: "old"})
	}
	r.Event(cluster.Event{Reason: "new"})
	if last := r.events[len(r.events)-1]; len(r.events) != maxEvents || last.Reason != "new" {
		t.Errorf("%d events, the last %+v", len(r.events), last)
	}
}

// told are the events that wait, as "kind name reason".
func (r *rig) told() []string {
	var out []string
	for _, e := range r.events {
		out = append(out, e.Kind+" "+e.Name+" "+e.Reason)
	}
	return out
}

func TestUsersAreToldWhatKarpentersUsersKnow(t *testing.T) {
	tests := map[string]struct {
		tell func(*rig)
		want []string
	}{
		"pods that a node is launched for": {
			func(r *rig) { r.Bought(model.Claim{ID: "c1", Pods: []model.PodID{"default/web", "buffer/of/two"}}) },
			[]string{"Pod web Nominated"},
		},
		"a pod that is evicted": {
			func(r *rig) {
				r.Evicted(cluster.Eviction{Namespace: "default", Name: "web", Node: "n1", Why: model.ReasonDrifted})
			},
			[]string{"Pod web Evicted"},
		},
		"a node that something keeps, once": {
			func(r *rig) {
				for range 2 {
					r.Stays(model.NodeVerdict{Node: "n1", Claim: "c1", Reason: model.Reason{Code: model.CodePDB}})
				}
			},
			[]string{"NodeClaim c1 DisruptionBlocked", "Node n1 DisruptionBlocked"},
		},
		"an unhealthy node that stays because many are": {
			func(r *rig) {
				r.Stays(model.NodeVerdict{Node: "n1", Claim: "c1", Reason: model.Reason{Code: model.CodeRepairGuard}})
			},
			[]string{"NodeClaim c1 NodeRepairBlocked", "Node n1 NodeRepairBlocked"},
		},
		"a drain that ends by force": {
			func(r *rig) {
				old := model.Claim{ID: "c1", Node: "n1", State: model.ClaimDraining, TerminationGracePeriod: new(time.Minute)}
				c := old
				c.DrainDeadline = time.Unix(60, 0)
				r.Changed(old, c)
				r.Changed(c, c)
			},
			[]string{"NodeClaim c1 TerminationGracePeriodExpiring", "Node n1 TerminationGracePeriodExpiring"},
		},
		"a node that is worth its price, after that": {
			func(r *rig) {
				r.Stays(model.NodeVerdict{Node: "n1", Claim: "c1", Reason: model.Reason{Code: model.CodePDB}})
				r.events = nil
				r.Stays(model.NodeVerdict{Node: "n1", Claim: "c1", Reason: model.Reason{Code: model.CodeNoCheaper}})
			},
			[]string{"NodeClaim c1 Unconsolidatable", "Node n1 Unconsolidatable"},
		},
		"a node that a pod has just come to": {
			func(r *rig) {
				r.Stays(model.NodeVerdict{Node: "n1", Claim: "c1", Reason: model.Reason{Code: model.CodeConsolidateAfter}})
			},
			nil,
		},
		"a spot instance that AWS takes": {
			func(r *rig) {
				r.Notice(model.Notice{Kind: model.NoticeSpotInterruption, InstanceID: "i-1"}, model.Claim{ID: "c1", Node: "n1"})
			},
			[]string{"NodeClaim c1 SpotInterrupted", "Node n1 SpotInterrupted"},
		},
		"an instance that stops before its node has joined": {
			func(r *rig) {
				r.Notice(model.Notice{Kind: model.NoticeStateChange, InstanceID: "i-1", InstanceState: "stopping"}, model.Claim{ID: "c1"})
			},
			[]string{"NodeClaim c1 InstanceStopping"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			tt.tell(r)
			if diff := cmp.Diff(tt.want, r.told()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHintsAreLeftOutWhereManyEventsWait(t *testing.T) {
	r := newRig()
	for i := range 10 * maxHints {
		id := model.ClaimID(fmt.Sprint("c", i))
		r.Stays(model.NodeVerdict{Node: model.NodeName(id), Claim: id, Reason: model.Reason{Code: model.CodePDB}})
		r.Bought(model.Claim{ID: id, Pods: []model.PodID{"default/web"}})
	}
	if n := len(r.events); n > maxHints+1 {
		t.Errorf("%d events wait, want at most %d", n, maxHints+1)
	}
	r.events = nil
	late := model.ClaimID(fmt.Sprint("c", 10*maxHints-1))
	if r.Stays(model.NodeVerdict{Node: "n", Claim: late, Reason: model.Reason{Code: model.CodePDB}}); len(r.events) != 2 {
		t.Errorf("%v, want what was left out", r.told())
	}
}

func TestClaimsThatChangeTogetherDoNotHideTheirSuccessors(t *testing.T) {
	r := newRig()
	var v View
	for i := range 1000 {
		c := &model.Claim{ID: model.ClaimID(fmt.Sprintf("c%04d", i)), State: model.ClaimDraining}
		v.Claims, v.Objects = append(v.Claims, c), append(v.Objects, c.ID)
	}
	v.Claims = append(v.Claims, &model.Claim{ID: "d", State: model.ClaimLaunched})
	shown := map[model.ClaimID]bool{}
	for i := range 6 {
		p := r.publish(t, v)
		if n := len(p.Claims); n > 200 {
			t.Fatalf("one publication has %d claims", n)
		}
		for _, c := range p.Claims {
			shown[c.ID] = true
		}
		if i == 0 && !shown["d"] {
			t.Error("the claim without an object waits for others to change theirs")
		}
	}
	if len(shown) != 1001 {
		t.Errorf("%d claims were shown", len(shown))
	}
}

// A new leader has shown nothing yet. What it changes is not to wait until all that the one before has shown is looked at.
func TestWhatANewLeaderFoundShownWaits(t *testing.T) {
	r := newRig()
	var v View
	for i := range 1000 {
		c := &model.Claim{ID: model.ClaimID(fmt.Sprintf("c%04d", i)), State: model.ClaimInitialized}
		v.Claims, v.Objects = append(v.Claims, c), append(v.Objects, c.ID)
	}
	v.Claims = append(v.Claims, &model.Claim{ID: "d1", State: model.ClaimLaunched}, &model.Claim{ID: "d2", State: model.ClaimInitialized})
	v.Objects = append(v.Objects, "d1")
	p := r.publish(t, v)
	if n := len(p.Claims); n > 100 || p.Claims[n-2].ID != "d1" || p.Claims[n-1].ID != "d2" {
		t.Errorf("the first publication has %d claims, want few, and those that are not shown among them", n)
	}
	seen := map[model.ClaimID]bool{}
	for range 50 {
		for _, c := range p.Claims {
			seen[c.ID] = true
		}
		p = r.publish(t, v)
	}
	if len(seen) != len(v.Claims) {
		t.Errorf("%d of %d claims were published", len(seen), len(v.Claims))
	}
}

func TestNothingIsKeptOfAClaimThatHasEnded(t *testing.T) {
	launching := model.Claim{ID: "c1", State: model.ClaimLaunching}
	failed := launching
	failed.State, failed.Failure = model.ClaimFailed, model.Reason{Code: model.CodeInsufficientCapacity, Message: "EC2 has none"}
	for name, ends := range map[string]func(t *testing.T, r *rig){
		"after it was shown": func(t *testing.T, r *rig) {
			t.Helper()
			r.publish(t, View{Claims: []*model.Claim{&launching}})
			r.Changed(launching, failed)
		},
		"after its object was refused": func(t *testing.T, r *rig) {
			t.Helper()
			r.kube.refuses = map[cluster.Entry]bool{cluster.ClaimEntry("c1"): true}
			r.publish(t, View{Claims: []*model.Claim{&launching}})
			r.Changed(launching, failed)
		},
		"while it is published": func(t *testing.T, r *rig) {
			t.Helper()
			r.a.Begin(r.now)
			r.Publish(t.Context(), nil, View{Claims: []*model.Claim{&launching}}, func(cluster.Publication) {})
			r.Changed(launching, failed)
			(<-r.jobs.Results())()
		},
		"before a plan comes that knew its node": func(_ *testing.T, r *rig) {
			r.Changed(launching, failed)
			r.Stays(model.NodeVerdict{Node: "n1", Claim: "c1", Reason: model.Reason{Code: model.CodePDB}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			ends(t, r)
			if told := r.told(); len(told) == 0 || told[0] != "NodeClaim c1 InsufficientCapacityError" {
				t.Errorf("told %v, want why it has failed", told)
			}
			r.publish(t, View{Claims: []*model.Claim{&failed}})
			if n := len(r.claims) + len(r.failures) + len(r.kept) + len(r.retries.failed); n > 0 {
				t.Errorf("shown %v, failures %v, kept %v, retries %v", r.claims, r.failures, r.kept, r.retries.failed)
			}
		})
	}
}

func TestClaimsThatEndTogetherDoNotHideTheirSuccessors(t *testing.T) {
	r := newRig()
	var v View
	for i := range 1000 {
		c := &model.Claim{ID: model.ClaimID(fmt.Sprintf("c%04d", i)), State: model.ClaimGone}
		v.Claims, v.Objects = append(v.Claims, c), append(v.Objects, c.ID)
	}
	v.Claims = append(v.Claims, &model.Claim{ID: "d", State: model.ClaimLaunched})
	left := len(v.Objects)
	for range 10 {
		p := r.publish(t, v)
		if n := len(p.ForgetClaims); n == 0 || n > 100 {
			t.Fatalf("one publication removes the objects of %d claims", n)
		}
		v.Objects = slices.DeleteFunc(v.Objects, func(id model.ClaimID) bool { return slices.Contains(p.ForgetClaims, id) })
		left = len(v.Objects)
	}
	if left > 0 {
		t.Errorf("%d objects are left", left)
	}
}
