// Package measure turns what happens in an actuator into metrics.
//
// The loop tells it of claims, disruptions and notices that were written. What can be counted in the inventory is counted
// there, when somebody collects; what goes through a port is measured around the port (ports.go). A nil Measure measures
// nothing. Start reading at Measure.
package measure

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/metrics"
)

// Measure is what one actuator measures. Safe for concurrent use.
type Measure struct {
	recorder *metrics.Recorder
	failing  failing
}

// New makes a Measure; nil where nothing is recorded.
func New(r *metrics.Recorder) *Measure {
	if r == nil {
		return nil
	}
	return &Measure{recorder: r, failing: failing{of: map[subject]failed{}}}
}

// Claim records that a claim was written: as it was, nil for a new one, and as it is. For is the disruption that it is a
// replacement of, nil where there is none.
func (m *Measure) Claim(old, c *model.Claim, of *model.DisruptionRecord) {
	if m == nil {
		return
	}
	pool := metrics.Pool.String(string(c.NodePool))
	if old == nil {
		cause := metrics.CauseProvisioned
		if of != nil {
			cause = of.Reason.String()
		}
		m.recorder.Add(metrics.ClaimsCreated, 1, pool, metrics.Cause.String(cause))
		return
	}
	if old.State == c.State {
		return
	}
	took := c.StateTime.Sub(old.StateTime).Seconds()
	switch old.State {
	case model.ClaimDraining:
		m.recorder.Record(metrics.DrainDuration, took, metrics.Disruption.String(c.DisruptionReason.String()))
	case model.ClaimTerminating:
		m.recorder.Record(metrics.TerminateDuration, took, pool)
	default:
	}
	m.reached(c, pool)
}

// reached records the state that a claim has come to.
func (m *Measure) reached(c *model.Claim, pool attribute.KeyValue) {
	capacity, sinceLaunch := metrics.CapacityType.String(c.CapacityType.String()), c.StateTime.Sub(c.LaunchTime).Seconds()
	switch c.State {
	case model.ClaimRegistered:
		m.recorder.Record(metrics.RegisterDuration, sinceLaunch, pool)
	case model.ClaimInitialized:
		m.recorder.Record(metrics.ReadyDuration, sinceLaunch, pool)
	case model.ClaimDraining:
		if c.Node != "" {
			m.recorder.Add(metrics.NodesDisrupted, 1, pool, capacity, metrics.Disruption.String(c.DisruptionReason.String()))
		}
	case model.ClaimGone, model.ClaimFailed:
		result := metrics.Ended
		switch {
		case c.State == model.ClaimFailed && c.InstanceID == "":
			result = metrics.NotLaunched
		case c.State == model.ClaimFailed:
			result = metrics.Failed
		}
		m.recorder.Add(metrics.ClaimsEnded, 1, pool, capacity, metrics.Zone.String(c.Zone), metrics.Result.String(result))
	default:
	}
}

// Disruption records that a disruption was written.
func (m *Measure) Disruption(d *model.DisruptionRecord) {
	if m == nil || d.EndTime.IsZero() {
		return
	}
	reason, result := metrics.Disruption.String(d.Reason.String()), metrics.Completed
	if d.RolledBack {
		result = metrics.RolledBack
	} else if d.Saving > 0 {
		m.recorder.Add(metrics.DisruptionSaved, dollars(d.Saving), reason)
	}
	m.recorder.Add(metrics.DisruptionsEnded, 1, reason, metrics.Result.String(result))
}

// Notice records a notice that is written for the first time.
func (m *Measure) Notice(n *model.Notice, now time.Time) {
	if m == nil {
		return
	}
	kind := metrics.NoticeKind.String(noticeKind(n.Kind))
	m.recorder.Add(metrics.Notices, 1, kind)
	if !n.EventTime.IsZero() {
		m.recorder.Record(metrics.NoticeDelay, max(0, now.Sub(n.EventTime).Seconds()), kind)
	}
	if !n.Deadline.IsZero() {
		m.recorder.Record(metrics.NoticeLead, max(0, n.Deadline.Sub(now).Seconds()), kind)
	}
}

// Message records a message of the queue.
func (m *Measure) Message(readable bool) {
	if m == nil {
		return
	}
	result := metrics.Read
	if !readable {
		result = metrics.Unreadable
	}
	m.recorder.Add(metrics.Messages, 1, metrics.Result.String(result))
}

func noticeKind(k model.NoticeKind) string {
	switch k {
	case model.NoticeSpotInterruption:
		return "spot_interruption"
	case model.NoticeRebalanceRecommendation:
		return "rebalance_recommendation"
	case model.NoticeStateChange:
		return "state_change"
	case model.NoticeScheduledChange:
		return "scheduled_change"
	}
	return "invalid"
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }
