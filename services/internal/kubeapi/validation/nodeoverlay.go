package validation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	content "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
)

// The sizes that the schema allows.
const (
	maxOverlayWeight = 10_000
	maxCapacity      = 100
)

// NodeOverlay is everything that is wrong with an overlay, in the order of
// its fields: the schema's rules and those beyond it.
func NodeOverlay(o *karpenterv1alpha1.NodeOverlay) field.ErrorList {
	spec := field.NewPath("spec")
	requirements := spec.Child("requirements")
	errs := Requirements(o.Requirements(), nil, requirements)
	errs = append(errs, validateRequiredLabels(o.Requirements(), requirements)...)
	for i, r := range o.Spec.Requirements {
		if r.Operator == karpenterv1.OpNotIn && len(r.Values) == 0 {
			errs = append(errs, field.Required(requirements.Index(i).Child("values"), "operator NotIn needs at least one value"))
		}
	}
	errs = append(errs, validatePrice(&o.Spec, spec)...)
	errs = append(errs, validateCapacity(o.Spec.Capacity, spec.Child("capacity"))...)
	if w := o.Spec.Weight; w != nil && (*w < 1 || *w > maxOverlayWeight) {
		errs = append(errs, field.Invalid(spec.Child("weight"), *w, "want 1 to 10000"))
	}
	return errs
}

func validatePrice(s *karpenterv1alpha1.NodeOverlaySpec, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Price != nil {
		if _, err := karpenterv1alpha1.ParsePrice(*s.Price); err != nil {
			errs = append(errs, field.Invalid(spec.Child("price"), *s.Price, err.Error()))
		}
	}
	if s.PriceAdjustment != nil {
		if _, err := karpenterv1alpha1.ParseAdjustment(*s.PriceAdjustment); err != nil {
			errs = append(errs, field.Invalid(spec.Child("priceAdjustment"), *s.PriceAdjustment, err.Error()))
		}
	}
	if s.Price != nil && s.PriceAdjustment != nil {
		errs = append(errs, field.Forbidden(spec, "price and priceAdjustment exclude each other: remove one"))
	}
	return errs
}

func validateCapacity(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(list) > maxCapacity {
		errs = append(errs, field.TooMany(path, len(list), maxCapacity))
	}
	fixed := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		at := path.Key(string(name))
		for _, problem := range content.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(at, string(name), problem))
		}
		if slices.Contains(fixed, name) {
			errs = append(errs, field.Forbidden(path, string(name)+" follows from the instance type: remove it"))
		}
		if q := list[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(at, q.String(), "want 0 or more"))
		}
	}
	return errs
}
