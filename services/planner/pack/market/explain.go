package market

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kerf-dev/kerf/services/core/extended"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/miss"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Explain says why nothing can be bought for pods of a class: the nearest miss of all, and that of each pool by name; peers
// says what other pods have against a new node of an option.
func (m *Market) Explain(it Item, lim *Limits, peers func(*Option) model.Reason) (model.Reason, []model.PoolMiss) {
	if len(m.World.Pools) == 0 {
		return model.Reason{
			Code: model.CodeNoNodePool, Subject: "podclass/" + string(it.Class.ID), Message: "there is no node pool",
			Remedy: "create a node pool",
		}, nil
	}
	var misses []miss.Miss
	var out []model.PoolMiss
	for _, p := range m.World.Pools {
		misses = append(misses, m.explainPool(p, it, lim, peers))
		out = append(out, misses[p.Index].PoolMiss)
	}
	slices.SortFunc(out, func(a, b model.PoolMiss) int { return cmp.Compare(a.NodePool, b.NodePool) })
	nearest := miss.Nearest(misses)
	best := nearest.Reason
	best.Message = fmt.Sprintf("node pool %s: %s", nearest.NodePool, best.Message)
	return best, out
}

func (m *Market) explainPool(p *view.Pool, it Item, lim *Limits, peers func(*Option) model.Reason) miss.Miss {
	rules := fit.BrokenRules(m.World, p, it.Class.Profile)
	out := miss.Miss{Pool: p, Other: rules.Other, PoolMiss: model.PoolMiss{NodePool: p.Name}}
	broken := slices.Concat(rules.Taints, rules.Labels)
	problem := m.problems[p.Index]
	switch {
	case !problem.OK() && len(broken) > 0:
		out.Break(miss.Pool, slices.Insert(broken, 0, problem)...)
	case !problem.OK():
		out.Break(miss.Ready, problem)
	case len(broken) > 0:
		if r := m.tooSmallAll(p, it.Class); !r.OK() && !rules.Types { // other types may be larger
			broken = append(broken, r)
		}
		out.Break(miss.Labels, broken...)
		if len(rules.Taints) > 0 {
			out.Stage = miss.Taint
		}
	default:
		return m.explainTypes(out, it, lim, peers)
	}
	return out
}

// tooSmallAll says that pods of a class are too large for all that can be bought from a pool, whatever its other rules.
func (m *Market) tooSmallAll(p *view.Pool, c *view.Class) (r model.Reason) {
	least := math.Inf(1)
	for _, v := range m.variants {
		for _, o := range v.Options {
			if v.Pool != p {
				break
			}
			if view.Fits(o.Free, c.Alone, 1) > 0 {
				return model.Reason{}
			}
			if l := Share(c.Alone, atLeastOne(o.Free)); l < least {
				least, r = l, m.tooSmall(o, c)
			}
		}
	}
	return r
}

// explainTypes looks for the option that comes nearest.
func (m *Market) explainTypes(out miss.Miss, it Item, lim *Limits, peers func(*Option) model.Reason) miss.Miss {
	p, c := out.Pool, it.Class
	out.Break(miss.Labels, model.Reason{
		Code: model.CodeRequirements, Subject: "nodepool/" + string(p.Name),
		Message: "no instance type and zone satisfies both the pool and its node class",
		Remedy:  "widen spec.template.spec.requirements of the pool, or the node class's subnets and images",
	})
	if r := m.clashes[p.Index]; !r.OK() {
		out.Break(miss.Ready, r)
	}
	if r := cmp.Or(fit.NoCapacityType(p), m.zoneIDClash(p, fit.Asks(c.Profile))); !r.OK() {
		out.Reason = r
		return out
	}
	var nearest *Option
	for _, v := range m.variants {
		if v.Pool != p {
			continue
		}
		tooFew := sync.OnceValue(func() model.Reason { return m.tooFew(v, c) }) // it looks at all options, and many of them ask
		for _, o := range v.Options {
			stage, r, l := m.explainOption(o, it, lim, tooFew, peers)
			if stage > out.Stage || (stage == out.Stage && (nearest == nil || l < out.Lack)) {
				nearest, out.Stage, out.Reason, out.InstanceType, out.Lack = o, stage, r, o.Type.Name, l
			}
		}
	}
	switch {
	case nearest == nil:
	case out.Stage == miss.Labels:
		out.Reason = cmp.Or(fit.Unsold(p, fit.Asks(c.Profile), m.sells(p)), out.Reason)
	case out.Stage != miss.Choice && out.Stage != miss.Peers:
		out.Break(out.Stage, m.brokenToo(out, nearest, it, lim, peers)...)
	}
	switch {
	case out.Stage > miss.Devices: // what was compared is prices, which is no distance
		out.Lack = 0
	case out.Stage == miss.Size && hasNone(nearest, c):
		out.Lack = math.Inf(1)
	}
	return out
}

// hasNone says that an option has nothing of a resource that pods of a class need.
func hasNone(o *Option, c *view.Class) bool {
	for i, q := range c.Alone {
		if q > 0 && o.Free[i] <= 0 {
			return true
		}
	}
	return false
}

// brokenToo is the rule that an option breaks first, and the later ones that it breaks as well.
func (m *Market) brokenToo(first miss.Miss, o *Option, it Item, lim *Limits, peers func(*Option) model.Reason) []model.Reason {
	broken := []model.Reason{first.Reason}
	if first.Stage != miss.Limit && lim.Remaining(o, 1) == 0 {
		broken = append(broken, lim.reason(o, it))
	}
	if r := peers(o); !r.OK() && (first.Stage > miss.Devices || len(it.Class.DeviceClaims) == 0) { // other types have other devices
		broken = append(broken, r)
	}
	return broken
}

// sells says whether any option of a pool meets a requirement.
func (m *Market) sells(p *view.Pool) func(require.Requirement) bool {
	return func(r require.Requirement) bool {
		return slices.ContainsFunc(m.variants, func(v *Variant) bool {
			return v.Pool == p && slices.ContainsFunc(v.Options, func(o *Option) bool { return r.Matches(o.Label(r.Key)) })
		})
	}
}

// explainOption says how far an option comes, which rule it breaks there, and by how much.
func (m *Market) explainOption(
	o *Option, it Item, lim *Limits, tooFew func() model.Reason, peers func(*Option) model.Reason,
) (stage miss.Stage, r model.Reason, lack float64) {
	c, subject := it.Class, "instancetype/"+string(o.Type.Name)
	if r, held := fit.Judge(c, &o.Place); !r.OK() {
		if r.Subject = subject; r.Code == model.CodeNodeLacks && len(c.DeviceClaims) > 0 {
			return miss.Devices, r, 0
		}
		if r.Code == model.CodeRequirements { // each of them alone the pool allows
			r.Remedy = "change what the pod asks for, or allow instance types and zones that have all of it"
		}
		return miss.Labels, r, -float64(held)
	}
	if o.crowded {
		r, lack := m.tooSmallForDaemons(o)
		return miss.Size, r, lack
	}
	if view.Fits(o.Free, c.Alone, 1) == 0 {
		return miss.Size, m.tooSmall(o, c), Share(c.Alone, atLeastOne(o.Free))
	}
	switch {
	case !o.serves(c):
		return miss.Size, o.lacks(c), 0
	case fit.PortsClash(c.HostPorts, o.Ports):
		r := fit.DaemonPorts(c.HostPorts, o.Ports)
		r.Subject = subject
		return miss.Size, r, 0
	case !o.Available:
		return miss.Offering, fit.Unavailable(o.Offering), float64(o.Price)
	case lim.Remaining(o, 1) == 0:
		return miss.Limit, lim.reason(o, it), float64(o.Price)
	}
	if HasMinValues(o.Pool) { // else this option alone is choice enough
		if _, ok := m.Rank(o, []Item{{Class: c, Pods: []int{0}}}, nil); !ok {
			return miss.Choice, tooFew(), 0
		}
	}
	if r := peers(o); !r.OK() {
		return miss.Peers, r, float64(o.Price)
	}
	return miss.Peers, model.Reason{
		Code: model.CodeNoOffering, Subject: subject, Message: "the pod fits, but was left out of the plan",
	}, 0
}

// tooFew names the first label that what holds the pod has fewer values of than the pool's minValues ask for.
func (m *Market) tooFew(v *Variant, c *view.Class) model.Reason {
	out := model.Reason{
		Code: model.CodeMinValues, Subject: "nodepool/" + string(v.Pool.Name),
		Message: "too few distinct offerings hold the pod for the pool's minValues",
		Remedy:  "lower minValues in spec.template.spec.requirements, or widen them",
	}
	load := m.Combine([]Item{{Class: c, Pods: []int{0}}})
	for _, r := range v.Pool.Requirements {
		values := map[string]bool{}
		for _, other := range v.Options {
			if value, ok := other.Label(r.Key); ok && other.Available && other.Fits(load) {
				values[value] = true
			}
		}
		if len(values) < r.MinValues {
			out.Message += fmt.Sprintf(": %d of the %d values of %s", len(values), r.MinValues, r.Key)
			return out
		}
	}
	return out
}

// PerHour is the price that the option is weighed at, and whose it is where that is not AWS's.
func (o *Option) PerHour() string {
	price := o.PriceText() + " an hour"
	if o.PriceOverlay != "" {
		price += " (by NodeOverlay " + o.PriceOverlay + ")"
	}
	return price
}

// tooSmallForDaemons names the resource that is shortest on an option before it has any pod, and the part of it that
// DaemonSets ask for.
func (m *Market) tooSmallForDaemons(o *Option) (r model.Reason, lack float64) {
	worst := 0
	for i, free := range o.Free {
		if part := float64(o.Overhead[i]+1) / float64(max(1, o.allocatable[i])); (free < 0 || o.allReserved(i)) && part > lack {
			worst, lack = i, part
		}
	}
	name := m.World.Index.Name(worst)
	r = model.Reason{Code: model.CodeResources, Subject: "instancetype/" + string(o.Type.Name)}
	if o.allReserved(worst) {
		r.Message = fmt.Sprintf("the node class reserves all %s of %s that the nearest allowed type has (%s)", fit.Quantity(name, o.Capacity[worst]), name, o.Type.Name)
		r.Remedy = "lower kubeReserved, systemReserved or evictionHard in spec.kubelet of the node class, or allow larger instance types"
		return r, lack
	}
	r.Message = fmt.Sprintf("DaemonSets need %s of %s on every node; the nearest allowed type has %s (%s)",
		fit.Quantity(name, o.Overhead[worst]), name, fit.Quantity(name, o.allocatable[worst]), o.Type.Name)
	r.Remedy = moreForDaemons(name)
	return r, lack
}

func moreForDaemons(name model.Resource) string {
	if name == model.Pods {
		return "allow instance types with more pods, raise the node class's maxPods, or have the DaemonSets select other nodes"
	}
	return fmt.Sprintf("allow instance types with more %s, or have the DaemonSets ask for less or select other nodes", name)
}

// tooSmall names the resource that is shortest on an option.
func (m *Market) tooSmall(o *Option, c *view.Class) model.Reason {
	worst, lack := 0, 0.0
	for i, q := range c.Alone {
		if q > o.Free[i] && float64(q)/float64(max(1, o.Free[i])) > lack {
			worst, lack = i, float64(q)/float64(max(1, o.Free[i]))
		}
	}
	name := m.World.Index.Name(worst)
	if devices.IsDevices(name) {
		return o.lacks(c)
	}
	needs, has := fit.Quantity(name, c.Alone[worst]), fit.AtMost(name, max(0, o.Free[worst]))
	r := model.Reason{Code: model.CodeResources, Subject: "instancetype/" + string(o.Type.Name)}
	switch {
	case view.IsAttachLimit(name):
		r.Code = model.CodeVolumeLimit
		r.Message = fmt.Sprintf("has %s volumes of driver %s; new nodes of the allowed types attach at most %s (%s, less DaemonSets)",
			needs, strings.TrimPrefix(string(name), string(model.AttachLimit)), has, o.Type.Name)
		r.Remedy = "allow an instance type that attaches more volumes, or give the pod fewer"
	case o.Free[worst] == 0 && o.Overhead[worst] > 0:
		r.Message = fmt.Sprintf("DaemonSets take all %s of %s that the nearest allowed type has (%s)", fit.Quantity(name, o.Overhead[worst]), name, o.Type.Name)
		r.Remedy = moreForDaemons(name)
	case o.Free[worst] > 0:
		r.Message = fmt.Sprintf("needs %s of %s; the largest allowed type offers %s (%s, less DaemonSets)", needs, name, has, o.Type.Name)
		r.Remedy = fmt.Sprintf("allow an instance type with at least %s of %s for pods, or ask for at most %s", needs, name, has)
		if name == "ephemeral-storage" {
			r.Remedy = fmt.Sprintf("give the node class a larger volume in spec.blockDeviceMappings, or instanceStorePolicy: RAID0, or ask for at most %s", has)
		}
	case slices.ContainsFunc(o.Pool.Catalog.Types, func(t *view.Type) bool { return t.CapacityVector[worst] > 0 }):
		r.Message = fmt.Sprintf("needs %s of %s, which no allowed instance type offers; the nearest is %s", needs, name, o.Type.Name)
		r.Remedy = fmt.Sprintf("allow instance types that have %s", name)
	default:
		r.Message = fmt.Sprintf("needs %s of %s, which no instance type of the catalogue has", needs, name)
		r.Remedy = fmt.Sprintf("check the name %s; what a device plugin or the kernel's settings add to nodes, a NodeOverlay says in spec.capacity; "+
			"for a plan of files, kerf catalog fetch makes a catalogue of all that AWS sells", name)
	}
	r.Message += extended.LeftOut(c.PodClass, name)
	return r
}

func atLeastOne(v view.Vector) view.Vector {
	out := slices.Clone(v)
	for i := range out {
		out[i] = max(1, out[i])
	}
	return out
}
