// Package verify is the second opinion on a plan: does it keep the rules on the input that it was made from?
//
// It is written to be obviously right and not to be fast or clever: plain loops over the model. It never repairs a plan
// and never says whether a plan is good, only whether it is allowed. A plan with a Violation is a defect of the planner
// and must not leave it.
//
// Independent of the packages that make plans (view, fit, topology, volumes, pack, optimise, disrupt) is what is
// searched for or added up, because a mistake there is likely and this is what finds it: whether pods may run and fit
// where they are sent (package place: kube-scheduler's filters from their definition), what may be launched and within
// which limits, how many nodes and pods are disrupted at once, and all sums of money.
//
// Shared is what is looked up, because a second copy would only drift away from the first: when a node may be disrupted and
// why (core/rules: drift, health, expiry, protection, rest, what a budget allows and when it is active), the algebra of
// requirements (core/require), what overlays and buffers say (offer), and which devices a pod gets (devices). Those have
// tests of their own.
//
// Start reading at Plan, which lists the rules in order.
package verify

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
	"github.com/kerf-dev/kerf/services/planner/verify/place"
)

// Decider makes a plan from an input: plan.Decide, or what a test puts in its place.
type Decider func(model.Input) (model.Plan, error)

// Violation is one broken rule.
type Violation = facts.Violation

// Join puts violations on one line, the first few of them.
func Join(vs []Violation) string { return facts.Join(vs) }

// Plan checks a plan against the input that it was made from. It returns nothing for a plan that keeps all rules.
func Plan(in model.Input, p model.Plan) []Violation {
	in.Snapshot, _ = offer.Expand(in.Snapshot, in.Now) // buffers' pods have places like any others
	f, r := facts.New(&in, &p), &facts.Report{}
	places := place.NewPlaces(f)
	scheduled := place.New(f, r, places)
	said := &contents{f, r}
	bought := &claims{f: f, r: r, places: places, judged: make(map[*place.Variant][]string)}
	limited := &limits{f, r}
	pdbs := newPDBs(f)
	moves := rules.NewMoves(&in.Snapshot, in.Policy.PodRest)
	paid := &money{f, r, moves.Rest()}
	disrupted := &disruptions{f: f, r: r, pdbs: pdbs, paid: paid, moves: moves, drifting: rules.DriftingOf(&in.Snapshot, in.Now)}
	allowed := &budgets{f, r, pdbs}
	for _, rule := range []func(){
		said.header,         // the plan is about this input
		said.order,          // every list is sorted and names nothing twice
		said.turns,          // and pods are bound one after the other
		said.kinds,          // nothing that was not asked for
		said.podsOnce,       // each pod has one answer, and none that needs one is left out
		said.volumes,        // nor is one placed that waits for a volume of its own
		bought.all,          // new claims can be launched, as anything that they list
		limited.pools,       // pools stay within their limits
		limited.units,       // and reservations within what is left of them
		limited.replicas,    // and static pools at their size
		scheduled.Capacity,  // all pods may run, and fit, where they are sent
		scheduled.Order,     // bound in the plan's order, each pod may be among those that are there
		scheduled.Devices,   // and finds the devices that it claims
		disrupted.all,       // what is disrupted may be disrupted
		scheduled.Displaced, // displaced pods may be together where they go
		allowed.pools,       // not too much at once: pools' budgets
		allowed.pods,        // and pod disruption budgets
		disrupted.canaries,  // drifted nodes go one by one until that is known to work
		disrupted.repairs,   // unhealthy nodes go where few are unhealthy
		paid.costs,          // the money adds up
		said.verdicts,       // what is said of nodes agrees with the rest
		said.summary,        // as does what is said of the search
	} {
		rule()
	}
	return r.Found
}
