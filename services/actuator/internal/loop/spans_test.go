package loop

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kerf-dev/kerf/services/core/model"
)

// TestOneTraceFromPlanToEnd wants every phase of a claim's life below the plan that asked for it, whichever leader it
// ends under.
func TestOneTraceFromPlanToEnd(t *testing.T) {
	for name, next := range map[string]func(r *rig){
		"one leader":               func(*rig) {},
		"another after each phase": func(r *rig) { r.stop(); r.start() },
	} {
		t.Run(name, func(t *testing.T) { oneTrace(t, next) })
	}
}

func oneTrace(t *testing.T, next func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		r := newRig(t)
		r.cfg = func(c *Config) { c.Tracer = provider.Tracer("test") }
		r.start()
		const trace = "0af7651916cd43dd8448eb211c80319c"
		r.accepted(model.Plan{ID: "p-1", Traceparent: "00-" + trace + "-b7ad6b7169203331-01", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.reaches("c1", model.ClaimLaunched)
		next(r)
		r.reaches("c1", model.ClaimInitialized)
		r.kube.run("c1", pod("web"))
		if _, err := r.loop.Delete(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		r.reaches("c1", model.ClaimDraining)
		next(r)
		r.reaches("c1", model.ClaimTerminating)
		next(r)
		r.reaches("c1", model.ClaimGone)

		var got []string
		apply := ""
		for _, s := range spans.GetSpans() {
			if s.SpanContext.TraceID().String() != trace {
				t.Errorf("span %s is of trace %s", s.Name, s.SpanContext.TraceID())
			}
			if s.Name == "actuator.Apply" {
				apply = s.SpanContext.SpanID().String()
			} else if s.Parent.SpanID().String() != apply {
				t.Errorf("span %s hangs on %s, not on the Apply", s.Name, s.Parent.SpanID())
			}
			if !s.EndTime.After(s.StartTime) && s.Name != "actuator.Apply" && s.Name != "actuator.Launch" {
				t.Errorf("span %s takes no time", s.Name)
			}
			got = append(got, s.Name)
		}
		slices.Sort(got)
		want := []string{"actuator.Apply", "actuator.Drain", "actuator.Initialize", "actuator.Launch", "actuator.Register", "actuator.Terminate"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
