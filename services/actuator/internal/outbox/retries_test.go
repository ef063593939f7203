package outbox

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// keepPublishing publishes a view for some time, as passes do.
func (r *rig) keepPublishing(t *testing.T, v View, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		r.a.Begin(time.Now())
		if r.Due(1) {
			r.Publish(t.Context(), 1, v, func(cluster.Publication) {})
		}
		wake, _ := r.a.Next()
		if wake.IsZero() {
			wake = time.Now().Add(time.Second)
		}
		select {
		case f := <-r.jobs.Results():
			f()
		case <-time.After(time.Until(wake)):
		}
	}
	r.jobs.Wait()
}

// at are the times since the beginning at which an entry was tried.
func (r *rig) at(e cluster.Entry) string {
	var out []time.Duration
	for _, t := range r.kube.tried[e] {
		out = append(out, t.Sub(r.now))
	}
	return fmt.Sprint(out)
}

func TestWhatIsRefusedForGoodHoldsUpNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		bad := cluster.Event{Kind: "Pod", Namespace: "default", Name: "bad", Reason: "FailedScheduling"}
		r.kube.refuses = map[cluster.Entry]bool{cluster.ClaimEntry("bad"): true, cluster.EventEntry(bad): true}
		r.Event(bad)
		for i := range 3 * maxHints {
			r.Event(cluster.Event{Kind: "Pod", Namespace: "default", Name: fmt.Sprint("web-", i), Reason: "FailedScheduling"})
		}
		v := View{
			Claims: []*model.Claim{{ID: "bad", State: model.ClaimLaunched}, {ID: "good", State: model.ClaimLaunched}},
			Pools:  []cluster.PoolStatus{{Name: "default"}}, Objects: []model.ClaimID{"good"},
		}
		r.keepPublishing(t, v, 4*time.Minute)
		for _, e := range []cluster.Entry{cluster.ClaimEntry("bad"), cluster.EventEntry(bad)} {
			if got := r.at(e); got != "[0s 500ms 1.5s 3.5s 7.5s 15.5s 31.5s 1m3.5s 2m3.5s 3m3.5s]" {
				t.Errorf("%s was tried at %s", e, got)
			}
		}
		for _, e := range []cluster.Entry{cluster.ClaimEntry("good"), cluster.PoolEntry("default")} {
			if got := r.at(e); got != "[0s]" {
				t.Errorf("%s was published at %s, want once", e, got)
			}
		}
		last := cluster.EventEntry(cluster.Event{Kind: "Pod", Namespace: "default", Name: fmt.Sprint("web-", 3*maxHints-1), Reason: "FailedScheduling"})
		if got := r.at(last); len(r.events) != 1 || got != "[1.5s]" {
			t.Errorf("%d events wait, and %s was published at %s", len(r.events), last, got)
		}

		r.kube.refuses = nil
		r.keepPublishing(t, v, 2*time.Minute)
		if len(r.events)+len(r.retries.failed) > 0 || r.claims["bad"].claim == nil {
			t.Errorf("events %v and retries %v are left of what is taken now", r.events, r.retries.failed)
		}
	})
}

func TestHintsAreTakenWhereManyEventsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.kube.refuses = map[cluster.Entry]bool{}
		for i := range 2 * maxHints {
			e := cluster.Event{Kind: "Pod", Namespace: "default", Name: fmt.Sprint("web-", i), Reason: "FailedScheduling"}
			r.kube.refuses[cluster.EventEntry(e)] = true
			r.Event(e)
		}
		r.keepPublishing(t, View{}, time.Minute)
		r.Evicted(cluster.Eviction{Namespace: "default", Name: "db"})
		r.keepPublishing(t, View{}, 10*time.Second)
		hint := cluster.EventEntry(cluster.Event{Kind: "Pod", Namespace: "default", Name: "db", Reason: "Evicted"})
		if len(r.kube.tried[hint]) != 1 || len(r.events) != 2*maxHints {
			t.Errorf("%s was published at %s, and %d events wait", hint, r.at(hint), len(r.events))
		}
	})
}

func TestWhatHasFailedIsNotSaidToBeDone(t *testing.T) {
	r := newRig()
	r.kube.refuses = map[cluster.Entry]bool{cluster.ForgetClassEntry("a"): true}
	if p := r.publish(t, View{ForgetClasses: []model.NodeClassName{"a", "b"}}); len(p.ForgetClasses) != 1 || p.ForgetClasses[0] != "b" {
		t.Errorf("said to be done with %v, want b", p.ForgetClasses)
	}
}

func TestObjectsThatAnotherKeepsHoldUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		var v View
		for i := range maxForgotten + 50 {
			c := &model.Claim{ID: model.ClaimID(fmt.Sprintf("c%03d", i)), State: model.ClaimGone}
			v.Claims, v.Objects = append(v.Claims, c), append(v.Objects, c.ID)
		}
		r.keepPublishing(t, v, 90*time.Second)
		for _, id := range v.Objects {
			if n := len(r.kube.tried[cluster.ForgetClaimEntry(id)]); n != 2 {
				t.Errorf("%s was let go %d times, want once a minute", id, n)
			}
		}
	})
}
