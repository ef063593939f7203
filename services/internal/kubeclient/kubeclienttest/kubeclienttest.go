// Package kubeclienttest lets tests read client-go's fake of an API server as package kubeclient reads a real one.
//
// It is for tests alone: it brings the types of all API groups with it. Start reading at Reader.
package kubeclienttest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/internal/kubeclient"
)

// Reader reads a fake, whose reactors it obeys.
type Reader struct{ *fake.Clientset }

var _ kubeclient.Reader = Reader{}

// ListWatch implements kubeclient.Reader.
func (r Reader) ListWatch(k kubeclient.Kind) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			kinds, _, err := scheme.Scheme.ObjectKinds(k.Object)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", k.Resource.Resource, err)
			}
			empty, err := scheme.Scheme.New(kinds[0].GroupVersion().WithKind(kinds[0].Kind + "List"))
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", k.Resource.Resource, err)
			}
			return r.Invokes(testing.NewListActionWithOptions(k.Resource, kinds[0], metav1.NamespaceAll, o), empty)
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return r.InvokesWatch(testing.NewWatchActionWithOptions(k.Resource, metav1.NamespaceAll, o))
		},
	}, r.Clientset)
}
