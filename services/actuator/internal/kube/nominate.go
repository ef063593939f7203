package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
	"github.com/kerf-dev/kerf/services/actuator/internal/around"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/model"
)

// maxNominating is how many nominations are written at once, of all callers together.
const maxNominating = 32

// heededSince is the version whose scheduler takes nominations by others than itself, unless its gates say otherwise.
const heededSince = "1.35"

// byWaiting indexes pods without a node, by the uid of their controller.
const byWaiting = "byWaiting"

// byNominee indexes pods without a node that Kerf has nominated, by the node that they are nominated to.
const byNominee = "byNominee"

// Nominator brings pods to the nodes that they are expected on. It reads what Kube's caches hold.
type Nominator struct {
	client apiserver.Rights
	// writer is a client without a rate: a node waits for its pods before it opens, so what others write must not hold
	// them up, and the other way round. writing holds a token for each request, of which there are never more than
	// maxNominating.
	writer  apiserver.Client
	writing chan struct{}
	pods    cache.Indexer
	nodes   corev1listers.NodeLister
	// mayBind says that the actuator has the right to bind pods, as far as is known.
	mayBind atomic.Bool
	around  *around.Picture
}

// CanNominate asks for the server's version and for the actuator's own rights. Where pods may be bound that is enough.
func (x *Nominator) CanNominate(ctx context.Context) (can, bind bool, why string, err error) {
	if bind, err = may(ctx, x.client, "create", "binding"); err != nil {
		return false, false, "", err
	}
	x.mayBind.Store(bind)
	can, why, err = x.canNominate(ctx)
	switch {
	case err != nil:
		return false, false, "", err
	case bind:
		return true, true, why + "; there is the right to create pods/binding", nil
	}
	return can, false, why + "; there is no right to create pods/binding", nil
}

// may asks for one of the actuator's own rights on pods, or on a subresource of theirs.
func may(ctx context.Context, client apiserver.Rights, verb, subresource string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "pods", Subresource: subresource},
	}}
	answer, err := client.Reviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the right to %s pods/%s: %w", verb, subresource, err)
	}
	return answer.Status.Allowed, nil
}

func (x *Nominator) canNominate(ctx context.Context) (bool, string, error) {
	info, err := x.client.ServerVersion(ctx)
	if err != nil {
		return false, "", fmt.Errorf("ask for the version of Kubernetes: %w", err)
	}
	v, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return false, "", fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	if v.LessThan(version.MustParseGeneric(heededSince)) {
		return false, fmt.Sprintf("Kubernetes is %s, and its scheduler heeds nominations since %s", info.GitVersion, heededSince), nil
	}
	allowed, err := may(ctx, x.client, "patch", "status")
	if err != nil {
		return false, "", err
	}
	if !allowed {
		return false, "there is no right to patch pods/status: grant it as deploy/rbac/rbac.yaml does", nil
	}
	return true, fmt.Sprintf("Kubernetes is %s, and there is the right to patch pods/status", info.GitVersion), nil
}

// Unbound looks a pod up by its name: nothing is listed.
func (x *Nominator) Unbound(id model.PodID) (cluster.UnboundPod, bool) {
	p := x.unboundPod(id)
	if p == nil {
		return cluster.UnboundPod{}, false
	}
	return objects.Unbound(p), true
}

func (x *Nominator) unboundPod(id model.PodID) *corev1.Pod {
	o, there, err := x.pods.GetByKey(string(id))
	if err != nil || !there {
		return nil
	}
	p, ok := o.(*corev1.Pod)
	if !ok || p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
		return nil
	}
	return p
}

// Nominees lists the pods without a node that Kerf has nominated.
func (x *Nominator) Nominees() []cluster.UnboundPod {
	var out []cluster.UnboundPod
	for _, node := range x.pods.ListIndexFuncValues(byNominee) {
		found, err := x.pods.ByIndex(byNominee, node)
		if err != nil {
			continue // only an index that does not exist is an error
		}
		for _, o := range found {
			if p, ok := o.(*corev1.Pod); ok {
				out = append(out, objects.Unbound(p))
			}
		}
	}
	slices.SortFunc(out, func(a, b cluster.UnboundPod) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Waiting looks the pods of a controller up by its uid.
func (x *Nominator) Waiting(owner string) []cluster.UnboundPod {
	found, err := x.pods.ByIndex(byWaiting, owner)
	if err != nil {
		return nil // only an index that does not exist is an error
	}
	pods := make([]*corev1.Pod, 0, len(found))
	for _, o := range found {
		if p, ok := o.(*corev1.Pod); ok {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	out := make([]cluster.UnboundPod, len(pods))
	for i, p := range pods {
		out[i] = objects.Unbound(p)
	}
	return out
}

// Nominate writes many nominations beside each other.
func (x *Nominator) Nominate(ctx context.Context, list []cluster.Nomination) error {
	return errors.Join(beside(ctx, x.writing, list, func(n cluster.Nomination) error { return x.nominate(ctx, n) })...)
}

// patchStep is one step of a JSON patch.
type patchStep struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// nominate writes a nomination if the pod is as it was seen. The resource version would not do: the scheduler writes
// conditions all the time.
func (x *Nominator) nominate(ctx context.Context, n cluster.Nomination) error {
	const uid, bound, nominated = "/metadata/uid", "/spec/nodeName", "/status/nominatedNodeName"
	steps := []patchStep{
		{"test", uid, n.Pod.UID},
		{"test", bound, nil},
		{"test", nominated, orNull(n.Pod.Nominated)},
		{"add", nominated, orNull(n.Node)},
	}
	patch, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	namespace, name, _ := strings.Cut(string(n.Pod.ID), "/")
	err = x.writer.Pods(namespace).Patch(ctx, name, apiserver.PodPatch{Type: types.JSONPatchType, Data: patch, FieldManager: fieldManager, Subresource: "status"})
	// A test that fails makes the patch invalid.
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return fmt.Errorf("nominate pod %s to node %q: %w", n.Pod.ID, n.Node, err)
}

func orNull(n model.NodeName) any {
	if n == "" {
		return nil
	}
	return string(n)
}
