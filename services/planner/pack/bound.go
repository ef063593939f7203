package pack

import "github.com/kerf-dev/kerf/services/planner/pack/purchase"

// Bound proves what the pods of some claims, of so many that are placed in all, must cost at least; see Buyer.Bound.
// Those that were uncounted count, as they did when they were placed.
func (s *Scheduler) Bound(claims []*purchase.NewClaim, placed int, uncounted []Assignment) purchase.Proof {
	defer s.tally.Revert(s.tally.Mark())
	for _, a := range uncounted {
		s.Count(a, 1)
	}
	return s.buyer.Bound(claims, placed, s.proof, s.tally)
}

// Worth is what pods would cost at the lowest prices; see Buyer.Worth.
func (s *Scheduler) Worth(pods []int) purchase.Worth { return s.buyer.Worth(pods) }

// Listing is what a claim says of what it may become.
func (s *Scheduler) Listing(b *purchase.NewClaim) *purchase.Listing { return s.listings.Of(b) }
