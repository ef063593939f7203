// Package validation says everything that is wrong with an object that users order nodes by, in the order of its fields:
// the schema's rules, for manifests that no API server has seen, and those beyond it.
//
// An object has its defaults when it gets here. Rules about changes (immutable fields) are the API server's alone, and
// whether what an object names exists is not looked at. Start reading at NodePool; kubeapi.Validate is how others call it.
package validation

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	content "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/schedule"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// The sizes that the schema allows.
const (
	maxRequirements = 100
	maxTaints       = 100
	maxLabels       = 100
	maxLimits       = 100
	maxBudgets      = 50
	maxReasons      = 50
	maxMinValues    = 50
	maxWeight       = 100
)

// NodePool is everything that is wrong with a pool, in the order of its
// fields: the schema's rules and those beyond it. Apply SetDefaults first. Rules
// about changes (immutable fields) are the API server's alone.
func NodePool(p *karpenterv1.NodePool) field.ErrorList {
	spec := field.NewPath("spec")
	template := spec.Child("template")
	var errs field.ErrorList
	errs = append(errs, validateLabels(p.Spec.Template.Metadata.Labels, template.Child("metadata", "labels"))...)
	errs = append(errs, validateTemplate(p, template.Child("spec"))...)
	errs = append(errs, validateDisruption(&p.Spec.Disruption, spec.Child("disruption"))...)
	errs = append(errs, validateResources(p.Spec.Limits, spec.Child("limits"))...)
	if len(p.Spec.Limits) > maxLimits {
		errs = append(errs, field.TooMany(spec.Child("limits"), len(p.Spec.Limits), maxLimits))
	}
	if w := p.Spec.Weight; w != nil && (*w < 1 || *w > maxWeight) {
		errs = append(errs, field.Invalid(spec.Child("weight"), *w, "want 1 to 100"))
	}
	errs = append(errs, validateStatic(&p.Spec, spec)...)
	return append(errs, validatePoolLabels(p)...)
}

func validateTemplate(p *karpenterv1.NodePool, path *field.Path) field.ErrorList {
	t := &p.Spec.Template.Spec
	errs := validateTaints(t.Taints, t.StartupTaints, path)
	requirements := path.Child("requirements")
	for i, r := range t.Requirements {
		if r.Key == labels.NodePool {
			errs = append(errs, field.Forbidden(requirements.Index(i).Child("key"),
				"karpenter.sh/nodepool is set by the controller: remove the requirement"))
		}
	}
	errs = append(errs, Requirements(t.Requirements, p.Spec.Template.Metadata.LabelMap(), requirements)...)
	errs = append(errs, validateNodeClassRef(t.NodeClassRef, path.Child("nodeClassRef"))...)
	errs = append(errs, validateGracePeriod(t.TerminationGracePeriod, path)...)
	return append(errs, validateExpiry(t.ExpireAfter, path.Child("expireAfter"))...)
}

// NodeClaim is everything that is wrong with a claim, in the order of its
// fields. Apply SetDefaults first.
func NodeClaim(c *karpenterv1.NodeClaim) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateTaints(c.Spec.Taints, c.Spec.StartupTaints, path)
	errs = append(errs, Requirements(c.Spec.Requirements, nil, path.Child("requirements"))...)
	errs = append(errs, validateResources(c.Spec.Resources.Requests, path.Child("resources", "requests"))...)
	errs = append(errs, validateNodeClassRef(c.Spec.NodeClassRef, path.Child("nodeClassRef"))...)
	errs = append(errs, validateGracePeriod(c.Spec.TerminationGracePeriod, path)...)
	return append(errs, validateNillable(c.Spec.ExpireAfter, path.Child("expireAfter"))...)
}

func validateLabels(template map[string]karpenterv1.LabelValue, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(template) > maxLabels {
		errs = append(errs, field.TooMany(path, len(template), maxLabels))
	}
	for _, key := range sortedKeys(template) {
		at := path.Key(key)
		for _, problem := range content.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at, key, problem))
		}
		if key == labels.NodePool {
			errs = append(errs, field.Forbidden(at, "labels of the domain karpenter.sh are set by the controller: remove it"))
		} else if why := restrictedLabel(key); why != "" {
			errs = append(errs, field.Forbidden(at, why+": remove it"))
		}
		for _, problem := range content.IsValidLabelValue(string(template[key])) {
			errs = append(errs, field.Invalid(at, string(template[key]), problem))
		}
	}
	return errs
}

func validateTaints(taints, startup []karpenterv1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	type effect struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[effect]*field.Path{}
	for _, list := range []struct {
		taints []karpenterv1.Taint
		path   *field.Path
	}{{taints, path.Child("taints")}, {startup, path.Child("startupTaints")}} {
		if len(list.taints) > maxTaints {
			errs = append(errs, field.TooMany(list.path, len(list.taints), maxTaints))
		}
		for i, t := range list.taints {
			at := list.path.Index(i)
			errs = append(errs, validateTaint(t, at)...)
			if first, again := seen[effect{t.Key, t.Effect}]; again {
				errs = append(errs, field.Invalid(at, t.Key+":"+string(t.Effect), "the same key and effect as "+first.String()+": remove one"))
			} else {
				seen[effect{t.Key, t.Effect}] = at
			}
		}
	}
	return errs
}

func validateTaint(t karpenterv1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range content.IsQualifiedName(t.Key) {
		errs = append(errs, field.Invalid(path.Child("key"), t.Key, problem))
	}
	for _, problem := range content.IsValidLabelValue(t.Value) {
		errs = append(errs, field.Invalid(path.Child("value"), t.Value, problem))
	}
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	if !slices.Contains(effects, t.Effect) {
		errs = append(errs, field.NotSupported(path.Child("effect"), t.Effect, effects))
	}
	return errs
}

func validateNodeClassRef(ref karpenterv1.NodeClassReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, part := range []struct{ name, value, example string }{
		{"group", ref.Group, "karpenter.k8s.aws"},
		{"kind", ref.Kind, "EC2NodeClass"},
		{"name", ref.Name, "default"},
	} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.name), "for example "+part.example))
		}
	}
	if strings.Contains(ref.Group, "/") {
		errs = append(errs, field.Invalid(path.Child("group"), ref.Group, "want the group without a version, for example karpenter.k8s.aws"))
	}
	return errs
}

func validateGracePeriod(d *karpenterv1.Duration, spec *field.Path) field.ErrorList {
	if d == nil {
		return nil
	}
	if _, err := d.Parse(); err != nil {
		return field.ErrorList{field.Invalid(spec.Child("terminationGracePeriod"), string(*d), err.Error())}
	}
	return nil
}

// validateExpiry refuses a time of nothing: nodes would be bought and taken away again and again.
func validateExpiry(d karpenterv1.NillableDuration, path *field.Path) field.ErrorList {
	if after, never, err := d.Parse(); err == nil && !never && after == 0 {
		return field.ErrorList{field.Invalid(path, string(d), "no node would live: say how long one may, such as 720h, or Never")}
	}
	return validateNillable(d, path)
}

func validateNillable(d karpenterv1.NillableDuration, path *field.Path) field.ErrorList {
	if _, _, err := d.Parse(); err != nil {
		return field.ErrorList{field.Invalid(path, string(d), err.Error())}
	}
	return nil
}

func validateResources(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(list) {
		at := path.Key(string(name))
		for _, problem := range content.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(at, string(name), problem))
		}
		if q := list[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(at, q.String(), "want 0 or more"))
		}
	}
	return errs
}

// validateStatic holds the rules of pools with a fixed number of nodes.
func validateStatic(spec *karpenterv1.NodePoolSpec, path *field.Path) field.ErrorList {
	if spec.Replicas == nil {
		return nil
	}
	var errs field.ErrorList
	if *spec.Replicas < 0 {
		errs = append(errs, field.Invalid(path.Child("replicas"), *spec.Replicas, "want 0 or more"))
	}
	if spec.Weight != nil {
		errs = append(errs, field.Forbidden(path.Child("weight"), "it has no meaning on a static pool: remove weight or replicas"))
	}
	for _, name := range sortedKeys(spec.Limits) {
		if name != "nodes" {
			errs = append(errs, field.Forbidden(path.Child("limits").Key(string(name)),
				"a static pool may limit nodes only: remove it, or remove replicas"))
		}
	}
	return errs
}

func validateDisruption(d *karpenterv1.Disruption, path *field.Path) field.ErrorList {
	errs := validateNillable(d.ConsolidateAfter, path.Child("consolidateAfter"))
	policies := []karpenterv1.ConsolidationPolicy{karpenterv1.ConsolidateWhenEmpty, karpenterv1.ConsolidateWhenEmptyOrUnderutilized, karpenterv1.ConsolidateBalanced}
	if !slices.Contains(policies, d.ConsolidationPolicy) {
		unknown := field.NotSupported(path.Child("consolidationPolicy"), d.ConsolidationPolicy, policies)
		if d.ConsolidationPolicy == "WhenUnderutilized" {
			unknown.Detail += "; WhenUnderutilized is WhenEmptyOrUnderutilized since v1"
		}
		errs = append(errs, unknown)
	}
	if len(d.Budgets) > maxBudgets {
		errs = append(errs, field.TooMany(path.Child("budgets"), len(d.Budgets), maxBudgets))
	}
	for i := range d.Budgets {
		errs = append(errs, validateBudget(&d.Budgets[i], path.Child("budgets").Index(i))...)
	}
	return errs
}

func validateBudget(b *karpenterv1.Budget, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(b.Reasons) > maxReasons {
		errs = append(errs, field.TooMany(path.Child("reasons"), len(b.Reasons), maxReasons))
	}
	reasons := []karpenterv1.DisruptionReason{
		karpenterv1.ReasonUnderutilized, karpenterv1.ReasonEmpty, karpenterv1.ReasonDrifted, karpenterv1.ReasonUnhealthy,
	}
	for i, r := range b.Reasons {
		if !slices.Contains(reasons, r) {
			errs = append(errs, field.NotSupported(path.Child("reasons").Index(i), r, reasons))
		}
	}
	if _, err := karpenterv1.ParseBudgetNodes(b.Nodes); err != nil {
		errs = append(errs, field.Invalid(path.Child("nodes"), b.Nodes, err.Error()))
	}
	switch {
	case b.Schedule != nil && b.Duration == nil:
		errs = append(errs, field.Required(path.Child("duration"), "a schedule needs a duration, for example 8h"))
	case b.Schedule == nil && b.Duration != nil:
		errs = append(errs, field.Required(path.Child("schedule"), "a duration needs a schedule, for example 0 9 * * mon-fri (UTC)"))
	}
	if b.Schedule != nil {
		errs = append(errs, validateSchedule(*b.Schedule, path.Child("schedule"))...)
	}
	if b.Duration != nil {
		errs = append(errs, validateBudgetDuration(*b.Duration, path.Child("duration"))...)
	}
	return errs
}

func validateSchedule(s string, path *field.Path) field.ErrorList {
	if _, err := schedule.Parse(s); err != nil {
		return field.ErrorList{field.Invalid(path, s, err.Error()+"; want a cron line of five fields such as "+
			"0 9 * * mon-fri, or one of "+strings.Join(schedule.Named(), ", ")+"; always in UTC")}
	}
	return nil
}

var budgetDuration = regexp.MustCompile(`^([0-9]+h)?([0-9]+m)?(0s)?$`)

func validateBudgetDuration(s string, path *field.Path) field.ErrorList {
	const want = "want whole minutes and hours such as 8h or 1h30m"
	d, err := karpenterv1.Duration(s).Parse()
	if err != nil {
		return field.ErrorList{field.Invalid(path, s, want)}
	}
	if !budgetDuration.MatchString(s) || d <= 0 {
		return field.ErrorList{field.Invalid(path, s, want+", more than 0")}
	}
	return nil
}
