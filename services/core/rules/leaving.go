package rules

import (
	"iter"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Interrupted are the instances that AWS is about to take, or has taken; see InterruptedBy. The zero value has none.
type Interrupted struct {
	claims    map[model.ClaimID]bool
	instances map[string]bool
}

// InterruptedBy are those that notices tell of. Those of a scheduled change are not among them: that may be weeks away,
// and once the node is emptied for it, its claim says so. Nor are those of a rebalance recommendation, a guess of EC2's.
func InterruptedBy(notices iter.Seq[model.Notice]) Interrupted {
	x := Interrupted{claims: map[model.ClaimID]bool{}, instances: map[string]bool{}}
	for n := range notices {
		if n.Kind == model.NoticeSpotInterruption || n.Kind == model.NoticeStateChange {
			x.claims[n.Claim], x.instances[n.InstanceID] = true, true
		}
	}
	return x
}

// Has says whether a claim's instance is among them. A notice may name the claim, the instance, or both.
func (x Interrupted) Has(c *model.Claim) bool {
	return x.claims[c.ID] || (c.InstanceID != "" && x.instances[c.InstanceID])
}

// Leaving says whether a claim is being taken away already, or is gone: its pods need another node. It is what the claim
// itself and AWS tell; the node may say so as well.
func (x Interrupted) Leaving(c *model.Claim) bool {
	return c.State >= model.ClaimDraining || c.Disruption != "" || !c.DrainDeadline.IsZero() || x.Has(c)
}
