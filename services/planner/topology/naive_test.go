package topology_test

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// naive is the scheduler's filter written down as plainly as can be: it counts everything anew for each question.
type naive struct {
	classes    []*view.Class
	namespaces map[string]model.Labels
	nodes      []naiveNode
	daemons    []view.Daemon
}

type naiveNode struct {
	labels map[string]string
	taints []model.Taint
	// built is false for a node that is only on offer.
	built bool
	pods  []naivePod
}

type naivePod struct {
	class  *view.Class
	ending bool
	// daemon is a DaemonSet's pod on a node to come.
	daemon bool
}

// startDaemons starts the DaemonSets' pods on a node.
func (n *naive) startDaemons(at int) {
	for _, d := range n.daemons {
		if starts(d.Class.PodClass, &n.nodes[at]) {
			n.nodes[at].pods = append(n.nodes[at].pods, naivePod{class: d.Class, daemon: true})
		}
	}
}

// startingOn are the DaemonSets' pods that a node which is only on offer would have.
func (n *naive) startingOn(node naiveNode) []naivePod {
	var out []naivePod
	for _, d := range n.daemons {
		if !node.built && starts(d.Class.PodClass, &node) {
			out = append(out, naivePod{class: d.Class, daemon: true})
		}
	}
	return out
}

// starts says whether a DaemonSet's pods run on a node.
func starts(c *model.PodClass, on *naiveNode) bool {
	fits := len(on.taints) == 0 || len(c.Tolerations) > 0
	for _, l := range c.NodeSelector {
		fits = fits && on.labels[l.Key] == l.Value
	}
	return fits
}

func (n *naive) picks(t model.PodAffinityTerm, c *view.Class) bool {
	in := slices.Contains(t.Namespaces, c.Namespace)
	if t.NamespaceSelector != nil {
		in = in || t.NamespaceSelector.Matches(n.namespaces[c.Namespace])
	}
	return in && t.Selector.Matches(c.Labels)
}

func (n *naive) picksAll(ts []model.PodAffinityTerm, c *view.Class) bool {
	return !slices.ContainsFunc(ts, func(t model.PodAffinityTerm) bool { return !n.picks(t, c) })
}

func requiredTerms(ts []model.PodAffinityTerm) []model.PodAffinityTerm {
	return slices.DeleteFunc(slices.Clone(ts), func(t model.PodAffinityTerm) bool { return t.Weight != 0 })
}

func (n *naive) allows(c *view.Class, at int, built bool) bool {
	return n.spreads(c, at, built) && n.attracts(c, at) && n.keepsAway(c, at)
}

func (n *naive) spreads(c *view.Class, at int, built bool) bool {
	var hard []model.TopologySpread
	for _, s := range c.TopologySpread {
		if s.Required {
			hard = append(hard, s)
		}
	}
	hasAll := func(node naiveNode) bool {
		return !slices.ContainsFunc(hard, func(s model.TopologySpread) bool { _, ok := node.labels[s.TopologyKey]; return !ok })
	}
	if !hasAll(n.nodes[at]) {
		return false
	}
	for _, s := range hard {
		counts, sure, offered := map[string]int{}, map[string]bool{}, map[string]int{}
		for _, node := range n.nodes {
			if !hasAll(node) || (built && !node.built) || !n.included(s, c, node) {
				continue
			}
			v, counted := node.labels[s.TopologyKey], 0
			for _, p := range slices.Concat(node.pods, n.startingOn(node)) {
				if !p.ending && p.class.Namespace == c.Namespace && s.Selector != nil && len(s.Selector.Requirements) > 0 && s.Selector.Matches(p.class.Labels) {
					counted++
				}
			}
			if node.built {
				counts[v] += counted
				sure[v] = true
				continue
			}
			if least, known := offered[v]; !known || counted < least {
				offered[v] = counted
			}
		}
		fewest := 1 << 30
		for _, x := range counts {
			fewest = min(fewest, x)
		}
		for v, x := range offered {
			if !sure[v] { // the first node of its domain
				fewest = min(fewest, x)
			}
		}
		if len(sure) < int(max(1, s.MinDomains)) {
			fewest = 0
		}
		self := 0
		if s.Selector.Matches(c.Labels) {
			self = 1
		}
		if counts[n.nodes[at].labels[s.TopologyKey]]+self-fewest > int(s.MaxSkew) {
			return false
		}
	}
	return true
}

func (n *naive) included(s model.TopologySpread, c *view.Class, node naiveNode) bool {
	for _, l := range c.NodeSelector {
		if !s.IgnoreNodeAffinity && node.labels[l.Key] != l.Value {
			return false
		}
	}
	return !s.HonorTaints || len(node.taints) == 0 || len(c.Tolerations) > 0
}

func (n *naive) attracts(c *view.Class, at int) bool {
	terms := requiredTerms(c.PodAffinity)
	if len(terms) == 0 {
		return true
	}
	anywhere, there := false, true
	for _, t := range terms {
		v, ok := n.nodes[at].labels[t.TopologyKey]
		if !ok {
			return false
		}
		found := false
		for _, node := range n.nodes {
			w, ok := node.labels[t.TopologyKey]
			for _, p := range node.pods {
				if ok && n.picksAll(terms, p.class) {
					anywhere = true
					found = found || v == w
				}
			}
		}
		there = there && found
	}
	return there || (!anywhere && n.picksAll(terms, c))
}

func (n *naive) keepsAway(c *view.Class, at int) bool {
	shares := func(node naiveNode, key string) bool {
		v, ok := node.labels[key]
		w, has := n.nodes[at].labels[key]
		return ok && has && v == w
	}
	for _, node := range n.nodes {
		for _, p := range node.pods {
			for _, t := range requiredTerms(c.PodAntiAffinity) {
				if n.picks(t, p.class) && shares(node, t.TopologyKey) {
					return false
				}
			}
			for _, t := range requiredTerms(p.class.PodAntiAffinity) {
				if n.picks(t, c) && shares(node, t.TopologyKey) {
					return false
				}
			}
		}
	}
	return true
}

func (n *naive) clone() *naive {
	out := *n
	out.nodes = slices.Clone(n.nodes)
	for i := range out.nodes {
		out.nodes[i].pods = slices.Clone(out.nodes[i].pods)
	}
	return &out
}
