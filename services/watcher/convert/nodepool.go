package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// PoolFacts are what is known of a node pool beside its own object. The zero value knows nothing.
type PoolFacts struct {
	// Problem is what was wrong when the object was read; nil when nothing was.
	Problem error
	// NodeClasses says which EC2NodeClass objects exist; nil where that is not known.
	NodeClasses func(name string) bool
	// Devices are the rules by which the pool's declared devices are read; nil reads none.
	Devices *DeviceRules
}

// NodePool converts a pool, with defaults for what it leaves open. A pool that can't be used is converted as far as it
// goes, and says in not_ready why it can't: its nodes still are its nodes. What the contract does not allow is left out
// then, so that one bad pool does not make the whole snapshot invalid.
func NodePool(p *karpenterv1.NodePool, facts PoolFacts) snapshot.Object {
	p = p.DeepCopy()
	p.SetDefaults()
	t := p.Spec.Template
	out := &clusterpb.NodePool{
		Name: p.Name, NodeClass: t.Spec.NodeClassRef.Name,
		Labels: labelsOf(t.Metadata.LabelMap()), Annotations: labelsOf(t.Metadata.Annotations),
		Taints: taintsOf(coreTaints(t.Spec.Taints)), StartupTaints: taintsOf(coreTaints(t.Spec.StartupTaints)),
	}
	if p.Spec.Weight != nil {
		out.Weight = min(max(*p.Spec.Weight, 0), 100)
	}
	if p.Spec.Replicas != nil {
		n := max(*p.Spec.Replicas, 0)
		out.Replicas = &n
	}
	c := poolConversion{pool: out}
	c.check(p, facts)
	c.requirements(t.Spec.Requirements)
	c.limits(p.Spec.Limits)
	c.durations(p)
	c.disruption(p.Spec.Disruption)
	c.devices(p.Annotations[AnnotationDevices], facts.Devices)
	hash, err := karpenterv1.HashNodePool(p)
	if err != nil {
		c.refuse("spec.template: %v", err)
	}
	out.Hash = hash
	if out.GetNotReady() == nil && facts.NodeClasses != nil && !facts.NodeClasses(out.GetNodeClass()) {
		c.reason(clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_FOUND,
			fmt.Sprintf("spec.template.spec.nodeClassRef.name: there is no EC2NodeClass %s", out.GetNodeClass()))
	}
	return object(snapshot.NodePool, out.GetName(), out)
}

// check finds what makes the pool as a whole useless.
func (c poolConversion) check(p *karpenterv1.NodePool, facts PoolFacts) {
	problem := facts.Problem
	if problem == nil {
		problem = kubeapi.Validate(p)
	}
	if problem != nil {
		c.refuse("%s", strings.ReplaceAll(problem.Error(), "\n", "; "))
	}
	if p.DeletionTimestamp != nil {
		c.refuse("the pool is being deleted")
	}
	if ref := p.Spec.Template.Spec.NodeClassRef; ref.Group != awsv1.Group || ref.Kind != awsv1.KindEC2NodeClass {
		c.refuse("spec.template.spec.nodeClassRef: want group %s and kind %s", awsv1.Group, awsv1.KindEC2NodeClass)
	}
}

type poolConversion struct{ pool *clusterpb.NodePool }

// devices reads what the pool's owner says of its nodes' devices.
func (c poolConversion) devices(text string, rules *DeviceRules) {
	templates, err := deviceTemplates(text, rules)
	if err != nil {
		c.refuse("metadata.annotations[%s]: %s", AnnotationDevices, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	c.pool.Devices = templates
}

// refuse marks the pool as invalid. The first reason stays.
func (c poolConversion) refuse(format string, args ...any) {
	c.reason(clusterpb.ReasonCode_REASON_CODE_NODE_POOL_INVALID, fmt.Sprintf(format, args...))
}

func (c poolConversion) reason(code clusterpb.ReasonCode, message string) {
	if c.pool.GetNotReady() == nil {
		c.pool.NotReady = &clusterpb.Reason{Code: code, Message: message, Subject: "nodepool/" + c.pool.GetName()}
	}
}

func (c poolConversion) requirements(list []karpenterv1.Requirement) {
	for i, r := range list {
		out, err := requirementOf(r)
		if err != nil {
			c.refuse("spec.template.spec.requirements[%d].%v", i, err)
			continue
		}
		c.pool.Requirements = append(c.pool.Requirements, out)
	}
	sortRequirements(c.pool.Requirements)
}

// requirementOf converts a pool's or an overlay's requirement. The error begins with the field's path below it.
func requirementOf(r karpenterv1.Requirement) (*clusterpb.Requirement, error) {
	op, ok := poolOperator(r.Operator)
	if !ok {
		return nil, fmt.Errorf("operator: %q is not known", r.Operator)
	}
	out := &clusterpb.Requirement{Key: stableKey(r.Key), Operator: op}
	if r.MinValues != nil && *r.MinValues > 0 {
		out.MinValues = r.MinValues
	}
	if takes := op != clusterpb.Operator_OPERATOR_EXISTS && op != clusterpb.Operator_OPERATOR_DOES_NOT_EXIST; takes {
		out.Values = sortedSet(r.Values)
	}
	if bad := malformed(out); bad != "" {
		return nil, errors.New(bad)
	}
	return out, nil
}

// malformed says what the contract does not allow about a requirement, by the field's path below it.
func malformed(r *clusterpb.Requirement) string {
	values := r.GetValues()
	switch r.GetOperator() {
	case clusterpb.Operator_OPERATOR_IN, clusterpb.Operator_OPERATOR_NOT_IN:
		if len(values) == 0 {
			return "values: are missing; want at least one"
		}
	case clusterpb.Operator_OPERATOR_GT, clusterpb.Operator_OPERATOR_LT, clusterpb.Operator_OPERATOR_GTE, clusterpb.Operator_OPERATOR_LTE:
		if len(values) != 1 || !isInteger(values[0]) {
			return "values: want one whole number"
		}
	default: // EXISTS and DOES_NOT_EXIST have no values
	}
	if r.GetKey() == "" {
		return "key: is missing"
	}
	return ""
}

func poolOperator(op karpenterv1.Operator) (clusterpb.Operator, bool) {
	switch op {
	case karpenterv1.OpIn:
		return clusterpb.Operator_OPERATOR_IN, true
	case karpenterv1.OpNotIn:
		return clusterpb.Operator_OPERATOR_NOT_IN, true
	case karpenterv1.OpExists:
		return clusterpb.Operator_OPERATOR_EXISTS, true
	case karpenterv1.OpDoesNotExist:
		return clusterpb.Operator_OPERATOR_DOES_NOT_EXIST, true
	case karpenterv1.OpGt:
		return clusterpb.Operator_OPERATOR_GT, true
	case karpenterv1.OpLt:
		return clusterpb.Operator_OPERATOR_LT, true
	case karpenterv1.OpGte:
		return clusterpb.Operator_OPERATOR_GTE, true
	case karpenterv1.OpLte:
		return clusterpb.Operator_OPERATOR_LTE, true
	default:
		return clusterpb.Operator_OPERATOR_UNSPECIFIED, false
	}
}

// limits keeps zeros: a limit of nought allows nothing, where no limit allows everything.
func (c poolConversion) limits(list corev1.ResourceList) {
	for name, q := range list {
		v, ok := amountOf(name, q)
		if !ok && v == 0 {
			c.refuse("spec.limits.%s: %s is negative", name, q.String())
		}
		c.pool.Limits = append(c.pool.Limits, &clusterpb.Amount{Resource: string(name), Value: v})
	}
	sortAmounts(c.pool.Limits)
}

func (c poolConversion) durations(p *karpenterv1.NodePool) {
	spec := p.Spec.Template.Spec
	c.pool.ExpireAfter = c.nillable("spec.template.spec.expireAfter", spec.ExpireAfter)
	c.pool.ConsolidateAfter = c.nillable("spec.disruption.consolidateAfter", p.Spec.Disruption.ConsolidateAfter)
	if spec.TerminationGracePeriod == nil {
		return
	}
	d, err := spec.TerminationGracePeriod.Parse()
	if err != nil {
		c.refuse("spec.template.spec.terminationGracePeriod: %v", err)
		return
	}
	c.pool.TerminationGracePeriod = durationpb.New(d)
}

func (c poolConversion) nillable(path string, v karpenterv1.NillableDuration) *durationpb.Duration {
	d, never, err := v.Parse()
	if err != nil {
		c.refuse("%s: %v", path, err)
		return nil
	}
	if never {
		return nil
	}
	return durationpb.New(d)
}

func (c poolConversion) disruption(d karpenterv1.Disruption) {
	switch d.ConsolidationPolicy {
	case karpenterv1.ConsolidateWhenEmpty:
		c.pool.ConsolidationPolicy = clusterpb.ConsolidationPolicy_CONSOLIDATION_POLICY_WHEN_EMPTY
	case karpenterv1.ConsolidateWhenEmptyOrUnderutilized:
		c.pool.ConsolidationPolicy = clusterpb.ConsolidationPolicy_CONSOLIDATION_POLICY_WHEN_EMPTY_OR_UNDERUTILIZED
	case karpenterv1.ConsolidateBalanced:
		c.pool.ConsolidationPolicy = clusterpb.ConsolidationPolicy_CONSOLIDATION_POLICY_BALANCED
	default:
		// The mildest policy, so that the message is valid; a pool that isn't ready loses no node to it.
		c.pool.ConsolidationPolicy = clusterpb.ConsolidationPolicy_CONSOLIDATION_POLICY_WHEN_EMPTY
		c.refuse("spec.disruption.consolidationPolicy: %q is none of WhenEmpty, WhenEmptyOrUnderutilized, Balanced", d.ConsolidationPolicy)
	}
	for i, b := range d.Budgets {
		if out, err := budgetOf(b); err != nil {
			c.refuse("spec.disruption.budgets[%d].%v", i, err)
		} else {
			c.pool.Budgets = append(c.pool.Budgets, out)
		}
	}
}

func budgetOf(b karpenterv1.Budget) (*clusterpb.DisruptionBudget, error) {
	out := &clusterpb.DisruptionBudget{}
	nodes, err := karpenterv1.ParseBudgetNodes(b.Nodes)
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	out.Nodes = &clusterpb.DisruptionBudget_Count{Count: nodes.Value}
	if nodes.IsPercent {
		out.Nodes = &clusterpb.DisruptionBudget_Percent{Percent: nodes.Value}
	}
	for _, r := range b.Reasons {
		reason, ok := budgetReason(r)
		if !ok {
			return nil, fmt.Errorf("reasons: %q is none of Empty, Underutilized, Drifted", r)
		}
		out.Reasons = append(out.Reasons, reason)
	}
	slices.Sort(out.Reasons)
	out.Reasons = slices.Compact(out.Reasons)
	if b.Schedule != nil {
		out.Schedule = *b.Schedule
	}
	if b.Duration != nil {
		d, err := time.ParseDuration(*b.Duration)
		if err != nil {
			return nil, fmt.Errorf("duration: %q: want hours and minutes such as 1h30m", *b.Duration)
		}
		out.Duration = durationpb.New(d)
	}
	if (out.GetSchedule() == "") != (out.GetDuration().AsDuration() <= 0) {
		return nil, fmt.Errorf("schedule: %q with duration %s: want both, or neither", out.GetSchedule(), out.GetDuration().AsDuration())
	}
	return out, nil
}

func budgetReason(r karpenterv1.DisruptionReason) (clusterpb.DisruptionReason, bool) {
	switch r {
	case karpenterv1.ReasonEmpty:
		return clusterpb.DisruptionReason_DISRUPTION_REASON_EMPTY, true
	case karpenterv1.ReasonUnderutilized:
		return clusterpb.DisruptionReason_DISRUPTION_REASON_UNDERUTILIZED, true
	case karpenterv1.ReasonDrifted:
		return clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED, true
	default:
		return clusterpb.DisruptionReason_DISRUPTION_REASON_UNSPECIFIED, false
	}
}

func coreTaints(list []karpenterv1.Taint) []corev1.Taint {
	out := make([]corev1.Taint, 0, len(list))
	for _, t := range list {
		out = append(out, t.Core())
	}
	return out
}
