package disrupt

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/fit"
)

// removeEmpty removes nodes that nothing runs on. It returns those that wait for their budget.
func removeEmpty(dr *draft.Draft) (waiting []int) {
	for _, h := range dr.Candidates {
		if len(dr.Moving[h]) > 0 || !dr.PodsAgreeUnforced(h).OK() || !dr.ConsolidateAfter(h).OK() {
			continue
		}
		host := dr.View.Hosts[h]
		if r := dr.Taken(h); !r.OK() { // what goes before has sent pods there
			dr.Verdicts[h] = r
			continue
		}
		if !draft.NotStatic(dr, h).OK() {
			continue
		}
		if r := draft.ShowsNothing(dr, h); !r.OK() {
			if !replaceable(dr, h) { // nothing keeps it beyond its time
				dr.Verdicts[h] = dr.About(h, r)
			}
			continue
		}
		if dr.BuffersFixed[h] || len(dr.Buffered[h]) > 0 {
			continue // it is not to go, but its buffer pods may move
		}
		if r := draft.NoneReturns(dr, h); !r.OK() {
			dr.Verdicts[h] = dr.About(h, r)
			continue
		}
		if r := dr.NodeBudgets.ReasonFor(h, host.Pool, model.ReasonEmpty, 0); !r.OK() {
			if !replaceable(dr, h) { // it may go for another reason, under that one's budget or none
				dr.Verdicts[h] = r
				waiting = append(waiting, h)
			}
			continue
		}
		price := dr.View.Price(host.Claim)
		d := draft.Decision{
			Reason: model.ReasonEmpty, Hosts: []int{h}, Saving: price,
			Explanation: model.Reason{
				Code: model.CodeEmpty, Subject: host.Name(),
				Message: fmt.Sprintf("no pod but those of DaemonSets runs there; it costs %s an hour", fit.Price(price, dr.View.Estimated(host.Claim))),
			},
		}
		mark := dr.Scheduler.Mark()
		dr.Empty(d.Hosts)
		if r := dr.About(h, dr.DependentsStay(d)); !r.OK() {
			dr.Scheduler.Revert(mark)
			dr.Verdicts[h] = r
			continue
		}
		dr.Keep(d)
	}
	return waiting
}

// replaceable says whether a node's own state is reason enough to replace it.
func replaceable(dr *draft.Draft, host int) bool {
	return dr.Expired(host) || dr.Expiring(host) || !dr.Drift[host].OK()
}

// explainBuffers tells of nodes on which nothing runs that they stay for a buffer's sake.
func explainBuffers(dr *draft.Draft) {
	for _, h := range dr.Candidates {
		switch {
		case dr.View.Removed(h), len(dr.Buffered[h]) == 0, len(dr.Moving[h]) > 0:
			continue
		}
		switch dr.Verdicts[h].Code {
		case model.CodeNoCheaper, model.CodeNoDestination, model.CodeConsolidationPolicy:
			dr.Verdicts[h] = model.Reason{
				Code: model.CodeCapacityBuffer, Subject: dr.View.Hosts[h].Name(),
				Message: fmt.Sprintf("it keeps capacity for %s of capacity buffers", fit.Count(len(dr.Buffered[h]), "pod")),
			}
		default:
		}
	}
}
