package loop

import (
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// backlog counts what makes planning worthwhile. It follows the snapshot by deltas.
type backlog struct {
	pending map[string]bool // pods that a plan should find a place for
	unseen  map[string]bool // pods that the scheduler has not looked at
	claims  map[string]bool // claims that may have to be disrupted
	asking  map[string]bool // static pools and capacity buffers, which get nodes without a pod
}

func newBacklog() backlog {
	return backlog{pending: map[string]bool{}, unseen: map[string]bool{}, claims: map[string]bool{}, asking: map[string]bool{}}
}

// follow takes a delta, and returns how many pods have become pending, and how many have come: those that the scheduler has
// not looked at yet, too.
func (b backlog) follow(d snapshot.Delta) (fresh, arrived int) {
	for _, o := range d.Upserted {
		switch m := o.Payload.(type) {
		case *clusterpb.Pod:
			known := b.pending[o.ID] || b.unseen[o.ID]
			unseen := m.GetPhase() == clusterpb.PodPhase_POD_PHASE_WAITING
			if waits := waits(m, o.Class); waits && !b.pending[o.ID] {
				fresh++
				b.pending[o.ID] = true
			} else if !waits {
				delete(b.pending, o.ID)
			}
			set(b.unseen, o.ID, unseen)
			if !known && (unseen || b.pending[o.ID]) {
				arrived++
			}
		case *clusterpb.Claim:
			set(b.claims, o.ID, !ended(m))
		case *clusterpb.NodePool:
			set(b.asking, poolPrefix+o.ID, m.Replicas != nil)
		case *clusterpb.CapacityBuffer:
			set(b.asking, o.ID, true)
		}
	}
	for _, k := range d.Removed {
		switch k.Kind {
		case snapshot.Pod:
			delete(b.pending, k.ID)
			delete(b.unseen, k.ID)
		case snapshot.Claim:
			delete(b.claims, k.ID)
		case snapshot.NodePool:
			delete(b.asking, poolPrefix+k.ID)
		case snapshot.CapacityBuffer:
			delete(b.asking, k.ID)
		default: // nothing else makes work
		}
	}
	return fresh, arrived
}

func (b backlog) waiting() bool { return len(b.pending) > 0 }

func (b backlog) work() bool { return len(b.pending)+len(b.claims)+len(b.asking) > 0 }

// poolPrefix tells pools from capacity buffers, which have a namespace.
const poolPrefix = "pool "

func set(of map[string]bool, id string, in bool) {
	if in {
		of[id] = true
	} else {
		delete(of, id)
	}
}

// waits says whether a plan should find a place for the pod: not for those for which preemption frees capacity, and not for
// those that come with a node of their own accord.
func waits(p *clusterpb.Pod, class *snapshot.Object) bool {
	if p.GetPhase() != clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE || p.GetNominatedNode() != "" || p.GetTerminating() {
		return false
	}
	c, ok := class.Payload.(*clusterpb.PodClass)
	return ok && !c.GetDaemon() && !c.GetMirror()
}

func ended(c *clusterpb.Claim) bool {
	return c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED
}
