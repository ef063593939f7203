package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// linksOf are the traces that the i-th batch points to, each as the number of its batch, with what it says of it.
func (w *world) linksOf(t *testing.T, i int) []string {
	t.Helper()
	batches := w.named("watcher.Batch")
	if len(batches) <= i {
		t.Fatalf("%d batches", len(batches))
	}
	var out []string
	for _, l := range batches[i].Links() {
		to := "?"
		for j, b := range batches {
			if b.SpanContext().Equal(l.SpanContext) {
				to = string(rune('0' + j))
			}
		}
		for _, a := range l.Attributes {
			to += " " + string(a.Key) + "=" + a.Value.String()
		}
		out = append(out, to)
	}
	return out
}

// TestAPlanPointsToWhatItIsMadeFor wants links to the plan of a claim that has changed, and to one that was refused.
func TestAPlanPointsToWhatItIsMadeFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pods("web-0")
		w.after(100 * time.Millisecond)
		if got := w.linksOf(t, 0); len(got) != 0 {
			t.Errorf("the first plan points to %v", got)
		}
		claim := w.actuator.plans[0].GetNodeClaims()[0].GetId()
		w.claim(2, &clusterpb.Claim{Id: claim, State: clusterpb.ClaimState_CLAIM_STATE_LAUNCHED})
		w.claim(3, &clusterpb.Claim{Id: claim, State: clusterpb.ClaimState_CLAIM_STATE_LAUNCHED, Node: "n1"}) // no other state
		w.claim(4, &clusterpb.Claim{Id: "of-another", State: clusterpb.ClaimState_CLAIM_STATE_LAUNCHED})
		w.after(time.Minute)
		if d := cmp.Diff([]string{"0 kerf.claim.id=" + claim}, w.linksOf(t, 1)); d != "" {
			t.Errorf("after the claim has changed (-want +got):\n%s", d)
		}

		w.actuator.mu.Lock()
		w.actuator.reject = true
		w.actuator.mu.Unlock()
		w.pods("web-1")
		w.after(100 * time.Millisecond)
		refused := len(w.named("watcher.Batch")) - 1
		w.after(time.Minute)
		again := w.linksOf(t, refused+1)
		if len(again) != 1 || again[0][:1] != string(rune('0'+refused)) {
			t.Errorf("after batch %d was refused: %v", refused, again)
		}
	})
}
