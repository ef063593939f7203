package loop_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// bind puts a pod on a node.
func (w *world) bind(name, node string) {
	o, _ := convert.Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, Spec: corev1.PodSpec{NodeName: node}}, &manifests.Cluster{})
	w.cluster <- snapshot.Batch{Events: []snapshot.Event{snapshot.Put(time.Now(), o)}}
	synctest.Wait()
}

// TestTheTraceOfAPlanGoesOnUntilItsPodsAreBound wants one span below the batch, however many plans come after it, that
// ends with the last of the pods, and what became of each as an event.
func TestTheTraceOfAPlanGoesOnUntilItsPodsAreBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pods("web-0", "web-1", "web-2")
		w.after(time.Second)
		w.pods("web-3") // the next plan has a place for all four
		w.after(time.Second)
		w.bind("web-0", "n1")
		w.gone("web-1")
		w.after(time.Minute)
		if n := len(w.named("watcher.Bind")); n != 0 {
			t.Fatalf("%d spans while a pod is still to be bound", n)
		}
		w.bind("web-2", "n2")
		got := w.named("watcher.Bind")
		if len(got) != 1 {
			t.Fatalf("spans %v, want one", got)
		}
		if batch := w.named("watcher.Batch")[0]; got[0].Parent().SpanID() != batch.SpanContext().SpanID() {
			t.Errorf("it hangs on %s, not on the batch of its plan", got[0].Parent().SpanID())
		}
		if took := got[0].EndTime().Sub(got[0].StartTime()); took < time.Minute {
			t.Errorf("it took %s", took)
		}
		var events []string
		for _, e := range got[0].Events() {
			events = append(events, fmt.Sprint(e.Name, " ", e.Attributes[0].Value.String()))
		}
		if diff := cmp.Diff([]string{"pod bound shop/web-0", "pod gone shop/web-1", "pod bound shop/web-2"}, events); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.bind("web-3", "n2")
		if n := len(w.named("watcher.Bind")); n != 2 {
			t.Errorf("%d spans, want that of the second plan too", n)
		}
	})
}

func (w *world) named(name string) []sdktrace.ReadOnlySpan {
	var out []sdktrace.ReadOnlySpan
	for _, s := range w.spans.Ended() {
		if s.Name() == name {
			out = append(out, s)
		}
	}
	return out
}

// TestPodsOfAClaimThatWasRefusedAreOfNoTrace wants that the pods belong to the plan that gets them a node.
func TestPodsOfAClaimThatWasRefusedAreOfNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.actuator.reject = true
		w.pods("web-0")
		w.after(100 * time.Millisecond)
		w.actuator.mu.Lock()
		w.actuator.reject = false
		w.actuator.mu.Unlock()
		w.after(time.Minute)
		w.bind("web-0", "n1")
		got, batches := w.named("watcher.Bind"), w.named("watcher.Batch")
		if len(got) != 1 || len(batches) < 2 {
			t.Fatalf("%d spans, %d batches", len(got), len(batches))
		}
		if got[0].Parent().SpanID() == batches[0].SpanContext().SpanID() {
			t.Error("it hangs on the batch whose plan was refused")
		}
	})
}
