package loop

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/internal/spans"
	"github.com/kerf-dev/kerf/services/watcher/internal/measure"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// bound follows the pods that plans have a place for until they are bound, for the traces of the plans. A pod belongs
// to the first plan that has a place for it. It holds no more than pods that are pending.
type bound struct {
	tracer trace.Tracer
	now    func() time.Time
	waits  map[string]*awaited // by pod
}

// awaited are the pods of one plan that are still to be bound.
type awaited struct {
	plan, traceparent string
	begun             time.Time // when the first of them was unschedulable
	pods, left        int
	events            []landed
}

// landed is what became of a pod; on no node it was deleted.
type landed struct {
	pod, node string
	at        time.Time
	waited    time.Duration
}

func newBound(tracer trace.Tracer, now func() time.Time) bound {
	return bound{tracer: tracer, now: now, waits: map[string]*awaited{}}
}

// planned begins to follow those of a plan's pods that are pending, whose state s has, and whose claims were not refused.
func (b bound) planned(p *plannerpb.Plan, refused, pending map[string]bool, s *snapshot.Snapshot) {
	if p.GetTraceparent() == "" {
		return
	}
	a := &awaited{plan: p.GetId(), traceparent: p.GetTraceparent(), begun: b.now()}
	for _, x := range p.GetPlacements() {
		if !refused[x.GetClaim()] {
			b.await(a, x.GetPod(), pending, s)
		}
	}
	for _, c := range p.GetNodeClaims() {
		for _, pod := range c.GetPods() {
			if !refused[c.GetId()] {
				b.await(a, pod, pending, s)
			}
		}
	}
	a.left = a.pods
}

func (b bound) await(a *awaited, pod string, pending map[string]bool, s *snapshot.Snapshot) {
	if !pending[pod] || b.waits[pod] != nil {
		return
	}
	a.pods++
	b.waits[pod] = a
	if since := measure.Unschedulable(s, pod); !since.IsZero() && since.Before(a.begun) {
		a.begun = since
	}
}

// follow takes what has changed, and ends the spans of plans of which no pod is left.
func (b bound) follow(was *snapshot.Snapshot, d snapshot.Delta) {
	if len(b.waits) == 0 {
		return
	}
	for _, o := range d.Upserted {
		if p, ok := o.Payload.(*clusterpb.Pod); ok && p.GetNode() != "" {
			b.land(was, o.ID, p.GetNode())
		}
	}
	for _, k := range d.Removed {
		if k.Kind == snapshot.Pod {
			b.land(was, k.ID, "")
		}
	}
}

func (b bound) land(was *snapshot.Snapshot, pod, node string) {
	a := b.waits[pod]
	if a == nil {
		return
	}
	delete(b.waits, pod)
	if len(a.events) < spans.MostEvents {
		e := landed{pod: pod, node: node, at: b.now()}
		if since := measure.Unschedulable(was, pod); !since.IsZero() {
			e.waited = e.at.Sub(since)
		}
		a.events = append(a.events, e)
	}
	if a.left--; a.left == 0 {
		b.end(a)
	}
}

// end makes the span.
func (b bound) end(a *awaited) {
	ctx := telemetry.ContextFromTraceparent(context.Background(), a.traceparent)
	_, span := b.tracer.Start(ctx, spans.Bind, trace.WithTimestamp(a.begun), trace.WithAttributes(spans.PlanID.String(a.plan), spans.Pods.Int(a.pods)))
	for _, e := range a.events {
		if e.node == "" {
			span.AddEvent(spans.Gone, trace.WithTimestamp(e.at), trace.WithAttributes(spans.Pod.String(e.pod)))
		} else {
			span.AddEvent(spans.Bound, trace.WithTimestamp(e.at), trace.WithAttributes(
				spans.Pod.String(e.pod), spans.Node.String(e.node), spans.Waited.Float64(e.waited.Seconds())))
		}
	}
	span.End(trace.WithTimestamp(b.now()))
}
