package pack

import "github.com/kerf-dev/kerf/services/planner/pack/purchase"

// Bound proves what the pods of some claims must cost at least; see Buyer.Bound.
func (d *Scheduler) Bound(claims []*purchase.NewClaim) purchase.Proof {
	return d.buyer.Bound(claims, d.proof)
}

// Worth is what pods would cost at the lowest prices; see Buyer.Worth.
func (d *Scheduler) Worth(pods []int) purchase.Worth { return d.buyer.Worth(pods) }

// Listing is what a claim says of what it may become.
func (d *Scheduler) Listing(b *purchase.NewClaim) *purchase.Listing { return d.listings.Of(b) }
