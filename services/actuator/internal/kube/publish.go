package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// maxPublishing is how many claims are brought to their state at once, and how many are forgotten: what follows in a
// publication, and the next one, waits for them.
const maxPublishing = 8

// Publish brings the objects that users look at to the given state. What is right already is not written.
func (k *Kube) Publish(ctx context.Context, p cluster.Publication) error {
	failed := cluster.NotPublished{}
	note := func(e cluster.Entry, err error) {
		if err != nil {
			failed[e] = err
		}
	}
	slots := make(chan struct{}, maxPublishing)
	publish := func(c model.Claim) error { return k.publishClaim(ctx, c, p.Consolidatable[c.ID]) }
	for i, err := range beside(ctx, slots, p.Claims, publish) {
		note(cluster.ClaimEntry(p.Claims[i].ID), err)
	}
	forget := func(id model.ClaimID) error { return k.forget(ctx, id) }
	for i, err := range beside(ctx, slots, p.ForgetClaims, forget) {
		note(cluster.ForgetClaimEntry(p.ForgetClaims[i]), err)
	}
	for _, s := range p.Pools {
		note(cluster.PoolEntry(s.Name), k.publishPool(ctx, s))
	}
	for _, s := range p.Classes {
		note(cluster.ClassEntry(s.Name), k.publishClass(ctx, s))
	}
	for _, s := range p.States {
		note(cluster.StateEntry(s), k.publishState(ctx, s))
	}
	for _, name := range p.ForgetClasses {
		note(cluster.ForgetClassEntry(name), k.release(ctx, awsv1.EC2NodeClassGVR(), string(name), labels.FinalizerNodeClass))
	}
	for _, e := range p.Events {
		note(cluster.EventEntry(e), k.tell(ctx, e))
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

func (k *Kube) publishClaim(ctx context.Context, c model.Claim, consolidatable bool) error {
	current, err := get(k.claims, string(c.ID))
	if err != nil {
		return err
	}
	if current == nil {
		if current, err = k.createClaim(ctx, c); err != nil {
			return err
		}
	}

	// The status is written at once: a reader that sees the claim should see how far it is.
	return k.edit(ctx, karpenterv1.NodeClaimGVR(), string(c.ID), current, func(o *unstructured.Unstructured) {
		objects.SetClaim(o, c, consolidatable, k.now())
	})
}

// createClaim makes the claim's object; nil if it is there already, unknown to the cache.
func (k *Kube) createClaim(ctx context.Context, c model.Claim) (*unstructured.Unstructured, error) {
	pool, err := get(k.nodePools, string(c.NodePool))
	if err != nil {
		return nil, err
	}
	made, err := k.dynamic.Resource(karpenterv1.NodeClaimGVR()).Create(ctx, objects.NewClaim(c, pool), metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil, nil //nolint:nilnil // absence is an answer here
	}
	return made, err
}

func (k *Kube) publishPool(ctx context.Context, s cluster.PoolStatus) error {
	cached, err := get(k.nodePools, string(s.Name))
	if err != nil || cached == nil {
		return err
	}
	return k.edit(ctx, karpenterv1.NodePoolGVR(), string(s.Name), cached, func(o *unstructured.Unstructured) { objects.SetPool(o, s, k.now()) })
}

func (k *Kube) publishClass(ctx context.Context, s cluster.ClassStatus) error {
	cached, err := get(k.classes, string(s.Name))
	if err != nil || cached == nil {
		return err
	}
	return k.edit(ctx, awsv1.EC2NodeClassGVR(), string(s.Name), cached, func(o *unstructured.Unstructured) { objects.SetClass(o, s, k.now()) })
}

// publishState writes the status of an object that only plans look at, so that no cache has it. Without the right to do
// so it is left alone: these objects are optional, and what is planned does not depend on it.
func (k *Kube) publishState(ctx context.Context, s model.ObjectState) error {
	ref, known := objects.Stated(s)
	if !known {
		return nil
	}
	client := k.dynamic.Resource(ref.Resource).Namespace(ref.Namespace) // "" for what has none
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before, err := client.Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		after := before.DeepCopy()
		ref.Set(after, s, k.now())
		if sameStatus(before, after) {
			return nil
		}
		_, err = client.UpdateStatus(ctx, after, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
	if apierrors.IsForbidden(err) {
		k.log.WarnContext(ctx, "a status is not written for lack of a right", "object", s.Subject, "error", err)
		return nil
	}
	return ignoreNotFound(err)
}

// edit applies a change to an object and its status, and writes only what differs. It starts from the copy at hand, so
// that what is right already costs no request, and from a fresh one when there is none, when the copy is older than the
// last write (a change back would look as if it were made), and after a conflict.
func (k *Kube) edit(
	ctx context.Context, r schema.GroupVersionResource, name string, at *unstructured.Unstructured,
	change func(*unstructured.Unstructured),
) error {
	client := k.dynamic.Resource(r)
	if at != nil && k.wrote.after(r, at) {
		at = nil
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := at
		at = nil
		if before == nil {
			fresh, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			before = fresh
		}

		after := before.DeepCopy()
		change(after)
		if !sameButStatus(before, after) {
			written, err := client.Update(ctx, after, metav1.UpdateOptions{FieldManager: fieldManager})
			if err != nil {
				return err
			}
			k.wrote.note(r, written)
			after.SetResourceVersion(written.GetResourceVersion())
		}
		if sameStatus(before, after) {
			return nil
		}
		written, err := client.UpdateStatus(ctx, after, metav1.UpdateOptions{FieldManager: fieldManager})
		if err != nil {
			return err
		}
		k.wrote.note(r, written)
		return nil
	})
	return ignoreNotFound(err) // deleted in between; the next publication will see that
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

// forget removes the object of a claim: it deletes it, and takes Kerf's finalizer off.
func (k *Kube) forget(ctx context.Context, id model.ClaimID) error {
	k.wrote.forget(karpenterv1.NodeClaimGVR(), string(id))
	if err := k.dynamic.Resource(karpenterv1.NodeClaimGVR()).Delete(ctx, string(id), metav1.DeleteOptions{}); err != nil {
		return ignoreNotFound(err)
	}
	return k.release(ctx, karpenterv1.NodeClaimGVR(), string(id), labels.FinalizerTermination)
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
		return nil, fmt.Errorf("the cache has a %T, not an object", o)
	}
	return u, nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func sameStatus(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(a.Object["status"], b.Object["status"])
}

func sameButStatus(a, b *unstructured.Unstructured) bool {
	x, y := maps.Clone(a.Object), maps.Clone(b.Object)
	delete(x, "status")
	delete(y, "status")
	return equality.Semantic.DeepEqual(x, y)
}
