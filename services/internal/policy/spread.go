package policy

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

// Spread checks default constraints as the scheduler does, and that no two are for the same, and converts them. Errors
// name the field below the given one.
func Spread(field string, list []corev1.TopologySpreadConstraint) ([]*clusterpb.TopologySpread, error) {
	var (
		out  []*clusterpb.TopologySpread
		errs []error
	)
	for i, s := range list {
		errs = append(errs, checkSpread(fmt.Sprintf("%s[%d]", field, i), s, list[:i]))
		out = append(out, &clusterpb.TopologySpread{
			TopologyKey: s.TopologyKey, MaxSkew: s.MaxSkew, MinDomains: s.MinDomains,
			Required:           s.WhenUnsatisfiable == corev1.DoNotSchedule,
			NodeAffinityPolicy: Inclusion(s.NodeAffinityPolicy), NodeTaintsPolicy: Inclusion(s.NodeTaintsPolicy),
		})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// Inclusion is a policy in the contract's words; what is left out stays so.
func Inclusion(p *corev1.NodeInclusionPolicy) clusterpb.NodeInclusionPolicy {
	switch {
	case p != nil && *p == corev1.NodeInclusionPolicyHonor:
		return clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
	case p != nil && *p == corev1.NodeInclusionPolicyIgnore:
		return clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
	}
	return clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_UNSPECIFIED
}

// checkSpread checks one constraint, and that none of those before is for the same.
func checkSpread(field string, s corev1.TopologySpreadConstraint, before []corev1.TopologySpreadConstraint) error {
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, config.Errorf(field+"."+name, format, args...))
	}
	if s.TopologyKey == "" {
		bad("topologyKey", "required: a label of nodes, such as %s", corev1.LabelTopologyZone)
	} else if wrong := validation.IsQualifiedName(s.TopologyKey); len(wrong) > 0 {
		bad("topologyKey", "%q is not a label's name: %s", s.TopologyKey, wrong[0])
	}
	if s.MaxSkew < 1 {
		bad("maxSkew", "%d is too small: want 1 or more", s.MaxSkew)
	}
	if w := s.WhenUnsatisfiable; w != corev1.DoNotSchedule && w != corev1.ScheduleAnyway {
		bad("whenUnsatisfiable", "%q is unknown: want %s or %s", w, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	}
	if s.LabelSelector != nil {
		bad("labelSelector", "leave it out: which pods are counted follows from each pod's services and owner")
	}
	if len(s.MatchLabelKeys) > 0 {
		bad("matchLabelKeys", "leave it out: which pods are counted follows from each pod's services and owner")
	}
	if d := s.MinDomains; d != nil && *d < 1 {
		bad("minDomains", "%d is too small: want 1 or more", *d)
	} else if d != nil && s.WhenUnsatisfiable != corev1.DoNotSchedule {
		bad("minDomains", "has a meaning only where whenUnsatisfiable is %s", corev1.DoNotSchedule)
	}
	inclusion := func(name string, p *corev1.NodeInclusionPolicy) {
		if p != nil && *p != corev1.NodeInclusionPolicyHonor && *p != corev1.NodeInclusionPolicyIgnore {
			bad(name, "%q is unknown: want %s or %s", *p, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		}
	}
	inclusion("nodeAffinityPolicy", s.NodeAffinityPolicy)
	inclusion("nodeTaintsPolicy", s.NodeTaintsPolicy)
	if slices.ContainsFunc(before, func(b corev1.TopologySpreadConstraint) bool {
		return b.TopologyKey == s.TopologyKey && b.WhenUnsatisfiable == s.WhenUnsatisfiable
	}) {
		errs = append(errs, config.Errorf(field,
			"topologyKey %s with %s is there twice: keep one", s.TopologyKey, s.WhenUnsatisfiable))
	}
	return errors.Join(errs...)
}
