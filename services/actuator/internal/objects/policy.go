package objects

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
	"github.com/kerf-dev/kerf/services/actuator/nodeclass"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Codes of kerf.cluster.v1alpha1.ReasonCode that reading users' objects can give.
const (
	codePoolInvalid   model.ReasonCode = 2
	codeClassNotReady model.ReasonCode = 4
)

// Pool reads a NodePool. One that can't be read is a value too, with the reason: it must not vanish, or its nodes would
// look like nobody's.
func Pool(o *unstructured.Unstructured) cluster.Pool {
	out := cluster.Pool{Name: o.GetName(), Terminating: o.GetDeletionTimestamp() != nil}
	fail := func(err error) cluster.Pool {
		out.NotReady = model.Reason{
			Code: codePoolInvalid, Subject: "nodepool/" + out.Name, Message: err.Error(), Remedy: "correct the NodePool",
		}

		return out
	}

	var p karpenterv1.NodePool
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
		return fail(err)
	}
	p.SetDefaults()
	if err := kubeapi.Validate(&p); err != nil {
		return fail(err)
	}
	hash, err := karpenterv1.HashNodePool(&p)
	if err != nil {
		return fail(err)
	}
	t := p.Spec.Template
	out.Hash, out.Class = hash, t.Spec.NodeClassRef.Name
	out.Labels, out.Annotations = sorted(t.Metadata.LabelMap()), sorted(t.Metadata.Annotations)
	out.Taints, out.StartupTaints = modelTaints(t.Spec.Taints), modelTaints(t.Spec.StartupTaints)
	out.Limits, out.Replicas = amounts(p.Spec.Limits), p.Spec.Replicas
	for _, r := range t.Spec.Requirements {
		out.Requirements = append(out.Requirements, model.Requirement{
			Key: labels.Normal(r.Key), Operator: string(r.Operator), Values: slices.Sorted(slices.Values(r.Values)),
			MinValues: r.MinValues,
		})
	}
	if out.ExpireAfter, err = orNever(t.Spec.ExpireAfter); err != nil {
		return fail(err)
	}
	out.TerminationGracePeriod = -1
	if g := t.Spec.TerminationGracePeriod; g != nil {
		if out.TerminationGracePeriod, err = g.Parse(); err != nil {
			return fail(err)
		}
	}
	if out.Budgets, err = budgets(p.Spec.Disruption.Budgets); err != nil {
		return fail(err)
	}

	return out
}

// orNever reads a duration; negative stands for Never.
func orNever(d karpenterv1.NillableDuration) (time.Duration, error) {
	value, never, err := d.Parse()
	if never {
		return -1, nil
	}

	return value, err
}

func budgets(bs []karpenterv1.Budget) ([]cluster.Budget, error) {
	reasons := map[karpenterv1.DisruptionReason]model.DisruptionReason{
		karpenterv1.ReasonEmpty: model.DisruptionEmpty, karpenterv1.ReasonDrifted: model.DisruptionDrifted,
		karpenterv1.ReasonUnderutilized: model.DisruptionUnderutilized,
	}
	var out []cluster.Budget
	for _, b := range bs {
		nodes, err := karpenterv1.ParseBudgetNodes(b.Nodes)
		if err != nil {
			return nil, err
		}
		budget := cluster.Budget{Count: int(nodes.Value)}
		if nodes.IsPercent {
			budget.Count, budget.Percent = -1, int(nodes.Value)
		}
		for _, r := range b.Reasons {
			budget.Reasons = append(budget.Reasons, reasons[r])
		}
		if b.Schedule != nil && b.Duration != nil {
			budget.Schedule = *b.Schedule
			if budget.Duration, err = time.ParseDuration(*b.Duration); err != nil {
				return nil, fmt.Errorf("budget duration %q: %w", *b.Duration, err)
			}
		}
		out = append(out, budget)
	}

	return out, nil
}

// Class reads an EC2NodeClass, with the reason where it can't be read.
func Class(o *unstructured.Unstructured) cluster.Class {
	out := cluster.Class{
		Spec:        cloud.ClassSpec{Name: o.GetName(), UID: string(o.GetUID()), Generation: o.GetGeneration()},
		Terminating: o.GetDeletionTimestamp() != nil,
	}
	fail := func(err error) cluster.Class {
		out.Invalid = model.Reason{
			Code: codeClassNotReady, Subject: "ec2nodeclass/" + o.GetName(), Message: err.Error(),
			Remedy: "correct the EC2NodeClass",
		}

		return out
	}

	var c awsv1.EC2NodeClass
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &c); err != nil {
		return fail(err)
	}
	c.SetDefaults()
	if err := kubeapi.Validate(&c); err != nil {
		return fail(err)
	}
	hash, err := awsv1.HashEC2NodeClass(&c)
	if err != nil {
		return fail(err)
	}
	spec, err := nodeclass.Spec(&c, hash)
	if err != nil {
		return fail(err)
	}
	out.Spec = spec

	return out
}

func modelTaints(ts []karpenterv1.Taint) []model.Taint {
	out := make([]model.Taint, 0, len(ts))
	for _, t := range ts {
		out = append(out, model.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}

	return out
}

func sorted(m map[string]string) []model.Label {
	out := make([]model.Label, 0, len(m))
	for k, v := range m {
		out = append(out, model.Label{Key: k, Value: v})
	}
	slices.SortFunc(out, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })

	return out
}
