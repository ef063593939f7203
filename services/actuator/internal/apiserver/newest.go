package apiserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodsOn lists the pods of a node, and lacks none that was there when it was called. API servers answer lists without a
// revision from etcd, which before Kubernetes 1.31 they always read all pods of the cluster for, and since then where
// their own cache is behind. So this asks for the newest revision alone, and then for the node's pods from a cache that
// has come so far: it has an index for them.
//
// The revision is that of pods, because they may be kept apart from nodes, and not that of a write before: what came
// since then would be missing.
func PodsOn(ctx context.Context, c Client, node string) (*corev1.PodList, error) {
	none, err := newest(ctx, c)
	if err != nil {
		return nil, err
	}
	all := c.Pods(metav1.NamespaceAll)
	options := metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}
	at := options
	at.ResourceVersion, at.ResourceVersionMatch = none.ResourceVersion, metav1.ResourceVersionMatchNotOlderThan
	list, err := all.List(ctx, at)
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return list, err
	}
	// The cache has not come so far within the API server's 3 s. Before 1.31 that is so too of one that is not behind,
	// where no pod changes: nothing would ever bring it there.
	return all.List(ctx, options)
}

// Ask asks for what an API server that works answers at once.
func Ask(ctx context.Context, c Client) error {
	_, err := newest(ctx, c)
	return err
}

// newest is a list at the newest revision of pods. That of a single name reads one key, whether there is something or not.
func newest(ctx context.Context, c Client) (*corev1.PodList, error) {
	none, err := c.Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=kerf-newest-revision"})
	if err != nil {
		return nil, fmt.Errorf("ask for the newest revision: %w", err)
	}
	return none, nil
}
