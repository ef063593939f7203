package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestChunksHoldEverythingOnce(t *testing.T) {
	var b store.Batch
	for i := range 3*store.MaxWrites + 1 {
		b.PutNotices = append(b.PutNotices, model.Notice{ID: fmt.Sprint(i)})
		b.DeleteClaims = append(b.DeleteClaims, model.ClaimID(fmt.Sprint(i)))
	}
	large := model.Claim{ID: "large", Pods: []model.PodID{model.PodID(strings.Repeat("x", store.MaxBytes/3))}}
	b.PutClaims = append(b.PutClaims, large, large, large, large)
	n := 0
	for _, part := range chunks(b) {
		if part.Writes() > store.MaxWrites || len(part.PutClaims) > 2 {
			t.Errorf("a part has %d writes, %d large claims among them", part.Writes(), len(part.PutClaims))
		}
		n += part.Writes()
	}
	if n != b.Writes() {
		t.Errorf("the parts have %d writes, want %d", n, b.Writes())
	}
}

func TestGroupsAreNotCut(t *testing.T) {
	var groups []apply.Group
	for i := range 10 {
		g := apply.Group{Disruption: &model.DisruptionRecord{ID: model.DisruptionID(fmt.Sprint("d", i))}}
		for j := range 50 {
			g.Claims = append(g.Claims, model.Claim{ID: model.ClaimID(fmt.Sprint("c", i, "-", j))})
		}
		groups = append(groups, g)
	}
	n := 0
	for _, b := range Grouped(groups) {
		if b.Writes() > store.MaxWrites || len(b.PutClaims) != 50*len(b.PutDisruptions) {
			t.Errorf("a batch has %d writes, %d claims of %d disruptions", b.Writes(), len(b.PutClaims), len(b.PutDisruptions))
		}
		n += len(b.PutDisruptions)
	}
	if n != len(groups) {
		t.Errorf("%d disruptions, want %d", n, len(groups))
	}
}

func newRegistry(t *testing.T) (*Registry, *storetest.Memory, *agenda.Agenda) {
	t.Helper()
	memory := storetest.New()
	term, err := memory.Campaign(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	a := &agenda.Agenda{}
	a.Begin(time.Now())
	r := New(memory, a)
	if err := r.Load(t.Context(), term.Fence); err != nil {
		t.Fatal(err)
	}
	return r, memory, a
}

func TestNothingIsInMemoryThatIsNotStored(t *testing.T) {
	r, memory, a := newRegistry(t)
	a.Shown()
	changes, err := r.Commit(t.Context(), store.Batch{PutClaims: []model.Claim{{ID: "c1", State: model.ClaimPlanned}}})
	if err != nil || len(changes) != 1 || changes[0].Old != nil || r.Claims["c1"].Fence != r.fence.Revision || !a.Changed() {
		t.Fatalf("%+v, %v", changes, err)
	}
	if next := r.NextRevision(); r.Created["c1"] > next {
		t.Errorf("the claim counts as made at revision %d, and is shown at %d", r.Created["c1"], next)
	}
	memory.Depose()
	if _, err := memory.Campaign(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	_, err = r.Commit(t.Context(), store.Batch{DeleteClaims: []model.ClaimID{"c1"}})
	if !errors.Is(err, store.ErrFenced) || r.Claims["c1"] == nil {
		t.Errorf("%v, and the claim is in memory: %v", err, r.Claims["c1"] != nil)
	}
	if _, again := r.Write(t.Context(), store.Batch{DeleteClaims: []model.ClaimID{"c1"}}); r.Err() == nil || !errors.Is(again, store.ErrFenced) {
		t.Errorf("%v after a write that failed, then %v: want that the term is over", r.Err(), again)
	}
}

func TestOutdatedRecords(t *testing.T) {
	r, _, a := newRegistry(t)
	now := time.Now()
	a.Begin(now)
	old := now.Add(-time.Hour)
	for _, c := range []model.Claim{
		{ID: "runs", State: model.ClaimInitialized, StateTime: old},
		{ID: "old", State: model.ClaimGone, StateTime: old},
		{ID: "shown", State: model.ClaimGone, StateTime: old},
		{ID: "young", State: model.ClaimFailed, StateTime: now},
	} {
		r.put(&c)
	}
	r.Notices = map[string]*model.Notice{
		"of-runs": {Claim: "runs", EventTime: now}, "of-old": {Claim: "old", EventTime: now}, "unknown": {EventTime: now},
		"unknown-old":   {EventTime: old},
		"unknown-still": {EventTime: now.Add(-unclaimed)},
		"to-come":       {Claim: "runs", EventTime: old, StartTime: now.Add(24 * time.Hour)}, "of-another": {EventTime: old, StartTime: now.Add(24 * time.Hour)},
	}
	over, lasts := model.Shortage{InstanceType: "a", Until: now.Add(-time.Minute)}, model.Shortage{InstanceType: "b", Until: now.Add(time.Minute)}
	r.Shortages = shortage.Memory{shortage.KeyOf(over): over, shortage.KeyOf(lasts): lasts}
	want := store.Batch{
		DeleteClaims: []model.ClaimID{"old"}, DeleteNotices: []string{"of-another", "of-old", "unknown-old", "unknown-still"}, DeleteShortages: []model.Shortage{over},
	}
	if d := cmp.Diff(want, r.Outdated([]model.ClaimID{"shown"}, time.Hour, time.Minute)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if next, _ := a.Next(); !next.Equal(lasts.Until) {
		t.Errorf("looked at again at %s, want when the shortage ends", next)
	}
}
