// Package neighbours says whether the pods around allow a pod to run on a node: what kube-scheduler filters by in its
// plugins PodTopologySpread and InterPodAffinity. The actuator asks before it binds a pod itself.
//
// It must never know an API server, and it decides about one pod at a time, as the scheduler does. test/differential
// compares it with the scheduler's own code. Start reading at Cluster.Allows; rules.go reads what a pod asks for.
package neighbours

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Cluster is which pods run where. It belongs to one goroutine.
type Cluster struct {
	nodes map[string]*corev1.Node
	pods  []placed
	// domains and tallies are what was asked for so far, by what they depend on.
	domains map[string]map[string]string
	tallies map[string]*tally
	// repelling counts the owners of each anti-affinity term that a pod here has; terms remembers those of an affinity.
	repelling map[string]*repelling
	terms     map[*corev1.Affinity][]*repelling
}

type placed struct {
	pod  *corev1.Pod
	node string
}

// tally counts pods by the domains of a topology key.
type tally struct {
	count
	// at has the domain of each node that counts; of has the pods of each domain, also where there are none.
	at map[string]string
	of map[string]int
	// fewest is the least of them, where it is known.
	fewest int
	known  bool
}

type repelling struct {
	term term
	of   map[string]int
}

// New takes nodes, and pods with the names of the nodes that they run on. Pods that have ended don't belong there. Pods
// on other nodes are not counted, as the scheduler doesn't.
func New(nodes []*corev1.Node, pods iter.Seq2[*corev1.Pod, string]) *Cluster {
	c := &Cluster{
		nodes: make(map[string]*corev1.Node, len(nodes)), domains: map[string]map[string]string{}, tallies: map[string]*tally{},
		repelling: map[string]*repelling{}, terms: map[*corev1.Affinity][]*repelling{},
	}
	for _, n := range nodes {
		c.nodes[n.Name] = n
	}
	for p, node := range pods {
		c.Add(p, node)
	}
	return c
}

// Add lets a pod run on a node.
func (c *Cluster) Add(p *corev1.Pod, node string) {
	n := c.nodes[node]
	if n == nil {
		return
	}
	c.pods = append(c.pods, placed{p, node})
	for _, t := range c.tallies {
		t.add(p, node)
	}
	for _, r := range c.repels(p) {
		if v, ok := n.Labels[r.term.key]; ok {
			r.of[v]++
		}
	}
}

func (t *tally) add(p *corev1.Pod, node string) {
	if domain, counts := t.at[node]; counts && t.pods(p) {
		t.of[domain]++
		t.known = false
	}
}

func (t *tally) least() int {
	if t.known {
		return t.fewest
	}
	t.fewest, t.known = 0, true
	first := true
	for _, n := range t.of {
		if first || n < t.fewest {
			t.fewest, first = n, false
		}
	}
	return t.fewest
}

// repels are the terms by which a pod keeps others away. Pods that share an affinity are read once. What can't be read, the
// scheduler can't read either: such a pod has no node.
func (c *Cluster) repels(p *corev1.Pod) []*repelling {
	a := p.Spec.Affinity
	if a == nil || a.PodAntiAffinity == nil {
		return nil
	}
	if list, known := c.terms[a]; known {
		return list
	}
	var list []*repelling
	for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		t, err := readTerm(p, &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
		if err != nil {
			continue
		}
		if c.repelling[t.id] == nil {
			c.repelling[t.id] = &repelling{term: t, of: map[string]int{}}
		}
		list = append(list, c.repelling[t.id])
	}
	c.terms[a] = list
	return list
}

// tally counts what is asked for, once.
func (c *Cluster) tally(x count) *tally {
	if t := c.tallies[x.id]; t != nil {
		return t
	}
	t := &tally{count: x, at: c.domains[x.where], of: map[string]int{}}
	if t.at == nil {
		t.at = make(map[string]string, len(c.nodes))
		for name, n := range c.nodes {
			if domain, has := n.Labels[x.key]; has && x.nodes(n) {
				t.at[name] = domain
			}
		}
		c.domains[x.where] = t.at
	}
	for _, domain := range t.at {
		t.of[domain] += 0
	}
	for _, p := range c.pods {
		t.add(p.pod, p.node)
	}
	c.tallies[x.id] = t
	return t
}

// Allows says whether the pods that run now let the pod run on a node.
func (c *Cluster) Allows(r *Rules, node string) bool {
	n := c.nodes[node]
	return n != nil && c.spread(r, n) && c.near(r, n) && c.apart(r, n)
}

func (c *Cluster) spread(r *Rules, n *corev1.Node) bool {
	for _, s := range r.spread {
		domain, has := n.Labels[s.key]
		if !has {
			return false
		}
		t, least := c.tally(s.count), 0
		if len(t.of) >= s.minDomains {
			least = t.least()
		}
		if t.of[domain]+s.self-least > s.maxSkew {
			return false
		}
	}
	return true
}

// near is about required affinity. The first of a group that is to be together may go anywhere.
func (c *Cluster) near(r *Rules, n *corev1.Node) bool {
	all, some := true, false
	for _, x := range r.near {
		domain, has := n.Labels[x.key]
		if !has {
			return false
		}
		t := c.tally(x)
		all = all && t.of[domain] > 0
		for _, n := range t.of {
			some = some || n > 0
		}
	}
	return all || !some && r.selfAffine
}

func (c *Cluster) apart(r *Rules, n *corev1.Node) bool {
	for _, x := range r.apart {
		if domain, has := n.Labels[x.key]; has && c.tally(x).of[domain] > 0 {
			return false
		}
	}
	for _, x := range c.repelling {
		if domain, has := n.Labels[x.term.key]; has && x.of[domain] > 0 && x.term.mayMean(r.pod) {
			return false
		}
	}
	return true
}
