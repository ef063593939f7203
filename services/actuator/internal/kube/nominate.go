package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// maxNominating is how many nominations are written at once, whoever asks.
const maxNominating = 32

// heededSince is the version whose scheduler takes nominations by others than itself, unless its gates say otherwise.
const heededSince = "1.35"

// byNominee indexes pods without a node that Kerf has nominated, by the node that they are nominated to.
const byNominee = "byNominee"

// CanNominate asks for the server's version and for the actuator's own rights.
func (k *Kube) CanNominate(ctx context.Context) (bool, string, error) {
	info, err := k.client.Discovery().ServerVersion()
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
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods", Subresource: "status"},
	}}
	answer, err := k.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, "", fmt.Errorf("ask for the right to patch pods/status: %w", err)
	}
	if !answer.Status.Allowed {
		return false, "there is no right to patch pods/status: grant it as deploy/base/rbac.yaml does", nil
	}
	return true, fmt.Sprintf("Kubernetes is %s, and there is the right to patch pods/status", info.GitVersion), nil
}

// Unbound looks a pod up by its name: nothing is listed.
func (k *Kube) Unbound(id model.PodID) (cluster.UnboundPod, bool) {
	o, there, err := k.pods.GetByKey(string(id))
	if err != nil || !there {
		return cluster.UnboundPod{}, false
	}
	p, ok := o.(*corev1.Pod)
	if !ok || p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
		return cluster.UnboundPod{}, false
	}
	return unbound(p), true
}

func unbound(p *corev1.Pod) cluster.UnboundPod {
	node, byKerf := reader.Nomination(p)
	return cluster.UnboundPod{
		ID: model.PodID(p.Namespace + "/" + p.Name), UID: string(p.UID), Nominated: model.NodeName(node), ByKerf: byKerf,
	}
}

// Nominees lists the pods without a node that Kerf has nominated.
func (k *Kube) Nominees() []cluster.UnboundPod {
	var out []cluster.UnboundPod
	for _, node := range k.pods.ListIndexFuncValues(byNominee) {
		objects, err := k.pods.ByIndex(byNominee, node)
		if err != nil {
			continue // only an index that does not exist is an error
		}
		for _, o := range objects {
			if p, ok := o.(*corev1.Pod); ok {
				out = append(out, unbound(p))
			}
		}
	}
	slices.SortFunc(out, func(a, b cluster.UnboundPod) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func podNominee(o any) ([]string, error) {
	p, ok := o.(*corev1.Pod)
	if !ok || p.DeletionTimestamp != nil {
		return nil, nil
	}
	if node, byKerf := reader.Nomination(p); byKerf {
		return []string{node}, nil
	}
	return nil, nil
}

// Nominate writes many nominations beside each other.
func (k *Kube) Nominate(ctx context.Context, list []cluster.Nomination) error {
	errs := make([]error, len(list))
	var writers sync.WaitGroup
	for i, n := range list {
		select {
		case k.nominating <- struct{}{}:
		case <-ctx.Done():
			errs[i] = fmt.Errorf("nominate %d more pods: %w", len(list)-i, ctx.Err())
		}
		if errs[i] != nil {
			break
		}
		writers.Go(func() {
			defer func() { <-k.nominating }()
			errs[i] = k.nominate(ctx, n)
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}

// patchStep is one step of a JSON patch.
type patchStep struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// nominate writes a nomination if the pod is as it was seen. The resource version would not do: the scheduler writes
// conditions all the time.
func (k *Kube) nominate(ctx context.Context, n cluster.Nomination) error {
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
	_, err = k.nominator.CoreV1().Pods(namespace).Patch(ctx, name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager}, "status")
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
