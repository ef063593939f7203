package karpenterv1

// Defaults that the API server fills in, and that SetDefaults fills in where
// there is none.
const (
	DefaultExpireAfter         NillableDuration    = "720h"
	DefaultConsolidateAfter    NillableDuration    = "0s"
	DefaultConsolidationPolicy ConsolidationPolicy = ConsolidateWhenEmptyOrUnderutilized
	DefaultBudgetNodes                             = "10%"
)

// SetDefaults fills in what an API server with Kerf's CustomResourceDefinitions
// would. It changes p; doing it twice changes nothing.
func (p *NodePool) SetDefaults() {
	if p.Spec.Template.Spec.ExpireAfter == "" {
		p.Spec.Template.Spec.ExpireAfter = DefaultExpireAfter
	}
	d := &p.Spec.Disruption
	if d.ConsolidateAfter == "" {
		d.ConsolidateAfter = DefaultConsolidateAfter
	}
	if d.ConsolidationPolicy == "" {
		d.ConsolidationPolicy = DefaultConsolidationPolicy
	}
	if d.Budgets == nil {
		d.Budgets = []Budget{{}}
	}
	for i := range d.Budgets {
		if d.Budgets[i].Nodes == "" {
			d.Budgets[i].Nodes = DefaultBudgetNodes
		}
	}
}

// SetDefaults fills in what an API server with Kerf's CustomResourceDefinitions
// would. It changes c; doing it twice changes nothing.
func (c *NodeClaim) SetDefaults() {
	if c.Spec.ExpireAfter == "" {
		c.Spec.ExpireAfter = DefaultExpireAfter
	}
}
