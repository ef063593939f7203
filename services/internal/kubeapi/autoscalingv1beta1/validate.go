package autoscalingv1beta1

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// maxLimits is what the schema allows.
const maxLimits = 100

// ValidateCapacityBuffer is everything that is wrong with a buffer, in the order of
// its fields: the schema's rules and those beyond it. Apply SetDefaults first.
func ValidateCapacityBuffer(b *CapacityBuffer) field.ErrorList {
	errs := validateTimes(b)
	spec := field.NewPath("spec")
	strategies := []ProvisioningStrategy{StrategyActive, StrategyOneShot}
	if !slices.Contains(strategies, b.Spec.ProvisioningStrategy) {
		errs = append(errs, field.NotSupported(spec.Child("provisioningStrategy"), b.Spec.ProvisioningStrategy, strategies))
	}
	errs = append(errs, validateReference(&b.Spec, spec)...)
	for _, n := range []struct {
		name  string
		value *int32
	}{{"replicas", b.Spec.Replicas}, {"percentage", b.Spec.Percentage}} {
		if n.value != nil && *n.value < 0 {
			errs = append(errs, field.Invalid(spec.Child(n.name), *n.value, "want 0 or more"))
		}
	}
	return append(errs, validateLimits(&b.Spec, spec.Child("limits"))...)
}

func validateReference(s *CapacityBufferSpec, spec *field.Path) field.ErrorList {
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

func validateTemplateRef(s *CapacityBufferSpec, spec, template *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.PodTemplateRef.Name == "" {
		errs = append(errs, field.Required(template.Child("name"), "the PodTemplate's name"))
	}
	if s.Replicas == nil && s.Limits == nil {
		errs = append(errs, field.Required(spec.Child("replicas"), "podTemplateRef needs replicas or limits"))
	}
	return errs
}

func validateLimits(s *CapacityBufferSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Limits) > maxLimits {
		errs = append(errs, field.TooMany(path, len(s.Limits), maxLimits))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		for _, problem := range validation.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(path.Key(string(name)), string(name), problem))
		}
		if q := s.Limits[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), q.String(), "want 0 or more"))
		}
	}
	return errs
}

func validateTimes(b *CapacityBuffer) field.ErrorList {
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

// TimeError is an annotation whose value is no time.
type TimeError struct{ Annotation, Value string }

// Error implements error.
func (e *TimeError) Error() string {
	return fmt.Sprintf("metadata.annotations[%s]: %q: want a time such as 2026-11-27T18:00:00Z", e.Annotation, e.Value)
}

// Times are when the room begins and ends to be wanted; zero where nothing is said.
func (b *CapacityBuffer) Times() (starts, expires time.Time, err *TimeError) {
	for _, a := range []struct {
		name string
		at   *time.Time
	}{{labels.BufferStartsAt, &starts}, {labels.BufferExpiresAt, &expires}} {
		text, ok := b.Annotations[a.name]
		if !ok {
			continue
		}
		t, parseErr := time.Parse(time.RFC3339, text)
		if parseErr != nil || t.IsZero() {
			return time.Time{}, time.Time{}, &TimeError{a.name, text}
		}
		*a.at = t.UTC()
	}
	return starts, expires, nil
}
