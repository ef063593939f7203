// Package kwok makes nodes of a real cluster out of simulated instances: it writes the Node object that a kubelet would
// register, and lets kwok keep it alive.
//
// It decides how a Boot looks as a Node, how an unhealthy one does, and what happens to the Node when its instance is
// gone: the kubelet falls silent and the cloud controller deletes the object, finalizers respected. It must never know
// why an instance was launched.
//
// Start reading at Kubelet.
package kwok

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-dev/kerf/test/awssim"
)

// Annotation is what kwok adopts nodes by, with the value "fake".
const Annotation = "kwok.x-k8s.io/node"

// Kubelet joins instances to the cluster that Client reaches. It implements awssim.Kubelet. Safe for concurrent use.
type Kubelet struct {
	Client kubernetes.Interface
	// Now stamps conditions; nil means time.Now.
	Now func() time.Time
}

// Join creates the Node. A Node of that name with the same provider id counts as joined; with another it is an error.
func (k Kubelet) Join(ctx context.Context, b awssim.Boot) error {
	nodes := k.Client.CoreV1().Nodes()
	node := Node(b, k.now())
	_, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return wrap("create node", b.NodeName, err)
	}
	old, err := nodes.Get(ctx, b.NodeName, metav1.GetOptions{})
	if err != nil {
		return wrap("get node", b.NodeName, err)
	}
	if old.Spec.ProviderID != b.ProviderID {
		return fmt.Errorf("join node %s: it already stands for %s", b.NodeName, old.Spec.ProviderID)
	}
	return nil
}

// MakeUnhealthy lets the node's kubelet report that it is not ready, as one does whose container runtime is stuck, and
// neither start nor end any pod from now on. The instance goes on; nothing but its end heals the node.
func (k Kubelet) MakeUnhealthy(ctx context.Context, nodeName, message string) error {
	if err := k.release(ctx, nodeName); err != nil {
		return err
	}
	return wrap("make node unhealthy", nodeName, k.report(ctx, nodeName, corev1.ConditionFalse, "KubeletNotReady", message))
}

// Leave lets the node's kubelet fall silent and deletes the Node, as the cloud controller does once the instance is
// gone. The object stays as long as finalizers hold it.
func (k Kubelet) Leave(ctx context.Context, nodeName string) error {
	err := k.release(ctx, nodeName)
	if err == nil {
		err = wrap("silence node", nodeName, k.report(ctx, nodeName, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."))
	}
	if err == nil {
		err = wrap("delete node", nodeName, k.Client.CoreV1().Nodes().Delete(ctx, nodeName, metav1.DeleteOptions{}))
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// release ends kwok's care for the node.
func (k Kubelet) release(ctx context.Context, nodeName string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, Annotation)
	_, err := k.Client.CoreV1().Nodes().Patch(ctx, nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
	return wrap("release node", nodeName, err)
}

// report sets the node's condition Ready.
func (k Kubelet) report(ctx context.Context, nodeName string, status corev1.ConditionStatus, reason, message string) error {
	now := metav1.NewTime(k.now()).UTC().Format(time.RFC3339)
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"message":%q,`+
		`"lastHeartbeatTime":%q,"lastTransitionTime":%q}]}}`, status, reason, message, now, now)
	_, err := k.Client.CoreV1().Nodes().Patch(ctx, nodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func (k Kubelet) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return time.Now()
}

func wrap(what, name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, name, err)
	}
	return nil
}

var _ awssim.Kubelet = Kubelet{}

// conditions are what a kubelet reports when all is well.
func conditions(now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}
