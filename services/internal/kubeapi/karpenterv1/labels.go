package karpenterv1

import "strings"

// Group is the API group of NodePool and NodeClaim, and the domain of the labels
// that the controller owns.
const Group = "karpenter.sh"

// Labels on nodes and claims.
const (
	// The pool that a node belongs to.
	LabelNodePool = Group + "/nodepool"
	// How the instance is paid for; one of the CapacityType constants.
	LabelCapacityType = Group + "/capacity-type"
	// "true" once the node has joined and was given its labels and taints.
	LabelRegistered = Group + "/registered"
	// "true" once the node can be relied on.
	LabelInitialized = Group + "/initialized"
	// "true" on a node whose taints must not be overwritten when it joins.
	LabelDoNotSyncTaints = Group + "/do-not-sync-taints"
	// Takes a draining node out of load balancers; its value is ExcludeBalancersValue.
	LabelExcludeBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
	// The value of LabelExcludeBalancers.
	ExcludeBalancersValue = "karpenter"
)

// Kubernetes' own node labels that requirements speak of.
const (
	LabelZone         = "topology.kubernetes.io/zone"
	LabelRegion       = "topology.kubernetes.io/region"
	LabelInstanceType = "node.kubernetes.io/instance-type"
	LabelArch         = "kubernetes.io/arch"
	LabelOS           = "kubernetes.io/os"
	LabelHostname     = "kubernetes.io/hostname"
	LabelWindowsBuild = "node.kubernetes.io/windows-build"
)

// Values of LabelCapacityType.
const (
	CapacityTypeReserved = "reserved"
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
)

// Annotations.
const (
	// On a pod "true" or a positive duration counted from its start, on a node or
	// claim "true": no voluntary disruption.
	AnnotationDoNotDisrupt = Group + "/do-not-disrupt"
	// The hash of the pool's template that a claim was made from; see HashNodePool.
	AnnotationNodePoolHash = Group + "/nodepool-hash"
	// The version of the hash: two hashes are compared only when their versions agree.
	AnnotationNodePoolHashVersion = Group + "/nodepool-hash-version"
	// When a drain is forced, in RFC 3339.
	AnnotationTerminationTimestamp = Group + "/nodeclaim-termination-timestamp"
	// "true" when a claim was made although a minValues could not be kept.
	AnnotationMinValuesRelaxed = Group + "/nodeclaim-min-values-relaxed"
	// The DRA drivers that must publish before the node counts as initialized,
	// separated by commas.
	AnnotationRequestedDRADrivers = Group + "/requested-dra-drivers"
	// The price overlay that influenced a claim.
	AnnotationPriceOverlay = Group + "/price-overlay-applied"
	// The capacity overlay that influenced a claim.
	AnnotationCapacityOverlay = Group + "/capacity-overlay-applied"
	// Marks a virtual pod of a capacity buffer.
	AnnotationBufferFakePod = Group + "/capacity-buffer-fake-pod"
	// The name of a virtual pod's buffer.
	AnnotationBufferName = Group + "/capacity-buffer-name"
	// The namespace of a virtual pod's buffer.
	AnnotationBufferNamespace = Group + "/capacity-buffer-namespace"
	// A migration aid on objects that came from another provider's form.
	AnnotationProviderCompatibility = "compatibility.karpenter.sh/provider"
	// Kubernetes' own hint of how costly a pod's deletion is.
	AnnotationPodDeletionCost = "controller.kubernetes.io/pod-deletion-cost"
)

// Taint keys and the finalizer.
const (
	// On a node from its boot until it is registered; effect NoExecute.
	TaintUnregistered = Group + "/unregistered"
	// On a node that is about to go; effect NoSchedule.
	TaintDisrupted = Group + "/disrupted"
	// The prefix of taints that readiness gates put on a node for a while.
	TaintReadinessPrefix = "readiness.k8s.io/"
	// On nodes and claims, so that nothing disappears before it is drained and ended.
	FinalizerTermination = Group + "/termination"
)

// NodeClassLabel is the label key that names a node's class, for example
// "karpenter.k8s.aws/ec2nodeclass".
func NodeClassLabel(ref NodeClassReference) string {
	return ref.Group + "/" + strings.ToLower(ref.Kind)
}

// WellKnownLabels are the keys that a pod may require although no pool defines
// them, because every node gets them. Sorted.
func WellKnownLabels() []string {
	return []string{
		LabelCapacityType, LabelNodePool, LabelArch, LabelOS,
		LabelInstanceType, LabelWindowsBuild, LabelRegion, LabelZone,
	}
}

// RestrictedLabel says why a user must not set or require the label key, or ""
// when it is fine. karpenter.sh/nodepool is fine here, as claims and pods may
// ask for it; a pool may not.
func RestrictedLabel(key string) string {
	if key == LabelHostname {
		return "it differs on each node"
	}
	domain, _, found := strings.Cut(key, "/")
	if !found || key == LabelCapacityType || key == LabelNodePool {
		return ""
	}
	if domain == Group || strings.HasSuffix(domain, "."+Group) {
		return "labels of the domain karpenter.sh are set by the controller"
	}
	return ""
}

// NormalizeLabel gives the stable form of a label key that Kubernetes renamed,
// and any other key as it is.
func NormalizeLabel(key string) string {
	switch key {
	case "failure-domain.beta.kubernetes.io/zone":
		return LabelZone
	case "failure-domain.beta.kubernetes.io/region":
		return LabelRegion
	case "beta.kubernetes.io/arch":
		return LabelArch
	case "beta.kubernetes.io/os":
		return LabelOS
	case "beta.kubernetes.io/instance-type":
		return LabelInstanceType
	default:
		return key
	}
}
