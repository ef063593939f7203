package model

// NodeOverlay is what a user corrects in the catalogue for some offerings. It changes what is planned with, never
// what EC2 is paid.
type NodeOverlay struct {
	Name string
	// Generation is the object's; 0 where it is not known.
	Generation int64
	// Weight is 0 to 10,000; heavier overlays win over lighter ones.
	Weight int32
	// Requirements say which nodes it is about: all must hold.
	Requirements []Requirement
	// Price stands in for the list price, micro-dollars per hour. At most one of Price, Adjustment and AdjustmentPPM is
	// set.
	Price *int64
	// Adjustment is added to the list price, micro-dollars per hour.
	Adjustment *int64
	// AdjustmentPPM is added to the list price in millionths of it.
	AdjustmentPPM *int64
	// Capacity is what the nodes have in addition, or in another quantity than the catalogue says.
	Capacity Amounts
	// NotReady is why it has no effect; OK when it is valid.
	NotReady Reason
}

// HasPrice says whether the overlay says anything about prices.
func (o *NodeOverlay) HasPrice() bool {
	return o.Price != nil || o.Adjustment != nil || o.AdjustmentPPM != nil
}
