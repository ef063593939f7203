package neighbours

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	kerflabels "github.com/kerf-dev/kerf/services/core/labels"
)

// Rules are what a pod asks of the pods around it, as far as it must be so.
type Rules struct {
	pod    *corev1.Pod
	spread []spread
	// near has a count for each term of required affinity, of the pods that all terms mean; selfAffine says that these
	// mean the pod itself.
	near       []count
	selfAffine bool
	apart      []count
}

// count is what is counted: pods on nodes, by the domains of a topology key. What has the same id counts the same; what
// has the same where counts on the same nodes, by the same key.
type count struct {
	id, where, key string
	nodes          func(*corev1.Node) bool
	pods           func(*corev1.Pod) bool
}

// spread is a hard topology spread constraint; self is 1 where the pod itself is counted.
type spread struct {
	count
	maxSkew, minDomains, self int
}

// Read reads a pod's rules. It returns false where they can't be decided by pods and nodes alone: namespaces that are
// selected by their labels.
func Read(p *corev1.Pod) (*Rules, bool) {
	r := &Rules{pod: p}
	if err := r.readSpread(p); err != nil {
		return nil, false
	}
	a := p.Spec.Affinity
	if a == nil {
		return r, true
	}
	if a.PodAffinity != nil {
		terms, ok := readTerms(p, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		if !ok {
			return nil, false
		}
		r.selfAffine = all(terms, p)
		var ids []string
		for _, t := range terms {
			ids = append(ids, t.id)
		}
		for _, t := range terms {
			r.near = append(r.near, t.count(text(ids), func(x *corev1.Pod) bool { return all(terms, x) }))
		}
	}
	if a.PodAntiAffinity != nil {
		terms, ok := readTerms(p, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		if !ok {
			return nil, false
		}
		for _, t := range terms {
			r.apart = append(r.apart, t.count(t.id, t.means))
		}
	}
	return r, true
}

func (r *Rules) readSpread(p *corev1.Pod) error {
	var hard []*corev1.TopologySpreadConstraint
	var keys []string
	for i := range p.Spec.TopologySpreadConstraints {
		if c := &p.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.DoNotSchedule {
			hard, keys = append(hard, c), append(keys, c.TopologyKey)
		}
	}
	for _, c := range hard {
		selector, err := spreadSelector(p, c)
		if err != nil {
			return err
		}
		s := spread{maxSkew: int(c.MaxSkew), minDomains: 1}
		if c.MinDomains != nil {
			s.minDomains = int(*c.MinDomains)
		}
		if selector.Matches(labels.Set(p.Labels)) {
			s.self = 1
		}
		s.count = count{
			key: c.TopologyKey, nodes: included(p, c, keys),
			pods: func(x *corev1.Pod) bool { // a selector that is empty counts none, though it means the pod itself
				return x.Namespace == p.Namespace && x.DeletionTimestamp == nil && !selector.Empty() && selector.Matches(labels.Set(x.Labels))
			},
		}
		s.where = text(c.TopologyKey, keys, c.NodeAffinityPolicy, c.NodeTaintsPolicy)
		if honours(c.NodeAffinityPolicy, true) {
			s.where += text(p.Spec.NodeSelector, nodeAffinity(p))
		}
		if honours(c.NodeTaintsPolicy, false) {
			s.where += text(p.Spec.Tolerations)
		}
		s.id = text("spread", p.Namespace, selector.String(), selector.Empty(), s.where)
		r.spread = append(r.spread, s)
	}
	return nil
}

// spreadSelector is a constraint's selector, with the pod's own values of matchLabelKeys.
func spreadSelector(p *corev1.Pod, c *corev1.TopologySpreadConstraint) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		return nil, err
	}
	for _, key := range c.MatchLabelKeys {
		if value, has := p.Labels[key]; has {
			r, err := labels.NewRequirement(key, selection.Equals, []string{value})
			if err != nil {
				return nil, err
			}
			selector = selector.Add(*r)
		}
	}
	return selector, nil
}

func honours(p *corev1.NodeInclusionPolicy, byDefault bool) bool {
	if p == nil {
		return byDefault
	}
	return *p == corev1.NodeInclusionPolicyHonor
}

func nodeAffinity(p *corev1.Pod) *corev1.NodeSelector {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// included says which nodes a constraint looks at: those with the labels of all hard constraints, that its policies let in.
// Kerf's own taint, which is about to go, keeps no node out.
func included(p *corev1.Pod, c *corev1.TopologySpreadConstraint, keys []string) func(*corev1.Node) bool {
	affinity := nodeaffinity.GetRequiredNodeAffinity(p)
	return func(n *corev1.Node) bool {
		if slices.ContainsFunc(keys, func(key string) bool { _, has := n.Labels[key]; return !has }) {
			return false
		}
		if honours(c.NodeAffinityPolicy, true) {
			if ok, err := affinity.Match(n); err != nil || !ok {
				return false
			}
		}
		return !honours(c.NodeTaintsPolicy, false) || Tolerates(p, n)
	}
}

// Tolerates says whether a node's taints let a pod stay there. Kerf's own taint on nodes that start does not count.
func Tolerates(p *corev1.Pod, n *corev1.Node) bool {
	_, refused := schedulinghelper.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != kerflabels.TaintUnregistered
	}, false)
	return !refused
}

// term is a term of required affinity or anti-affinity.
type term struct {
	id, key    string
	namespaces []string
	selector   labels.Selector
	// everywhere says that pods of all namespaces are meant; somewhere, that the labels of namespaces decide, which are
	// not known.
	everywhere, somewhere bool
}

func readTerms(p *corev1.Pod, list []corev1.PodAffinityTerm) ([]term, bool) {
	var out []term
	for i := range list {
		t, err := readTerm(p, &list[i])
		if err != nil || t.somewhere {
			return nil, false
		}
		out = append(out, t)
	}
	return out, true
}

// readTerm reads a term of a pod. The API server has merged its matchLabelKeys into the selector.
func readTerm(p *corev1.Pod, t *corev1.PodAffinityTerm) (term, error) {
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return term{}, err
	}
	out := term{key: t.TopologyKey, namespaces: t.Namespaces, selector: selector}
	if n := t.NamespaceSelector; n != nil {
		out.everywhere = len(n.MatchLabels)+len(n.MatchExpressions) == 0
		out.somewhere = !out.everywhere
	} else if len(out.namespaces) == 0 {
		out.namespaces = []string{p.Namespace}
	}
	out.id = text(out.key, out.namespaces, selector.String(), selector.Empty(), t.NamespaceSelector)
	return out, nil
}

// means says whether a term means a pod for sure, mayMean whether it may.
func (t term) means(p *corev1.Pod) bool {
	return (t.everywhere || slices.Contains(t.namespaces, p.Namespace)) && t.selector.Matches(labels.Set(p.Labels))
}

func (t term) mayMean(p *corev1.Pod) bool {
	return t.means(p) || t.somewhere && t.selector.Matches(labels.Set(p.Labels))
}

func all(terms []term, p *corev1.Pod) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t term) bool { return !t.means(p) })
}

// count counts pods by the term's topology key.
func (t term) count(id string, pods func(*corev1.Pod) bool) count {
	return count{id: text("term", t.key, id), where: text(t.key), key: t.key, nodes: func(*corev1.Node) bool { return true }, pods: pods}
}

// text is equal for equal values.
func text(parts ...any) string {
	b, err := json.Marshal(parts)
	if err != nil {
		return fmt.Sprint(parts...) // what an API server gave can be written
	}
	return string(b)
}
