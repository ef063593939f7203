package server

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/internal/spans"
)

// evidence tells, as events of the plan's span, which nodes the plan takes away and why, and why pods are left pending:
// one event for each reason, with the sentence of the first of them.
func evidence(span trace.Span, p *plannerpb.Plan) {
	if !span.IsRecording() {
		return
	}
	for i, d := range p.GetDisruptions() {
		if i == spans.MostEvents/2 {
			break
		}
		span.AddEvent(spans.Disrupt, trace.WithAttributes(
			spans.Decision.String(d.GetId()), spans.Reason.String(convert.CodeText(d.GetReason().GetCode())),
			spans.Message.String(d.GetReason().GetMessage())))
	}
	left, first := map[clusterpb.ReasonCode]int{}, map[clusterpb.ReasonCode]string{}
	var codes []clusterpb.ReasonCode
	for _, q := range p.GetPending() {
		r := q.GetReason()
		if left[r.GetCode()]++; left[r.GetCode()] == 1 {
			first[r.GetCode()] = r.GetMessage()
			codes = append(codes, r.GetCode())
		}
	}
	slices.Sort(codes)
	for _, code := range codes {
		span.AddEvent(spans.LeftPending, trace.WithAttributes(
			spans.Reason.String(convert.CodeText(code)), spans.Message.String(first[code]), spans.Pods.Int(left[code])))
	}
}
