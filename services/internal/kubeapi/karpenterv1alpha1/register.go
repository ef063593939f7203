package karpenterv1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Version is the API version of the types in this package.
const Version = "v1alpha1"

// The kind and its resource.
const (
	KindNodeOverlay      = "NodeOverlay"
	ResourceNodeOverlays = "nodeoverlays"
)

// GroupVersion is karpenter.sh/v1alpha1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: karpenterv1.Group, Version: Version}
}

// NodeOverlayGVK names the kind NodeOverlay.
func NodeOverlayGVK() schema.GroupVersionKind { return GroupVersion().WithKind(KindNodeOverlay) }

// NodeOverlayGVR names the resource nodeoverlays.
func NodeOverlayGVR() schema.GroupVersionResource {
	return GroupVersion().WithResource(ResourceNodeOverlays)
}

// AddToScheme makes the scheme know this package's types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &NodeOverlay{}, &NodeOverlayList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
