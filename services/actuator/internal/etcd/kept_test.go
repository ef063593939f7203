package etcd

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// What is loaded is the same whether it was prepared or not, and whatever was written in between.
func TestPreparedOrNotTheSameIsLoaded(t *testing.T) {
	e := start(t)
	leader, standby := connect(t, e, "c"), connect(t, e, "c")
	term, err := leader.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	write := func(b store.Batch) {
		t.Helper()
		if _, err := leader.Commit(t.Context(), term.Fence, b); err != nil {
			t.Fatal(err)
		}
	}
	put := func(attempt int, numbers ...int) {
		t.Helper()
		var b store.Batch
		for _, i := range numbers {
			b.PutClaims = append(b.PutClaims, model.Claim{
				ID: model.ClaimID(fmt.Sprintf("c%04d", i)), State: model.ClaimPlanned, Reached: model.ClaimPlanned, Attempt: attempt,
			})
		}
		write(b)
	}
	for i := 0; i < 1200; i += 50 { // more than a page
		var numbers []int
		for j := range 50 {
			numbers = append(numbers, i+j)
		}
		put(0, numbers...)
	}
	for name, between := range map[string]func(){
		"nothing": func() {},
		"changed": func() { put(1, 7, 700, 1100) },
		"new":     func() { put(0, 2000, 2001) },
		"deleted": func() { write(store.Batch{DeleteClaims: []model.ClaimID{"c0003", "c0900"}}) },
		"made anew": func() {
			write(store.Batch{DeleteClaims: []model.ClaimID{"c0004"}})
			put(2, 4)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if err := standby.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			between()
			got, err := standby.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want, err := leader.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// reads counts what is read.
type reads struct {
	clientv3.KV
	n int
}

func (r *reads) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	r.n++
	return r.KV.Get(ctx, key, opts...)
}

// TestNothingIsReadAgainThatWasNotWritten: who stands by prepares each five seconds, and of 2,000 claims etcd goes
// through ten megabytes to say that none has changed, and as many to name them.
func TestNothingIsReadAgainThatWasNotWritten(t *testing.T) {
	e := start(t)
	leader, standby := connect(t, e, "c"), connect(t, e, "c")
	term, err := leader.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	of := client(t, standby)
	count := &reads{KV: of.KV}
	of.KV = count
	prepare := func() int {
		t.Helper()
		count.n = 0
		if err := standby.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		return count.n
	}
	prepare()
	if n := prepare(); n != 1 {
		t.Errorf("%d reads where nothing was written, want one", n)
	}
	if _, err := leader.Commit(t.Context(), term.Fence, store.Batch{PutClaims: []model.Claim{{ID: "c1", State: model.ClaimPlanned, Reached: model.ClaimPlanned}}}); err != nil {
		t.Fatal(err)
	}
	if n := prepare(); n < 2 {
		t.Errorf("%d reads where a claim was written", n)
	}
	if got, err := standby.Load(t.Context()); err != nil || len(got.Claims) != 1 {
		t.Errorf("loaded are %d claims, %v", len(got.Claims), err)
	}
}
