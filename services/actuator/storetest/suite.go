package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Backend is what the suite tests: both ports on the same data.
type Backend interface {
	store.Store
	store.Election
}

// patience bounds every wait of the suite; nothing waits that long unless it is broken.
const patience = 30 * time.Second

// Suite is what every store must do. open returns two clients of one empty store.
func Suite(t *testing.T, open func(*testing.T) (a, b Backend)) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Backend, Backend){
		"an empty store holds nothing and was never used":        empty,
		"what is committed is loaded again whole, by any client": roundTrip,
		"deleted objects are gone":                               deletion,
		"what is written twice is written once":                  twice,
		"revisions grow, and a claim keeps its first one":        revisions,
		"a batch that is too large is refused whole":             tooLarge,
		"many objects are all loaded":                            many,
		"a leader that resigned writes nothing any more":         fencedAfterResign,
		"the next candidate leads with a larger fence":           succession,
		"a candidate that gives up leaves the line":              givingUp,
		"a leader knows whether another stands in line":          followed,
		"a fact is kept until another takes its place":           facts,
		"resigning twice is harmless":                            resignTwice,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := open(t)
			check(t, a, b)
		})
	}
}

func lead(t *testing.T, b Backend, name string) store.Term {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	term, err := b.Campaign(ctx, name)
	if err != nil {
		t.Fatalf("%s campaigns: %v", name, err)
	}
	return term
}

func commit(t *testing.T, b Backend, f store.Fence, batch store.Batch) store.Revision {
	t.Helper()
	r, err := b.Commit(t.Context(), f, batch)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return r
}

func contents(t *testing.T, b Backend) store.Contents {
	t.Helper()
	c, err := b.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return c
}

func empty(t *testing.T, a, _ Backend) {
	t.Helper()
	c := contents(t, a)
	if len(c.Claims)+len(c.Disruptions)+len(c.Notices)+len(c.Shortages)+len(c.Created) != 0 || !c.Born.IsZero() {
		t.Fatalf("an empty store holds %+v", c)
	}
	leader, err := a.Leader(t.Context())
	if err != nil || leader != "" {
		t.Fatalf("leader %q, %v: want none", leader, err)
	}
}

// Sample returns a batch with one of everything, every field set.
func Sample() store.Batch {
	at := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)
	grace := time.Minute
	return store.Batch{
		Born: at,
		PutClaims: []model.Claim{{
			ID: "default-1", NodePool: "default", NodeClass: "default", State: model.ClaimDraining, Reached: model.ClaimInitialized,
			Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}, MinValues: 3}},
			Offerings:    []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Price: 34_000, PriceEstimated: true, Overlaid: true, OverlaidPrice: 30_000}},
			Requests:     model.Amounts{{Resource: "cpu", Value: 250}}, Pods: []model.PodID{"shop/web-0"},
			Labels: model.Labels{{Key: "type", Value: "karpenter"}}, Annotations: model.Labels{{Key: "a", Value: ""}},
			Taints:        []model.Taint{{Key: "t", Value: "v", Effect: model.PreferNoSchedule}},
			StartupTaints: []model.Taint{{Key: "s", Effect: model.NoExecute}}, PoolHash: "1", ClassHash: "2",
			InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, Price: 96, ReservationID: "cr-1",
			InstanceID: "i-1", ProviderID: "aws:///us-east-1a/i-1", ImageID: "ami-1", Node: "ip-10-0-0-1",
			Capacity: model.Amounts{{Resource: "cpu", Value: 2000}}, Allocatable: model.Amounts{{Resource: "cpu", Value: 1930}},
			CreateTime: at, StateTime: at.Add(1), LaunchTime: at.Add(2), InitializeTime: at.Add(3), ExpireTime: at.Add(4),
			TerminationGracePeriod: &grace, DrainDeadline: at.Add(5), PlanID: "p-1", Replaces: "d-0", Disruption: "d-1",
			DisruptionReason: model.ReasonInterrupted, Attempt: 2, Failure: model.Reason{Code: 126, Message: "m", Subject: "s", Remedy: "r"},
			Drifted: model.Reason{Code: 54, Message: "d"}, Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Fence: 7,
		}, {ID: "default-2", NodePool: "default", State: model.ClaimPlanned, Reached: model.ClaimPlanned}},
		PutDisruptions: []model.DisruptionRecord{{
			ID: "d-1", Reason: model.ReasonEmpty, Candidates: []model.ClaimID{"default-1"}, Replacements: []model.ClaimID{"default-2"},
			Pods: []model.PodID{"shop/web-0"}, AcceptTime: at, EndTime: at.Add(6), RolledBack: true, Saving: 96_000,
			Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "ReplicaSet", Name: "web", UID: "u-1", Revision: "7f", Pods: 1}},
		}},
		PutNotices: []model.Notice{{
			ID: "n-1", Kind: model.NoticeStateChange, InstanceID: "i-1", Claim: "default-1", EventTime: at, Deadline: at.Add(7), InstanceState: "stopping",
		}},
		PutShortages: []model.Shortage{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Until: at, Message: "none"}},
	}
}

func roundTrip(t *testing.T, a, b Backend) {
	t.Helper()
	term := lead(t, a, "a")
	batch := Sample()
	r := commit(t, a, term.Fence, batch)
	want := store.Contents{
		Revision: r, Claims: batch.PutClaims, Disruptions: batch.PutDisruptions, Notices: batch.PutNotices, Shortages: batch.PutShortages,
		Created: map[model.ClaimID]store.Revision{"default-1": r, "default-2": r}, Born: batch.Born,
	}
	if d := cmp.Diff(want, contents(t, b)); d != "" {
		t.Fatalf("loaded is not what was committed (-want +got):\n%s", d)
	}
}

func facts(t *testing.T, a, b Backend) {
	t.Helper()
	ctx := context.Background()
	if got, err := b.Recall(ctx, "x"); got != nil || err != nil {
		t.Errorf("of nothing it recalls %q, %v", got, err)
	}
	term := lead(t, a, "a")
	for _, data := range []string{"one", "two"} {
		if err := a.Remember(ctx, term.Fence, "x", []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Recall(ctx, "x"); string(got) != data || err != nil {
			t.Errorf("it recalls %q, %v, want %q", got, err, data)
		}
	}
	if err := a.Remember(ctx, term.Fence, "x", make([]byte, 4<<20)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("4 MiB: %v, want that it is too large", err)
	}
	stale := term.Fence
	stale.Revision--
	if err := a.Remember(ctx, stale, "x", []byte("three")); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a former leader's: %v, want that it is fenced", err)
	}
	if n := len(contents(t, b).Claims); n != 0 {
		t.Errorf("%d claims", n)
	}
}

func deletion(t *testing.T, a, b Backend) {
	t.Helper()
	term := lead(t, a, "a")
	batch := Sample()
	commit(t, a, term.Fence, batch)
	commit(t, a, term.Fence, store.Batch{
		DeleteClaims: []model.ClaimID{"default-1", "default-2", "never-was"}, DeleteDisruptions: []model.DisruptionID{"d-1"},
		DeleteNotices: []string{"n-1"}, DeleteShortages: batch.PutShortages,
	})
	c := contents(t, b)
	if len(c.Claims)+len(c.Disruptions)+len(c.Notices)+len(c.Shortages)+len(c.Created) != 0 {
		t.Fatalf("something is left: %+v", c)
	}
	if !c.Born.Equal(batch.Born) {
		t.Fatalf("born %s, want %s", c.Born, batch.Born)
	}
}

// twice writes two notices that EC2 takes back the same offering for, and one that is withdrawn as it comes.
func twice(t *testing.T, a, b Backend) {
	t.Helper()
	term := lead(t, a, "a")
	batch := Sample()
	first := batch.PutShortages[0]
	last, gone := first, batch.PutNotices[0]
	last.Message, gone.ID = "still none", "n-2"
	batch.PutShortages = []model.Shortage{first, last}
	batch.PutNotices, batch.DeleteNotices = append(batch.PutNotices, gone), []string{"n-2", "n-2"}
	commit(t, a, term.Fence, batch)
	c := contents(t, b)
	if d := cmp.Diff([]model.Shortage{last}, c.Shortages); d != "" {
		t.Errorf("want the last of two shortages (-want +got):\n%s", d)
	}
	if d := cmp.Diff(batch.PutNotices[:1], c.Notices); d != "" {
		t.Errorf("want the notice that stays (-want +got):\n%s", d)
	}
}

func revisions(t *testing.T, a, _ Backend) {
	t.Helper()
	before := contents(t, a).Revision
	term := lead(t, a, "a")
	claim := Sample().PutClaims[0]
	first := commit(t, a, term.Fence, store.Batch{PutClaims: []model.Claim{claim}})
	claim.State = model.ClaimTerminating
	second := commit(t, a, term.Fence, store.Batch{PutClaims: []model.Claim{claim}})
	// The election's own write must count, or a new leader could tell the same revision as the old one.
	if before >= store.Revision(term.Fence.Revision) || store.Revision(term.Fence.Revision) >= first || first >= second {
		t.Fatalf("revisions %d, fence %d, %d, %d do not grow", before, term.Fence.Revision, first, second)
	}
	c := contents(t, a)
	if c.Created[claim.ID] != first || c.Claims[0].State != model.ClaimTerminating {
		t.Fatalf("claim %s, created at %d: want Terminating, %d", c.Claims[0].State, c.Created[claim.ID], first)
	}
}

func tooLarge(t *testing.T, a, b Backend) {
	t.Helper()
	term := lead(t, a, "a")
	_, err := a.Commit(t.Context(), term.Fence, store.Batch{PutNotices: notices(store.MaxWrites + 1)})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	if n := len(contents(t, b).Notices); n != 0 {
		t.Fatalf("%d of a refused batch were written", n)
	}
	huge := Sample()
	huge.PutClaims[0].Failure.Message = strings.Repeat("x", 3<<20)
	if _, err := a.Commit(t.Context(), term.Fence, huge); !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	if n := len(contents(t, b).Notices); n != 0 {
		t.Fatalf("%d of a refused batch were written", n)
	}
}

func notices(n int) []model.Notice {
	var out []model.Notice
	for i := range n {
		out = append(out, model.Notice{ID: fmt.Sprintf("n-%05d", i), Kind: model.NoticeSpotInterruption, InstanceID: "i-1"})
	}
	return out
}

func many(t *testing.T, a, b Backend) {
	t.Helper()
	term := lead(t, a, "a")
	want := notices(10 * store.MaxWrites)
	for i := 0; i < len(want); i += store.MaxWrites {
		commit(t, a, term.Fence, store.Batch{PutNotices: want[i : i+store.MaxWrites]})
	}
	if d := cmp.Diff(want, contents(t, b).Notices); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
}

func fencedAfterResign(t *testing.T, a, b Backend) {
	t.Helper()
	term := lead(t, a, "a")
	if _, err := a.Commit(t.Context(), term.Fence, store.Batch{}); err != nil {
		t.Fatalf("the leader asks whether it leads: %v", err)
	}
	if err := term.Resign(t.Context()); err != nil {
		t.Fatalf("resign: %v", err)
	}
	if _, err := a.Commit(t.Context(), term.Fence, store.Batch{}); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("error %v, want ErrFenced", err)
	}
	if _, err := a.Commit(t.Context(), term.Fence, Sample()); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("error %v, want ErrFenced", err)
	}
	next := lead(t, b, "b")
	if _, err := a.Commit(t.Context(), term.Fence, Sample()); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("error %v, want ErrFenced", err)
	}
	if n := len(contents(t, a).Claims); n != 0 {
		t.Fatalf("a fenced-out leader wrote %d claims", n)
	}
	commit(t, b, next.Fence, Sample())
}

func succession(t *testing.T, a, b Backend) {
	t.Helper()
	first := lead(t, a, "a")
	won := make(chan store.Term, 1)
	go func() {
		term, err := b.Campaign(t.Context(), "b")
		if err == nil {
			won <- term
		}
	}()
	if leader, err := b.Leader(t.Context()); err != nil || leader != "a" {
		t.Fatalf("leader %q, %v: want a", leader, err)
	}
	select {
	case <-won:
		t.Fatal("b leads beside a")
	default:
	}
	if err := first.Resign(t.Context()); err != nil {
		t.Fatalf("resign: %v", err)
	}
	select {
	case <-first.Lost:
	case <-time.After(patience):
		t.Fatal("a was not told that it lost")
	}
	select {
	case term := <-won:
		if term.Fence.Revision <= first.Fence.Revision {
			t.Fatalf("fence %d after %d does not grow", term.Fence.Revision, first.Fence.Revision)
		}
		if leader, err := a.Leader(t.Context()); err != nil || leader != "b" {
			t.Fatalf("leader %q, %v: want b", leader, err)
		}
	case <-time.After(patience):
		t.Fatal("b does not lead though a resigned")
	}
}

func followed(t *testing.T, a, b Backend) {
	t.Helper()
	first := lead(t, a, "a")
	becomes := func(term store.Term, want bool, when string) {
		t.Helper()
		soon, enough := time.NewTicker(time.Millisecond), time.After(patience)
		defer soon.Stop()
		for {
			is, err := term.Followed(t.Context())
			if err == nil && is == want {
				return
			}
			select {
			case <-soon.C:
			case <-enough:
				t.Fatalf("%s: followed %v, %v", when, is, err)
			}
		}
	}
	becomes(first, false, "a leads alone")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	won := make(chan store.Term, 1)
	campaign := func(ctx context.Context) {
		if term, err := b.Campaign(ctx, "b"); err == nil {
			won <- term
		}
	}
	go campaign(ctx)
	becomes(first, true, "b stands in line")
	cancel()
	becomes(first, false, "b has left the line")
	go campaign(t.Context())
	becomes(first, true, "b stands in line again")
	if err := first.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case term := <-won:
		becomes(term, false, "b leads alone")
		becomes(first, false, "a leads no longer")
	case <-time.After(patience):
		t.Fatal("b does not lead though a resigned")
	}
}

func givingUp(t *testing.T, a, b Backend) {
	t.Helper()
	first := lead(t, a, "a")
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := b.Campaign(ctx, "b")
		gaveUp <- err
	}()
	cancel()
	select {
	case err := <-gaveUp:
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want that it was cancelled", err)
		}
	case <-time.After(patience):
		t.Fatal("a cancelled campaign does not end")
	}
	if err := first.Resign(t.Context()); err != nil {
		t.Fatalf("resign: %v", err)
	}
	lead(t, a, "a again")
}

func resignTwice(t *testing.T, a, b Backend) {
	t.Helper()
	term := lead(t, a, "a")
	for range 2 {
		if err := term.Resign(t.Context()); err != nil {
			t.Fatalf("resign: %v", err)
		}
	}
	lead(t, b, "b")
}
