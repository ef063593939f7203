package draft

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/lacks"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
)

// Check is one rule that must hold before a node may be disrupted; the zero Reason means that it does.
type Check func(dr *Draft, host int) model.Reason

// EveryMethod is the chain for all methods, cheapest and most telling first.
func EveryMethod() []Check {
	return []Check{
		ownPool,         // the claim's pool must exist
		OnlyNode,        // the claim must stand for this node alone
		soundPool,       // what the pool says about disruption must be known
		notDisrupted,    // it must not be going already
		initialized,     // it must have been relied on
		zoneUsed,        // the cluster must not be shifted away from its zone
		nodeAnnotation,  // the node must not say no
		notAwaited,      // no pending pod may be on its way
		replaces,        // nor may it stand in for nodes that are not gone yet
		volumesMove,     // no volume may be tied to the node
		podsMayBeMoved,  // no pod may say no, and each must be one that is planned for
		budgetsMayAllow, // no pod disruption budget may forbid it
		excluded,        // it must not be one that this plan was asked to leave alone
	}
}

// Ask goes through a chain of checks: the first that a node fails is the answer.
func (dr *Draft) Ask(chain []Check, host int) model.Reason {
	for _, c := range chain {
		if r := c(dr, host); !r.OK() {
			return dr.About(host, r)
		}
	}
	return model.Reason{}
}

// About fills in that a reason is about a host, where it does not say what it is about.
func (dr *Draft) About(host int, r model.Reason) model.Reason {
	if r.Subject == "" && !r.OK() {
		r.Subject = dr.View.Hosts[host].Name()
	}
	return r
}

// MethodsThatCanWait is the chain for what could as well wait, after EveryMethod: nodes that are replaced in time,
// drift and consolidation.
func MethodsThatCanWait() []Check {
	return []Check{
		rested,    // no pod may have been moved a short time ago
		rolledOut, // no workload may be in the middle of a rollout
	}
}

func rested(dr *Draft, host int) model.Reason { return dr.History.Resting(dr.View, dr.Moving[host]) }

func rolledOut(dr *Draft, host int) model.Reason {
	return dr.History.RollingOut(dr.View, dr.Moving[host])
}

func ownPool(dr *Draft, host int) model.Reason {
	h := dr.View.Hosts[host]
	if h.Pool != nil {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeNotOwned, Message: fmt.Sprintf("its node pool %s does not exist", h.Claim.NodePool)}
}

// soundPool says whether the pool's object is valid: of one that is not, a budget may be missing here. One that is
// being deleted takes its nodes with it.
func soundPool(dr *Draft, host int) model.Reason {
	p := dr.View.Hosts[host].Pool
	switch p.NotReady.Code {
	case model.CodeNodePoolInvalid:
	case model.CodeBeingDeleted:
		return p.NotReady
	default:
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNodePoolInvalid, Message: fmt.Sprintf("its node pool %s is invalid: %s", p.Name, p.NotReady.Message),
		Remedy: p.NotReady.Remedy,
	}
}

// OnlyNode says whether the claim stands for one node only. More than one carry its label where somebody copied labels;
// which of them ends with the claim is not known then.
func OnlyNode(dr *Draft, host int) model.Reason {
	claim := dr.View.Hosts[host].Claim
	if dr.nodesOf[claim.ID] == 1 {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNotOwned, Message: fmt.Sprintf("%d nodes say that they stand for claim %s", dr.nodesOf[claim.ID], claim.ID),
		Remedy: "remove the label kerf.dev/claim from the nodes that it does not belong to",
	}
}

func notDisrupted(dr *Draft, host int) model.Reason {
	h := dr.View.Hosts[host]
	switch {
	case !h.Leaving:
		return model.Reason{}
	case h.Interrupted && h.Claim.State < model.ClaimDraining && h.Claim.Disruption == "":
		return model.Reason{Code: model.CodeInterrupted, Message: "AWS is about to take the instance"}
	case h.Claim.DisruptionReason != 0:
		return model.Reason{Code: model.CodeAlreadyDisrupted, Message: "it is being taken away already: " + h.Claim.DisruptionReason.String()}
	}
	return model.Reason{Code: model.CodeAlreadyDisrupted, Message: "it is being taken away already"}
}

func initialized(dr *Draft, host int) model.Reason {
	h := dr.View.Hosts[host]
	if h.Claim.State == model.ClaimInitialized {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeNotInitialized, Message: fmt.Sprintf("the claim is %s, not Initialized", h.Claim.State)}
}

func zoneUsed(dr *Draft, host int) model.Reason {
	return rules.ZoneShifted(dr.View.Hosts[host].Claim.Zone, dr.View.ShiftedZones)
}

func nodeAnnotation(dr *Draft, host int) model.Reason {
	if !dr.View.Hosts[host].Node.DoNotDisrupt {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNodeDoNotDisrupt, Message: "the node is annotated karpenter.sh/do-not-disrupt",
		Remedy: "remove the annotation from the node",
	}
}

func notAwaited(dr *Draft, host int) model.Reason {
	if !dr.awaited[host] {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeNominated, Message: "on its way there: " + fit.Count(dr.View.Nominated(host), "pod")}
}

// replaces says whether the node is to take the place of others that are still there: their pods are meant for it.
func replaces(dr *Draft, host int) model.Reason {
	id := dr.View.Hosts[host].Claim.Replaces
	if id == "" {
		return model.Reason{}
	}
	for i := range dr.View.Snapshot.Disruptions {
		if r := &dr.View.Snapshot.Disruptions[i]; r.ID == id && r.EndTime.IsZero() {
			return model.Reason{
				Code: model.CodeNominated, Message: fmt.Sprintf("it takes the place of nodes that are still there (disruption %s)", id),
				Remedy: "wait until they are gone",
			}
		}
	}
	return model.Reason{}
}

// ShowsNothing says whether a node may go without being missed as the one that shows that nodes like it lack what a pod
// needs that waits.
func ShowsNothing(dr *Draft, host int) model.Reason {
	n := dr.View.Hosts[host].Node
	if n == nil {
		return model.Reason{}
	}
	for _, it := range dr.needing {
		if dr.View.Lacks.Shows(n, it.Class.PodClass) {
			return model.Reason{
				Code:    model.CodeNominated,
				Message: fmt.Sprintf("it shows that nodes like it lack what pod %s needs: without it one would be bought to find out", dr.View.Pods[it.Pods[0]].ID),
				Remedy:  "delete the pod, or give it nodes that have what it needs",
			}
		}
	}
	return model.Reason{}
}

// needing are pods that need something of nodes and have none. The plan may have a place for them: that may turn out to
// lack it as well, and what this node shows would have been forgotten by then. Pods of buffers, which never run, have what
// they need once their place is on a node that is there.
func needing(in *Params) (out []market.Item) {
	there := make(map[int]bool)
	for _, a := range in.BufferPods {
		there[a.Pod] = a.Claim == nil && in.View.Hosts[a.Host].Node != nil
	}
	known := make([]bool, len(in.View.Classes))
	for _, i := range in.View.Unbound {
		p := in.View.Pods[i]
		of := p.Class.Index
		if known[of] || there[i] || !p.Movable() || !in.Unsupported[of].OK() || !lacks.Needs(p.Class.PodClass) {
			continue
		}
		known[of] = true
		out = append(out, market.Item{Class: p.Class, Pods: []int{i}})
	}
	return out
}

// NotStatic says whether the number of the pool's nodes may change.
func NotStatic(dr *Draft, host int) model.Reason {
	if dr.View.Hosts[host].Pool.Replicas == nil {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeStaticPool, Subject: dr.View.Hosts[host].Name(), Message: "its pool is static: the number of its nodes is fixed",
	}
}

// NoneReturns says whether a pod that ends on the node will come back, and need its place: that of a StatefulSet does,
// under its old name, and those of operators may.
func NoneReturns(dr *Draft, host int) model.Reason {
	for _, i := range dr.View.Hosts[host].Pods {
		p := dr.View.Pods[i]
		kind := p.Class.OwnerKind
		if !p.Terminating || p.Class.Daemon || p.Class.Mirror || !rules.MayKeepName(kind) {
			continue
		}
		will := "may"
		if rules.KeepsName(kind) {
			will = "will"
		}
		return model.Reason{
			Code: model.CodeNominated, Message: fmt.Sprintf("pod %s is ending there, and its %s %s make it again", p.ID, kind, will), Remedy: "wait",
		}
	}
	return model.Reason{}
}

// ForcedByAge says that the node goes whatever its pods say.
func (dr *Draft) ForcedByAge(host int) bool {
	return rules.ForcedByAge(dr.View.Hosts[host].Claim, dr.View.Now)
}

func podsMayBeMoved(dr *Draft, host int) model.Reason {
	return dr.PodsAgree(host, dr.ForcedByAge(host))
}

// PodsAgree says whether the pods of a node let it go; forced leaves out what a bounded drain overrules.
func (dr *Draft) PodsAgree(host int, forced bool) model.Reason {
	for _, i := range dr.View.Hosts[host].Pods {
		pod := dr.View.Pods[i]
		if pod.Terminating {
			continue
		}
		if r, _ := rules.Protected(pod.Pod, dr.View.Now); !forced && !r.OK() {
			return r
		}
		if pod.Class.Daemon || pod.Class.Mirror {
			if r := dr.PodBudgets.Never(pod); !forced && rules.Evicted(pod.Class.PodClass) && !r.OK() {
				return r // it comes with the node, and would keep its drain from ending
			}
			continue
		}
		if !forced && pod.Class.OwnerKind == "" {
			return model.Reason{
				Code: model.CodePodWithoutController, Subject: "pod/" + string(pod.ID),
				Message: fmt.Sprintf("nothing would make pod %s again", pod.ID),
				Remedy:  "let a controller own the pod, or delete it",
			}
		}
		if r := dr.Unsupported[pod.Class.Index]; !forced && !r.OK() {
			r.Subject = "pod/" + string(pod.ID)
			r.Message = fmt.Sprintf("pod %s can't be moved: %s", pod.ID, r.Message)
			return r
		}
	}
	return model.Reason{}
}

func budgetsMayAllow(dr *Draft, host int) model.Reason {
	if dr.ForcedByAge(host) {
		return model.Reason{}
	}
	return dr.PodBudgets.Reason(dr.Moving[host])
}

// excluded says whether the question leaves the claim out: a plan that took it broke a rule, for instance.
func excluded(dr *Draft, host int) model.Reason {
	if _, out := slices.BinarySearch(dr.Exclude, dr.View.Hosts[host].Claim.ID); !out {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeSuperseded, Message: "it is left alone in this plan, as was asked for", Remedy: "wait for the next plan",
	}
}

// PodsAgreeUnforced says whether a node's pods and their budgets let it go for a reason that could as well wait: then
// its age overrules nothing.
func (dr *Draft) PodsAgreeUnforced(host int) model.Reason {
	if !dr.ForcedByAge(host) {
		return model.Reason{} // checked already
	}
	if r := dr.PodsAgree(host, false); !r.OK() {
		return r
	}
	return dr.PodBudgets.Reason(dr.Moving[host])
}

// volumesMove says whether every volume of a node's pods can be reached from another node.
func volumesMove(dr *Draft, host int) model.Reason {
	for _, i := range dr.Moving[host] {
		c := dr.View.Pods[i].Class
		for _, vol := range c.Volumes {
			if pinned(vol) {
				name := "a volume of its own"
				if vol.Name != "" {
					name = "volume " + vol.Name
				}
				return model.Reason{
					Code: model.CodeVolumePinned, Subject: "pod/" + string(dr.View.Pods[i].ID),
					Message: fmt.Sprintf("pod %s uses %s, which can be reached from this node alone", dr.View.Pods[i].ID, name),
					Remedy:  "delete the pod and its volume claim, or keep its data where other nodes can reach it",
				}
			}
		}
	}
	return model.Reason{}
}

// pinned says that a volume can be reached from nodes of one hostname only.
func pinned(vol model.VolumeTopology) bool {
	return len(vol.Terms) > 0 && !slices.ContainsFunc(vol.Terms, func(t model.NodeAffinityTerm) bool {
		return !slices.ContainsFunc(t.Requirements, func(r model.Requirement) bool {
			return rules.NamesNodes(r) && len(r.Values) == 1
		})
	})
}

// ConsolidateAfter says whether a node was left alone for as long as its pool asks for before it may be consolidated.
func (dr *Draft) ConsolidateAfter(host int) model.Reason {
	h := dr.View.Hosts[host]
	r, _ := rules.ConsolidateAfter(h.Pool.ConsolidateAfter, h.Claim.InitializeTime, h.Node.LastPodEventTime, dr.View.Now)
	return dr.About(host, r)
}
