// Package kubeclient reaches an API server for the kinds that a service names, and for no others.
//
// client-go's own set of clients comes with the types of each API group that Kubernetes has: most of a program that reads a
// dozen kinds is then code for the others, and a process keeps it in memory. Here a client's scheme has the groups that
// its caller adds. The package must never know what objects are for. Start reading at New; informers are made by Informer
// and by DynamicInformer.
package kubeclient

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
)

// Kind is one of Kubernetes' own kinds.
type Kind struct {
	Resource schema.GroupVersionResource
	// Object is an empty one; it is never written to.
	Object runtime.Object
}

// Reader lists and watches. Client is one, and kubeclienttest has one for tests.
type Reader interface {
	// ListWatch is how all objects of a kind are read, in all namespaces.
	ListWatch(k Kind) cache.ListerWatcher
}

// Client has a REST client for each group of its scheme. Safe for concurrent use.
type Client struct {
	groups map[schema.GroupVersion]rest.Interface
	codec  runtime.ParameterCodec
}

var _ Reader = (*Client)(nil)

// New makes a client for the groups that add brings; nothing is read yet. All groups share the configuration's rate and
// connections. Objects travel as protobuf, which takes a fraction of the time that JSON takes to read.
func New(cfg *rest.Config, add ...func(*runtime.Scheme) error) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, f := range add {
		if err := f(scheme); err != nil {
			return nil, fmt.Errorf("kubernetes client: %w", err)
		}
	}
	shared := rest.CopyConfig(cfg)
	shared.ContentType = runtime.ContentTypeProtobuf
	shared.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	shared.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	if shared.RateLimiter == nil && shared.QPS > 0 {
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	http, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	c := &Client{groups: map[schema.GroupVersion]rest.Interface{}, codec: runtime.NewParameterCodec(scheme)}
	for _, group := range scheme.PrioritizedVersionsAllGroups() {
		one := rest.CopyConfig(shared)
		one.GroupVersion, one.APIPath = &group, "/apis"
		if group.Group == "" {
			one.APIPath = "/api"
		}
		if c.groups[group], err = rest.RESTClientForConfigAndClient(one, http); err != nil {
			return nil, fmt.Errorf("kubernetes client for %s: %w", group, err)
		}
	}
	return c, nil
}

// Group is the REST client of a group that New was given; nil for any other.
func (c *Client) Group(gv schema.GroupVersion) rest.Interface { return c.groups[gv] }

// Codec writes the options of requests.
func (c *Client) Codec() runtime.ParameterCodec { return c.codec }

// ListWatch implements Reader.
func (c *Client) ListWatch(k Kind) cache.ListerWatcher {
	everything := func(*metav1.ListOptions) {}
	return cache.NewFilteredListWatchFromClient(c.groups[k.Resource.GroupVersion()], k.Resource.Resource, metav1.NamespaceAll, everything)
}

// Informer follows a kind. It keeps of each object what transform leaves, and has an index by namespace.
func Informer(r Reader, k Kind, transform cache.TransformFunc) (cache.SharedIndexInformer, error) {
	return informer(r.ListWatch(k), k.Object, k.Resource, transform)
}

// DynamicInformer follows a custom resource.
func DynamicInformer(d dynamic.Interface, r schema.GroupVersionResource, transform cache.TransformFunc) (cache.SharedIndexInformer, error) {
	all := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return d.Resource(r).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return d.Resource(r).Watch(ctx, o)
		},
	}
	return informer(cache.ToListWatcherWithWatchListSemantics(all, d), &unstructured.Unstructured{}, r, transform)
}

func informer(lw cache.ListerWatcher, o runtime.Object, r schema.GroupVersionResource, transform cache.TransformFunc) (cache.SharedIndexInformer, error) {
	i := cache.NewSharedIndexInformerWithOptions(lw, o, cache.SharedIndexInformerOptions{
		Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, ObjectDescription: r.String(),
	})
	if err := i.SetTransform(transform); err != nil {
		return nil, fmt.Errorf("informer for %s: %w", r.Resource, err)
	}
	return i, nil
}
