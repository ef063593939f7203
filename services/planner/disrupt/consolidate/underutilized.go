package consolidate

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/fit"
)

// forMoney is the chain for consolidation, after draft.EveryMethod.
func forMoney() []draft.Check {
	return append(draft.MethodsThatCanWait(),
		draft.NotStatic,                  // static pools keep their size
		draft.NoneReturns,                // a pod that comes back under its name needs its place
		(*draft.Draft).PodsAgreeUnforced, // age overrules nothing here
		(*draft.Draft).ConsolidateAfter,  // the node must have been quiet for long enough
		policyAllows,                     // WhenEmpty keeps nodes that are not empty
		priceKnown,                       // a price that is not known can't be beaten
		notNeeded,                        // no pod that found no place waits for room there
		draft.ShowsNothing,               // nor be kept from a purchase by it
		poolNotGrowing,                   // while a pool grows, pods are still on their way
		poolNotShrinking,                 // while many pods end, more of them may be about to
		buffersMove,                      // buffer pods with pod rules stay where they are
	)
}

// Of some that are under way and others that are not, more than few and more than someOf of the others are many.
const (
	few    = 3
	someOf = 0.1
)

func many(some, others int) bool { return some > few && float64(some) > someOf*float64(others) }

// poolNotGrowing keeps nodes while many others of their pool are starting for pending pods: what is needed is not known
// before those pods run, and what is moved now would move again.
func poolNotGrowing(dr *draft.Draft, host int) model.Reason {
	starting, started := dr.Starting(dr.View.Hosts[host].Pool)
	if !many(starting, started) {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodePoolGrowing,
		Message: fmt.Sprintf("its pool is growing: %s for pending pods, and %d that have started",
			fit.Count(starting, "node"), started),
		Remedy: "wait until they have started",
	}
}

// poolNotShrinking keeps nodes while many pods of their pool end: workloads are being scaled down, and what is left of
// them is not known before that is over. What was moved until then would be moved again, to nodes that were bought for
// too many.
func poolNotShrinking(dr *draft.Draft, host int) model.Reason {
	ending, running := dr.Ending(dr.View.Hosts[host].Pool)
	if !many(ending, running) {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodePoolShrinking,
		Message: fmt.Sprintf("its pool is shrinking: %s that end, and %d that run",
			fit.Count(ending, "pod"), running),
		Remedy: "wait until they have ended",
	}
}

func policyAllows(dr *draft.Draft, host int) model.Reason {
	h := dr.View.Hosts[host]
	if h.Pool.ConsolidationPolicy != model.WhenEmpty {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeConsolidationPolicy, Message: "its pool removes empty nodes only (consolidationPolicy: WhenEmpty)"}
}

func priceKnown(dr *draft.Draft, host int) model.Reason {
	if dr.View.Price(dr.View.Hosts[host].Claim) > 0 {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodePriceUnknown, Message: "the node's price is not known"}
}

func notNeeded(dr *draft.Draft, host int) model.Reason {
	if it, is := draft.Awaits(dr, host); is {
		return model.Reason{
			Code:    model.CodeNominated,
			Message: fmt.Sprintf("pod %s has no place yet and could run on this node", dr.View.Pods[it.Pods[0]].ID),
		}
	}
	return model.Reason{}
}

// buffersMove says whether what buffers have on a node can be moved along with its pods.
func buffersMove(dr *draft.Draft, host int) model.Reason {
	if !dr.BuffersFixed[host] {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeCapacityBuffer, Message: "a capacity buffer has capacity there for pods with pod rules, which does not move",
	}
}
