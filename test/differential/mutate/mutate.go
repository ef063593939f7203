// Package mutate breaks rules on purpose, to show that the differential test sees it: each Mutation makes the planner
// believe in a weaker or a stricter rule than the scheduler has. A weaker one must end in a misfit, a stricter one in a
// missed pod, and one that pools, budgets or pods have in what they forbid. Each family of package gen has one at
// least, but for those of Unruly. Start reading with All.
package mutate

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
)

// Mutation is one broken rule.
type Mutation struct {
	Name string
	// Families are those that the rule is about.
	Families gen.Family
	// Want is how plans fail that follow it.
	Want judge.Kind
	// Believe changes what the planner gets.
	Believe func(*model.Input)
}

// All lists the mutations.
func All() []Mutation { return slices.Concat(weaker(), stricter(), ties(), latest(), ending()) }

// Unruly are the families without a rule to break: priority decides which pods go first, not what may run where, and
// clusters in which most pods fit have all rules.
const Unruly = gen.Priority | gen.Roomy

// classes changes every class.
func classes(change func(*model.PodClass)) func(*model.Input) {
	return func(in *model.Input) {
		for i := range in.Snapshot.PodClasses {
			change(&in.Snapshot.PodClasses[i])
		}
	}
}

// nodes changes every node.
func nodes(change func(*model.Node)) func(*model.Input) {
	return func(in *model.Input) {
		for i := range in.Snapshot.Nodes {
			change(&in.Snapshot.Nodes[i])
		}
	}
}

// taints changes the taints of pools, nodes and claims.
func taints(change func([]model.Taint) []model.Taint) func(*model.Input) {
	return func(in *model.Input) {
		for i := range in.Snapshot.NodePools {
			in.Snapshot.NodePools[i].Taints = change(in.Snapshot.NodePools[i].Taints)
		}
		for i := range in.Snapshot.Nodes {
			in.Snapshot.Nodes[i].Taints = change(in.Snapshot.Nodes[i].Taints)
		}
		for i := range in.Snapshot.Claims {
			in.Snapshot.Claims[i].Taints = change(in.Snapshot.Claims[i].Taints)
		}
	}
}

// ask changes how much each class asks for of some resources.
func ask(change func(int64) int64, of ...model.Resource) func(*model.Input) {
	return classes(func(c *model.PodClass) {
		var out model.Amounts
		for _, a := range c.Requests {
			if slices.Contains(of, a.Resource) {
				a.Value = change(a.Value)
			}
			if a.Value > 0 {
				out = append(out, a)
			}
		}
		c.Requests = out
	})
}

func double(n int64) int64 { return 2 * n }
func half(n int64) int64   { return n / 2 }
func none(int64) int64     { return 0 }

// weaker lets pods where the scheduler does not.
func weaker() []Mutation {
	const gpu = "example.com/gpu"
	rules := []Mutation{
		{Name: "node selectors do not matter", Families: gen.Selector, Believe: classes(func(c *model.PodClass) { c.NodeSelector = nil })},
		{Name: "node affinity does not matter", Families: gen.Affinity, Believe: classes(func(c *model.PodClass) { c.NodeAffinity = nil })},
		{Name: "of a node affinity term the first requirement counts", Families: gen.Affinity, Believe: classes(func(c *model.PodClass) {
			for i := range c.NodeAffinity {
				c.NodeAffinity[i].Requirements = c.NodeAffinity[i].Requirements[:1]
			}
		})},
		{Name: "Gt is Gte and Lt is Lte", Families: gen.Affinity, Believe: classes(inclusive)},
		{Name: "taints do not matter", Families: gen.Taints, Believe: taints(func([]model.Taint) []model.Taint { return nil })},
		{Name: "NoExecute does not matter", Families: gen.Taints, Believe: taints(func(ts []model.Taint) []model.Taint {
			return slices.DeleteFunc(ts, func(t model.Taint) bool { return t.Effect == model.NoExecute })
		})},
		{Name: "a toleration tolerates any value", Families: gen.Taints, Believe: classes(func(c *model.PodClass) {
			for i := range c.Tolerations {
				c.Tolerations[i].Exists = true
			}
		})},
		{Name: "pods ask for half", Believe: ask(half, model.CPU, model.Memory)},
		{Name: "pods are not counted", Believe: ask(none, model.Pods)},
		{Name: "extended resources do not matter", Families: gen.Extended, Believe: ask(none, gpu)},
		{Name: "host ports do not matter", Families: gen.Ports, Believe: classes(func(c *model.PodClass) { c.HostPorts = nil })},
		{Name: "a host port on one address leaves all others", Families: gen.Ports, Believe: classes(func(c *model.PodClass) {
			for i := range c.HostPorts {
				c.HostPorts[i].IP = "10.0.0." + string(c.ID[len(c.ID)-1:])
			}
		})},
		{Name: "volumes can be reached from everywhere", Families: gen.Volumes, Believe: classes(func(c *model.PodClass) { c.Volumes = nil })},
		{
			Name: "any number of volumes can be attached", Families: gen.Volumes | gen.Attach | gen.Nodes,
			Believe: nodes(func(n *model.Node) { n.VolumeLimits = nil }),
		},
		{
			Name: "new nodes attach any number of volumes", Families: gen.Volumes | gen.NewAttach,
			Believe: nodes(func(n *model.Node) { n.VolumeLimits = nil }),
		},
		{Name: "nodes are empty", Families: gen.Nodes, Believe: func(in *model.Input) {
			in.Snapshot.Pods = slices.DeleteFunc(in.Snapshot.Pods, func(p model.Pod) bool { return p.Node != "" })
		}},
		{Name: "cordoned nodes take pods", Families: gen.Nodes | gen.Cordon, Believe: func(in *model.Input) {
			nodes(func(n *model.Node) { n.Unschedulable = false })(in)
			taints(func(ts []model.Taint) []model.Taint {
				return slices.DeleteFunc(ts, func(t model.Taint) bool { return t.Key == "node.kubernetes.io/unschedulable" })
			})(in)
		}},
		{Name: "claims in flight are twice as large", Families: gen.Flights, Believe: func(in *model.Input) {
			for i := range in.Snapshot.Claims {
				if c := &in.Snapshot.Claims[i]; c.Node == "" {
					c.Allocatable = model.Amounts{
						{Resource: model.CPU, Value: 16000}, {Resource: model.Memory, Value: 64 << 30}, {Resource: model.Pods, Value: 100},
					}
				}
			}
		}},
		{Name: "DaemonSets take nothing", Families: gen.Daemons, Believe: func(in *model.Input) { in.Snapshot.DaemonSets = nil }},
	}
	return want(judge.Misfit, rules)
}

func want(k judge.Kind, rules []Mutation) []Mutation {
	for i := range rules {
		rules[i].Want = k
	}
	return rules
}

func inclusive(c *model.PodClass) {
	for i := range c.NodeAffinity {
		rs := c.NodeAffinity[i].Requirements
		for j := range rs {
			switch rs[j].Operator {
			case model.Gt:
				rs[j].Operator = model.Gte
			case model.Lt:
				rs[j].Operator = model.Lte
			default:
			}
		}
	}
}

// stricter keeps pods from where the scheduler lets them.
func stricter() []Mutation {
	rules := []Mutation{
		{Name: "of alternative node affinity terms the first counts", Families: gen.Affinity, Believe: classes(func(c *model.PodClass) {
			c.NodeAffinity = c.NodeAffinity[:min(1, len(c.NodeAffinity))]
		})},
		{Name: "preferred node affinity is required", Families: gen.Preferred, Believe: classes(func(c *model.PodClass) {
			for _, p := range c.PreferredNodeAffinity {
				c.NodeAffinity = append(c.NodeAffinity, model.NodeAffinityTerm{Requirements: p.Requirements})
			}
		})},
		{Name: "tolerations do not matter", Families: gen.Taints, Believe: classes(func(c *model.PodClass) { c.Tolerations = nil })},
		{Name: "PreferNoSchedule is NoSchedule", Families: gen.Taints, Believe: taints(func(ts []model.Taint) []model.Taint {
			for i := range ts {
				ts[i].Effect = model.NoSchedule
			}
			return ts
		})},
		{Name: "pods ask for twice as much", Believe: ask(double, model.CPU, model.Memory)},
		{Name: "DaemonSets run on every node", Families: gen.Daemons, Believe: classes(func(c *model.PodClass) {
			if c.Daemon {
				c.NodeSelector, c.NodeAffinity, c.Tolerations = nil, nil, []model.Toleration{{Exists: true}}
				c.Requests = model.Amounts{{Resource: model.CPU, Value: 3000}, {Resource: model.Pods, Value: 1}}
			}
		})},
		{Name: "volumes can be reached from their first zone only", Families: gen.Volumes, Believe: classes(func(c *model.PodClass) {
			for i := range c.Volumes {
				c.Volumes[i].Terms = c.Volumes[i].Terms[:min(1, len(c.Volumes[i].Terms))]
			}
		})},
		{Name: "limits are half", Families: gen.Limits, Believe: func(in *model.Input) {
			for i := range in.Snapshot.NodePools {
				for j := range in.Snapshot.NodePools[i].Limits {
					in.Snapshot.NodePools[i].Limits[j].Value /= 2
				}
			}
		}},
		{Name: "labels that a pool leaves open are absent", Families: gen.OpenLabels | gen.Selector, Believe: func(in *model.Input) {
			for i := range in.Snapshot.NodePools {
				p := &in.Snapshot.NodePools[i]
				p.Requirements = slices.DeleteFunc(p.Requirements, func(r model.Requirement) bool { return r.Key == "team" })
			}
		}},
	}
	return want(judge.Missed, rules)
}
