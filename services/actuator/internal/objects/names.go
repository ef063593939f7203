// Package objects says what Kubernetes' objects mean to the actuator and how its own values look as objects: a Node, a
// NodePool or an EC2NodeClass becomes a value of the cluster port, a claim becomes a NodeClaim, a status its conditions.
//
// Everything here is a function of its arguments. It must never know a client or a cache: package kube reads and writes.
// Start at Node, Pool and Class for the way in, at NewClaim and SetClaim for the way out.
package objects

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// The finalizers that Kerf holds on objects: on nodes and claims, and on classes.
const (
	Finalizer      = labels.FinalizerTermination
	ClassFinalizer = awsv1.Group + "/termination"
)

// The names in users' objects that this package reads and writes, in one place and under short names.
const (
	taintDisrupted      = labels.TaintDisrupted
	annotationPoolHash  = labels.NodePoolHash
	annotationClassHash = labels.NodeClassHash
	labelPool           = labels.NodePool
	labelClass          = labels.NodeClass
	labelCapacityType   = labels.CapacityType
)

// Pools is where the API server keeps NodePools.
func Pools() schema.GroupVersionResource { return karpenterv1.NodePoolGVR() }

// Claims is where the API server keeps NodeClaims.
func Claims() schema.GroupVersionResource { return karpenterv1.NodeClaimGVR() }

// Classes is where the API server keeps EC2NodeClasses.
func Classes() schema.GroupVersionResource { return awsv1.EC2NodeClassGVR() }
