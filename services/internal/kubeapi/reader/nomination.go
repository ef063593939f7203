package reader

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ActuatorManager is the name under which the actuator writes to the API server: its field manager.
const ActuatorManager = "kerf-actuator"

// nominationField is how managedFields say that their manager wrote a pod's nomination.
const nominationField = `"f:nominatedNodeName":`

// TrimManagedFields drops managedFields, which are much of an object's size, but for a pod's nomination by Kerf: of that a
// mark stays, for Nomination. Trimming again changes nothing.
func TrimManagedFields(o metav1.Object) {
	fields := o.GetManagedFields()
	if len(fields) == 0 {
		return
	}
	if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName == "" && p.Status.NominatedNodeName != "" && nominatedByKerf(fields) {
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: ActuatorManager, Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{` + nominationField + `{}}}`),
		}})
		return
	}
	o.SetManagedFields(nil)
}

// Nomination is the node that a pod without a node is nominated to, "" for none, and whether Kerf did that. Nominations of
// others are preemption's.
func Nomination(p *corev1.Pod) (node string, byKerf bool) {
	if p.Spec.NodeName != "" { // a node holds the pod now, whatever it was nominated for
		return "", false
	}
	node = p.Status.NominatedNodeName
	return node, node != "" && nominatedByKerf(p.ManagedFields)
}

// nominatedByKerf looks into managedFields. The API server takes a field away from its manager when another one changes it.
func nominatedByKerf(fields []metav1.ManagedFieldsEntry) bool {
	for _, e := range fields {
		if e.Manager == ActuatorManager && e.Subresource == "status" && e.FieldsV1 != nil &&
			strings.Contains(e.FieldsV1.GetRawString(), nominationField) {
			return true
		}
	}
	return false
}
