package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// Publish brings the objects that users look at to the given state. What is right already is not written.
func (k *Kube) Publish(ctx context.Context, p cluster.Publication) error {
	var errs []error
	note := func(what, name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("publish %s %s: %w", what, name, err))
		}
	}
	for _, c := range p.Claims {
		note("claim", string(c.ID), k.publishClaim(ctx, c))
	}
	for _, id := range p.ForgetClaims {
		note("end of claim", string(id), k.forget(ctx, claimsResource(), string(id), finalizer))
	}
	for _, s := range p.Pools {
		note("status of pool", s.Name, k.publishPool(ctx, s))
	}
	for _, s := range p.Classes {
		note("status of class", s.Name, k.publishClass(ctx, s))
	}
	for _, name := range p.ForgetClasses {
		note("end of class", name, k.release(ctx, classesResource(), name, classFinalizer))
	}
	for _, e := range p.Events {
		note("event on", e.Kind+"/"+e.Name, k.tell(ctx, e))
	}

	return errors.Join(errs...)
}

func (k *Kube) publishClaim(ctx context.Context, c model.Claim) error {
	cached, err := k.claimObject(c.ID)
	if err != nil {
		return err
	}
	if cached == nil {
		pool, err := get(k.pools, c.NodePool)
		if err != nil {
			return err
		}
		object := newClaimObject(c, pool)
		if _, err := k.dynamic.Resource(claimsResource()).Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager}); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			return err
		}
		// The status is written at once: a reader that sees the claim should see how far it is.
	}

	return k.edit(ctx, claimsResource(), string(c.ID), cached, func(o *unstructured.Unstructured) {
		o.SetLabels(merged(o.GetLabels(), claimLabels(c)))
		setFinalizer(o, finalizer)
		setClaimStatus(o, c, k.now())
	})
}

// edit applies a change to an object and its status, and writes only what differs. It starts from the cached copy when
// there is one, and from a fresh one after a conflict.
func (k *Kube) edit(
	ctx context.Context, r schema.GroupVersionResource, name string, cached *unstructured.Unstructured,
	change func(*unstructured.Unstructured),
) error {
	client := k.dynamic.Resource(r)
	first := true

	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := cached
		if !first || before == nil {
			fresh, err := client.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil // deleted in between; the next publication will see that
			}
			if err != nil {
				return err
			}
			before = fresh
		}
		first = false

		after := before.DeepCopy()
		change(after)
		if !sameButStatus(before, after) {
			written, err := client.Update(ctx, after, metav1.UpdateOptions{FieldManager: fieldManager})
			if err != nil {
				return err
			}
			after.SetResourceVersion(written.GetResourceVersion())
		}
		if sameStatus(before, after) {
			return nil
		}
		_, err := client.UpdateStatus(ctx, after, metav1.UpdateOptions{FieldManager: fieldManager})

		return ignoreNotFound(err)
	})
}

// release takes a finalizer off an object that its user has deleted.
func (k *Kube) release(ctx context.Context, r schema.GroupVersionResource, name, fin string) error {
	client := k.dynamic.Resource(r)

	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreNotFound(err)
		}
		if !slices.Contains(o.GetFinalizers(), fin) {
			return nil
		}
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == fin }))
		_, err = client.Update(ctx, o, metav1.UpdateOptions{FieldManager: fieldManager})

		return ignoreNotFound(err)
	})
}

// forget removes an object that Kerf made: it deletes it, and takes Kerf's finalizer off.
func (k *Kube) forget(ctx context.Context, r schema.GroupVersionResource, name, fin string) error {
	if err := k.dynamic.Resource(r).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return ignoreNotFound(err)
	}

	return k.release(ctx, r, name, fin)
}

// tell writes an event, unless the same was the last thing said about the object.
func (k *Kube) tell(ctx context.Context, e cluster.Event) error {
	key := e.Kind + "/" + e.Namespace + "/" + e.Name + "/" + e.Reason
	k.mu.Lock()
	known := k.told[key] == e.Message
	k.mu.Unlock()
	if known {
		return nil
	}

	namespace := e.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	now := metav1.NewTime(k.now())
	_, err := k.client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: e.Name + ".", Namespace: namespace},
		InvolvedObject: reference(e),
		Type:           kind, Reason: e.Reason, Message: cut(e.Message, maxEventMessage),
		Source: corev1.EventSource{Component: "kerf"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		ReportingController: "kerf.dev/actuator",
	}, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		return err
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.told) >= maxTold { // forgetting costs a repeated event at worst
		clear(k.told)
	}
	k.told[key] = e.Message

	return nil
}

const (
	maxTold         = 20_000
	maxEventMessage = 1024 // the API server's own limit
)

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}

	return s[:n-3] + "..."
}

func (k *Kube) claimObject(id model.ClaimID) (*unstructured.Unstructured, error) {
	return get(k.claims, string(id))
}

// get reads a cached object; nil means that there is none.
func get(l cache.GenericLister, name string) (*unstructured.Unstructured, error) {
	o, err := l.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer here
	}
	if err != nil {
		return nil, err
	}
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("cache holds %T, not an object", o)
	}

	return u, nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}

	return err
}
