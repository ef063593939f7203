package reader

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// NodePool reads a pool, with defaults for what it leaves open. problem is what was wrong when the object was decoded;
// nil when nothing was. A pool that can't be used is read as far as it goes, and says in NotReady why it can't: its nodes
// still are its nodes. What no pool may hold is left out then. One that is annotated not to be disrupted has a budget of 0.
// Whether the pool is being deleted and whether its class exists is not looked at. The object is not changed.
func NodePool(p *karpenterv1.NodePool, problem error) model.NodePool {
	p = p.DeepCopy()
	p.SetDefaults()
	t := p.Spec.Template
	r := poolReader{out: model.NodePool{
		Name: model.PoolName(p.Name), NodeClass: model.NodeClassName(t.Spec.NodeClassRef.Name),
		Labels: model.LabelsOf(t.Metadata.Labels), Annotations: model.LabelsOf(t.Metadata.Annotations),
		Taints: Taints(coreTaints(t.Spec.Taints)), StartupTaints: Taints(coreTaints(t.Spec.StartupTaints)),
	}}
	if p.Spec.Weight != nil {
		r.out.Weight = min(max(*p.Spec.Weight, 0), 100)
	}
	if p.Spec.Replicas != nil {
		n := max(*p.Spec.Replicas, 0)
		r.out.Replicas = &n
	}
	r.check(p, problem)
	r.requirements(t.Spec.Requirements)
	r.limits(p.Spec.Limits)
	r.durations(p)
	if p.Annotations[labels.DoNotDisrupt] == "true" { // first of the budgets, so that it is the one that reasons tell of
		r.out.Budgets = append(r.out.Budgets, model.DisruptionBudget{})
	}
	r.disruption(p.Spec.Disruption)
	hash, err := karpenterv1.HashNodePool(p)
	if err != nil {
		r.refuse("spec.template: %v", err)
	}
	r.out.Hash = hash
	return r.out
}

// UnstructuredNodePool reads a pool as a dynamic client returns it.
func UnstructuredNodePool(u *unstructured.Unstructured) model.NodePool {
	o, problem := kubeapi.FromUnstructured(u)
	p, ok := o.(*karpenterv1.NodePool)
	if !ok {
		p = &karpenterv1.NodePool{}
		p.Name = u.GetName()
	}
	return NodePool(p, problem)
}

// poolReader collects what a pool says. The first reason why it can't be used stays.
type poolReader struct{ out model.NodePool }

func (r *poolReader) refuse(format string, args ...any) {
	if r.out.NotReady.OK() {
		r.out.NotReady = invalid(model.CodeNodePoolInvalid, "nodepool/"+string(r.out.Name), fmt.Errorf(format, args...))
	}
}

// check finds what makes the pool as a whole useless.
func (r *poolReader) check(p *karpenterv1.NodePool, problem error) {
	if problem == nil {
		problem = kubeapi.Validate(p)
	}
	if problem != nil {
		r.refuse("%w", problem)
	}
	if ref := p.Spec.Template.Spec.NodeClassRef; ref.Group != awsv1.Group || ref.Kind != awsv1.KindEC2NodeClass {
		r.refuse("spec.template.spec.nodeClassRef: want group %s and kind %s", awsv1.Group, awsv1.KindEC2NodeClass)
	}
}

func (r *poolReader) requirements(list []karpenterv1.Requirement) {
	for i, q := range list {
		out, err := Requirement(q)
		if err != nil {
			r.refuse("spec.template.spec.requirements[%d].%w", i, err)
			continue
		}
		r.out.Requirements = append(r.out.Requirements, out)
	}
	SortRequirements(r.out.Requirements)
}

// limits keeps zeros: a limit of zero allows nothing, where no limit allows everything.
func (r *poolReader) limits(list corev1.ResourceList) {
	for name, q := range list {
		v, ok := Amount(name, q)
		if !ok && v == 0 {
			r.refuse("spec.limits.%s: %s is negative", name, q.String())
		}
		r.out.Limits = append(r.out.Limits, model.Amount{Resource: model.Resource(name), Value: v})
	}
	SortAmounts(r.out.Limits)
}

func (r *poolReader) durations(p *karpenterv1.NodePool) {
	spec := p.Spec.Template.Spec
	r.out.ExpireAfter = r.nillable("spec.template.spec.expireAfter", spec.ExpireAfter)
	r.out.ConsolidateAfter = r.nillable("spec.disruption.consolidateAfter", p.Spec.Disruption.ConsolidateAfter)
	if spec.TerminationGracePeriod == nil {
		return
	}
	d, err := spec.TerminationGracePeriod.Parse()
	if err != nil {
		r.refuse("spec.template.spec.terminationGracePeriod: %w", err)
		return
	}
	r.out.TerminationGracePeriod = &d
}

// nillable is nil for Never.
func (r *poolReader) nillable(path string, v karpenterv1.NillableDuration) *time.Duration {
	d, never, err := v.Parse()
	if err != nil {
		r.refuse("%s: %w", path, err)
	}
	if never || err != nil {
		return nil
	}
	return &d
}

func (r *poolReader) disruption(d karpenterv1.Disruption) {
	switch d.ConsolidationPolicy {
	case karpenterv1.ConsolidateWhenEmpty:
		r.out.ConsolidationPolicy = model.WhenEmpty
	case karpenterv1.ConsolidateWhenEmptyOrUnderutilized:
		r.out.ConsolidationPolicy = model.WhenEmptyOrUnderutilized
	case karpenterv1.ConsolidateBalanced:
		r.out.ConsolidationPolicy = model.Balanced
	default:
		// The mildest policy, so that the value is valid; a pool that isn't ready loses no node to it.
		r.out.ConsolidationPolicy = model.WhenEmpty
		r.refuse("spec.disruption.consolidationPolicy: %q is none of WhenEmpty, WhenEmptyOrUnderutilized, Balanced", d.ConsolidationPolicy)
	}
	for i, b := range d.Budgets {
		if out, err := budget(b); err != nil {
			r.refuse("spec.disruption.budgets[%d].%w", i, err)
		} else {
			r.out.Budgets = append(r.out.Budgets, out)
		}
	}
}

func budget(b karpenterv1.Budget) (model.DisruptionBudget, error) {
	nodes, err := karpenterv1.ParseBudgetNodes(b.Nodes)
	if err != nil {
		return model.DisruptionBudget{}, fmt.Errorf("nodes: %w", err)
	}
	out := model.DisruptionBudget{Count: nodes.Value, IsPercent: nodes.IsPercent}
	for _, r := range b.Reasons {
		reason, ok := budgetReason(r)
		if !ok {
			return model.DisruptionBudget{}, fmt.Errorf("reasons: %q is none of Empty, Underutilized, Drifted", r)
		}
		out.Reasons = append(out.Reasons, reason)
	}
	slices.Sort(out.Reasons)
	out.Reasons = slices.Compact(out.Reasons)
	if b.Schedule != nil {
		out.Schedule = *b.Schedule
	}
	if b.Duration != nil {
		if out.Duration, err = time.ParseDuration(*b.Duration); err != nil {
			return model.DisruptionBudget{}, fmt.Errorf("duration: %q: want hours and minutes such as 1h30m", *b.Duration)
		}
	}
	if (out.Schedule == "") != (out.Duration <= 0) {
		return model.DisruptionBudget{}, fmt.Errorf("schedule: %q with duration %s: want both, or neither", out.Schedule, out.Duration)
	}
	return out, nil
}

func budgetReason(r karpenterv1.DisruptionReason) (model.DisruptionReason, bool) {
	switch r {
	case karpenterv1.ReasonEmpty:
		return model.ReasonEmpty, true
	case karpenterv1.ReasonUnderutilized:
		return model.ReasonUnderutilized, true
	case karpenterv1.ReasonDrifted:
		return model.ReasonDrifted, true
	case karpenterv1.ReasonUnhealthy:
		return model.ReasonUnhealthy, true
	default:
		return 0, false
	}
}

func coreTaints(list []karpenterv1.Taint) []corev1.Taint {
	out := make([]corev1.Taint, 0, len(list))
	for _, t := range list {
		out = append(out, t.Core())
	}
	return out
}

// invalid is why an object can't be used, on one line.
func invalid(code model.Code, subject string, problem error) model.Reason {
	kind := karpenterv1.KindNodePool
	if code == model.CodeNodeClassNotReady {
		kind = awsv1.KindEC2NodeClass
	}
	return model.Reason{
		Code: code, Subject: subject, Message: strings.ReplaceAll(problem.Error(), "\n", "; "), Remedy: "correct the " + kind,
	}
}
