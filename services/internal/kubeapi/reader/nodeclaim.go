package reader

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// NodeClaim reads what an object says of the claim that it stands for. It does not say what the claim was bought for
// and for how much, what else it might have been launched as, and which disruption takes it away. An error names the
// first field that can't be read.
func NodeClaim(o *karpenterv1.NodeClaim) (model.Claim, error) {
	c := model.Claim{
		ID: model.ClaimID(o.Name), NodePool: model.PoolName(o.Labels[labels.NodePool]),
		NodeClass: model.NodeClassName(o.Spec.NodeClassRef.Name),
		PoolHash:  hash(o, labels.NodePoolHash, labels.NodePoolHashVersion), ClassHash: hash(o, labels.NodeClassHash, labels.NodeClassHashVersion),
		InstanceType: model.TypeName(o.Labels[labels.InstanceType]), Zone: o.Labels[labels.Zone],
		InstanceID: o.Status.ProviderID[strings.LastIndexByte(o.Status.ProviderID, '/')+1:], ProviderID: o.Status.ProviderID,
		ImageID: o.Status.ImageID, Node: model.NodeName(o.Status.NodeName),
		Labels:      model.LabelsOf(o.Labels),
		Annotations: model.LabelsOf(o.Annotations),
		Taints:      Taints(coreTaints(o.Spec.Taints)), StartupTaints: Taints(coreTaints(o.Spec.StartupTaints)),
		CreateTime: o.CreationTimestamp.Time, StateTime: o.CreationTimestamp.Time,
		LaunchTime:     since(o, karpenterv1.ConditionLaunched).Time,
		InitializeTime: since(o, karpenterv1.ConditionInitialized).Time,
	}
	if word := o.Labels[labels.CapacityType]; word != "" || c.InstanceType != "" {
		var known bool
		if c.CapacityType, known = model.ParseCapacityType(word); !known {
			return model.Claim{}, fmt.Errorf("metadata.labels[%s]: %q is none of on-demand, spot and reserved", labels.CapacityType, word)
		}
	}
	c.State, c.Reached = claimState(o)
	for i, r := range o.Spec.Requirements {
		requirement, err := Requirement(r)
		if err != nil {
			return model.Claim{}, fmt.Errorf("spec.requirements[%d].%w", i, err)
		}
		c.Requirements = append(c.Requirements, requirement)
	}
	var over string
	if c.Requests, over = Amounts(o.Spec.Resources.Requests); over != "" {
		return model.Claim{}, fmt.Errorf("spec.resources.requests[%s]: out of bounds", over)
	}
	if c.Capacity, over = Amounts(o.Status.Capacity); over != "" {
		return model.Claim{}, fmt.Errorf("status.capacity[%s]: out of bounds", over)
	}
	if c.Allocatable, over = Amounts(o.Status.Allocatable); over != "" {
		return model.Claim{}, fmt.Errorf("status.allocatable[%s]: out of bounds", over)
	}
	if d := meta.FindStatusCondition(o.Status.Conditions, karpenterv1.ConditionDrifted); d != nil && d.Status == metav1.ConditionTrue {
		c.Drifted = model.Reason{
			Code: model.CodeDrifted, Message: strings.TrimSuffix(d.Reason+": "+d.Message, ": "), Subject: "nodeclaim/" + o.Name,
		}
	}
	return c, claimTimes(o, &c)
}

// hash is a hash of Kerf's. One of Karpenter's, which has its version beside it, is made one that no hash of Kerf's
// compares with: Karpenter writes its own also on claims of Kerf's that it finds, and who takes these up again gives
// them the present ones.
func hash(o *karpenterv1.NodeClaim, key, version string) string {
	if h := o.Annotations[key]; h == "" || o.Annotations[version] == "" {
		return h
	}
	return "karpenter-" + o.Annotations[key]
}

// claimState is how far a claim is, and how far it came before it began to end.
func claimState(o *karpenterv1.NodeClaim) (state, reached model.ClaimState) {
	is := func(condition string) bool { return meta.IsStatusConditionTrue(o.Status.Conditions, condition) }
	switch {
	case is(karpenterv1.ConditionInitialized):
		reached = model.ClaimInitialized
	case is(karpenterv1.ConditionRegistered):
		reached = model.ClaimRegistered
	case is(karpenterv1.ConditionLaunched) || o.Labels[labels.InstanceType] != "":
		reached = model.ClaimLaunched
	default:
		reached = model.ClaimPlanned
	}
	switch {
	case o.DeletionTimestamp.IsZero():
		return reached, reached
	case is(karpenterv1.ConditionInstanceTerminating):
		return model.ClaimTerminating, reached
	default:
		return model.ClaimDraining, reached
	}
}

// since is when a condition became true; zero when it is not.
func since(o *karpenterv1.NodeClaim, condition string) metav1.Time {
	if c := meta.FindStatusCondition(o.Status.Conditions, condition); c != nil && c.Status == metav1.ConditionTrue {
		return c.LastTransitionTime
	}
	return metav1.Time{}
}

func claimTimes(o *karpenterv1.NodeClaim, c *model.Claim) error {
	if text := o.Spec.TerminationGracePeriod; text != nil {
		grace, err := text.Parse()
		if err != nil {
			return fmt.Errorf("spec.terminationGracePeriod: %w", err)
		}
		c.TerminationGracePeriod = &grace
	}
	if o.Spec.ExpireAfter != "" { // else the claim is of a time before there was the field
		after, never, err := o.Spec.ExpireAfter.Parse()
		if err != nil {
			return fmt.Errorf("spec.expireAfter: %w", err)
		}
		if !never && !c.CreateTime.IsZero() { // of a manifest that says of no time how old the claim is, nothing follows
			c.ExpireTime = c.CreateTime.Add(after)
		}
	}
	if text := o.Annotations[labels.TerminationTimestamp]; text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return fmt.Errorf("metadata.annotations[%s]: %q is no time in RFC 3339", labels.TerminationTimestamp, text)
		}
		c.DrainDeadline = at
	}
	return nil
}

// UnstructuredNodeClaim reads a NodeClaim as a dynamic client returns it.
func UnstructuredNodeClaim(u *unstructured.Unstructured) (model.Claim, error) {
	o, err := kubeapi.FromUnstructured(u)
	if err != nil {
		return model.Claim{}, err
	}
	claim, ok := o.(*karpenterv1.NodeClaim)
	if !ok {
		return model.Claim{}, fmt.Errorf("a %T is no NodeClaim", o)
	}
	return NodeClaim(claim)
}
