package judge

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

// labelled are the nodes that an offering under a pool may become: one for each choice of the labels that the pool leaves
// open, among the values that the pool lists or a pod's class asks for. None where the pool or its images do not allow it.
func (t *trial) labelled(p *model.NodePool, class *model.NodeClass, o *model.Offering, c *model.PodClass) []option {
	fixed := gen.NodeLabels(p, t.instanceType(o.InstanceType).Labels, o.Zone, o.CapacityType)
	choices := []model.Labels{nil}
	seen := make(map[string]bool)
	for _, r := range p.Requirements {
		if _, decided := fixed.Get(r.Key); decided {
			if !holds(p.Requirements, r.Key, fixed) {
				return nil
			}
			continue
		}
		if seen[r.Key] {
			continue
		}
		seen[r.Key] = true
		var next []model.Labels
		for _, ls := range choices {
			for _, v := range values(p, c, r.Key) {
				next = append(next, gen.With(ls, r.Key, v))
			}
			if holds(p.Requirements, r.Key, nil) {
				next = append(next, ls)
			}
		}
		choices = next
	}
	boots := func(im model.MachineImage) bool {
		return !slices.ContainsFunc(im.Requirements, func(r model.Requirement) bool { return !matches(r, fixed) })
	}
	if !slices.ContainsFunc(class.Images, boots) {
		return nil
	}
	out := make([]option, 0, len(choices))
	for _, ls := range choices {
		name := fmt.Sprintf("a new %s/%s/%s of %s %v", o.InstanceType, o.Zone, o.CapacityType, p.Name, ls)
		out = append(out, option{name: name, pool: p, offering: o, labels: ls})
	}
	return out
}

// values are those of a label that a pool allows, among those that anybody names.
func values(p *model.NodePool, c *model.PodClass, key string) []string {
	var named []string
	name := func(rs []model.Requirement) {
		for _, r := range rs {
			if r.Key == key && r.Operator == model.In {
				named = append(named, r.Values...)
			}
		}
	}
	name(p.Requirements)
	for _, t := range c.NodeAffinity {
		name(t.Requirements)
	}
	if v, ok := c.NodeSelector.Get(key); ok {
		named = append(named, v)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	return slices.DeleteFunc(named, func(v string) bool { return !holds(p.Requirements, key, model.Labels{{Key: key, Value: v}}) })
}

// holds says whether all requirements on a key hold for labels.
func holds(rs []model.Requirement, key string, labels model.Labels) bool {
	return !slices.ContainsFunc(rs, func(r model.Requirement) bool { return r.Key == key && !matches(r, labels) })
}

// matches is the meaning of the operators.
func matches(r model.Requirement, labels model.Labels) bool {
	v, ok := labels.Get(r.Key)
	switch r.Operator {
	case model.In:
		return ok && slices.Contains(r.Values, v)
	case model.NotIn:
		return !ok || !slices.Contains(r.Values, v)
	case model.Exists:
		return ok
	case model.DoesNotExist:
		return !ok
	case model.Gt, model.Gte, model.Lt, model.Lte:
	}
	n, err := strconv.Atoi(v)
	bound, err2 := strconv.Atoi(r.Values[0])
	if !ok || err != nil || err2 != nil {
		return false
	}
	switch r.Operator {
	case model.Gt:
		return n > bound
	case model.Gte:
		return n >= bound
	case model.Lt:
		return n < bound
	default:
		return n <= bound
	}
}
