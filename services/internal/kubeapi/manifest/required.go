package manifest

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/unset"
)

// required fills in fields that Karpenter's schema insists on, although it is clear what they would be: with a warning,
// and not where options are strict. It tells whether the object is to be read.
func (r *reader) required(doc document, h header, obj runtime.Object) bool {
	switch o := obj.(type) {
	case *karpenterv1.NodePool:
		ok := r.someList(doc, h, &o.Spec.Template.Spec.Requirements, "spec.template.spec")
		return r.consolidateAfter(doc, h, &o.Spec.Disruption) && ok
	case *karpenterv1.NodeClaim:
		return r.someList(doc, h, &o.Spec.Requirements, "spec")
	case *karpenterv1alpha1.NodeOverlay:
		if o.Spec.Requirements != nil {
			return true
		}
		o.Spec.Requirements = []karpenterv1alpha1.Requirement{}
		return r.gap(doc, h, "spec", "requirements", noRequirements)
	default:
		return true
	}
}

// noRequirements is what a missing list of requirements means.
const noRequirements = "[], which is every instance type"

func (r *reader) someList(doc document, h header, list *[]karpenterv1.Requirement, parent string) bool {
	if *list != nil {
		return true
	}
	*list = []karpenterv1.Requirement{}
	return r.gap(doc, h, parent, "requirements", noRequirements)
}

// consolidateAfter is missed only where disruption is written: without that the schema has a default for all of it.
func (r *reader) consolidateAfter(doc document, h header, d *karpenterv1.Disruption) bool {
	var written struct {
		Spec struct {
			Disruption *struct{} `json:"disruption"`
		} `json:"spec"`
	}
	if d.ConsolidateAfter != "" || json.Unmarshal(doc.json, &written) != nil || written.Spec.Disruption == nil {
		return true
	}
	d.ConsolidateAfter = karpenterv1.DefaultConsolidateAfter
	return r.gap(doc, h, "spec.disruption", "consolidateAfter", string(d.ConsolidateAfter))
}

// gap says that a field is missing, or stands there without a value.
func (r *reader) gap(doc document, h header, parent, name, assumed string) bool {
	place, path, problem := doc.place, parent+"."+name, "is missing, and Karpenter's schema requires it"
	place.Line = lineOf(doc, parent)
	if line, _ := fieldOf(doc, path); line != 0 {
		place.Line, problem = lineOf(doc, path), "has no value, and Karpenter's schema requires one"
	}
	if r.options.Strict {
		r.fail(place, h.title(), path, problem+"; it would be taken for "+assumed)
		return false
	}
	r.warn(place, h.title(), path, problem+"; assumed: "+assumed)
	return true
}

// valued says which fields stand there without a value, as templates leave them, and tells whether the object is to be
// read.
func (r *reader) valued(doc document, h header) bool {
	say := r.warn
	if r.options.Strict {
		say = r.fail
	}
	fields := unset.Fields(h.kind().Group, doc.json)
	for _, path := range fields {
		place := doc.place
		place.Line = lineOf(doc, path)
		say(place, h.title(), path, "has no value; the API server refuses that: write one, or remove the field")
	}
	return !r.options.Strict || len(fields) == 0
}
