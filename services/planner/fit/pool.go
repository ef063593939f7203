package fit

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

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
