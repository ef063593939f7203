package loop

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/spans"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// triggers collects what the next plan is made for, as far as it has a trace: claims of earlier plans that have
// changed, and the plan before where that left something to do. It holds no more than the claims that there are, and is
// empty while tracing is off.
type triggers struct {
	plans map[string]trace.SpanContext // which took or launched a claim last, by claim
	links []trace.Link                 // since the last plan began
	// again is the plan that asked for another at the time at, or at once where that is zero.
	again trace.Link
	at    time.Time
}

func newTriggers() triggers { return triggers{plans: map[string]trace.SpanContext{}} }

// finished takes what became of a plan, whose span it was.
func (t *triggers) finished(r result) {
	if !r.span.IsValid() {
		return
	}
	if p := r.applied; p != nil {
		t.decided(p, r.refused, r.span)
	}
	t.again, t.at = trace.Link{}, time.Time{}
	if o := r.outcome; o.Failed || o.Rejected || o.More || !o.Reconsider.IsZero() {
		t.again.SpanContext = r.span
		if r.plan != "" {
			t.again.Attributes = []attribute.KeyValue{spans.PlanID.String(r.plan)}
		}
		if !o.Failed && !o.Rejected && !o.More {
			t.at = o.Reconsider
		}
	}
}

// decided remembers which claims are the plan's, of those decisions that were not refused.
func (t *triggers) decided(p *plannerpb.Plan, refused map[string]bool, of trace.SpanContext) {
	for _, c := range p.GetNodeClaims() {
		if !refused[c.GetId()] {
			t.plans[c.GetId()] = of
		}
	}
	for _, d := range p.GetDisruptions() {
		for _, c := range d.GetCandidates() {
			if !refused[d.GetId()] {
				t.plans[c] = of
			}
		}
	}
}

// follow takes what has changed.
func (t *triggers) follow(was *snapshot.Snapshot, d snapshot.Delta) {
	if len(t.plans) == 0 {
		return
	}
	for _, o := range d.Upserted {
		if now, ok := o.Payload.(*clusterpb.Claim); ok && now.GetState() != stateOf(was, o.ID) {
			t.changed(o.ID)
		}
	}
	for _, k := range d.Removed {
		if k.Kind == snapshot.Claim {
			t.changed(k.ID)
			delete(t.plans, k.ID)
		}
	}
}

func (t *triggers) changed(claim string) {
	if of := t.plans[claim]; of.IsValid() && len(t.links) < spans.MostEvents-1 {
		t.links = append(t.links, trace.Link{SpanContext: of, Attributes: []attribute.KeyValue{spans.Claim.String(claim)}})
	}
}

// take returns the links of the plan that begins now, one for each claim and one for the plan before.
func (t *triggers) take(everything bool, now time.Time) []trace.Link {
	links := t.links
	t.links = nil
	if t.again.SpanContext.IsValid() && (t.at.IsZero() || everything && !now.Before(t.at)) {
		links = append(links, t.again)
	}
	return links
}

func stateOf(s *snapshot.Snapshot, claim string) clusterpb.ClaimState {
	o, ok := s.Get(snapshot.Claim, claim)
	if !ok {
		return clusterpb.ClaimState_CLAIM_STATE_UNSPECIFIED
	}
	c, _ := o.Payload.(*clusterpb.Claim)
	return c.GetState()
}
