// Package disrupt finds nodes to disrupt: those that are unhealthy, too many, empty, too old or no longer what they
// should be, and those whose pods can live for less elsewhere.
//
// Its methods run in that order, on one draft. Each looks at the candidates that a chain of named checks lets through,
// tries a decision on the view, and keeps it or reverts it. Package draft holds what they share; replace and
// consolidate are the two methods that search; budget and churn say how much may be disrupted, and at what price;
// shrink says which nodes are to lose their pods first. Every pod that a decision by choice displaces has a destination
// that can be relied on: a node that is ready and stays, or a replacement that must be initialized first. What saves
// money must make up for the evictions that it takes, and pods that were moved a short time ago are left alone: the
// snapshot's history tells which. Nodes that are going away already are not its business: their pods are demand like
// any other. The package never looks at a clock and changes nothing but the view and the limits that it is given.
// docs/adr/0008 has the reasons. Start reading with Run.
package disrupt

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/consolidate"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/disrupt/replace"
	"github.com/kerf-dev/kerf/services/planner/disrupt/shrink"
)

// Params is what Run works on: where a draft begins, and what its methods need beside it.
type Params struct {
	draft.Params
	// Surplus are hosts that static pools have too many, Unhealthy those that are unhealthy; they take no pods any more.
	Surplus, Unhealthy []Removal
	// Fixed makes what takes the place of a static pool's node.
	Fixed replace.Fixed
	// ResumeAfter is where the last search ended; "" begins anew.
	ResumeAfter model.ClaimID
}

// Result is what Run found.
type Result struct {
	Decisions []draft.Decision
	// Verdicts say, by index in View.Hosts, why each node stays or goes; only nodes that Kerf owns have one.
	Verdicts []model.Reason
	// Waste is, by index in View.Hosts, what a node costs beyond what its pods are worth, or all of it where they have
	// room on others and a rule keeps it; 0 where that is not known.
	Waste []int64
	// Summary is how far the search got.
	Summary model.DisruptionSummary
	// Deferred are hosts that later plans are to remove, as soon as budgets, and pods that have just started, let them.
	// DeferredKnown says that all were looked for.
	Deferred      []int
	DeferredKnown bool
	// DeletionCosts are, by index in View.Hosts, for the pods of each node that Kerf owns: see package shrink.
	DeletionCosts []int32
	// ReconsiderTime is when time alone first changes which nodes may or must go; zero when it never does.
	ReconsiderTime time.Time
}

// Run looks for nodes to disrupt.
func Run(in Params) Result {
	dr := draft.New(in.Params)
	driftChange := noteDrift(dr)
	unrepaired := removeAtOnce(dr, in.Unhealthy, in.Surplus)
	for i, h := range dr.View.Hosts {
		if h.Node != nil && h.Claim != nil && !dr.View.Removed(i) && dr.Verdicts[i].OK() {
			dr.Verdicts[i] = dr.Ask(draft.EveryMethod(), i)
			if dr.Verdicts[i].OK() {
				dr.Candidates = append(dr.Candidates, i)
			}
		}
	}
	appraisal := consolidate.Appraise(dr)
	sortCandidates(dr)
	waiting := removeEmpty(dr)
	replace.Run(dr, in.Fixed)
	old := unreplaced(dr)
	kept := openToSavings(dr)
	for h, verdict := range unrepaired { // to save money their pods are not moved: that would be a repair in all but name
		if !dr.View.Removed(h) {
			dr.Verdicts[h] = verdict
		}
	}
	found := consolidate.Run(dr, appraisal, old, in.ResumeAfter)
	for h, verdict := range kept {
		if !dr.View.Removed(h) {
			dr.Verdicts[h] = verdict
		}
	}
	explainBuffers(dr)
	deferred := append(found.Deferred, waiting...)
	return Result{
		Decisions: dr.Decisions, Verdicts: dr.Verdicts, Waste: waste(dr, appraisal), Summary: found.Summary,
		Deferred: deferred, DeferredKnown: found.Known, DeletionCosts: shrink.Costs(dr, deferred, appraisal.Worth),
		ReconsiderTime: rules.Earliest(reconsider(dr), driftChange, found.Settled),
	}
}

// noteDrift tells the draft which nodes have drifted, and says when time alone first makes another one drift.
func noteDrift(dr *draft.Draft) (change time.Time) {
	facts := rules.DriftingOf(dr.View.Snapshot, dr.View.Now)
	for i, h := range dr.View.Hosts {
		drift, until := replace.Drift(facts, h)
		dr.Drift[i], change = drift, rules.Earliest(change, until)
	}
	return change
}

// unreplaced are the nodes that have drifted or are too old, and that stay for now.
func unreplaced(dr *draft.Draft) (hosts []int) {
	for _, h := range dr.Candidates {
		due := !dr.Drift[h].OK() && !dr.Expiring(h) || dr.Expired(h)
		if due && !dr.View.Removed(h) && len(dr.Moving[h]) > 0 && staysForNow(dr, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// staysForNow says that what keeps a node from being replaced lasts: no node may go, nothing holds its pods, not even
// soon, or the drift of its pool is paused. What only waits for its turn is not to send its pods anywhere before.
func staysForNow(dr *draft.Draft, h int) bool {
	pool := dr.View.Hosts[h].Pool
	switch dr.Verdicts[h].Code {
	case model.CodeBudget:
		return dr.NodeBudgets.Stops(pool, model.ReasonDrifted)
	case model.CodeNoDestination:
		return !dr.Soon[h]
	case model.CodeCanary:
		pause, _ := replace.DriftPause(dr.View, pool)
		return !pause.OK()
	default:
		return false
	}
}

// openToSavings lets nodes be consolidated that have drifted or are about to expire, and that a budget keeps from being
// replaced for it: that budget says nothing of money. It returns what was said of each, which counts again where it is not
// consolidated.
func openToSavings(dr *draft.Draft) (kept map[int]model.Reason) {
	kept = make(map[int]model.Reason)
	for _, h := range dr.Candidates {
		due := !dr.Drift[h].OK() || dr.Expiring(h)
		if !due || dr.View.Removed(h) || dr.Verdicts[h].Code != model.CodeBudget || len(dr.Moving[h]) == 0 {
			continue
		}
		if dr.NodeBudgets.Reason(dr.View.Hosts[h].Pool, model.ReasonUnderutilized, 1).OK() {
			kept[h], dr.Verdicts[h] = dr.Verdicts[h], model.Reason{}
		}
	}
	return kept
}

// sortCandidates puts first what saves most for the least disturbance.
func sortCandidates(dr *draft.Draft) {
	ratio := make([]float64, len(dr.View.Hosts))
	for _, h := range dr.Candidates {
		ratio[h] = float64(dr.View.WeighedPrice(dr.View.Hosts[h].Claim)) / dr.Disturbance(h)
	}
	slices.SortStableFunc(dr.Candidates, func(a, b int) int { return cmp.Compare(ratio[b], ratio[a]) })
}
