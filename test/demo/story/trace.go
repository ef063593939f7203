package story

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/test/demo/traces"
	"github.com/kerf-dev/kerf/test/harness"
)

// traceTimeout is how long the services may take to send the spans of what is over.
const traceTimeout = 10 * time.Second

// launchSpans are the spans of one launch, from the batch of pods that fit on no node to a node that can be relied
// on, by the three services' names for them.
func launchSpans() []string {
	return []string{"watcher.Batch", "planner.Plan", "actuator.Apply", "actuator.Launch", "actuator.Register", "actuator.Initialize"}
}

// LaunchTrace waits for a trace that tells a launch from beginning to end, in all three services, and returns the
// shortest of them.
func LaunchTrace(ctx context.Context, from *traces.Collector) (traces.Trace, error) {
	var best traces.Trace
	err := harness.Until(ctx, "one trace of a launch across all services", traceTimeout, func(context.Context) (string, bool) {
		best = traces.Trace{}
		nearest := launchSpans()
		all := from.Traces()
		for _, t := range all {
			missing := t.Missing(launchSpans()...)
			if len(missing) < len(nearest) {
				nearest = missing
			}
			if len(missing) == 0 && len(t.Services()) >= 3 && (best.ID == "" || len(t.Spans) < len(best.Spans)) {
				best = t
			}
		}
		return fmt.Sprintf("%d traces, of which the most complete has no %s", len(all), strings.Join(nearest, ", ")), best.ID != ""
	})
	return best, err
}
