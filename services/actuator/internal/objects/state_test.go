package objects

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/core/model"
)

// TestAPlanOfAnOlderFormSaysNothing: an object that has changed since the plan keeps its status until the next one.
func TestAPlanOfAnOlderFormSaysNothing(t *testing.T) {
	for _, state := range []model.ObjectState{
		{Subject: "nodeoverlay/a", Generation: 2}, {Subject: "capacitybuffer/shop/a", Generation: 2, Capacity: &model.BufferCapacity{Replicas: 1}},
	} {
		for generation, written := range map[int64]bool{1: true, 2: true, 3: false} {
			ref, known := Stated(state)
			if !known {
				t.Fatalf("%s is not known", state.Subject)
			}
			o := &unstructured.Unstructured{Object: map[string]any{}}
			o.SetGeneration(generation)
			ref.Set(o, state, time.Now())
			if got := len(conditions(o)) > 0; got != written {
				t.Errorf("%s of generation %d: written %t", ref.Kind, generation, got)
			}
		}
	}
	if _, known := Stated(model.ObjectState{Subject: "pod/shop/a"}); known {
		t.Error("the status of a pod is written")
	}
}
