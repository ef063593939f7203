package apply

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// knownAfter is how old a claim must be before its pods count as known here: caches are behind the watcher's by less.
const knownAfter = time.Minute

// needless refuses a claim that none of its pods needs any more: each has a node that stays, has ended there, or is gone.
// A watcher whose own picture of pods or nodes stands still would buy for them again and again, as it sees neither that
// its claims became nodes nor that pods have gone there. One pod that may need it is enough to buy.
//
// A pod that is not seen here is no pod that is gone: the watcher may have seen it a moment earlier. It is gone where it
// was known before, because a claim was bought for it that is a node since. Where a pod of that name has been
// made anew, which the watcher alone has seen so far, the claim is refused once, and planned again a moment later.
//
// Where the actuator's own picture stands still nothing is refused: a pod of that time may have been made anew under its
// name, as one of a StatefulSet is, and a launch too many is ended when it is seen again.
//
// Replacements are for pods that run on the nodes that go. A static pool's node is launched with or without pods.
func (v *verifier) needless(w model.NodeClaim, pool cluster.Pool) model.Reason {
	if v.state.PodsUnseen || w.Disruption != "" || pool.Replicas != nil || len(w.Pods) == 0 {
		return model.Reason{}
	}
	if v.settled == nil {
		v.settled = v.findSettled()
	}
	for _, p := range w.Pods {
		if v.settled[p] == "" {
			return model.Reason{}
		}
	}
	first := w.Pods[0]
	return model.Reason{
		Code: model.CodeStale, Subject: "nodeclaim/" + string(w.ID),
		Message: fmt.Sprintf("none of its pods (%d) needs it any more: pod %s %s", len(w.Pods), first, v.settled[first]),
		Remedy:  "see whether the watcher's log, or the actuator's, says that it can't read pods or nodes",
	}
}

// findSettled finds those of the pods that claims of the plan are for, replacements aside, that need no node, and says why.
func (v *verifier) findSettled() map[model.PodID]string {
	asked := map[podName]model.PodID{}
	for _, w := range v.plan.NodeClaims {
		if w.Disruption != "" {
			continue
		}
		for _, p := range w.Pods {
			if namespace, name, ok := p.Object(); ok { // else it is a buffer's, and never exists
				asked[podName{namespace, name}] = p
			}
		}
	}
	out, going := map[model.PodID]string{}, v.goingNodes()
	for _, n := range v.state.AllNodes {
		stays := !n.Leaving() && !going[n.Name]
		for i := range n.Pods {
			name := podName{n.Pods[i].Namespace, n.Pods[i].Name}
			p, ok := asked[name]
			if !ok {
				continue
			}
			delete(asked, name) // it is not gone
			if stays {
				out[p] = whyOn(&n.Pods[i], n.Name)
			}
		}
	}
	v.addGone(out, asked)
	return out
}

// podName is a pod's id in two.
type podName struct{ namespace, name string }

func whyOn(p *cluster.Pod, node model.NodeName) string {
	if p.Finished {
		return fmt.Sprintf("has ended on node %s", node)
	}
	return fmt.Sprintf("is on node %s", node)
}

// goingNodes are the nodes that go, as planners see it: pods on them may need another one before they are evicted.
func (v *verifier) goingNodes() map[model.NodeName]bool {
	out := map[model.NodeName]bool{}
	for id, n := range v.state.Nodes {
		if c, known := v.state.Claims[id]; !known || v.state.Interrupted.Leaving(&c) {
			out[n.Name] = true
		}
	}
	return out
}

// addGone adds the pods that are gone, of those that are on no node. Pods of a node that goes are evicted, and what takes
// their place may be no older than the plan.
func (v *verifier) addGone(out map[model.PodID]string, asked map[podName]model.PodID) {
	if v.state.Unbound == nil {
		return
	}
	missing := make(map[model.PodID]bool, len(asked))
	for _, p := range asked {
		if _, waits := v.state.Unbound(p); !waits {
			missing[p] = true
		}
	}
	if len(missing) == 0 {
		return
	}
	for _, c := range v.state.Claims {
		if c.State != model.ClaimInitialized || v.state.Interrupted.Leaving(&c) || v.state.Now.Sub(c.CreateTime) < knownAfter {
			continue
		}
		for _, p := range c.Pods {
			if missing[p] {
				out[p] = "is gone"
			}
		}
	}
}
