package clustertest_test

import (
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/actuator/clustertest/suitetest"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestFake(t *testing.T) {
	suitetest.Run(t, func(*testing.T) suitetest.World {
		c := clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		f := clustertest.New(c.Now)
		return suitetest.World{
			Cluster: f, Nominator: f, Replicas: clustertest.Replicas{Cluster: f}, Cold: clustertest.Cold(), Name: "suite", Namespace: "suite-pods", Delete: func(_ *testing.T, kind, name string) { f.Delete(kind, name) },
			Apply: func(t *testing.T, manifests string) {
				t.Helper()
				if err := f.Apply(manifests); err != nil {
					t.Fatal(err)
				}
			},
			Read: func(_ *testing.T, kind, name string) *unstructured.Unstructured {
				return f.Read(kind, "suite-pods", name)
			},
			Preempt: func(_ *testing.T, pod string, node model.NodeName) { f.Preempt(model.PodID("suite-pods/"+pod), node) },
			Events: func(_ *testing.T, kind, name string) []clustertest.Event {
				return f.Events(kind, name)
			},
			Advance: c.Advance,
		}
	})
}

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestApplyNamesWhatItCannotTake(t *testing.T) {
	tests := map[string]string{
		"a kind that it does not know":      "apiVersion: v1\nkind: Secret\nmetadata: {name: a}",
		"a field that there is not":         "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec: {colour: red}",
		"a pod on a node that is not there": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: n, containers: []}",
		"a budget in percent":               "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 50%}",
	}
	for name, manifest := range tests {
		t.Run(name, func(t *testing.T) {
			if err := clustertest.New(time.Now).Apply(manifest); err == nil {
				t.Error("taken")
			}
		})
	}
}
