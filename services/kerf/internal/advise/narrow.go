package advise

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// mostValues is how many values a change names; a rule that would need more is better dropped.
const mostValues = 6

// allow is the change that adds to a pool's rules on a label the values that a plan without these rules buys; nil when it
// buys none that was not allowed, so that the plan is another for some other reason.
func (f *facts) allow(p *model.NodePool, a aspect, group string, with model.Plan) *candidate {
	now, _ := require.NewSet(p.Requirements...).Get(a.key)
	values := slices.DeleteFunc(f.bought(p, a, with), now.Contains)
	if len(values) == 0 {
		return nil
	}
	reqs, ok := adding(p.Requirements, a, values)
	if !ok || len(values) > mostValues {
		return &candidate{} // as wide as it was
	}
	what := list(values)
	if a.noun != "" {
		what = a.noun + " " + what
	}
	return &candidate{
		Advice: ofPool(p, "allow "+what, fieldRequirements), group: group,
		apply: editPool(p.Name, func(q *model.NodePool) { q.Requirements = reqs }),
	}
}

// bought is which values of a label the claims of a pool have in a plan, sorted.
func (f *facts) bought(p *model.NodePool, a aspect, with model.Plan) []string {
	types := f.shapes(p)
	seen := make(map[string]bool)
	for i := range with.NodeClaims {
		c := &with.NodeClaims[i]
		if c.NodePool != p.Name || len(c.Offerings) == 0 {
			continue
		}
		best := c.Offerings[0]
		value := ""
		switch a.key {
		case labels.InstanceType:
			value = string(best.InstanceType)
		case labels.Zone:
			value = best.Zone
		case labels.CapacityType:
			value = best.CapacityType.String()
		default:
			if t := types[best.InstanceType]; t != nil {
				value, _ = t.Labels.Get(a.key)
			}
		}
		if value != "" {
			seen[value] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// adding is the requirements with values allowed that they exclude; false when they exclude them by a bound.
func adding(reqs []model.Requirement, a aspect, values []string) ([]model.Requirement, bool) {
	var out []model.Requirement
	for _, r := range reqs {
		if !a.rules(r) {
			out = append(out, r)
			continue
		}
		switch r.Operator {
		case model.In:
			r.Values = slices.Concat(r.Values, values)
			slices.Sort(r.Values)
			r.Values = slices.Compact(r.Values)
		case model.NotIn:
			r.Values = slices.DeleteFunc(slices.Clone(r.Values), func(v string) bool { return slices.Contains(values, v) })
			if len(r.Values) == 0 {
				r.Operator = model.Exists
			}
		case model.Exists:
		default:
			return nil, false
		}
		out = append(out, r)
	}
	return out, true
}

// caution is what to make sure of before asking for a plan: what it buys that the plan without the change does not.
func (f *facts) caution(with model.Plan) string {
	now, then := f.traits(f.base), f.traits(with)
	var out []string
	for _, t := range []struct {
		trait, words string
		usual        bool // what everybody has, where nothing says otherwise
	}{
		{"arm64", "the pods' images must be built for arm64", false},
		{"amd64", "the pods' images must be built for amd64", !now["arm64"]},
		{model.Spot.String(), "the pods must tolerate that AWS takes nodes back, two minutes after it says so", false},
		{"t", "the CPU of t types is burstable", false},
	} {
		if then[t.trait] && !now[t.trait] && !t.usual {
			out = append(out, t.words)
		}
	}
	return strings.Join(out, "; ")
}

// traits are the architectures, categories and capacity types of a plan's claims.
func (f *facts) traits(p model.Plan) map[string]bool {
	out := make(map[string]bool)
	for i := range p.NodeClaims {
		c := &p.NodeClaims[i]
		pool := f.pool(c.NodePool)
		if pool == nil || len(c.Offerings) == 0 {
			continue
		}
		best := c.Offerings[0]
		out[best.CapacityType.String()] = true
		if t := f.shapes(pool)[best.InstanceType]; t != nil {
			arch, _ := t.Labels.Get(labels.Arch)
			category, _ := t.Labels.Get(labels.InstanceCategory)
			out[arch], out[category] = true, true
		}
	}
	return out
}

// usage is what counts against a pool's limits once a plan is carried out, nodes that are removed included: they count
// until they are gone.
func (f *facts) usage(p *model.NodePool, with model.Plan) map[model.Resource]int64 {
	used := make(map[model.Resource]int64)
	types := f.shapes(p)
	count := func(capacity model.Amounts) {
		used[model.Nodes]++
		for _, a := range capacity {
			used[a.Resource] += a.Value
		}
	}
	for i := range f.in.Snapshot.Claims {
		c := &f.in.Snapshot.Claims[i]
		switch t := types[c.InstanceType]; {
		case c.NodePool != p.Name || !c.Live():
		case len(c.Capacity) > 0:
			count(c.Capacity)
		case t != nil:
			count(t.Capacity)
		}
	}
	for i := range with.NodeClaims {
		c := &with.NodeClaims[i]
		if c.NodePool == p.Name && len(c.Offerings) > 0 && types[c.Offerings[0].InstanceType] != nil {
			count(types[c.Offerings[0].InstanceType].Capacity)
		}
	}
	return used
}

// raise is the change that raises a pool's limits to what a plan without them needs; nil when it needs no more.
func (f *facts) raise(p *model.NodePool, group string, with model.Plan) *candidate {
	used := f.usage(p, with)
	limits := slices.Clone(p.Limits)
	var words []string
	for i, l := range limits {
		if need := roundUp(l.Resource, used[l.Resource]); need > l.Value {
			limits[i].Value = need
			words = append(words, fmt.Sprintf("%s from %s to %s", l.Resource, quantity(l.Resource, l.Value), quantity(l.Resource, need)))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return &candidate{
		Advice: ofPool(p, "raise the limit of "+list(words), fieldLimits), group: group,
		apply: editPool(p.Name, func(q *model.NodePool) { q.Limits = limits }),
	}
}

// roundUp makes a limit a number that people write: whole CPUs, whole GiB.
func roundUp(r model.Resource, v int64) int64 {
	unit := int64(1)
	switch {
	case r == model.CPU:
		unit = 1000
	case r == model.Memory:
		unit = gibi
	}
	return (v + unit - 1) / unit * unit
}
