package karpenterv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is the API version of the types in this package.
const Version = "v1"

// Kinds and resources.
const (
	KindNodePool  = "NodePool"
	KindNodeClaim = "NodeClaim"

	ResourceNodePools  = "nodepools"
	ResourceNodeClaims = "nodeclaims"
)

// GroupVersion is karpenter.sh/v1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// NodePoolGVK names the kind NodePool.
func NodePoolGVK() schema.GroupVersionKind { return GroupVersion().WithKind(KindNodePool) }

// NodePoolGVR names the resource nodepools.
func NodePoolGVR() schema.GroupVersionResource { return GroupVersion().WithResource(ResourceNodePools) }

// NodeClaimGVK names the kind NodeClaim.
func NodeClaimGVK() schema.GroupVersionKind { return GroupVersion().WithKind(KindNodeClaim) }

// NodeClaimGVR names the resource nodeclaims.
func NodeClaimGVR() schema.GroupVersionResource {
	return GroupVersion().WithResource(ResourceNodeClaims)
}

// AddToScheme makes the scheme know this package's types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &NodePool{}, &NodePoolList{}, &NodeClaim{}, &NodeClaimList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
