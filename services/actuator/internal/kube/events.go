package kube

import (
	"context"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

const maxEventMessage = 1024 // bytes; the API server's own limit

// tell writes an event, unless the same was the last thing said about the object.
func (k *Kube) tell(ctx context.Context, e cluster.Event) error {
	if e.UID == "" {
		e.UID = k.uid(e)
	}
	now := k.now()
	if k.events.Known(e) {
		return nil
	}

	namespace := e.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where kubectl looks for events on what has no namespace
	}
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	at := metav1.NewTime(now)
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: e.Name + ".", Namespace: namespace},
		InvolvedObject: reference(e),
		Type:           kind, Reason: e.Reason, Message: cut(e.Message, maxEventMessage),
		Source: corev1.EventSource{Component: "kerf"}, FirstTimestamp: at, LastTimestamp: at, Count: 1,
		ReportingController: "kerf.dev/actuator",
	}
	if k.events.TooMuch(event) {
		return nil // it is said at the next change
	}
	_, err := k.client.Events(namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case refusedForGood(err):
		// Trying again would hold up all later events.
		k.log.WarnContext(ctx, "event is not taken", "object", e.Kind+"/"+e.Namespace+"/"+e.Name, "reason", e.Reason, "error", err)
	case err != nil:
		return err
	}
	k.events.Note(e)
	return nil
}

// refusedForGood says that the API server will never take the event: its namespace is gone or on its way out, for one.
func refusedForGood(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// uid finds the object that an event is about, by which "kubectl describe" finds the event; "" if no cache knows it.
func (k *Kube) uid(e cluster.Event) string {
	var o any
	var err error
	switch e.Kind {
	case "Pod":
		o, _, err = k.pods.GetByKey(e.Namespace + "/" + e.Name)
	case "Node":
		o, err = k.nodes.Get(e.Name)
	case "NodeClaim":
		o, err = k.claims.Get(e.Name)
	case "NodePool":
		o, err = k.nodePools.Get(e.Name)
	case "EC2NodeClass":
		o, err = k.classes.Get(e.Name)
	}
	if err != nil || o == nil {
		return ""
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return string(m.GetUID())
}

func reference(e cluster.Event) corev1.ObjectReference {
	version := map[string]string{
		"Pod": "v1", "Node": "v1",
		karpenterv1.KindNodePool: karpenterv1.GroupVersion().String(), karpenterv1.KindNodeClaim: karpenterv1.GroupVersion().String(),
		awsv1.KindEC2NodeClass: awsv1.GroupVersion().String(),
	}[e.Kind]
	return corev1.ObjectReference{
		APIVersion: version, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, UID: types.UID(e.UID),
	}
}

// cut shortens a text to at most n bytes, between two characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("...")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
