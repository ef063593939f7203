package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// failure says why the candidates must stay: a replacement has failed, or what made them candidates no longer applies; ""
// when neither is so.
func failure(d model.DisruptionRecord, f Facts, now time.Time) string {
	if why := lost(d, f); why != "" {
		return why
	}
	for _, m := range f.Candidates {
		if why := cmp.Or(protected(d.Reason, m, now), stopped(d, f, m, now)); why != "" {
			return why
		}
	}
	if now.Before(d.AcceptTime.Add(Timeout)) {
		return ""
	}
	if missing := awaited(d, f); missing != "" {
		return fmt.Sprintf("its replacements were not ready within %s: %s", Timeout, missing)
	}
	return fmt.Sprintf("its nodes could not be tainted within %s", Timeout)
}

// turnMissed says why a candidate of a staged disruption that waits for its turn must stay; "" when it waits on.
func turnMissed(d model.DisruptionRecord, f Facts, m Member, now time.Time) string {
	if !now.Before(d.AcceptTime.Add(Timeout)) {
		return fmt.Sprintf("its turn did not come within %s", Timeout)
	}
	return cmp.Or(lost(d, f), protected(d.Reason, m, now))
}

// lost says which replacement has failed; "" when none has.
func lost(d model.DisruptionRecord, f Facts) string {
	for i, m := range f.Replacements {
		if m.Claim == nil || m.Claim.State >= model.ClaimDraining {
			why := fmt.Sprintf("replacement %s is not there any more", d.Replacements[i])
			if m.Claim != nil && m.Claim.Failure.Message != "" {
				why += ": " + m.Claim.Failure.Message
			}
			return why
		}
	}
	return ""
}

// protected says which pod came to a candidate, before the taint could keep it off, that must not be disturbed for the
// reason; "" when none did.
func protected(reason model.DisruptionReason, m Member, now time.Time) string {
	if m.Claim == nil || m.Claim.State != model.ClaimInitialized || m.Node == nil || !waitsForPods(reason, *m.Claim, now) {
		return ""
	}
	for _, p := range m.Node.Pods {
		if p.Finished || !p.DeletionTime.IsZero() {
			continue
		}
		if kept, _ := rules.Protected(&model.Pod{DoNotDisrupt: p.DoNotDisrupt, DoNotDisruptUntil: p.DoNotDisruptUntil}, now); !kept.OK() {
			return fmt.Sprintf("pod %s/%s has come to %s, and must not be disrupted", p.Namespace, p.Name, m.Node.Name)
		}
		if reason == model.ReasonEmpty && !p.Daemon && !p.Mirror && !p.ToleratesDisrupted {
			return fmt.Sprintf("pod %s/%s has come to %s, which was empty", p.Namespace, p.Name, m.Node.Name)
		}
	}
	return ""
}

// stopped says that a budget of none keeps a candidate. It was not there when the disruption was accepted: the user has
// stopped what budgets are for, while replacements were on their way. A budget that others have used up since stops
// nothing; what is staged waits for its turn instead; and some disruptions ask no budget.
func stopped(d model.DisruptionRecord, f Facts, m Member, now time.Time) string {
	if m.Claim == nil || f.Stops == nil || d.Staged || d.Reason == model.ReasonSurplus {
		return ""
	}
	if overdue, _ := rules.Expired(m.Claim, now); d.Reason == model.ReasonExpired && !overdue.OK() {
		return ""
	}
	if !f.Stops(m.Claim.NodePool, d.Reason) {
		return ""
	}
	return fmt.Sprintf("a disruption budget of node pool %s lets none of its nodes go now", m.Claim.NodePool)
}

// waitsForPods says that protected pods keep a disruption from beginning: not where a static pool has a node too many, nor
// where the node has expired and its drain is bounded.
func waitsForPods(reason model.DisruptionReason, c model.Claim, now time.Time) bool {
	switch reason {
	case model.ReasonSurplus:
		return false
	case model.ReasonExpired:
		return !rules.ForcedByAge(&c, now)
	default:
		return true
	}
}

// awaited names the first replacement that pods can't go to yet, and what it lacks; "" when there is none.
func awaited(d model.DisruptionRecord, f Facts) string {
	for i, m := range f.Replacements {
		if missing := missing(m, f.WaitForDaemonPods); missing != "" {
			return fmt.Sprintf("%s: %s", d.Replacements[i], missing)
		}
	}
	return ""
}

// missing says what a replacement lacks before pods can go there; "" when nothing.
func missing(m Member, waitForDaemonPods bool) string {
	switch {
	case m.Claim == nil:
		return "it is not there any more"
	case m.Claim.State != model.ClaimInitialized:
		return cmp.Or(m.Claim.Failure.Message, "it is "+m.Claim.State.String())
	case m.Node == nil || !m.Node.Ready:
		return "its node is not ready any more"
	case !waitForDaemonPods:
		return ""
	}
	for _, p := range m.Node.Pods {
		if p.Daemon && !p.Ready && !p.Finished && p.DeletionTime.IsZero() {
			return fmt.Sprintf("pod %s/%s of a DaemonSet is not ready", p.Namespace, p.Name)
		}
	}
	return ""
}

// tainted says that no new pod can come to the candidates any more. A candidate without a node has none to keep off.
func tainted(f Facts) bool {
	return !slices.ContainsFunc(f.Candidates, func(m Member) bool { return m.Claim != nil && m.Node != nil && !m.Node.Tainted })
}

// driftEvents tell the users of each pool whose drift is paused now that this disruption was given up.
func driftEvents(d model.DisruptionRecord, f Facts, why string, now time.Time) []Effect {
	var pools []model.PoolName
	for _, m := range f.Candidates {
		if m.Claim != nil {
			pools = append(pools, m.Claim.NodePool)
		}
	}
	slices.Sort(pools)
	records := []model.DisruptionRecord{d}
	if f.Others != nil {
		for other := range f.Others {
			records = append(records, *other)
		}
	}
	var effects []Effect
	for _, pool := range slices.Compact(pools) {
		if paused, _ := rules.DriftPause(pool, records, f.Claim, now); !paused.OK() {
			effects = append(effects, Effect{Kind: EffectEvent, Event: cluster.Event{
				Kind: "NodePool", Name: string(pool), Warning: true, Reason: "DriftPaused", Message: paused.Message + "; the last: " + why,
			}})
		}
	}
	return effects
}
