package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// answering is an API server that takes everything, and has one node. It counts requests.
type answering struct{ requests atomic.Int64 }

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.requests.Add(1)
	body := `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	if strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") {
		body = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// TestWhatANodesPodsWaitForHasNoRate: 1,000 interrupted nodes with 25 pods each have two minutes, and a client's rate
// is one for all that it is asked for. A request that the rate would keep beyond its context fails at once.
func TestWhatANodesPodsWaitForHasNoRate(t *testing.T) {
	api := &answering{}
	k, err := New(Config{REST: &rest.Config{Transport: api, QPS: 0.001, Burst: 1}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 10 {
		if err := k.Evict(ctx, cluster.Eviction{Namespace: "default", Name: "p", UID: "u"}); err != nil {
			t.Fatalf("an eviction: %v", err)
		}
		if err := k.Evict(ctx, cluster.Eviction{Namespace: "default", Name: "p", UID: "u", Force: true}); err != nil {
			t.Fatalf("a deletion: %v", err)
		}
		taint := cluster.NodeChange{Node: "n1", AddTaints: []model.Taint{{Key: "k", Effect: model.NoSchedule}}}
		if err := k.UpdateNode(ctx, taint); err != nil {
			t.Fatalf("a taint: %v", err)
		}
	}
	if n := api.requests.Load(); n != 10*(1+2+2) {
		t.Errorf("%d requests, want one for each eviction, and two for each deletion, which marks the pod first, and each change of a node", n)
	}
	at := time.Now()
	soon, stop := context.WithDeadline(ctx, at.Add(100*time.Millisecond))
	defer stop()
	err = nil
	for range 2 * refusedRate {
		err = errors.Join(err, k.Evict(soon, cluster.Eviction{Namespace: "default", Name: "p", UID: "u", Refused: true}))
	}
	if err == nil {
		t.Error("evictions that were refused before have no rate either")
	}
	if err = k.UpdateNode(soon, cluster.NodeChange{Node: "n1", AddTaints: []model.Taint{{Key: "k", Effect: model.NoSchedule}}, Refused: true}); err == nil {
		t.Error("changes of nodes that were refused before have no rate either")
	}
	events := k.client.Events(metav1.NamespaceDefault)
	if _, err = events.Create(ctx, &corev1.Event{}, metav1.CreateOptions{}); err != nil {
		t.Errorf("an event beside evictions that were refused: %v", err)
	}
	for range 2 {
		_, err = events.Create(ctx, &corev1.Event{}, metav1.CreateOptions{})
	}
	if err == nil {
		t.Error("what can wait has no rate either")
	}
}

// meeting is an API server whose deletions are answered once two are there at the same time, or too much time has passed.
type meeting struct {
	answering
	now atomic.Int64
	met chan struct{}
}

func (m *meeting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		defer m.now.Add(-1)
		if m.now.Add(1) == 2 {
			close(m.met)
		}
		select {
		case <-m.met:
		case <-time.After(5 * time.Second):
		}
	}
	return m.answering.RoundTrip(r)
}

// TestClaimsAreForgottenBesideEachOther: where 1,000 claims have ended at once, what follows waits for 3,000 requests.
func TestClaimsAreForgottenBesideEachOther(t *testing.T) {
	api := &meeting{met: make(chan struct{})}
	k, err := New(Config{REST: &rest.Config{Transport: api}})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Publish(t.Context(), cluster.Publication{ForgetClaims: []model.ClaimID{"c1", "c2"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-api.met:
	default:
		t.Error("the second claim's object is removed only after that of the first")
	}
}
