// Package apiserver is all that the actuator asks of an API server about Kubernetes' own kinds: clients with the methods
// that client-go's have, without the types of the groups that it does not need. It translates nothing. Start reading at Client.
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/gentype"
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

// PodClient writes pods of one namespace.
type PodClient interface {
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
func (a api) Pods(namespace string) PodClient {
	return pods{gentype.NewClient("pods", a.Group(corev1.SchemeGroupVersion), a.Codec(), namespace,
		func() *corev1.Pod { return &corev1.Pod{} }, gentype.PrefersProtobuf[*corev1.Pod]()), a}
}

// Nodes implements Client.
func (a api) Nodes() NodeClient {
	return gentype.NewClient("nodes", a.Group(corev1.SchemeGroupVersion), a.Codec(), "",
		func() *corev1.Node { return &corev1.Node{} }, gentype.PrefersProtobuf[*corev1.Node]())
}

// Events implements Client.
func (a api) Events(namespace string) EventClient {
	return gentype.NewClient("events", a.Group(corev1.SchemeGroupVersion), a.Codec(), namespace,
		func() *corev1.Event { return &corev1.Event{} }, gentype.PrefersProtobuf[*corev1.Event]())
}

// Reviews implements Rights.
func (a api) Reviews() ReviewClient {
	return gentype.NewClient("selfsubjectaccessreviews", a.Group(authorizationv1.SchemeGroupVersion), a.Codec(), "",
		func() *authorizationv1.SelfSubjectAccessReview { return &authorizationv1.SelfSubjectAccessReview{} },
		gentype.PrefersProtobuf[*authorizationv1.SelfSubjectAccessReview]())
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

type pods struct {
	*gentype.Client[*corev1.Pod]
	api api
}

// Patch implements PodClient. What the pod is afterwards is not read: caches show it.
func (p pods) Patch(ctx context.Context, name string, c PodPatch) error {
	r := p.GetClient().Patch(c.Type).Namespace(p.GetNamespace()).Resource("pods").Name(name)
	if c.Subresource != "" {
		r = r.SubResource(c.Subresource)
	}
	return r.VersionedParams(&metav1.PatchOptions{FieldManager: c.FieldManager}, p.api.Codec()).Body(c.Data).Do(ctx).Error()
}

// Bind implements PodClient.
func (p pods) Bind(ctx context.Context, b *corev1.Binding, o metav1.CreateOptions) error {
	return p.GetClient().Post().Namespace(p.GetNamespace()).Resource("pods").Name(b.Name).VersionedParams(&o, p.api.Codec()).
		SubResource("binding").Body(b).Do(ctx).Error()
}

// EvictV1 implements PodClient.
func (p pods) EvictV1(ctx context.Context, e *policyv1.Eviction) error {
	return p.GetClient().Post().Namespace(p.GetNamespace()).Resource("pods").Name(e.Name).
		SubResource("eviction").Body(e).Do(ctx).Error()
}
