// Package convert turns Kubernetes objects into the contract's messages, as objects of a snapshot.
//
// It decides what a Kubernetes object means for buying and returning nodes, and nothing else: each function is a
// function of its arguments, with time among them, and never fails. What Kerf does not plan for is said in the object
// that comes out (PodClass.unsupported, NodePool.not_ready), so that nothing is dropped in silence. It must never talk to
// an API server; what one object needs to know of another it asks a References for.
//
// Start reading at Pod, which everything else in pod planning hangs from, then Node and NodePool. Pools, classes and
// constraints that several objects write alike are read in kubeapi/reader, volumes in package storage, dynamic resource
// allocation in package device, and package manifests puts whole sets of manifests together.
package convert

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/convert/storage"
)

// References finds the objects that another one names. A nil answer means that there is none.
type References interface {
	VolumeReferences
	ClassReferences
	OwnerReferences
	DeviceReferences
}

// VolumeReferences finds what stands behind a pod's volumes.
type VolumeReferences interface {
	PersistentVolumeClaim(namespace, name string) *corev1.PersistentVolumeClaim
	PersistentVolume(name string) *corev1.PersistentVolume
	// StorageClass finds a class by name; "" asks for the cluster's default.
	StorageClass(name string) *storagev1.StorageClass
	storage.References
	// ClaimUsers counts the pods that use a claim, those that have ended aside.
	ClaimUsers(namespace, name string) int
}

// ClassReferences finds what a pod is by the name of a class.
type ClassReferences interface {
	// PriorityClass finds a class by name; "" asks for the cluster's default.
	PriorityClass(name string) *schedulingv1.PriorityClass
	RuntimeClass(name string) *nodev1.RuntimeClass
}

// OwnerReferences finds whom a pod belongs to, and with whom it belongs together.
type OwnerReferences interface {
	// OwnerRevision tells which revision of its template an owner runs; "" when it has none.
	OwnerRevision(kind, namespace, name string) string
	// OwnerSelector is what an owner selects its pods with; nil where that is not known.
	OwnerSelector(kind, namespace, name string) *metav1.LabelSelector
	// ServiceSelectors are what the Services of a namespace select pods with.
	ServiceSelectors(namespace string) []map[string]string
	// Selected tells whether anything selects pods by an identity label; see SelectsByIdentity.
	Selected(label string) bool
}

// DeviceReferences finds what a pod claims of dynamic resource allocation.
type DeviceReferences interface {
	ResourceClaim(namespace, name string) *resourcev1.ResourceClaim
	ResourceClaimTemplate(namespace, name string) *resourcev1.ResourceClaimTemplate
	DeviceClass(name string) *resourcev1.DeviceClass
	// ExtendedClass finds the class that an extended resource stands for.
	ExtendedClass(resource string) *resourcev1.DeviceClass
}

// objectID is how namespaced objects are called everywhere: "namespace/name".
func objectID(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func labelsOf(m map[string]string) []*clusterpb.Label { return core.Labels(model.LabelsOf(m)) }

func taintsOf(list []corev1.Taint) []*clusterpb.Taint { return core.Taints(reader.Taints(list)) }

func countsOf(m map[string]int64) []*clusterpb.Amount { return core.Amounts(reader.Counts(m)) }

// amounts converts a list, without the zeros. The first resource that is out of bounds is named.
func amounts(list corev1.ResourceList) (out []*clusterpb.Amount, outOfBounds string) {
	read, outOfBounds := reader.Amounts(list)
	return core.Amounts(read), outOfBounds
}

func timestamp(t metav1.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Time)
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
