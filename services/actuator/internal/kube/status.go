package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// newClaimObject is the NodeClaim that mirrors a claim. Its spec never changes: the API server forbids it.
func newClaimObject(c model.Claim, pool *unstructured.Unstructured) *unstructured.Unstructured {
	spec := map[string]any{
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": c.NodeClass},
		"requirements": requirements(c.Requirements),
		"expireAfter":  "Never",
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
	if c.TerminationGracePeriod >= 0 {
		spec["terminationGracePeriod"] = seconds(c.TerminationGracePeriod)
	}

	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "spec": spec,
	}}
	o.SetName(string(c.ID))
	o.SetLabels(claimLabels(c))
	o.SetFinalizers([]string{finalizer})
	annotations := map[string]string{annotationPoolHash: c.PoolHash, annotationClassHash: c.ClassHash}
	for _, a := range c.Annotations {
		annotations[a.Key] = a.Value
	}
	o.SetAnnotations(annotations)
	if pool != nil {
		block := true
		o.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: pool.GetName(), UID: pool.GetUID(), BlockOwnerDeletion: &block,
		}})
	}

	return o
}

func claimLabels(c model.Claim) map[string]string {
	out := make(map[string]string, len(c.Labels)+5)
	for _, l := range c.Labels {
		out[l.Key] = l.Value
	}
	out[labelPool] = c.NodePool
	out[labelClass] = c.NodeClass
	if c.Launched.InstanceType != "" {
		out[corev1.LabelInstanceTypeStable] = c.Launched.InstanceType
		out[corev1.LabelTopologyZone] = c.Launched.Zone
		out[labelCapacityType] = string(c.Launched.CapacityType)
	}

	return out
}

func setClaimStatus(o *unstructured.Unstructured, c model.Claim, now time.Time) {
	status := map[string]any{}
	if old, ok := o.Object["status"].(map[string]any); ok {
		status = old
	}
	put := func(key, value string) {
		if value != "" {
			status[key] = value
		}
	}
	put("providerID", c.ProviderID)
	put("imageID", c.ImageID)
	put("nodeName", c.Node)
	if len(c.Capacity) > 0 {
		status["capacity"] = quantities(c.Capacity)
	}
	if len(c.Allocatable) > 0 {
		status["allocatable"] = quantities(c.Allocatable)
	}
	o.Object["status"] = status

	at := furthest(c)
	reason, message := "", c.Failure.Message
	if message != "" {
		reason = "Waiting"
		if c.State == model.StateFailed {
			reason = "LaunchFailed"
		}
	}
	condition(o, now, "Launched", at >= model.StateLaunched, reason, message)
	condition(o, now, "Registered", at >= model.StateRegistered, reason, message)
	condition(o, now, "Initialized", at >= model.StateInitialized, reason, message)
	condition(o, now, "Ready", at >= model.StateInitialized, reason, message)
	if c.Disruption != "" || c.State == model.StateDraining || c.State == model.StateTerminating {
		condition(o, now, "DisruptionReason", true, disruptionWord(c.DisruptionReason), "Kerf is taking this node away")
	}
	if c.State == model.StateTerminating {
		condition(o, now, "Drained", true, "", "")
		condition(o, now, "InstanceTerminating", true, "", "")
	}
	if c.Drifted.Message != "" {
		condition(o, now, "Drifted", true, "Drifted", c.Drifted.Message)
	}
}

// furthest is the furthest state that the claim reached on its way up.
func furthest(c model.Claim) model.State {
	if c.State <= model.StateInitialized {
		return c.State
	}

	return c.Reached
}

func disruptionWord(r model.DisruptionReason) string {
	words := map[model.DisruptionReason]string{
		model.DisruptionEmpty: "Empty", model.DisruptionUnderutilized: "Underutilized", model.DisruptionDrifted: "Drifted",
		model.DisruptionExpired: "Expired", model.DisruptionInterrupted: "Interrupted",
		model.DisruptionUnhealthy: "Unhealthy", model.DisruptionDeleted: "Deleted",
	}
	if w, ok := words[r]; ok {
		return w
	}

	return "Unknown"
}

// condition sets one condition; the transition time moves only when the status does.
func condition(o *unstructured.Unstructured, now time.Time, kind string, holds bool, reason, message string) {
	status := "False"
	if holds {
		status, message = "True", holdsMessage(kind, message)
	}
	if reason == "" {
		reason = kind
		if !holds {
			reason = "NotYet" + kind
		}
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") //nolint:errcheck // a foreign shape is replaced
	next := map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339), "observedGeneration": o.GetGeneration(),
	}
	for i, c := range list {
		old, ok := c.(map[string]any)
		if !ok || old["type"] != kind {
			continue
		}
		if old["status"] == status {
			next["lastTransitionTime"] = old["lastTransitionTime"]
		}
		list[i] = next
		setConditions(o, list)

		return
	}
	setConditions(o, append(list, next))
}

// holdsMessage keeps a message only where it says more than "it holds".
func holdsMessage(kind, message string) string {
	if kind == "DisruptionReason" || kind == "Drifted" {
		return message
	}

	return ""
}

func setConditions(o *unstructured.Unstructured, list []any) {
	status, ok := o.Object["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
		o.Object["status"] = status
	}
	status["conditions"] = list
}

func (k *Kube) publishPool(ctx context.Context, s cluster.PoolStatus) error {
	cached, err := get(k.pools, s.Name)
	if err != nil || cached == nil {
		return err
	}

	return k.edit(ctx, poolsResource(), s.Name, cached, func(o *unstructured.Unstructured) {
		status, ok := o.Object["status"].(map[string]any)
		if !ok {
			status = map[string]any{}
			o.Object["status"] = status
		}
		status["resources"] = quantities(s.Resources)
		status["nodes"] = int64(0)
		for _, a := range s.Resources {
			if a.Resource == "nodes" {
				status["nodes"] = a.Value
			}
		}
		ready := s.NotReady == model.Reason{}
		condition(o, k.now(), "Ready", ready, reasonWord(s.NotReady), s.NotReady.Message)
	})
}

func (k *Kube) publishClass(ctx context.Context, s cluster.ClassStatus) error {
	cached, err := get(k.classes, s.Name)
	if err != nil || cached == nil {
		return err
	}

	return k.edit(ctx, classesResource(), s.Name, cached, func(o *unstructured.Unstructured) {
		if o.GetDeletionTimestamp() == nil {
			setFinalizer(o, classFinalizer)
		}
		o.SetAnnotations(merged(o.GetAnnotations(), map[string]string{annotationClassHash: s.Hash}))
		status, ok := o.Object["status"].(map[string]any)
		if !ok {
			status = map[string]any{}
			o.Object["status"] = status
		}
		status["subnets"] = subnets(s)
		status["securityGroups"] = securityGroups(s)
		status["amis"] = images(s)
		if s.Class.InstanceProfile != "" {
			status["instanceProfile"] = s.Class.InstanceProfile
		}
		ready := s.NotReady == model.Reason{}
		condition(o, k.now(), "Ready", ready, reasonWord(s.NotReady), s.NotReady.Message)
	})
}

func reasonWord(r model.Reason) string {
	if (r == model.Reason{}) {
		return ""
	}

	return "NotReady"
}

func subnets(s cluster.ClassStatus) []any {
	out := make([]any, 0, len(s.Class.Subnets))
	for _, n := range s.Class.Subnets {
		out = append(out, map[string]any{"id": n.ID, "zone": n.Zone, "zoneID": n.ZoneID})
	}

	return out
}

func securityGroups(s cluster.ClassStatus) []any {
	out := make([]any, 0, len(s.Class.SecurityGroups))
	for _, g := range s.Class.SecurityGroups {
		out = append(out, map[string]any{"id": g.ID, "name": g.Name})
	}

	return out
}

func images(s cluster.ClassStatus) []any {
	out := make([]any, 0, len(s.Class.Images))
	for _, i := range s.Class.Images {
		out = append(out, map[string]any{"id": i.ID, "name": i.Name, "requirements": requirements(i.Requirements)})
	}

	return out
}

func requirements(rs []model.Requirement) []any {
	out := make([]any, 0, len(rs))
	for _, r := range rs {
		m := map[string]any{"key": r.Key, "operator": r.Operator}
		if len(r.Values) > 0 {
			values := make([]any, 0, len(r.Values))
			for _, v := range r.Values {
				values = append(values, v)
			}
			m["values"] = values
		}
		if r.MinValues != nil {
			m["minValues"] = int64(*r.MinValues)
		}
		out = append(out, m)
	}

	return out
}

func taints(ts []model.Taint) []any {
	out := make([]any, 0, len(ts))
	for _, t := range ts {
		m := map[string]any{"key": t.Key, "effect": t.Effect}
		if t.Value != "" {
			m["value"] = t.Value
		}
		out = append(out, m)
	}

	return out
}

func quantities(as []model.Amount) map[string]any {
	out := make(map[string]any, len(as))
	for _, a := range as {
		q := resource.NewQuantity(a.Value, resource.DecimalSI)
		switch a.Resource {
		case string(corev1.ResourceCPU):
			q = resource.NewMilliQuantity(a.Value, resource.DecimalSI)
		case string(corev1.ResourceMemory), string(corev1.ResourceEphemeralStorage):
			q = resource.NewQuantity(a.Value, resource.BinarySI)
		}
		out[a.Resource] = q.String()
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

func sameStatus(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(a.Object["status"], b.Object["status"])
}

func sameButStatus(a, b *unstructured.Unstructured) bool {
	x, y := maps.Clone(a.Object), maps.Clone(b.Object)
	delete(x, "status")
	delete(y, "status")

	return equality.Semantic.DeepEqual(x, y)
}

func reference(e cluster.Event) corev1.ObjectReference {
	version := map[string]string{
		"Pod": "v1", "Node": "v1", "NodePool": "karpenter.sh/v1", "NodeClaim": "karpenter.sh/v1",
		"EC2NodeClass": "karpenter.k8s.aws/v1",
	}[e.Kind]

	return corev1.ObjectReference{
		APIVersion: version, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, UID: types.UID(e.UID),
	}
}
