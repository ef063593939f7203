package ending

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/smithy-go"
)

// account is an EC2 that refuses whole what holds an instance with an error.
type account struct {
	mu     sync.Mutex
	errors map[string]string // codes
	mum    bool              // it does not say which it does not know
	calls  int
	ended  []string
}

func (a *account) end(_ context.Context, ids []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	var unknown []string
	for _, id := range ids {
		switch code := a.errors[id]; code {
		case "":
		case "InvalidInstanceID.NotFound":
			unknown = append(unknown, id)
		default:
			return &smithy.GenericAPIError{Code: code}
		}
	}
	if len(unknown) > 0 {
		text := "Some instance IDs do not exist"
		if !a.mum {
			text = "The instance IDs '" + strings.Join(unknown, ", ") + "' do not exist"
		}
		return &smithy.GenericAPIError{Code: "InvalidInstanceID.NotFound", Message: text}
	}
	a.ended = append(a.ended, ids...)
	return nil
}

func TestManyAreEndedByOneCallAndOneThatCanNotBeHarmsNoOther(t *testing.T) {
	for name, tt := range map[string]struct {
		errors map[string]string
		failed []string
		most   int // calls
	}{
		"all end":              {nil, nil, 1},
		"one is not known":     {map[string]string{"i-07": "InvalidInstanceID.NotFound"}, nil, 12},
		"one may not be ended": {map[string]string{"i-07": "OperationNotPermitted"}, []string{"i-07"}, 12},
		"one of each":          {map[string]string{"i-07": "OperationNotPermitted", "i-31": "InvalidInstanceID.NotFound"}, []string{"i-07"}, 24},
		"one is another's":     {map[string]string{"i-07": "UnauthorizedOperation"}, []string{"i-07"}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &account{errors: tt.errors}
				b := New(a.end)
				var mu sync.Mutex
				var failed []string
				var all sync.WaitGroup
				for k := range 40 {
					all.Go(func() {
						id := fmt.Sprintf("i-%02d", k)
						if err := b.End(t.Context(), []string{id}); err != nil {
							mu.Lock()
							failed = append(failed, id)
							mu.Unlock()
						}
					})
				}
				all.Wait()
				if !slices.Equal(failed, tt.failed) || len(a.ended) != 40-len(tt.errors) || a.calls > tt.most {
					t.Errorf("%v failed and %d ended by %d calls, want %v, %d, at most %d", failed, len(a.ended), a.calls, tt.failed, 40-len(tt.errors), tt.most)
				}
			})
		})
	}
}

// TestManyThatEC2HasForgottenCostFewCalls is of instances that ended while no one led for an hour: the calls that it
// takes to find the others among them are those that ends of instances have in common.
func TestManyThatEC2HasForgottenCostFewCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		forgotten, calls int
		mum              bool
	}{
		"some of them":                {400, 2, false},
		"all of them":                 {most, 1, false},
		"where EC2 names none of two": {2, 40, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &account{errors: map[string]string{}, mum: tt.mum}
				var ids []string
				for k := range most {
					ids = append(ids, fmt.Sprintf("i-%017x", k))
					if k < tt.forgotten {
						a.errors[ids[k]] = "InvalidInstanceID.NotFound"
					}
				}
				if err := New(a.end).End(t.Context(), ids); err != nil || len(a.ended) != most-tt.forgotten || a.calls > tt.calls {
					t.Errorf("%v, and %d ended by %d calls, want %d by %d at most", err, len(a.ended), a.calls, most-tt.forgotten, tt.calls)
				}
			})
		})
	}
}

// TestManyProtectedInstancesKeepNoOtherFromBeingEnded: each of them is found, however many calls it takes.
func TestManyProtectedInstancesKeepNoOtherFromBeingEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{errors: map[string]string{}}
		var ids []string
		for k := range most {
			ids = append(ids, fmt.Sprintf("i-%03d", k))
			if k%10 == 0 {
				a.errors[ids[k]] = "OperationNotPermitted"
			}
		}
		if err := New(a.end).End(t.Context(), ids); err == nil || len(a.ended) != most-len(a.errors) {
			t.Errorf("%v, and %d are ended, want all but the %d that are protected", err, len(a.ended), len(a.errors))
		}
	})
}

func TestWhatConcernsAllInstancesIsNotCut(t *testing.T) {
	for name, code := range map[string]string{"too much for EC2": "RequestLimitExceeded", "credentials that have run out": "ExpiredToken"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &account{errors: map[string]string{"i-1": code}}
				if err := New(a.end).End(t.Context(), []string{"i-1", "i-2"}); err == nil || a.calls != 1 {
					t.Errorf("%v after %d calls, want one, and to be asked again later", err, a.calls)
				}
			})
		})
	}
}

// TestALostRightCostsFewCalls: of many that are denied each is not asked about alone, and the first of them keep no other
// from being ended.
func TestALostRightCostsFewCalls(t *testing.T) {
	for name, denied := range map[string]int{"all": most, "many of the first": 60} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &account{errors: map[string]string{}}
				var ids []string
				for k := range most {
					ids = append(ids, fmt.Sprintf("i-%03d", k))
					if k < denied {
						a.errors[ids[k]] = "UnauthorizedOperation"
					}
				}
				if err := New(a.end).End(t.Context(), ids); err == nil || a.calls > 60 {
					t.Errorf("%v after %d calls, want 60 at most", err, a.calls)
				}
				if rest := most - denied; len(a.ended) < rest*4/5 {
					t.Errorf("%d of the %d that may be are ended", len(a.ended), rest)
				}
			})
		})
	}
}
