package loop

import (
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// backlog counts what makes planning worthwhile. It follows the snapshot by deltas.
type backlog struct {
	pending map[string]bool // pods that a plan should find a place for
	claims  map[string]bool // claims that may have to be disrupted
}

func newBacklog() backlog {
	return backlog{pending: map[string]bool{}, claims: map[string]bool{}}
}

// follow takes a delta, and returns how many pods have become pending.
func (b backlog) follow(d snapshot.Delta) int {
	fresh := 0
	for _, o := range d.Upserted {
		switch m := o.Payload.(type) {
		case *clusterpb.Pod:
			if !waits(m, o.Class) {
				delete(b.pending, o.ID)
			} else if !b.pending[o.ID] {
				b.pending[o.ID] = true
				fresh++
			}
		case *clusterpb.Claim:
			if over(m) {
				delete(b.claims, o.ID)
			} else {
				b.claims[o.ID] = true
			}
		}
	}
	for _, k := range d.Removed {
		switch k.Kind {
		case snapshot.Pod:
			delete(b.pending, k.ID)
		case snapshot.Claim:
			delete(b.claims, k.ID)
		default: // nothing else makes work
		}
	}
	return fresh
}

func (b backlog) waiting() bool { return len(b.pending) > 0 }

func (b backlog) work() bool { return len(b.pending)+len(b.claims) > 0 }

// waits says whether a plan should find a place for the pod: not for those for which preemption frees capacity, and not for
// those that come with a node of their own accord.
func waits(p *clusterpb.Pod, class *snapshot.Object) bool {
	if p.GetPhase() != clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE || p.GetNominatedNode() != "" || p.GetTerminating() {
		return false
	}
	c, ok := class.Payload.(*clusterpb.PodClass)
	return ok && !c.GetDaemon() && !c.GetMirror()
}

func over(c *clusterpb.Claim) bool {
	return c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED
}
