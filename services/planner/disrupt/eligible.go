package disrupt

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// check is one rule that must hold before a node may be disrupted; the zero Reason means that it does.
type check func(s *search, host int) model.Reason

// everyMethod is the chain for all methods, cheapest and most telling first.
func everyMethod() []check {
	return []check{
		ownPool,         // the claim's pool must exist
		onlyNode,        // the claim must stand for this node alone
		soundPool,       // what the pool says about disruption must be known
		notDisrupted,    // it must not be going already
		initialized,     // it must have been relied on
		nodeAnnotation,  // the node must not say no
		notAwaited,      // no pending pod may be on its way
		replaces,        // nor may it stand in for nodes that are not gone yet
		volumesMove,     // no volume may be tied to the node
		podsMayBeMoved,  // no pod may say no, and each must be one that is planned for
		budgetsMayAllow, // no pod disruption budget may forbid it
		spared,          // it must not be one that this plan was asked to leave alone
	}
}

// ask goes through a chain of checks: the first that a node fails is the answer.
func (s *search) ask(chain []check, host int) model.Reason {
	for _, c := range chain {
		if r := c(s, host); !r.OK() {
			return s.about(host, r)
		}
	}
	return model.Reason{}
}

// about fills in that a reason is about a host, where it does not say what it is about.
func (s *search) about(host int, r model.Reason) model.Reason {
	if r.Subject == "" && !r.OK() {
		r.Subject = s.v.Hosts[host].Name()
	}
	return r
}

// settled is the chain for what could as well wait, after everyMethod: nodes that are replaced in time, and consolidation.
func settled() []check {
	return []check{
		rested,    // no pod may have been moved a short time ago
		rolledOut, // no workload may be in the middle of a rollout
	}
}

func ownPool(s *search, host int) model.Reason {
	h := s.v.Hosts[host]
	if h.Pool != nil {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeNotOwned, Message: fmt.Sprintf("its node pool %s does not exist", h.Claim.NodePool)}
}

// soundPool says whether the pool's object is valid: of one that is not, a budget may be missing here.
func soundPool(s *search, host int) model.Reason {
	p := s.v.Hosts[host].Pool
	if p.NotReady.OK() || p.NotReady.Code != model.CodeNodePoolInvalid {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNodePoolInvalid, Message: fmt.Sprintf("its node pool %s is invalid: %s", p.Name, p.NotReady.Message),
		Remedy: p.NotReady.Remedy,
	}
}

// onlyNode says whether the claim stands for one node only. More than one carry its label where somebody copied labels;
// which of them ends with the claim is not known then.
func onlyNode(s *search, host int) model.Reason {
	claim := s.v.Hosts[host].Claim
	if s.nodes[claim.ID] == 1 {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNotOwned, Message: fmt.Sprintf("%d nodes say that they stand for claim %s", s.nodes[claim.ID], claim.ID),
		Remedy: "remove the label kerf.dev/claim from the nodes that it does not belong to",
	}
}

func notDisrupted(s *search, host int) model.Reason {
	h := s.v.Hosts[host]
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

func initialized(s *search, host int) model.Reason {
	h := s.v.Hosts[host]
	if h.Claim.State == model.ClaimInitialized {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeNotInitialized, Message: fmt.Sprintf("the claim is %s, not Initialized", h.Claim.State)}
}

func nodeAnnotation(s *search, host int) model.Reason {
	if !s.v.Hosts[host].Node.DoNotDisrupt {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNodeDoNotDisrupt, Message: "the node is annotated karpenter.sh/do-not-disrupt",
		Remedy: "remove the annotation from the node",
	}
}

func notAwaited(s *search, host int) model.Reason {
	if !s.awaited[host] {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeNominated, Message: "on its way there: " + fit.Count(s.v.Nominated(host), "pod")}
}

// replaces says whether the node is to take the place of others that are still there: their pods are meant for it.
func replaces(s *search, host int) model.Reason {
	id := s.v.Hosts[host].Claim.Replaces
	if id == "" {
		return model.Reason{}
	}
	for i := range s.v.Snapshot.Disruptions {
		if r := &s.v.Snapshot.Disruptions[i]; r.ID == id && r.EndTime.IsZero() {
			return model.Reason{
				Code: model.CodeNominated, Message: fmt.Sprintf("it takes the place of nodes that are still there (disruption %s)", id),
				Remedy: "wait until they are gone",
			}
		}
	}
	return model.Reason{}
}

func notStatic(s *search, host int) model.Reason {
	if s.v.Hosts[host].Pool.Replicas == nil {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeStaticPool, Subject: s.v.Hosts[host].Name(), Message: "its pool is static: the number of its nodes is fixed",
	}
}

// patient says that the node is too old and its pods had their time: its claim's termination grace period bounds the
// drain, so that pods can't hold it up for ever.
func (s *search) patient(host int) bool {
	return expired(s.v, host) && s.v.Hosts[host].Claim.TerminationGracePeriod != nil
}

func podsMayBeMoved(s *search, host int) model.Reason { return s.podsAgree(host, s.patient(host)) }

// podsAgree says whether the pods of a node let it go; forced leaves out what a bounded drain overrules.
func (s *search) podsAgree(host int, forced bool) model.Reason {
	for _, i := range s.v.Hosts[host].Pods {
		pod := s.v.Pods[i]
		if pod.Terminating {
			continue
		}
		if r, _ := rules.Protected(pod.Pod, s.v.Now); !forced && !r.OK() {
			return r
		}
		if pod.Class.Daemon || pod.Class.Mirror {
			continue
		}
		if !forced && pod.Class.OwnerKind == "" {
			return model.Reason{
				Code: model.CodePodWithoutController, Subject: "pod/" + string(pod.ID),
				Message: fmt.Sprintf("nothing would make pod %s again", pod.ID),
				Remedy:  "let a controller own the pod, or delete it",
			}
		}
		if r := s.Unsupported[pod.Class.Index]; !r.OK() {
			r.Subject = "pod/" + string(pod.ID)
			r.Message = fmt.Sprintf("pod %s can't be moved: %s", pod.ID, r.Message)
			return r
		}
	}
	return model.Reason{}
}

func budgetsMayAllow(s *search, host int) model.Reason {
	if s.patient(host) {
		return model.Reason{}
	}
	return s.pdbs.reason(s.moving[host])
}

// spared says whether the question leaves the claim out: a plan that took it broke a rule, for instance.
func spared(s *search, host int) model.Reason {
	if _, out := slices.BinarySearch(s.Spare, s.v.Hosts[host].Claim.ID); !out {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeSuperseded, Message: "it is left alone in this plan, as was asked for", Remedy: "wait for the next plan",
	}
}

// unforced says whether a node may go for a reason that could as well wait: then its age overrules nothing.
func (s *search) unforced(host int) model.Reason {
	if !s.patient(host) {
		return model.Reason{} // checked already
	}
	if r := s.podsAgree(host, false); !r.OK() {
		return r
	}
	return s.pdbs.reason(s.moving[host])
}

// volumesMove says whether every volume of a node's pods can be reached from another node.
func volumesMove(s *search, host int) model.Reason {
	for _, i := range s.moving[host] {
		c := s.v.Pods[i].Class
		for _, vol := range c.Volumes {
			if pinned(vol) {
				name := "a volume of its own"
				if vol.Name != "" {
					name = "volume " + vol.Name
				}
				return model.Reason{
					Code: model.CodeVolumePinned, Subject: "pod/" + string(s.v.Pods[i].ID),
					Message: fmt.Sprintf("pod %s uses %s, which can be reached from this node alone", s.v.Pods[i].ID, name),
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
			return (r.Key == labels.Hostname || r.Key == model.KeyNodeName) && r.Operator == model.In && len(r.Values) == 1
		})
	})
}

// quiet says whether a node was left alone for as long as its pool asks for before it may be consolidated.
func (s *search) quiet(host int) model.Reason {
	h := s.v.Hosts[host]
	r, _ := rules.Quiet(h.Pool.ConsolidateAfter, h.Claim.InitializeTime, h.Node.LastPodEventTime, s.v.Now)
	return s.about(host, r)
}

// underused is the chain for consolidation, after everyMethod and settled.
func underused() []check {
	return []check{
		notStatic, // static pools keep their size
		func(s *search, host int) model.Reason { return s.unforced(host) },
		func(s *search, host int) model.Reason { return s.quiet(host) },
		policyAllows, // WhenEmpty keeps nodes that are not empty
		priceKnown,   // a price that is not known can't be beaten
		notNeeded,    // no pod that found no place could need the node
		buffersMove,  // buffer pods with pod rules stay where they are
	}
}

func policyAllows(s *search, host int) model.Reason {
	h := s.v.Hosts[host]
	if h.Pool.ConsolidationPolicy != model.WhenEmpty {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodeConsolidationPolicy, Message: "its pool removes empty nodes only (consolidationPolicy: WhenEmpty)"}
}

func priceKnown(s *search, host int) model.Reason {
	if s.v.Price(s.v.Hosts[host].Claim) > 0 {
		return model.Reason{}
	}
	return model.Reason{Code: model.CodePriceUnknown, Message: "the node's price is not known"}
}

func notNeeded(s *search, host int) model.Reason {
	for _, it := range s.Unplaced {
		if view.Fits(s.v.Hosts[host].Allocatable, it.Class.Requested, 1) == 1 && s.Matcher.Admits(it.Class, host) {
			return model.Reason{
				Code:    model.CodeNominated,
				Message: fmt.Sprintf("pod %s has no place yet and could run on this node", s.v.Pods[it.Pods[0]].ID),
			}
		}
	}
	return model.Reason{}
}
