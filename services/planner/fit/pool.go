package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// PoolRules are the rules of a pool itself that keep pods off its nodes, whatever instance type is taken.
type PoolRules struct {
	// Taints are those that are not tolerated, Labels what can't be met of what the pods ask for.
	Taints, Labels []model.Reason
	// Types says that the labels among them follow from instance types, so that other types might be bought without them.
	Types bool
	// Other says that the pods name pools that there are, and that this is none of them.
	Other bool
}

// BrokenRules finds the rules of a pool that pods of a profile break: of the alternatives that they ask for, those of the
// one that breaks fewest, and of equals of the first.
func BrokenRules(w *view.World, p *view.Pool, of *view.Profile) PoolRules {
	var out PoolRules
	for _, t := range p.Taints {
		if repels(of, t) {
			r := taintReason(t)
			r.Subject = "nodepool/" + string(p.Name)
			out.Taints = append(out.Taints, r)
		}
	}
	var fewest require.Set
	for i, asked := range Asks(of) {
		broken := brokenBy(p, asked)
		if i == 0 || len(broken) < len(fewest) {
			fewest = broken
		}
	}
	for _, r := range fewest {
		reason := PoolConflict(p, r)
		if values, listed := r.Values(); r.Key == labels.NodePool && (!listed || len(values) > 0) {
			reason.Remedy, out.Other = otherPool(w, p, r)
		}
		out.Labels = append(out.Labels, reason)
		out.Types = out.Types || r.Key != labels.NodePool && !labels.OfPlace(r.Key) && ofTypes(p, r.Key)
	}
	return out
}

// brokenBy is what a pool can't have on any node of what is asked for.
func brokenBy(p *view.Pool, asked require.Set) (out require.Set) {
	for i := range asked {
		if _, ok := p.Requirements.Compatible(asked[i:i+1], func(key string) bool { return ofTypes(p, key) }); !ok {
			out = append(out, asked[i])
		}
	}
	return out
}

// ofTypes says that nodes of a pool may have a label that it does not list.
func ofTypes(p *view.Pool, key string) bool {
	return labels.WellKnown(key) || (p.Catalog != nil && p.Catalog.Defines(key))
}

// otherPool says what helps pods that ask for other pools, as no pool can be given another's name, and whether any of those
// that they ask for is there.
func otherPool(w *view.World, p *view.Pool, asked require.Requirement) (remedy string, there bool) {
	var all []string
	for _, q := range w.Pools {
		all = append(all, string(q.Name))
		there = there || asked.Contains(string(q.Name))
	}
	if there {
		return fmt.Sprintf("let the pod run on nodes of pool %s, too", p.Name), true
	}
	slices.Sort(all)
	remedy = "select a pool that there is: " + strings.Join(all, ", ")
	if values, _ := asked.Values(); len(values) > 0 {
		if hint := near.Value(values[0], all); hint != "" {
			remedy += " (" + hint + ")"
		}
	}
	return remedy, false
}

// PoolConflict says why a pool can have no node that meets a requirement of a pod.
func PoolConflict(p *view.Pool, r require.Requirement) model.Reason {
	out := model.Reason{Code: model.CodeRequirements, Subject: "nodepool/" + string(p.Name)}
	has, ok := p.Requirements.Get(r.Key)
	if !ok && r.Key != labels.Hostname {
		out.Code = model.CodeLabelUndefined
	}
	here, ofAutoMode := labels.OfAutoMode(r.Key)
	values, listed := r.Values()
	switch {
	case r.Empty():
		out.Code = model.CodeRequirements
		out.Message = fmt.Sprintf("no value of %s is one that both the pod's node selector and its required node affinity allow", r.Key)
		out.Remedy = fmt.Sprintf("change what the pod asks for of %s", r.Key)
	case r.Key == labels.Hostname:
		out.Message = fmt.Sprintf("the pod asks for %s, and a new node will have a name of its own", r)
		out.Remedy = "free capacity on the node that the pod names, or let the pod run elsewhere"
	case r.Key == labels.NodePool && r.AllowsAbsent() && len(values) == 0 && listed:
		out.Message = fmt.Sprintf("the pod asks for %s, which is a node of no pool", r)
		out.Remedy = "nothing, if a node group has a node for it; else change the pod"
	case ok:
		out.Message = fmt.Sprintf("the pod asks for %s, but the pool allows only %s", r, has)
		out.Remedy = fmt.Sprintf("allow %s in the pool, or change the pod", r)
	case r.Key == model.KeyNodeName:
		out.Message = "the pod asks for a node by its name, and no new node has that name"
		out.Remedy = "ask for a node that is there, or for labels in place of metadata.name"
	case ofAutoMode:
		out.Message = fmt.Sprintf("the pod asks for %s, a label of EKS Auto Mode's nodes alone", r)
		out.Remedy = fmt.Sprintf("have the pod ask for %s", here)
	default:
		out.Message = fmt.Sprintf("the pod asks for %s, but the pool does not define the label %s", r, r.Key)
		out.Remedy = fmt.Sprintf("add %s to the pool's labels or requirements", r.Key)
	}
	return out
}

// Unsold says which label that is asked for nothing has that a pool can buy, whatever else is asked for; sells says
// whether something meets a requirement. It is the zero Reason where each label of one of the alternatives is on
// something.
func Unsold(p *view.Pool, asked []require.Set, sells func(require.Requirement) bool) model.Reason {
	var first model.Reason
	for i, s := range asked {
		r, ok := firstUnsold(s, sells)
		if !ok {
			return model.Reason{}
		}
		if i == 0 {
			first = unsoldReason(p, r)
		}
	}
	return first
}

// firstUnsold does not look at labels that users define: what is not decided of them may be as the pod wants it.
// Reservations have reasons of their own.
func firstUnsold(asked require.Set, sells func(require.Requirement) bool) (require.Requirement, bool) {
	for _, r := range asked {
		if labels.WellKnown(r.Key) && !labels.OfReservation(r.Key) && !sells(r) {
			return r, true
		}
	}
	return require.Requirement{}, false
}

func unsoldReason(p *view.Pool, r require.Requirement) model.Reason {
	out := model.Reason{
		Code: model.CodeRequirements, Subject: "nodepool/" + string(p.Name),
		Message: fmt.Sprintf("the pod asks for %s, which none of the instance types and zones has that the pool and its node class allow", r),
		Remedy:  "change what the pod asks for, or allow such instance types and zones in the pool and its node class",
	}
	if typ, by, ok := excludes(p, r); ok {
		has, _ := view.NewNodeLabels(p, typ).Get(by.Key)
		out.Message = fmt.Sprintf("the pod asks for %s, which %s has, but its %s is %s, and the pool allows only %s", r, typ.Name, by.Key, has, by)
		out.Remedy = fmt.Sprintf("change what the pod asks for, or allow %s in the pool", require.Value(by.Key, has))
	}
	return out
}

// excludes finds a type that meets a requirement, and the first of the pool's requirements that rules it out.
func excludes(p *view.Pool, asked require.Requirement) (typ *view.Type, by require.Requirement, ok bool) {
	for _, t := range p.Catalog.Types {
		has := view.NewNodeLabels(p, t)
		if value, ok := has.Get(asked.Key); !asked.Matches(value, ok) {
			continue
		}
		for _, r := range p.Requirements {
			if value, ok := has.Get(r.Key); ok && !labels.OfPlace(r.Key) && !r.Matches(value, true) {
				return t, r, true
			}
		}
	}
	return nil, by, false
}

// Unavailable says why an offering can't be bought, whatever it is for.
func Unavailable(off *model.Offering) model.Reason {
	out := model.Reason{Code: model.CodeNoOffering, Subject: "instancetype/" + string(off.InstanceType)}
	what := fmt.Sprintf("%s %s in %s", off.CapacityType, off.InstanceType, off.Zone)
	switch {
	case off.Price <= 0:
		out.Message = "the price of " + what + " is not known"
	case off.ZoneShifted:
		out.Message = fmt.Sprintf("the cluster is shifted away from %s: nothing is bought there, %s %s neither", off.Zone, off.CapacityType, off.InstanceType)
		out.Remedy = "wait for the end of the zonal shift, or let the pod go to other zones"
	default:
		out.Message = fmt.Sprintf("EC2 lately had no %s; it is left out until %s", what, off.UnavailableUntil.UTC().Format("15:04:05"))
		out.Remedy = "allow more instance types, zones or capacity types in the pool"
	}
	return out
}

// NoCapacityType says that the requirements of a pool leave it no capacity type to buy.
func NoCapacityType(p *view.Pool) model.Reason {
	ct, _ := p.Requirements.Get(labels.CapacityType)
	if ct.Contains(model.OnDemand.String()) || ct.Contains(model.Spot.String()) || ct.Contains(model.Reserved.String()) {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeUnsupported, Subject: "nodepool/" + string(p.Name),
		Message: "the pool allows no capacity type that there is: " + ct.String(),
		Remedy:  "allow on-demand, spot or reserved in the pool",
	}
}
