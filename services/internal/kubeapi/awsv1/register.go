package awsv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// Group is the API group of EC2NodeClass and the domain of AWS's node labels.
const Group = labels.KarpenterAWS

// Version is the API version of the types in this package.
const Version = "v1"

// Kind and resource.
const (
	KindEC2NodeClass       = "EC2NodeClass"
	ResourceEC2NodeClasses = "ec2nodeclasses"
)

// GroupVersion is karpenter.k8s.aws/v1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// EC2NodeClassGVK names the kind EC2NodeClass.
func EC2NodeClassGVK() schema.GroupVersionKind { return GroupVersion().WithKind(KindEC2NodeClass) }

// EC2NodeClassGVR names the resource ec2nodeclasses.
func EC2NodeClassGVR() schema.GroupVersionResource {
	return GroupVersion().WithResource(ResourceEC2NodeClasses)
}

// AddToScheme makes the scheme know this package's types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &EC2NodeClass{}, &EC2NodeClassList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
