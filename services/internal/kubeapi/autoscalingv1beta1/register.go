package autoscalingv1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The group and the version of the types in this package.
const (
	Group   = "autoscaling.x-k8s.io"
	Version = "v1beta1"
)

// The kind and its resource.
const (
	KindCapacityBuffer      = "CapacityBuffer"
	ResourceCapacityBuffers = "capacitybuffers"
)

// GroupVersion is autoscaling.x-k8s.io/v1beta1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// CapacityBufferGVK names the kind CapacityBuffer.
func CapacityBufferGVK() schema.GroupVersionKind {
	return GroupVersion().WithKind(KindCapacityBuffer)
}

// CapacityBufferGVR names the resource capacitybuffers.
func CapacityBufferGVR() schema.GroupVersionResource {
	return GroupVersion().WithResource(ResourceCapacityBuffers)
}

// AddToScheme makes the scheme know this package's types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &CapacityBuffer{}, &CapacityBufferList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
