package loop

import (
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// tally counts what makes planning worth while. It follows the snapshot by deltas.
type tally struct {
	pending map[string]bool // pods that a plan should find a place for
	claims  map[string]bool // claims that may have to be given back
}

func newTally() tally {
	return tally{pending: map[string]bool{}, claims: map[string]bool{}}
}

// follow takes a delta, and returns how many pods have become pending.
func (t tally) follow(d snapshot.Delta) int {
	fresh := 0
	for _, o := range d.Upserted {
		switch m := o.Payload.(type) {
		case *clusterpb.Pod:
			if !waits(m, o.Class) {
				delete(t.pending, o.ID)
			} else if !t.pending[o.ID] {
				t.pending[o.ID] = true
				fresh++
			}
		case *clusterpb.Claim:
			if over(m) {
				delete(t.claims, o.ID)
			} else {
				t.claims[o.ID] = true
			}
		}
	}
	for _, k := range d.Removed {
		switch k.Kind {
		case snapshot.Pod:
			delete(t.pending, k.ID)
		case snapshot.Claim:
			delete(t.claims, k.ID)
		default: // nothing else makes work
		}
	}
	return fresh
}

func (t tally) waiting() bool { return len(t.pending) > 0 }

func (t tally) work() bool { return len(t.pending)+len(t.claims) > 0 }

// waits says whether a plan should find a place for the pod: not for those that preemption makes room for, and not for
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
