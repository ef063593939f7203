package market

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kerf-dev/kerf/services/core/extended"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// How near a pool comes to running a pod, in the order of its rules. A miss of a later rule is nearer.
const (
	missPool = iota
	missTaint
	missLabels
	missReady // the pool would take the pod, if it or its class were in order
	missSize
	missDevices // it was to have them, and none come
	missOffering
	missChoice
	missLimit
	missPeers // all is well but for other pods
)

// miss is why a pool can't help, and how near it comes.
type miss struct {
	pool  *view.Pool
	stage int
	model.PoolMiss
}

// Explain is Explain, where peers says what other pods have against a new node of an option.
func (m *Market) Explain(c *view.Class, lim *Limits, peers func(*Option) model.Reason) (model.Reason, []model.PoolMiss) {
	if len(m.World.Pools) == 0 {
		return model.Reason{
			Code: model.CodeNoNodePool, Subject: "podclass/" + string(c.ID), Message: "there is no node pool",
			Remedy: "create a node pool",
		}, nil
	}
	var misses []miss
	for _, p := range m.World.Pools {
		misses = append(misses, m.explainPool(p, c, lim, peers))
	}
	nearest := slices.MaxFunc(misses, func(a, b miss) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(b.pool.Index, a.pool.Index))
	})
	var out []model.PoolMiss
	for _, x := range misses {
		out = append(out, x.PoolMiss)
	}
	slices.SortFunc(out, func(a, b model.PoolMiss) int { return cmp.Compare(a.NodePool, b.NodePool) })
	best := nearest.Reason
	best.Message = fmt.Sprintf("node pool %s: %s", nearest.NodePool, best.Message)
	return best, out
}

func (m *Market) explainPool(p *view.Pool, c *view.Class, lim *Limits, peers func(*Option) model.Reason) miss {
	out := miss{pool: p, PoolMiss: model.PoolMiss{NodePool: p.Name}}
	problem := m.problems[p.Index]
	out.stage, out.Reason = poolRules(p, c)
	switch {
	case !problem.OK() && !out.Reason.OK():
		out.stage, out.Reason = missPool, problem
		return out
	case !problem.OK():
		out.stage, out.Reason = missReady, problem
		return out
	case !out.Reason.OK():
		return out
	}
	return m.explainTypes(out, c, lim, peers)
}

// poolRules says whether the pool's own rules exclude a class, and which.
func poolRules(p *view.Pool, c *view.Class) (stage int, r model.Reason) {
	if r := fit.Taints(c.Profile, &fit.Place{Taints: p.Taints}); !r.OK() {
		r.Subject = "nodepool/" + string(p.Name)
		return missTaint, r
	}
	return missLabels, poolRequirements(p, c)
}

// poolRequirements says whether the pool's own requirements exclude a class, whatever instance type is taken.
func poolRequirements(p *view.Pool, c *view.Class) model.Reason {
	var first model.Reason
	for i, asked := range fit.Asks(c.Profile) {
		defined := func(key string) bool { return labels.WellKnown(key) || (p.Catalog != nil && p.Catalog.Defines(key)) }
		r, ok := p.Requirements.Compatible(asked, defined)
		if ok {
			return model.Reason{}
		}
		if i == 0 {
			first = fit.PoolConflict(p, r)
		}
	}
	return first
}

// explainTypes looks for the option that comes nearest.
func (m *Market) explainTypes(out miss, c *view.Class, lim *Limits, peers func(*Option) model.Reason) miss {
	out.stage = missLabels
	out.Reason = model.Reason{
		Code: model.CodeRequirements, Subject: "nodepool/" + string(out.pool.Name),
		Message: "no instance type and zone satisfies both the pool and its node class",
		Remedy:  "widen spec.template.spec.requirements of the pool, or the node class's subnets and images",
	}
	if r := m.clashes[out.pool.Index]; !r.OK() {
		out.stage, out.Reason = missReady, r
	}
	if ct, _ := out.pool.Requirements.Get(labels.CapacityType); !buysAny(ct) {
		out.Reason = model.Reason{
			Code: model.CodeUnsupported, Subject: "nodepool/" + string(out.pool.Name),
			Message: "the pool allows no capacity type that there is: " + ct.String(),
			Remedy:  "allow on-demand, spot or reserved in the pool",
		}
		return out
	}
	if r := m.zoneIDClash(out.pool, fit.Asks(c.Profile)); !r.OK() {
		out.Reason = r
		return out
	}
	lack := 0.0
	for _, v := range m.variants {
		if v.Pool != out.pool {
			continue
		}
		tooFew := sync.OnceValue(func() model.Reason { return m.tooFew(v, c) }) // it looks at all options, and many of them ask
		for _, o := range v.Options {
			stage, r, l := m.explainOption(o, c, lim, tooFew, peers)
			if stage > out.stage || (stage == out.stage && (out.InstanceType == "" || l < lack)) {
				out.stage, out.Reason, out.InstanceType, lack = stage, r, o.Type.Name, l
			}
		}
	}
	if out.stage == missLabels && out.InstanceType != "" {
		out.Reason = cmp.Or(fit.Unsold(out.pool, fit.Asks(c.Profile), m.sells(out.pool)), out.Reason)
	}
	return out
}

// buysAny says whether a requirement of a pool leaves it a capacity type to buy.
func buysAny(ct require.Requirement) bool {
	return ct.Contains(model.OnDemand.String()) || ct.Contains(model.Spot.String()) || ct.Contains(model.Reserved.String())
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
	o *Option, c *view.Class, lim *Limits, tooFew func() model.Reason, peers func(*Option) model.Reason,
) (stage int, r model.Reason, lack float64) {
	subject := "instancetype/" + string(o.Type.Name)
	if r, held := fit.Judge(c, &o.Place); !r.OK() {
		if r.Subject = subject; r.Code == model.CodeNodeLacks && len(c.DeviceClaims) > 0 {
			return missDevices, r, 0
		}
		if r.Code == model.CodeRequirements { // each of them alone the pool allows
			r.Remedy = "change what the pod asks for, or allow instance types and zones that have all of it"
		}
		return missLabels, r, -float64(held)
	}
	if o.crowded {
		r, lack := m.tooSmallForDaemons(o)
		return missSize, r, lack
	}
	if view.Fits(o.Free, c.Alone, 1) == 0 {
		return missSize, m.tooSmall(o, c), Share(c.Alone, atLeastOne(o.Free))
	}
	switch {
	case !o.serves(c):
		return missSize, o.lacks(c), 0
	case fit.PortsClash(c.HostPorts, o.Ports):
		r := fit.DaemonPorts(c.HostPorts, o.Ports)
		r.Subject = subject
		return missSize, r, 0
	case !o.Available:
		return missOffering, unavailable(o), float64(o.Price)
	case lim.Remaining(o, 1) == 0:
		return missLimit, lim.reason(o), float64(o.Price)
	}
	if _, ok := m.Rank(o, []Item{{Class: c, Pods: []int{0}}}, nil); !ok {
		return missChoice, tooFew(), 0
	}
	if r := peers(o); !r.OK() {
		return missPeers, r, float64(o.Price)
	}
	return missPeers, model.Reason{
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

func unavailable(o *Option) model.Reason {
	off, out := o.Offering, model.Reason{Code: model.CodeNoOffering, Subject: "instancetype/" + string(o.Type.Name)}
	what := fmt.Sprintf("%s %s in %s", off.CapacityType, o.Type.Name, off.Zone)
	switch {
	case off.Price <= 0:
		out.Message = "the price of " + what + " is not known"
	case off.ZoneShifted:
		out.Message = fmt.Sprintf("the cluster is shifted away from %s: nothing is bought there, %s %s neither", off.Zone, off.CapacityType, o.Type.Name)
		out.Remedy = "wait for the end of the zonal shift, or let the pod go to other zones"
	default:
		out.Message = fmt.Sprintf("EC2 lately had no %s; it is left out until %s", what, off.UnavailableUntil.UTC().Format("15:04:05"))
		out.Remedy = "allow more instance types, zones or capacity types in the pool"
	}
	return out
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
