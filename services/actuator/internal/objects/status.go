package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// condition is one line of an object's status.
type condition struct {
	kind            string
	holds           bool
	unknown         bool // then holds says nothing
	reason, message string
	generation      int64 // that it is about; 0: the object's
}

// setCondition writes one condition; the transition time moves only when the status does.
func setCondition(o *unstructured.Unstructured, now time.Time, c condition) {
	status := "False"
	switch {
	case c.unknown:
		status = "Unknown"
	case c.holds:
		status = "True"
	}
	if c.reason == "" {
		c.reason = c.kind
		if !c.holds {
			c.reason = "NotYet" + c.kind
		}
	}
	next := map[string]any{
		"type": c.kind, "status": status, "reason": c.reason, "message": c.message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339), "observedGeneration": cmp.Or(c.generation, o.GetGeneration()),
	}
	list := conditions(o)
	for i := range list {
		old, ok := list[i].(map[string]any)
		if !ok || old["type"] != c.kind {
			continue
		}
		if at, ok := old["lastTransitionTime"].(string); ok && old["status"] == status {
			next["lastTransitionTime"] = at
		}
		list[i] = next
		statusOf(o)["conditions"] = list
		return
	}
	statusOf(o)["conditions"] = append(list, next)
}

// dropCondition takes a condition off that has nothing to say any more.
func dropCondition(o *unstructured.Unstructured, kind string) {
	list := conditions(o)
	if len(list) == 0 {
		return
	}
	statusOf(o)["conditions"] = slices.DeleteFunc(list, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == kind
	})
}

// conditions are a copy of the object's; a foreign shape is none, and will be replaced.
func conditions(o *unstructured.Unstructured) []any {
	list, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	return list
}

// SetPool writes a pool's status into its object.
func SetPool(o *unstructured.Unstructured, s cluster.PoolStatus, now time.Time) {
	status := statusOf(o)
	status["resources"] = quantities(s.Resources)
	status["nodes"] = int64(0)
	for _, a := range s.Resources {
		if a.Resource == "nodes" {
			status["nodes"] = a.Value
		}
	}
	invalid := s.NotReady.Code == model.CodeNodePoolInvalid
	why := condition{kind: karpenterv1.ConditionValidationSucceeded, holds: !invalid}
	if invalid {
		why.reason, why.message = karpenterv1.ReasonNodePoolValidationFailed, s.NotReady.Message
	}
	setCondition(o, now, why)
	if invalid { // its class was not looked for
		dropCondition(o, karpenterv1.ConditionNodeClassReady)
	} else {
		setCondition(o, now, condition{kind: karpenterv1.ConditionNodeClassReady, holds: s.NotReady.OK(), reason: reasonWord(s.NotReady), message: s.NotReady.Message})
	}
	setRegistration(o, s.Registration, now)
	setReady(o, s.NotReady, now)
}

// setRegistration says whether launches become nodes. Where nothing is known, what was said of the same spec stands.
func setRegistration(o *unstructured.Unstructured, r cluster.Registration, now time.Time) {
	c := condition{kind: karpenterv1.ConditionNodeRegistrationHealthy, holds: r.Healthy, message: r.Message}
	switch {
	case !r.Known && said(o, c.kind):
		return
	case !r.Known:
		c.unknown, c.reason = true, "AwaitingReconciliation"
	case !r.Healthy:
		c.reason = "RegistrationFailed"
	}
	setCondition(o, now, c)
}

// said says whether a condition was written of the object's spec as it is.
func said(o *unstructured.Unstructured, kind string) bool {
	return slices.ContainsFunc(conditions(o), func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == kind && m["observedGeneration"] == o.GetGeneration()
	})
}

func setReady(o *unstructured.Unstructured, why model.Reason, now time.Time) {
	setCondition(o, now, ready(why))
}

func ready(why model.Reason) condition {
	return condition{kind: karpenterv1.ConditionReady, holds: why == model.Reason{}, reason: reasonWord(why), message: sentence(why)}
}

// statusOf is the object's status, made where there is none.
func statusOf(o *unstructured.Unstructured) map[string]any {
	status, ok := o.Object["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
		o.Object["status"] = status
	}
	return status
}

func reasonWord(r model.Reason) string {
	switch {
	case r == model.Reason{}:
		return ""
	case r.Code == model.CodeNodeClassNotFound:
		return karpenterv1.ReasonNodeClassNotFound
	}
	return "NotReady"
}

func requirements(rs []model.Requirement) []any {
	out := make([]any, 0, len(rs))
	for _, r := range rs {
		m := map[string]any{"key": r.Key, "operator": r.Operator.String()}
		if len(r.Values) > 0 {
			values := make([]any, 0, len(r.Values))
			for _, v := range r.Values {
				values = append(values, v)
			}
			m["values"] = values
		}
		if r.MinValues > 0 {
			m["minValues"] = int64(r.MinValues)
		}
		out = append(out, m)
	}
	return out
}

func taints(ts []model.Taint) []any {
	out := make([]any, 0, len(ts))
	for _, t := range ts {
		m := map[string]any{"key": t.Key, "effect": t.Effect.String()}
		if t.Value != "" {
			m["value"] = t.Value
		}
		out = append(out, m)
	}
	return out
}

func quantities(as model.Amounts) map[string]any {
	out := make(map[string]any, len(as))
	for _, a := range as {
		q := resource.NewQuantity(a.Value, resource.DecimalSI)
		switch a.Resource {
		case model.CPU:
			q = resource.NewMilliQuantity(a.Value, resource.DecimalSI)
		case model.Memory, model.Resource(corev1.ResourceEphemeralStorage):
			q = resource.NewQuantity(a.Value, resource.BinarySI)
		default: // a count
		}
		out[string(a.Resource)] = q.String()
	}
	return out
}

// seconds writes a duration in the form that the CRDs' pattern takes.
func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int64(d.Seconds())) }

func setFinalizer(o *unstructured.Unstructured, fin string) {
	if o.GetDeletionTimestamp() == nil && !slices.Contains(o.GetFinalizers(), fin) {
		o.SetFinalizers(append(o.GetFinalizers(), fin))
	}
}

func merged(old, add map[string]string) map[string]string {
	out := maps.Clone(old)
	if out == nil {
		out = make(map[string]string, len(add))
	}
	maps.Copy(out, add)
	return out
}
