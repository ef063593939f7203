// Package apiserver is all that the actuator asks of an API server about Kubernetes' own kinds: clients with the
// methods that client-go's have, without the types of the groups that it does not need. It translates nothing. Start
// reading at Client.
package apiserver

import (
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/kerf-dev/kerf/services/internal/kubeclient"
)

// Client is all that is asked of an API server; its methods are those of client-go's clients. Safe for concurrent use.
type Client interface {
	kubeclient.Reader
	Rights
	Pods(namespace string) PodClient
	Nodes() NodeClient
	Events(namespace string) EventClient
}

// Rights is what an API server says of itself and of its client.
type Rights interface {
	Reviews() ReviewClient
	ServerVersion(ctx context.Context) (*version.Info, error)
}

// PodClient lists and writes pods of one namespace; of all where it has no name.
type PodClient interface {
	List(context.Context, metav1.ListOptions) (*corev1.PodList, error)
	Patch(context.Context, string, PodPatch) error
	Delete(context.Context, string, metav1.DeleteOptions) error
	Bind(context.Context, *corev1.Binding, metav1.CreateOptions) error
	EvictV1(context.Context, *policyv1.Eviction) error
}

// PodPatch is a change of a pod, or of a subresource where there is one.
type PodPatch struct {
	Type                      types.PatchType
	Data                      []byte
	FieldManager, Subresource string
}

// NodeClient reads and writes nodes.
type NodeClient interface {
	Get(context.Context, string, metav1.GetOptions) (*corev1.Node, error)
	Update(context.Context, *corev1.Node, metav1.UpdateOptions) (*corev1.Node, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.Node, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// EventClient writes events of one namespace.
type EventClient interface {
	Create(context.Context, *corev1.Event, metav1.CreateOptions) (*corev1.Event, error)
}

// ReviewClient asks for rights.
type ReviewClient interface {
	Create(context.Context, *authorizationv1.SelfSubjectAccessReview, metav1.CreateOptions) (*authorizationv1.SelfSubjectAccessReview, error)
}

// api is the client of a real API server.
type api struct{ *kubeclient.Client }

// New makes a client; nothing is asked yet.
func New(cfg *rest.Config) (Client, error) {
	c, err := kubeclient.New(cfg, corev1.AddToScheme, storagev1.AddToScheme, policyv1.AddToScheme, authorizationv1.AddToScheme)
	return api{c}, err
}

// Pods implements Client.
func (a api) Pods(namespace string) PodClient { return pods{a.core("pods", namespace)} }

// Nodes implements Client.
func (a api) Nodes() NodeClient { return nodes{a.core("nodes", "")} }

// Events implements Client.
func (a api) Events(namespace string) EventClient { return events{a.core("events", namespace)} }

// Reviews implements Rights.
func (a api) Reviews() ReviewClient {
	return reviews{resource{a.Group(authorizationv1.SchemeGroupVersion), a.Codec(), "selfsubjectaccessreviews", ""}}
}

func (a api) core(name, namespace string) resource {
	return resource{a.Group(corev1.SchemeGroupVersion), a.Codec(), name, namespace}
}

// ServerVersion implements Rights.
func (a api) ServerVersion(ctx context.Context) (*version.Info, error) {
	text, err := a.Group(corev1.SchemeGroupVersion).Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	info := &version.Info{}
	if err := json.Unmarshal(text, info); err != nil {
		return nil, fmt.Errorf("read what the API server says of itself: %w", err)
	}
	return info, nil
}

// resource is one resource, in one namespace where it has those. client-go's own (gentype) comes with what its tests
// need: all of OpenAPI and of managed fields.
type resource struct {
	rest.Interface
	codec           runtime.ParameterCodec
	name, namespace string
}

// to sends a request to the resource.
func (r resource) to(q *rest.Request) *rest.Request {
	return q.NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.name)
}

// of is a request about one object. An empty name is refused: what is deleted without a name is all of them.
func (r resource) of(q *rest.Request, name string) *rest.Request { return r.to(q).Name(name) }

func (r resource) create(ctx context.Context, o, into runtime.Object, options metav1.CreateOptions) error {
	return r.to(r.Post()).VersionedParams(&options, r.codec).Body(o).Do(ctx).Into(into)
}

func (r resource) remove(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return r.of(r.Interface.Delete(), name).Body(&options).Do(ctx).Error()
}

type pods struct{ resource }

// List implements PodClient. It is not tried again here, where an API server that has too much to do would hold the
// caller for minutes.
func (p pods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	out := &corev1.PodList{}
	return out, p.to(p.Get()).MaxRetries(0).VersionedParams(&o, p.codec).Do(ctx).Into(out)
}

// Patch implements PodClient. What the pod is afterwards is not read: caches show it.
func (p pods) Patch(ctx context.Context, name string, c PodPatch) error {
	r := p.of(p.Interface.Patch(c.Type), name)
	if c.Subresource != "" {
		r = r.SubResource(c.Subresource)
	}
	return r.VersionedParams(&metav1.PatchOptions{FieldManager: c.FieldManager}, p.codec).Body(c.Data).Do(ctx).Error()
}

// Delete implements PodClient.
func (p pods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return p.remove(ctx, name, o)
}

// Bind implements PodClient.
func (p pods) Bind(ctx context.Context, b *corev1.Binding, o metav1.CreateOptions) error {
	return p.of(p.Post(), b.Name).VersionedParams(&o, p.codec).SubResource("binding").Body(b).Do(ctx).Error()
}

// EvictV1 implements PodClient. The client's own tries are left out: of a pod that is to wait it would be minutes
// before its caller hears.
func (p pods) EvictV1(ctx context.Context, e *policyv1.Eviction) error {
	return p.of(p.Post(), e.Name).SubResource("eviction").MaxRetries(0).Body(e).Do(ctx).Error()
}

type nodes struct{ resource }

// Get implements NodeClient.
func (n nodes) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Node, error) {
	return node(ctx, n.of(n.Interface.Get(), name).VersionedParams(&o, n.codec))
}

// Update implements NodeClient.
func (n nodes) Update(ctx context.Context, changed *corev1.Node, o metav1.UpdateOptions) (*corev1.Node, error) {
	return node(ctx, n.of(n.Put(), changed.Name).VersionedParams(&o, n.codec).Body(changed))
}

// Patch implements NodeClient.
func (n nodes) Patch( //nolint:revive // as client-go has it
	ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string,
) (*corev1.Node, error) {
	return node(ctx, n.of(n.Interface.Patch(t), name).SubResource(subresources...).VersionedParams(&o, n.codec).Body(data))
}

// Delete implements NodeClient.
func (n nodes) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return n.remove(ctx, name, o)
}

func node(ctx context.Context, q *rest.Request) (*corev1.Node, error) {
	out := &corev1.Node{}
	return out, q.Do(ctx).Into(out)
}

type events struct{ resource }

// Create implements EventClient.
func (e events) Create(ctx context.Context, event *corev1.Event, o metav1.CreateOptions) (*corev1.Event, error) {
	out := &corev1.Event{}
	return out, e.create(ctx, event, out, o)
}

type reviews struct{ resource }

// Create implements ReviewClient.
func (r reviews) Create(
	ctx context.Context, review *authorizationv1.SelfSubjectAccessReview, o metav1.CreateOptions,
) (*authorizationv1.SelfSubjectAccessReview, error) {
	out := &authorizationv1.SelfSubjectAccessReview{}
	return out, r.create(ctx, review, out, o)
}
