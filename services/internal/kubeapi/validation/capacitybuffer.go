package validation

import (
	"fmt"
	"maps"
	"slices"

	content "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
)

// CapacityBuffer is everything that is wrong with a buffer, in the order of
// its fields: the schema's rules and those beyond it. Apply SetDefaults first.
func CapacityBuffer(b *autoscalingv1beta1.CapacityBuffer) field.ErrorList {
	errs := validateBufferTimes(b)
	spec := field.NewPath("spec")
	strategies := []autoscalingv1beta1.ProvisioningStrategy{autoscalingv1beta1.StrategyActive, autoscalingv1beta1.StrategyOneShot}
	if !slices.Contains(strategies, b.Spec.ProvisioningStrategy) {
		errs = append(errs, field.NotSupported(spec.Child("provisioningStrategy"), b.Spec.ProvisioningStrategy, strategies))
	}
	errs = append(errs, validateBufferReference(&b.Spec, spec)...)
	for _, n := range []struct {
		name  string
		value *int32
	}{{"replicas", b.Spec.Replicas}, {"percentage", b.Spec.Percentage}} {
		if n.value != nil && *n.value < 0 {
			errs = append(errs, field.Invalid(spec.Child(n.name), *n.value, "want 0 or more"))
		}
	}
	return append(errs, validateBufferLimits(&b.Spec, spec.Child("limits"))...)
}

func validateBufferReference(s *autoscalingv1beta1.CapacityBufferSpec, spec *field.Path) field.ErrorList {
	template, scalable := spec.Child("podTemplateRef"), spec.Child("scalableRef")
	switch {
	case s.PodTemplateRef == nil && s.ScalableRef == nil:
		return field.ErrorList{field.Required(template, "name a PodTemplate, or a workload in spec.scalableRef")}
	case s.PodTemplateRef != nil && s.ScalableRef != nil:
		return field.ErrorList{field.Forbidden(scalable, "podTemplateRef and scalableRef exclude each other: remove one")}
	case s.PodTemplateRef != nil:
		return validateTemplateRef(s, spec, template)
	}
	var errs field.ErrorList
	ref := s.ScalableRef
	if ref.APIGroup != "apps" {
		errs = append(errs, field.NotSupported(scalable.Child("apiGroup"), ref.APIGroup, []string{"apps"}))
	}
	kinds := []string{"Deployment", "ReplicaSet", "StatefulSet"}
	if !slices.Contains(kinds, ref.Kind) {
		errs = append(errs, field.NotSupported(scalable.Child("kind"), ref.Kind, kinds))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(scalable.Child("name"), "the workload's name"))
	}
	return errs
}

func validateTemplateRef(s *autoscalingv1beta1.CapacityBufferSpec, spec, template *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.PodTemplateRef.Name == "" {
		errs = append(errs, field.Required(template.Child("name"), "the PodTemplate's name"))
	}
	if s.Replicas == nil && s.Limits == nil {
		errs = append(errs, field.Required(spec.Child("replicas"), "podTemplateRef needs replicas or limits"))
	}
	return errs
}

func validateBufferLimits(s *autoscalingv1beta1.CapacityBufferSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Limits) > maxLimits {
		errs = append(errs, field.TooMany(path, len(s.Limits), maxLimits))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		for _, problem := range content.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(path.Key(string(name)), string(name), problem))
		}
		if q := s.Limits[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), q.String(), "want 0 or more"))
		}
	}
	return errs
}

func validateBufferTimes(b *autoscalingv1beta1.CapacityBuffer) field.ErrorList {
	path := field.NewPath("metadata", "annotations")
	starts, expires, err := b.Times()
	if err != nil {
		return field.ErrorList{field.Invalid(path.Key(err.Annotation), err.Value, "want a time such as 2026-11-27T18:00:00Z")}
	}
	if !starts.IsZero() && !expires.IsZero() && !starts.Before(expires) {
		return field.ErrorList{field.Invalid(path.Key(labels.BufferExpiresAt), b.Annotations[labels.BufferExpiresAt],
			fmt.Sprintf("want a time after %s, %s", labels.BufferStartsAt, b.Annotations[labels.BufferStartsAt]))}
	}
	return nil
}
