package suitetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (w World) tell(t *testing.T, s model.ObjectState) {
	t.Helper()
	w.publish(t, cluster.Publication{States: []model.ObjectState{s}})
}

const overlayManifest = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: NAME}
spec: {requirements: [], price: "0.01"}
`

func testOverlayStatus(t *testing.T, w World) {
	state := model.ObjectState{Subject: "nodeoverlay/" + w.Name, Generation: 1}
	w.tell(t, state) // its user was faster
	w.apply(t, overlayManifest)
	for i, step := range []struct {
		why                   model.Reason
		status, reason, words string
	}{
		{model.Reason{}, "True", "", ""},
		{model.Reason{Code: model.CodeOverlayConflict, Message: "another says it", Remedy: "give it a weight"}, "False", "Conflict", "another says it; give it a weight"},
		{model.Reason{Code: model.CodeOverlayInvalid, Message: "spec.price: it is wrong"}, "False", "RuntimeValidation", "spec.price: it is wrong"},
	} {
		state.NotReady = step.why
		w.tell(t, state)
		o := w.object(t, "NodeOverlay", w.Name)
		for _, kind := range []string{"ValidationSucceeded", "Ready"} {
			got := conditionOf(t, o, kind)
			if got.status != step.status || step.reason != "" && got.reason != step.reason || got.message != step.words {
				t.Errorf("%d: %s is %+v, want %s, %s, %q", i, kind, got, step.status, step.reason, step.words)
			}
		}
	}
}

const bufferManifest = `
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: NAME, namespace: NAMESPACE}
spec: {podTemplateRef: {name: web}, replicas: 5}
`

func testBufferStatus(t *testing.T, w World) {
	w.apply(t, bufferManifest)
	why := model.Reason{Code: model.CodeLimit, Message: "the pool is full"}
	lost := model.Reason{Code: model.CodeBufferReference, Message: "there is no PodTemplate"}
	for i, step := range []struct {
		lost                    model.Reason
		has                     *model.BufferCapacity
		ready, provisioning     string
		reason, words, resolved string
	}{
		{lost, nil, "False", "False", "NotReadyForProvisioning", "there is no PodTemplate", "PodTemplateNotFound"},
		{
			model.Reason{},
			&model.BufferCapacity{Replicas: 5, Coming: 2, Missing: 1, Why: why, TemplateGeneration: 3}, "True", "False", "RequiresNewCapacity",
			"of 5 replicas 2 have capacity, nodes are launched for 2, and 1 get none: the pool is full", "",
		},
		{model.Reason{}, &model.BufferCapacity{Replicas: 5, TemplateGeneration: 3}, "True", "True", "FitsExistingCapacity", "", ""},
		{model.Reason{}, &model.BufferCapacity{TemplateGeneration: 3}, "True", "False", "BufferEmpty", "it asks for no capacity now", ""},
	} {
		w.tell(t, model.ObjectState{
			Subject: "capacitybuffer/" + w.Namespace + "/" + w.Name, Generation: 1, NotReady: step.lost, Capacity: step.has,
		})
		o := w.object(t, "CapacityBuffer", w.Name)
		ready, provisioning := conditionOf(t, o, "ReadyForProvisioning"), conditionOf(t, o, "Provisioning")
		if ready.status != step.ready || step.resolved != "" && ready.reason != step.resolved {
			t.Errorf("%d: ReadyForProvisioning is %+v, want %s %s", i, ready, step.ready, step.resolved)
		}
		if provisioning.status != step.provisioning || provisioning.reason != step.reason || provisioning.message != step.words {
			t.Errorf("%d: Provisioning is %+v, want %s, %s, %q", i, provisioning, step.provisioning, step.reason, step.words)
		}
		if step.has == nil {
			continue
		}
		want := map[string]any{
			"replicas": step.has.Replicas, "podTemplateRef": map[string]any{"name": "web"}, "podTemplateGeneration": int64(3),
			"provisioningStrategy": "buffer.x-k8s.io/active-capacity",
		}
		for name, v := range want {
			if diff := cmp.Diff(v, field(o, "status", name)); diff != "" {
				t.Errorf("%d: status.%s: %s", i, name, diff)
			}
		}
	}
}
