package kube

import (
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names of users' objects that this package reads and writes, in one place and under short names.
const (
	taintDisrupted         = karpenterv1.TaintDisrupted
	annotationDoNotDisrupt = karpenterv1.AnnotationDoNotDisrupt
	annotationPoolHash     = karpenterv1.AnnotationNodePoolHash
	annotationClassHash    = awsv1.Group + "/ec2nodeclass-hash"
	finalizer              = karpenterv1.FinalizerTermination
	classFinalizer         = awsv1.Group + "/termination"
	labelPool              = karpenterv1.LabelNodePool
	labelClass             = awsv1.LabelNodeClass
	labelCapacityType      = karpenterv1.LabelCapacityType
)

func poolsResource() schema.GroupVersionResource   { return karpenterv1.NodePoolGVR() }
func claimsResource() schema.GroupVersionResource  { return karpenterv1.NodeClaimGVR() }
func classesResource() schema.GroupVersionResource { return awsv1.EC2NodeClassGVR() }
