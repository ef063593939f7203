package verify

import (
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/model"
)

// shape is what a node is, or one of those that it may become.
type shape struct {
	name string
	// number tells those apart that new claims may become; 0 for others.
	number int
	// offering is what makes it; zero for a node that is there.
	offering model.RankedOffering
	labels   map[string]string
	// open are labels that are only known to satisfy these requirements.
	open        map[string][]model.Requirement
	allocatable model.Amounts
}

// state is what a label may be: a value, or absent.
type state struct {
	value   string
	present bool
}

// states lists what a label may be on the shape; ok is false when it may be more than can be listed.
func (s *shape) states(key string) (all []state, ok bool) {
	if v, found := s.labels[key]; found {
		return []state{{v, true}}, true
	}
	open := s.open[key]
	if len(open) == 0 {
		return []state{{}}, true
	}
	for _, r := range open {
		if r.Operator != model.In {
			continue
		}
		for _, v := range r.Values {
			if allHold(open, state{v, true}) {
				all = append(all, state{v, true})
			}
		}
		return all, true
	}
	return nil, false
}

// surely says whether a requirement holds whatever the label becomes.
func (s *shape) surely(r model.Requirement) bool {
	all, ok := s.states(normalKey(r.Key))
	if !ok {
		// Endless many values: only what is asked for in the same words, or mere existence, is sure.
		return r.Operator == model.Exists || slices.ContainsFunc(s.open[normalKey(r.Key)], func(o model.Requirement) bool {
			return o.Operator == r.Operator && slices.Equal(o.Values, r.Values)
		})
	}
	for _, st := range all {
		if !holds(r, st) {
			return false
		}
	}
	return len(all) > 0
}

// maybe says whether a requirement can hold.
func (s *shape) maybe(r model.Requirement) bool {
	all, ok := s.states(normalKey(r.Key))
	if !ok {
		return r.Operator != model.DoesNotExist
	}
	return slices.ContainsFunc(all, func(st state) bool { return holds(r, st) })
}

func allHold(rs []model.Requirement, st state) bool {
	for _, r := range rs {
		if !holds(r, st) {
			return false
		}
	}
	return true
}

// holds is the meaning of the eight operators.
func holds(r model.Requirement, st state) bool {
	listed := st.present && slices.Contains(r.Values, st.value)
	switch r.Operator {
	case model.In:
		return listed
	case model.NotIn:
		return !listed
	case model.Exists:
		return st.present
	case model.DoesNotExist:
		return !st.present
	case model.Gt, model.Gte, model.Lt, model.Lte:
		return st.present && len(r.Values) == 1 && compares(r.Operator, st.value, r.Values[0])
	}
	return false
}

func compares(op model.Operator, value, bound string) bool {
	v, errV := strconv.ParseInt(value, 10, 64)
	b, errB := strconv.ParseInt(bound, 10, 64)
	if errV != nil || errB != nil {
		return false
	}
	switch op {
	case model.Gt:
		return v > b
	case model.Gte:
		return v >= b
	case model.Lt:
		return v < b
	default:
		return v <= b
	}
}

// normalKey is today's name of a label.
func normalKey(key string) string {
	switch key {
	case "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone":
		return "topology.kubernetes.io/zone"
	case "failure-domain.beta.kubernetes.io/region":
		return "topology.kubernetes.io/region"
	case "beta.kubernetes.io/arch":
		return "kubernetes.io/arch"
	case "beta.kubernetes.io/os":
		return "kubernetes.io/os"
	case "beta.kubernetes.io/instance-type":
		return "node.kubernetes.io/instance-type"
	}
	return key
}

// refuses says which of a class's wishes on labels and taints a shape does not meet for sure; "" when it meets all.
func refuses(class *model.PodClass, taints []model.Taint, s *shape) string {
	if t, ok := untolerated(class, taints); ok {
		return "does not tolerate the taint " + t.String()
	}
	for _, l := range class.NodeSelector {
		if !s.surely(model.Requirement{Key: l.Key, Operator: model.In, Values: []string{l.Value}}) {
			return "its node selector " + l.Key + "=" + l.Value + " is not met"
		}
	}
	if len(class.NodeAffinity) > 0 && !anyTerm(class.NodeAffinity, s.surely) {
		return "no term of its required node affinity is met"
	}
	for _, v := range class.Volumes {
		if len(v.Terms) > 0 && !anyTerm(v.Terms, s.surely) {
			return "its volume " + v.Name + " can't be reached"
		}
	}
	for _, d := range class.DeviceClaims {
		if d.Allocated && len(d.Terms) > 0 && !anyTerm(d.Terms, s.surely) {
			return "the devices of its claim " + d.Name + " can't be reached"
		}
	}
	return ""
}

// mayAdmit says whether pods of a DaemonSet may turn up on the shape.
func mayAdmit(class *model.PodClass, taints []model.Taint, s *shape) bool {
	if _, bad := untolerated(class, taints); bad {
		return false
	}
	return asks(class, s.maybe)
}

// asks says whether all that a class asks of a node's labels holds.
func asks(class *model.PodClass, holds func(model.Requirement) bool) bool {
	for _, l := range class.NodeSelector {
		if !holds(model.Requirement{Key: l.Key, Operator: model.In, Values: []string{l.Value}}) {
			return false
		}
	}
	return len(class.NodeAffinity) == 0 || anyTerm(class.NodeAffinity, holds)
}

func anyTerm(terms []model.NodeAffinityTerm, holds func(model.Requirement) bool) bool {
	for _, t := range terms {
		met := len(t.Requirements) > 0 // a term without requirements matches no node
		for _, r := range t.Requirements {
			met = met && holds(r)
		}
		if met {
			return true
		}
	}
	return false
}

// untolerated finds a taint that keeps pods of the class away.
func untolerated(class *model.PodClass, taints []model.Taint) (model.Taint, bool) {
	for _, t := range taints {
		if t.Effect == model.PreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(class.Tolerations, func(tol model.Toleration) bool { return tol.Tolerates(t) }) {
			return t, true
		}
	}
	return model.Taint{}, false
}
