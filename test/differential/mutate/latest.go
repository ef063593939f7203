package mutate

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
)

// pools changes every node pool.
func pools(change func(*model.NodePool)) func(*model.Input) {
	return func(in *model.Input) {
		for i := range in.Snapshot.NodePools {
			change(&in.Snapshot.NodePools[i])
		}
	}
}

// latest breaks the rules of the families that came later, which are mostly about nodes that come and go.
func latest() []Mutation {
	return slices.Concat(want(judge.Misfit, weakerLatest()), want(judge.Missed, []Mutation{
		{Name: "overlays add nothing", Families: gen.Overlays | gen.Roomy, Believe: func(in *model.Input) { in.Snapshot.NodeOverlays = nil }},
		{Name: "limits of any resource are half", Families: gen.ResourceLimits, Believe: pools(func(p *model.NodePool) {
			for i := range p.Limits {
				p.Limits[i].Value /= 2
			}
		})},
		{Name: "no node has what pods need", Families: gen.Nodes | gen.Needs | gen.Roomy, Believe: nodes(func(n *model.Node) {
			n.Drivers, n.Features = nil, nil
		})},
	}), want(judge.Forbidden, lawless()), want(judge.Refused, []Mutation{
		{Name: "what EC2 has none of is there", Believe: func(in *model.Input) {
			for i := range in.Snapshot.Offerings {
				in.Snapshot.Offerings[i].UnavailableUntil = time.Time{}
			}
		}},
		{Name: "what has not drifted has", Families: gen.Nodes | gen.Removals | gen.Kinds, Believe: func(in *model.Input) {
			for i := range in.Snapshot.Claims {
				in.Snapshot.Claims[i].Drifted = model.Reason{Code: model.CodeDrifted, Message: "NodePoolDrifted: for the test"}
			}
		}},
	}))
}

func weakerLatest() []Mutation {
	return []Mutation{
		{Name: "affinity to the name of a host does not matter", Families: gen.Affinity | gen.HostAffinity | gen.Nodes, Believe: classes(anyHost)},
		{
			Name:     "the pods of DaemonSets have no labels",
			Families: gen.Daemons | gen.DaemonTies | gen.PodAntiAffinity | gen.Spread | gen.Nodes | gen.Namespaces | gen.Roomy,
			Believe: classes(func(c *model.PodClass) {
				if c.Daemon {
					c.Labels = nil
				}
			}),
		},
		{Name: "nodes on their way out stay", Families: gen.Nodes | gen.Leaving, Believe: func(in *model.Input) {
			in.Snapshot.Notices = nil
			nodes(func(n *model.Node) { n.Terminating = false })(in)
			for i := range in.Snapshot.Claims {
				in.Snapshot.Claims[i].State = max(model.ClaimPlanned, min(in.Snapshot.Claims[i].State, model.ClaimInitialized))
			}
		}},
		{Name: "a buffer's pods ask for half", Families: gen.Buffers, Believe: classes(func(c *model.PodClass) {
			if c.OwnerKind == "CapacityBuffer" {
				for i := range c.Requests {
					if c.Requests[i].Resource != model.Pods {
						c.Requests[i].Value /= 2
					}
				}
			}
		})},
		{Name: "overlays add twice as much", Families: gen.Overlays | gen.Roomy, Believe: func(in *model.Input) {
			for i := range in.Snapshot.NodeOverlays {
				for j := range in.Snapshot.NodeOverlays[i].Capacity {
					in.Snapshot.NodeOverlays[i].Capacity[j].Value *= 2
				}
			}
		}},
		{Name: "claims on devices do not matter", Families: gen.Devices | gen.Roomy, Believe: classes(func(c *model.PodClass) {
			c.DeviceClaims = nil
		})},
		{Name: "extended resources that devices serve do not matter", Families: gen.Devices | gen.Backed | gen.Roomy, Believe: classes(func(c *model.PodClass) {
			for _, q := range c.ExtendedRequests {
				c.Requests = slices.DeleteFunc(slices.Clone(c.Requests), func(a model.Amount) bool { return a.Resource == q.Resource })
			}
			c.ExtendedRequests = nil
		})},
		{Name: "devices need not be at one root", Families: gen.Devices | gen.Roomy, Believe: classes(func(c *model.PodClass) {
			for i := range c.DeviceClaims {
				c.DeviceClaims[i].Constraints = nil
			}
		})},
		{Name: "any number of pods may use a volume", Families: gen.Exclusive, Believe: classes(func(c *model.PodClass) {
			for i := range c.Volumes {
				c.Volumes[i].Exclusive = false
			}
		})},
		{Name: "drivers keep no pods off nodes", Families: gen.Volumes | gen.Nodes | gen.Needs, Believe: classes(func(c *model.PodClass) {
			c.NeededDrivers = nil
		})},
		{Name: "kubelets can do anything", Families: gen.Nodes | gen.Needs, Believe: classes(func(c *model.PodClass) { c.NeededFeatures = nil })},
		{Name: "devices of pods that run are free", Families: gen.Devices | gen.Nodes | gen.Roomy, Believe: func(in *model.Input) {
			for i := range in.Snapshot.Pods {
				in.Snapshot.Pods[i].Devices = nil
			}
		}},
		{Name: "pods without spread of their own have none", Families: gen.Defaults | gen.Roomy, Believe: func(in *model.Input) {
			in.Policy.DefaultSpread = nil
		}},
		{Name: "of several spread constraints the first counts", Families: gen.Several, Believe: classes(func(c *model.PodClass) {
			c.TopologySpread = c.TopologySpread[:min(1, len(c.TopologySpread))]
		})},
		{Name: "of several spread constraints the last counts", Families: gen.Several, Believe: classes(func(c *model.PodClass) {
			c.TopologySpread = c.TopologySpread[max(0, len(c.TopologySpread)-1):]
		})},
	}
}

// anyHost drops what a class says about the names of hosts.
func anyHost(c *model.PodClass) {
	for i := range c.NodeAffinity {
		t := &c.NodeAffinity[i]
		t.Requirements = slices.DeleteFunc(t.Requirements, func(r model.Requirement) bool { return r.Key == labels.Hostname })
		if len(t.Requirements) == 0 {
			c.NodeAffinity = nil // any node does
			return
		}
	}
}

// lawless lets the plan do what pools, budgets and pods forbid.
func lawless() []Mutation {
	const removals = gen.Nodes | gen.Removals | gen.Kinds
	return []Mutation{
		{Name: "limits do not matter", Families: gen.Limits, Believe: pools(func(p *model.NodePool) { p.Limits = nil })},
		{Name: "limits of nodes alone matter", Families: gen.ResourceLimits, Believe: pools(func(p *model.NodePool) {
			p.Limits = slices.DeleteFunc(p.Limits, func(a model.Amount) bool { return a.Resource != model.Nodes })
		})},
		{Name: "minValues does not matter", Families: gen.MinValues, Believe: pools(func(p *model.NodePool) {
			for i := range p.Requirements {
				p.Requirements[i].MinValues = 0
			}
		})},
		{Name: "static pools follow their pods", Families: gen.Static | gen.Nodes, Believe: pools(func(p *model.NodePool) { p.Replicas = nil })},
		{Name: "static pools have one node more", Families: gen.Static, Believe: pools(func(p *model.NodePool) {
			if p.Replicas != nil {
				p.Replicas = new(*p.Replicas + 1)
			}
		})},
		{Name: "nominated pods run already", Families: gen.Nodes | gen.Expected, Believe: func(in *model.Input) {
			for i := range in.Snapshot.Pods {
				if p := &in.Snapshot.Pods[i]; p.Node == "" && p.ExpectedNode != "" {
					p.Node, p.Phase, p.Ready = p.ExpectedNode, model.PodRunning, true
				}
			}
		}},
		{Name: "nodes that must not be disrupted are", Families: removals, Believe: nodes(func(n *model.Node) { n.DoNotDisrupt = false })},
		{Name: "pods that must not be disrupted are", Families: removals | gen.Roomy, Believe: func(in *model.Input) {
			for i := range in.Snapshot.Pods {
				in.Snapshot.Pods[i].DoNotDisrupt = false
			}
		}},
		{Name: "budgets of pools do not matter", Families: removals, Believe: pools(func(p *model.NodePool) {
			p.Budgets = []model.DisruptionBudget{{Count: 100, IsPercent: true}}
		})},
		{Name: "budgets of pods do not matter", Families: removals | gen.Roomy, Believe: func(in *model.Input) { in.Snapshot.PodDisruptionBudgets = nil }},
		{Name: "WhenEmpty is WhenEmptyOrUnderutilized", Families: removals | gen.Roomy, Believe: pools(func(p *model.NodePool) {
			p.ConsolidationPolicy = model.WhenEmptyOrUnderutilized
		})},
	}
}
