package convert

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

// unready is what an object's status says that keeps it from being used, by the first of the conditions that Ready
// follows from; "" where it says nothing, or was about another spec.
func unready(o metav1.Object, conditions []metav1.Condition, from []string) string {
	why := meta.FindStatusCondition(conditions, karpenterv1.ConditionReady)
	if why == nil || why.Status != metav1.ConditionFalse || why.ObservedGeneration != 0 && why.ObservedGeneration != o.GetGeneration() {
		return ""
	}
	for _, name := range from {
		if c := meta.FindStatusCondition(conditions, name); c != nil && c.Status == metav1.ConditionFalse {
			why = c
			break
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("its status says that it is not ready: %s is False: %s: %s", why.Type, why.Reason, why.Message), ": ")
}

// asStatusSays ends why something is not used as its status says.
const asStatusSays = "correct what it names; a manifest without status is planned for as if it were ready"

// isAssumed says that a class stands in for one that is not among the objects, or for a part of it.
func isAssumed(c *awsv1.EC2NodeClass) bool { return c.Spec.Role == manifest.Assumed }

// readyClass is why nothing can be bought with a class, as its status says; nil for nothing.
func readyClass(c *awsv1.EC2NodeClass) *clusterpb.Reason {
	text := unready(c, c.Status.Conditions, awsv1.Dependencies())
	if text == "" {
		return nil
	}
	return &clusterpb.Reason{
		Code: clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_READY, Message: text, Subject: &clusterpb.ObjectRef{Kind: "ec2nodeclass", Name: c.Name},
		Remedy: asStatusSays,
	}
}

// readyPools marks the pools whose status says that they are not ready. Where that is for their class, and the class is
// among the objects, the class says itself what it is.
func (b *Builder) readyPools(s *clusterpb.Snapshot) (warnings []string) {
	for _, p := range b.pools {
		text := unready(p, p.Status.Conditions, []string{karpenterv1.ConditionValidationSucceeded, karpenterv1.ConditionNodeClassReady})
		at := slices.IndexFunc(s.GetNodePools(), func(o *clusterpb.NodePool) bool { return o.GetName() == p.Name })
		ofClass := meta.IsStatusConditionFalse(p.Status.Conditions, karpenterv1.ConditionNodeClassReady) && slices.ContainsFunc(b.classes, func(c *awsv1.EC2NodeClass) bool {
			return c.Name == p.Spec.Template.Spec.NodeClassRef.Name && !isAssumed(c)
		})
		if text == "" || ofClass || at < 0 || s.GetNodePools()[at].GetNotReady() != nil {
			continue
		}
		code := clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_READY // its nodes can still go
		if meta.IsStatusConditionFalse(p.Status.Conditions, karpenterv1.ConditionValidationSucceeded) {
			code = clusterpb.ReasonCode_REASON_CODE_NODE_POOL_INVALID
		}
		s.NodePools[at].NotReady = &clusterpb.Reason{
			Code: code, Message: text, Subject: &clusterpb.ObjectRef{Kind: "nodepool", Name: p.Name},
			Remedy: asStatusSays,
		}
		warnings = append(warnings, Title(karpenterv1.KindNodePool, "", p.Name)+": "+text)
	}
	return warnings
}
