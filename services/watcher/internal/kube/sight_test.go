package kube_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	ktesting "k8s.io/client-go/testing"
)

// told is what a source says of its sight.
type told struct {
	mu    sync.Mutex
	words []string
}

func (o *told) lost(why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.words = append(o.words, why)
}

func (o *told) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.words)
}

// refuses lets the API server refuse to list a resource as long as no says so, and ends the watches that there are.
func (a *apiServer) refuses(resource string, no *atomic.Bool) (end func()) {
	forbidden := func(ktesting.Action) (bool, runtime.Object, error) {
		if no.Load() {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
		}
		return false, nil, nil
	}
	var mu sync.Mutex
	var watches []*watch.FakeWatcher
	a.core.PrependReactor("list", resource, forbidden)
	a.core.PrependWatchReactor(resource, func(ktesting.Action) (bool, watch.Interface, error) {
		if no.Load() {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
		}
		mu.Lock()
		defer mu.Unlock()
		w := watch.NewFake()
		watches = append(watches, w)
		return true, w, nil
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		for _, w := range watches {
			w.Stop()
		}
		watches = nil
	}
}

func TestAWatcherThatCannotReadPodsAnyMoreSaysSo(t *testing.T) {
	for _, resource := range []string{"pods", "nodes"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, heard := newAPIServer(t, pod("web-0", "")), &told{}
				a.lost = heard.lost
				var no atomic.Bool
				end := a.refuses(resource, &no)
				a.start(0)
				a.settle()
				no.Store(true)
				end()
				time.Sleep(30 * time.Second)
				a.settle()
				if got := heard.all(); len(got) > 0 {
					t.Errorf("after half a minute it says %q", got)
				}
				time.Sleep(2 * time.Minute)
				if got := heard.all(); len(got) != 1 || !strings.Contains(got[0], resource) || !strings.Contains(got[0], "forbidden") {
					t.Fatalf("it says %q, want once that it can't read %s", got, resource)
				}
				no.Store(false)
				a.must(a.core.CoreV1().Pods("shop").Create(t.Context(), pod("web-1", ""), metav1.CreateOptions{}))
				a.must(a.core.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n9"}}, metav1.CreateOptions{}))
				time.Sleep(2 * time.Minute)
				a.settle()
				time.Sleep(time.Minute)
				if got := heard.all(); len(got) != 2 || got[1] != "" {
					t.Errorf("it says %q, want in the end that all is well", got)
				}
			})
		})
	}
}

// What is read for other kinds' sake, and a watch that breaks off now and then, is no reason to stand back.
func TestWhatDoesNotLoseSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, heard := newAPIServer(t, pod("web-0", "")), &told{}
		a.lost = heard.lost
		var noServices, noPods atomic.Bool
		endServices, endPods := a.refuses("poddisruptionbudgets", &noServices), a.refuses("pods", &noPods)
		noServices.Store(false)
		a.start(0)
		a.settle()
		noServices.Store(true)
		endServices()
		for range 10 {
			noPods.Store(true)
			endPods()
			time.Sleep(20 * time.Second)
			noPods.Store(false)
			time.Sleep(3 * time.Minute)
			a.settle()
		}
		if got := heard.all(); len(got) > 0 {
			t.Errorf("it says %q", got)
		}
	})
}

// An informer asks for a watch that is refused a connection again and again, and neither lists nor says so.
func TestAWatcherWhoseWatchesAreRefusedAConnectionSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, heard := newAPIServer(t, pod("web-0", "")), &told{}
		var gone atomic.Pointer[time.Time]
		a.lost, a.silent = heard.lost, func() time.Time {
			if since := gone.Load(); since != nil {
				return *since
			}
			return time.Time{}
		}
		var no atomic.Bool
		end := a.refuses("pods", &no)
		a.core.PrependWatchReactor("pods", func(ktesting.Action) (bool, watch.Interface, error) {
			return gone.Load() != nil, nil, syscall.ECONNREFUSED
		})
		a.start(0)
		a.settle()
		since := time.Now()
		gone.Store(&since)
		end()
		time.Sleep(2 * time.Minute)
		if got := heard.all(); len(got) != 1 || !strings.Contains(got[0], "pods") || !strings.Contains(got[0], "does not answer") {
			t.Fatalf("it says %q, want once that it can't read pods", got)
		}
	})
}
