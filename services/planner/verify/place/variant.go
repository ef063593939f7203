package place

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// Variant is what a node is, or one of those that it may become.
type Variant struct {
	Name string
	// Offering is what makes it; zero for a node that is there.
	Offering model.RankedOffering
	// number tells those apart that new claims may become, from 1 on; 0 for others.
	number int
	// labels are those whose value is decided. open are labels that the node will have with a value that is in the
	// requirement; none of them may be absent, and none is in labels. All other labels are absent.
	labels      map[string]string
	open        map[string]require.Requirement
	allocatable model.Amounts
}

// certainty is whether something is true of a node that is not decided yet.
type certainty int

const (
	never certainty = iota
	maybe
	surely
)

// Meets says whether a requirement holds whatever the variant's labels become.
func (v *Variant) Meets(r require.Requirement) bool { return v.meets(&r) == surely }

func (v *Variant) meets(r *require.Requirement) certainty {
	value, decided := v.labels[r.Key]
	open, undecided := v.open[r.Key]
	if decided || !undecided {
		if r.Matches(value, decided) {
			return surely
		}
		return never
	}
	switch {
	case !open.Empty() && open.SubsetOf(*r):
		return surely
	case open.Intersect(*r).Empty():
		return never
	default:
		return maybe
	}
}

// Values lists what a label may be; listed is false when it may be more than can be listed, and present says whether the
// node has the label at all.
func (v *Variant) Values(key string) (values []string, listed, present bool) {
	if value, decided := v.labels[key]; decided {
		return []string{value}, true, true
	}
	open, undecided := v.open[key]
	if !undecided {
		return nil, true, false
	}
	values, listed = open.Values()
	if !listed {
		return nil, false, true
	}
	return values, true, len(values) > 0
}

// terms are alternatives, each of which is a list of requirements that must all hold. No term without requirements holds.
type terms [][]require.Requirement

func newTerms(from []model.NodeAffinityTerm) terms {
	out := make(terms, len(from))
	for i, t := range from {
		for _, r := range t.Requirements {
			out[i] = append(out[i], require.New(r))
		}
	}
	return out
}

// met is how certain it is that one of the terms holds; no term at all asks for nothing.
func (ts terms) met(v *Variant) certainty {
	if len(ts) == 0 {
		return surely
	}
	best := never
	for _, t := range ts {
		if len(t) > 0 {
			best = max(best, metAll(t, v))
		}
	}
	return best
}

func metAll(all []require.Requirement, v *Variant) certainty {
	least := surely
	for i := range all {
		least = min(least, v.meets(&all[i]))
	}
	return least
}

// nodeRules is what pods of a class ask of the node that they run on, read once.
type nodeRules struct {
	class    *model.PodClass
	selector []require.Requirement // one for each label of the class's node selector, in its order
	affinity terms
	// reach are where its volumes and the devices that it has been given can be reached from.
	reach []reachable
}

type reachable struct {
	what  string
	terms terms
}

func newNodeRules(class *model.PodClass) *nodeRules {
	r := &nodeRules{class: class, affinity: newTerms(class.NodeAffinity)}
	for _, l := range class.NodeSelector {
		r.selector = append(r.selector, require.Value(labels.Normal(l.Key), l.Value))
	}
	for _, v := range class.Volumes {
		r.reach = append(r.reach, reachable{"its volume " + v.Name, newTerms(v.Terms)})
	}
	for _, d := range class.DeviceClaims {
		if d.Allocated {
			r.reach = append(r.reach, reachable{"the devices of its claim " + d.Name, newTerms(d.Terms)})
		}
	}
	return r
}

// admits is how certain it is that the node selector and the required node affinity are met (NodeAffinity).
func (r *nodeRules) admits(v *Variant) certainty {
	return min(metAll(r.selector, v), r.affinity.met(v))
}

// tolerates finds a taint that keeps pods of the class away (TaintToleration); ok is true when there is none.
func (r *nodeRules) tolerates(taints []model.Taint) (against model.Taint, ok bool) {
	for _, t := range taints {
		tolerated := slices.ContainsFunc(r.class.Tolerations, func(tol model.Toleration) bool { return tol.Tolerates(t) })
		if t.Effect != model.PreferNoSchedule && !tolerated {
			return t, false
		}
	}
	return model.Taint{}, true
}

// start is how certain it is that a DaemonSet's pods of the class start on a node, and do not stay pending there.
func (r *nodeRules) start(taints []model.Taint, v *Variant) certainty {
	if _, ok := r.tolerates(taints); !ok {
		return never
	}
	out := r.admits(v)
	for _, x := range r.reach {
		out = min(out, x.terms.met(v))
	}
	return out
}

// refuses says what a variant does not meet for sure; "" when it meets all.
func (r *nodeRules) refuses(taints []model.Taint, v *Variant) string {
	if t, ok := r.tolerates(taints); !ok {
		return "does not tolerate the taint " + t.String()
	}
	for i, l := range r.class.NodeSelector {
		if v.meets(&r.selector[i]) != surely {
			return "its node selector " + l.Key + "=" + l.Value + " is not met"
		}
	}
	if r.affinity.met(v) != surely {
		return "no term of its required node affinity is met"
	}
	for _, x := range r.reach {
		if x.terms.met(v) != surely {
			return x.what + " can't be reached"
		}
	}
	return ""
}
