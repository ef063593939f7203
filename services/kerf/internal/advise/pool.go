package advise

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// Where in a pool the rules are.
const (
	fieldRequirements = "spec.template.spec.requirements"
	fieldLimits       = "spec.limits"
)

// aspect is a label by which pools choose what they buy.
type aspect struct {
	key string
	// noun is what one value of it is called: "family m6a"; "" where the value says it all: "arm64".
	noun string
	// shape marks what describes instance types: such rules are alternatives to one another.
	shape bool
}

// aspects are the labels on which pools' rules are tried, those first that tend to save most.
func aspects() []aspect {
	return []aspect{
		{labels.Arch, "", false},
		{labels.CapacityType, "", false},
		{labels.InstanceType, "", true},
		{labels.InstanceFamily, "family", true},
		{labels.InstanceCategory, "category", true},
		{labels.InstanceSize, "size", true},
		{labels.InstanceGeneration, "generation", true},
		{labels.Zone, "zone", false},
		{labels.InstanceCPU, "CPU count", true},
		{labels.InstanceMemory, "memory size", true},
		{labels.InstanceCPUManufacturer, "CPU manufacturer", true},
		{labels.InstanceHypervisor, "hypervisor", true},
	}
}

// poolCandidates are changes of pools: those of pools that turned pods away first, then of those that cost most.
func (f *facts) poolCandidates() []candidate {
	var pools []*model.NodePool
	for i := range f.in.Snapshot.NodePools {
		if p := &f.in.Snapshot.NodePools[i]; p.Replicas == nil && p.NotReady.OK() {
			pools = append(pools, p)
		}
	}
	slices.SortStableFunc(pools, func(a, b *model.NodePool) int {
		return cmp.Or(-compareBool(len(f.misses[a.Name]) > 0, len(f.misses[b.Name]) > 0),
			cmp.Compare(f.spend[b.Name], f.spend[a.Name]), cmp.Compare(a.Name, b.Name))
	})
	var out []candidate
	for _, p := range pools {
		out = append(out, f.ofPool(p)...)
	}
	return out
}

func (f *facts) ofPool(p *model.NodePool) []candidate {
	var out []candidate
	if limits := f.raiseLimits(p); limits != nil {
		out = append(out, *limits)
	}
	if c := dropMinValues(p); c != nil {
		out = append(out, *c)
	}
	alike := f.alike(p)
	var shapes []aspect
	for _, a := range aspects() {
		if !slices.ContainsFunc(p.Requirements, a.rules) {
			continue
		}
		if a.shape {
			shapes = append(shapes, a)
			if len(alike) > 0 {
				out = append(out, f.widen(p, a, alike))
			}
		}
		out = append(out, f.widen(p, a, nil))
	}
	if len(shapes) > 1 {
		if len(alike) > 0 {
			out = append(out, f.anyShape(p, shapes, alike))
		}
		out = append(out, f.anyShape(p, shapes, nil))
	}
	return out
}

// alike are rules that keep a pool to what its pods are used to when others are dropped: its architectures, and CPUs that
// are not burstable unless it has such. It is empty for a pool that allows all of them.
func (f *facts) alike(p *model.NodePool) []model.Requirement {
	rules := require.NewSet(p.Requirements...)
	here, there := map[string]bool{}, map[string]bool{}
	var tHere, tThere bool
	for _, t := range f.shapes(p) {
		arch, _ := t.Labels.Get(labels.Arch)
		there[arch], tThere = true, tThere || burstable(t)
		if allows(rules, t.Labels) {
			here[arch], tHere = true, tHere || burstable(t)
		}
	}
	var out []model.Requirement
	if len(here) > 0 && len(here) < len(there) {
		out = append(out, model.Requirement{Key: labels.Arch, Operator: model.In, Values: slices.Sorted(maps.Keys(here))})
	}
	if tThere && !tHere {
		out = append(out, model.Requirement{Key: labels.InstanceCategory, Operator: model.NotIn, Values: []string{"t"}})
	}
	return out
}

// burstable says whether a type has CPU credits: those of category t.
func burstable(t *model.InstanceType) bool {
	c, _ := t.Labels.Get(labels.InstanceCategory)
	return c == "t"
}

// rules says whether a requirement is on the aspect.
func (a aspect) rules(r model.Requirement) bool { return labels.Normal(r.Key) == a.key }

// editPool is a change of one pool, made to a copy of the list.
func editPool(name model.PoolName, edit func(*model.NodePool)) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		s.NodePools = slices.Clone(s.NodePools)
		for i := range s.NodePools {
			if s.NodePools[i].Name == name {
				edit(&s.NodePools[i])
			}
		}
	}
}

func ofPool(p *model.NodePool, change, field string) Advice {
	return Advice{Change: change + " in pool " + string(p.Name), Subject: "nodepool/" + string(p.Name), Field: field}
}

// without is the requirements that are not on any of the aspects.
func without(reqs []model.Requirement, which ...aspect) []model.Requirement {
	return slices.DeleteFunc(slices.Clone(reqs), func(r model.Requirement) bool {
		return slices.ContainsFunc(which, func(a aspect) bool { return a.rules(r) })
	})
}

// widen drops a pool's rules on one label, to allow no more than what is then bought. instead are rules that hold in the
// trial only.
func (f *facts) widen(p *model.NodePool, a aspect, instead []model.Requirement) candidate {
	group := groupOf(p, a, instead)
	return candidate{
		Advice: ofPool(p, "drop the rule on "+a.title(), fieldRequirements),
		group:  group,
		apply: editPool(p.Name, func(q *model.NodePool) {
			q.Requirements = slices.Concat(without(q.Requirements, a), instead)
		}),
		narrow: func(with model.Plan) *candidate { return f.allow(p, a, group, with) },
	}
}

func groupOf(p *model.NodePool, a aspect, instead []model.Requirement) string {
	group := "pool/" + string(p.Name) + "/" + a.key
	if a.shape {
		group = "pool/" + string(p.Name) + "/shape"
	}
	if len(instead) > 0 {
		group += "/alike"
	}
	return group
}

func (a aspect) title() string {
	switch a.key {
	case labels.InstanceType:
		return "instance types"
	case labels.CapacityType:
		return "the capacity type"
	case labels.Arch:
		return "the architecture"
	}
	return "the " + a.noun
}

// anyShape drops all of a pool's rules on what its nodes look like, for other rules instead.
func (f *facts) anyShape(p *model.NodePool, shapes []aspect, instead []model.Requirement) candidate {
	titles := make([]string, len(shapes))
	for i, a := range shapes {
		titles[i] = a.title()
	}
	words := "drop the rules on " + list(titles)
	if len(instead) > 0 {
		var rules []string
		for _, r := range require.NewSet(instead...) {
			rules = append(rules, r.String())
		}
		words += ", but require " + list(rules) + ","
	}
	return candidate{
		Advice: ofPool(p, words, fieldRequirements),
		group:  groupOf(p, shapes[0], instead),
		apply: editPool(p.Name, func(q *model.NodePool) {
			q.Requirements = slices.Concat(without(q.Requirements, shapes...), instead)
		}),
	}
}

func dropMinValues(p *model.NodePool) *candidate {
	if !slices.ContainsFunc(p.Requirements, func(r model.Requirement) bool { return r.MinValues > 0 }) {
		return nil
	}
	return &candidate{
		Advice: ofPool(p, "drop minValues", fieldRequirements),
		group:  "pool/" + string(p.Name) + "/minValues",
		apply: editPool(p.Name, func(q *model.NodePool) {
			q.Requirements = slices.Clone(q.Requirements)
			for i := range q.Requirements {
				q.Requirements[i].MinValues = 0
			}
		}),
	}
}

// raiseLimits lifts a pool's limits, to raise them no further than to what is then bought. It is nil where no limit can
// be what keeps the pool from buying.
func (f *facts) raiseLimits(p *model.NodePool) *candidate {
	if len(p.Limits) == 0 || (!f.misses[p.Name][model.CodeLimit] && !f.nearLimit(p)) {
		return nil
	}
	group := "pool/" + string(p.Name) + "/limits"
	return &candidate{
		Advice: ofPool(p, "drop the limits", fieldLimits),
		group:  group,
		apply:  editPool(p.Name, func(q *model.NodePool) { q.Limits = nil }),
		narrow: func(with model.Plan) *candidate { return f.raise(p, group, with) },
	}
}

// nearLimit says whether a pool's limits leave less than a large part of what the pool has bought.
func (f *facts) nearLimit(p *model.NodePool) bool {
	used := f.usage(p, f.base)
	return slices.ContainsFunc(p.Limits, func(l model.Amount) bool { return used[l.Resource] > l.Value/4*3 })
}

// list writes names as people do: "a", "a and b", "a, b and c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return fmt.Sprintf("%s and %s", strings.Join(names[:last], ", "), names[last])
}
