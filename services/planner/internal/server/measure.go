package server

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/metrics"
)

// Measure has the server record what it does; nil has it record nothing. Call it before the first question.
func (s *Server) Measure(r *metrics.Recorder) error {
	s.metrics = r
	return r.Observe(func(o metrics.Observation) {
		sessions, waiting, bytes := s.bounds.counts()
		o.Set(metrics.PlansWaiting, float64(waiting))
		o.Set(metrics.PlansRunning, float64(len(s.busy)))
		o.Set(metrics.Sessions, float64(sessions))
		o.Set(metrics.SessionBytes, float64(bytes))
	})
}

// wait takes a place among the plans that are being made.
func (s *Server) wait(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	default:
	}
	if err := s.bounds.wait(); err != nil {
		return err
	}
	defer s.bounds.waited()
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// measured records how long an answer took.
func (s *Server) measured(d *plannerpb.Decide, took time.Duration, err error) {
	if s.metrics == nil {
		return
	}
	scope := metrics.ScopePods
	for _, k := range d.GetKinds() {
		if k == plannerpb.DecisionKind_DECISION_KIND_DISRUPT {
			scope = metrics.ScopeEverything
		}
	}
	if len(d.GetKinds()) == 0 {
		scope = metrics.ScopeEverything
	}
	attributes := []attribute.KeyValue{metrics.Scope.String(scope)}
	if err != nil {
		attributes = append(attributes, metrics.ErrorType.String(failure(err).String()))
	}
	s.metrics.Record(metrics.PlanDuration, took.Seconds(), attributes...)
}

func failure(err error) codes.Code {
	if st, ok := status.FromError(err); ok {
		return st.Code()
	}
	return status.FromContextError(err).Code()
}
