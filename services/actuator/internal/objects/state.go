package objects

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
)

// Ref is where the API server keeps an object that a plan tells of, and how its status is written.
type Ref struct {
	Kind, Namespace, Name string
	Resource              schema.GroupVersionResource
	// Set writes the state into the object.
	Set func(o *unstructured.Unstructured, s model.ObjectState, now time.Time)
}

// Stated finds the object that a state is of; false for a kind whose status is not written.
func Stated(s model.ObjectState) (Ref, bool) {
	kind, name, _ := strings.Cut(s.Subject, "/")
	switch kind {
	case "nodeoverlay":
		return Ref{Kind: karpenterv1alpha1.KindNodeOverlay, Name: name, Resource: karpenterv1alpha1.NodeOverlayGVR(), Set: setOverlay}, true
	case "capacitybuffer":
		namespace, name, _ := strings.Cut(name, "/")
		return Ref{
			Kind: autoscalingv1beta1.KindCapacityBuffer, Namespace: namespace, Name: name,
			Resource: autoscalingv1beta1.CapacityBufferGVR(), Set: setBuffer,
		}, true
	}
	return Ref{}, false
}

// newer says that the object has changed since the plan: what became of it is not known yet.
func newer(o *unstructured.Unstructured, s model.ObjectState) bool {
	return o.GetGeneration() > s.Generation && s.Generation > 0
}

func setOverlay(o *unstructured.Unstructured, s model.ObjectState, now time.Time) {
	if newer(o, s) {
		return
	}
	c := condition{kind: karpenterv1alpha1.ConditionValidationSucceeded, holds: s.NotReady.OK(), message: sentence(s.NotReady)}
	if code := s.NotReady.Code; code == model.CodeOverlayConflict {
		c.reason = karpenterv1alpha1.ReasonConflict
	} else if code == model.CodeOverlayInvalid {
		c.reason = karpenterv1alpha1.ReasonRuntimeValidation
	}
	setCondition(o, now, c)
	c.kind = karpenterv1.ConditionReady
	setCondition(o, now, c)
}

// setBuffer writes what a buffer asks for and has. What it asked for last stays while what it refers to is not there.
func setBuffer(o *unstructured.Unstructured, s model.ObjectState, now time.Time) {
	if newer(o, s) {
		return
	}
	resolved := condition{kind: autoscalingv1beta1.ConditionReadyForProvisioning, holds: s.NotReady.OK(), message: sentence(s.NotReady)}
	has := condition{kind: autoscalingv1beta1.ConditionProvisioning}
	template, _, _ := unstructured.NestedString(o.Object, "spec", "podTemplateRef", "name")
	switch {
	case s.Capacity != nil:
		setSize(o, *s.Capacity, template)
		has.holds, has.reason, has.message = fits(*s.Capacity)
	case s.NotReady.Code == model.CodeBufferReference && template != "":
		resolved.reason = autoscalingv1beta1.ReasonPodTemplateNotFound
	case s.NotReady.Code == model.CodeBufferReference:
		resolved.reason = autoscalingv1beta1.ReasonScalableRefNotFound
	default:
		resolved.reason = autoscalingv1beta1.ReasonResolutionFailed
	}
	if s.Capacity == nil {
		has.reason, has.message = autoscalingv1beta1.ReasonNotReadyForProvisioning, resolved.message
	}
	setCondition(o, now, resolved)
	setCondition(o, now, has)
}

func setSize(o *unstructured.Unstructured, c model.BufferCapacity, template string) {
	status := statusOf(o)
	status["replicas"] = c.Replicas
	strategy, _, _ := unstructured.NestedString(o.Object, "spec", "provisioningStrategy")
	if strategy == "" {
		strategy = string(autoscalingv1beta1.StrategyActive)
	}
	status["provisioningStrategy"] = strategy
	if template == "" {
		delete(status, "podTemplateRef")
		delete(status, "podTemplateGeneration")
		return
	}
	status["podTemplateRef"] = map[string]any{"name": template}
	if c.TemplateGeneration > 0 {
		status["podTemplateGeneration"] = c.TemplateGeneration
	}
}

// fits says whether the buffer's capacity is there, and of what is not why.
func fits(c model.BufferCapacity) (holds bool, reason, message string) {
	switch {
	case c.Replicas == 0:
		return false, autoscalingv1beta1.ReasonBufferEmpty, "it asks for no capacity now"
	case c.Coming+c.Missing == 0:
		return true, autoscalingv1beta1.ReasonFitsExistingCapacity, ""
	}
	message = fmt.Sprintf("of %d replicas %d have capacity, nodes are launched for %d, and %d get none",
		c.Replicas, c.Replicas-c.Coming-c.Missing, c.Coming, c.Missing)
	if c.Missing > 0 {
		message += ": " + sentence(c.Why)
	}
	return false, autoscalingv1beta1.ReasonRequiresNewCapacity, message
}

// sentence is a reason and what helps.
func sentence(r model.Reason) string {
	if r.Remedy == "" {
		return r.Message
	}
	return r.Message + "; " + r.Remedy
}
