package objects

import (
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// NewClaim is the NodeClaim that mirrors a claim, owned by its pool's object unless that is nil. The API server forbids
// changes of its spec.
func NewClaim(c model.Claim, pool *unstructured.Unstructured) *unstructured.Unstructured {
	spec := map[string]any{
		"nodeClassRef": map[string]any{"group": awsv1.Group, "kind": awsv1.KindEC2NodeClass, "name": string(c.NodeClass)},
		"requirements": requirements(c.Requirements),
		"expireAfter":  karpenterv1.Never,
	}
	if len(c.Requests) > 0 {
		spec["resources"] = map[string]any{"requests": quantities(c.Requests)}
	}
	if len(c.Taints) > 0 {
		spec["taints"] = taints(c.Taints)
	}
	if len(c.StartupTaints) > 0 {
		spec["startupTaints"] = taints(c.StartupTaints)
	}
	if !c.ExpireTime.IsZero() {
		spec["expireAfter"] = seconds(c.ExpireTime.Sub(c.CreateTime))
	}
	if grace := c.TerminationGracePeriod; grace != nil {
		spec["terminationGracePeriod"] = seconds(*grace)
	}

	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(karpenterv1.NodeClaimGVK())
	o.SetName(string(c.ID))
	o.SetLabels(claimLabels(c))
	o.SetFinalizers([]string{labels.FinalizerTermination})
	annotations := map[string]string{labels.NodePoolHash: c.PoolHash, labels.NodeClassHash: c.ClassHash}
	for _, a := range c.Annotations {
		annotations[a.Key] = a.Value
	}
	o.SetAnnotations(annotations)
	if pool != nil {
		o.SetOwnerReferences([]metav1.OwnerReference{Owner(karpenterv1.NodePoolGVK(), pool)})
	}
	return o
}

// Owner refers to an object of that kind as an owner.
func Owner(kind schema.GroupVersionKind, o metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: o.GetName(), UID: o.GetUID(), BlockOwnerDeletion: new(true),
	}
}

// OfUser says that a NodeClaim belongs to no pool, and is none of Kerf's: a user has written it.
func OfUser(o *unstructured.Unstructured) bool {
	return o.GetLabels()[labels.NodePool] == "" && !isOurs(o)
}

// isOurs says that a NodeClaim mirrors one of Kerf's claims.
func isOurs(o *unstructured.Unstructured) bool { return o.GetLabels()[labels.Claim] == o.GetName() }

// ReadClaim is what an object says of the claim that it mirrors, and whether it mirrors one of Kerf's.
func ReadClaim(o *unstructured.Unstructured) (c model.Claim, ours bool, err error) {
	if !isOurs(o) {
		return model.Claim{}, false, nil
	}
	c, err = reader.UnstructuredNodeClaim(o)
	return c, true, err
}

func claimLabels(c model.Claim) map[string]string {
	out := make(map[string]string, len(c.Labels)+6)
	for _, l := range c.Labels {
		out[l.Key] = l.Value
	}
	out[labels.Claim] = string(c.ID) // as on its node, so that one selector finds both
	out[labels.NodePool] = string(c.NodePool)
	out[labels.NodeClass] = string(c.NodeClass)
	if c.InstanceType != "" {
		out[corev1.LabelInstanceTypeStable] = string(c.InstanceType)
		out[corev1.LabelTopologyZone] = c.Zone
		out[labels.CapacityType] = c.CapacityType.String()
	}
	return out
}

// SetClaim brings a claim's object to what the claim is now: labels, finalizer and status. Consolidatable is whether
// its node has been quiet for long enough.
func SetClaim(o *unstructured.Unstructured, c model.Claim, consolidatable bool, now time.Time) {
	o.SetLabels(merged(o.GetLabels(), claimLabels(c)))
	setFinalizer(o, labels.FinalizerTermination)
	status := statusOf(o)
	put := func(key, value string) {
		if value != "" {
			status[key] = value
		}
	}
	put("providerID", c.ProviderID)
	put("imageID", c.ImageID)
	put("nodeName", string(c.Node))
	if len(c.Capacity) > 0 {
		status["capacity"] = quantities(c.Capacity)
	}
	if len(c.Allocatable) > 0 {
		status["allocatable"] = quantities(c.Allocatable)
	}
	setProgress(o, c, now)
	if consolidatable {
		setCondition(o, now, condition{kind: karpenterv1.ConditionConsolidatable, holds: true})
	} else {
		dropCondition(o, karpenterv1.ConditionConsolidatable)
	}
	setEnd(o, c, now)
}

// setProgress says how far the claim came on its way up, and why not further.
func setProgress(o *unstructured.Unstructured, c model.Claim, now time.Time) {
	at := furthest(c)
	reason := ""
	switch {
	case c.Failure.Message == "":
	case c.State == model.ClaimFailed:
		reason = "LaunchFailed"
	default:
		reason = "Waiting"
	}
	for _, step := range []struct {
		kind  string
		state model.ClaimState
	}{
		{karpenterv1.ConditionLaunched, model.ClaimLaunched},
		{karpenterv1.ConditionRegistered, model.ClaimRegistered},
		{karpenterv1.ConditionInitialized, model.ClaimInitialized},
		{karpenterv1.ConditionReady, model.ClaimInitialized},
	} {
		if at >= step.state {
			setCondition(o, now, condition{kind: step.kind, holds: true})
		} else {
			setCondition(o, now, condition{kind: step.kind, reason: reason, message: c.Failure.Message})
		}
	}
}

// setEnd says why and how the claim is taken away. What is no longer so, such as a disruption that was rolled back, goes.
func setEnd(o *unstructured.Unstructured, c model.Claim, now time.Time) {
	set := func(holds bool, kind, reason, message string) {
		if !holds {
			dropCondition(o, kind)
			return
		}
		setCondition(o, now, condition{kind: kind, holds: true, reason: reason, message: message})
	}
	leaving := c.Disruption != "" || c.State == model.ClaimDraining || c.State == model.ClaimTerminating
	set(leaving, karpenterv1.ConditionDisruptionReason, c.DisruptionReason.String(), "Kerf is taking this node away")
	set(c.State == model.ClaimTerminating, karpenterv1.ConditionDrained, "", "")
	set(c.State == model.ClaimTerminating, karpenterv1.ConditionInstanceTerminating, "", "")
	set(c.Drifted.Message != "", karpenterv1.ConditionDrifted, driftWord(c.Drifted.Message), c.Drifted.Message)
}

// driftWord is the word that a drift's message begins with, such as AMIDrift. Reasons of conditions may be words only.
func driftWord(message string) string {
	word, _, found := strings.Cut(message, ": ")
	if !found || strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) }) {
		return "Drifted"
	}
	return word
}

// furthest is the furthest state that the claim reached on its way up.
func furthest(c model.Claim) model.ClaimState {
	if c.State <= model.ClaimInitialized {
		return c.State
	}
	return c.Reached
}
