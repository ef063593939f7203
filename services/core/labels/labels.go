// Package labels holds every label, annotation, taint and finalizer key that Kerf reads or writes, each once, and what
// can be said of a key alone: which older names it has, and whether a node gets it without its pool's doing.
//
// The keys are those of Kubernetes, of Karpenter (whose manifests Kerf reads) and Kerf's own. The package knows no object
// that carries them. Start reading at NodePool; Normal, WellKnown and what else tells of a key are in about.go.
package labels

// Groups are the API groups whose domains Karpenter's labels are in.
const (
	Karpenter    = "karpenter.sh"
	KarpenterAWS = "karpenter.k8s.aws"
	Kerf         = "kerf.dev"
)

// Labels that every node of Kerf's carries.
const (
	// NodePool is the pool that a node belongs to.
	NodePool = Karpenter + "/nodepool"
	// NodeClass is the EC2NodeClass that a node was launched from.
	NodeClass = KarpenterAWS + "/ec2nodeclass"
	// CapacityType is how the instance is paid for: on-demand, spot or reserved.
	CapacityType = Karpenter + "/capacity-type"
	// Registered is "true" once the node has joined and was given its labels and taints.
	Registered = Karpenter + "/registered"
	// Initialized is "true" once the node has started: ready, with its extended resources and without startup taints.
	Initialized = Karpenter + "/initialized"
	// Claim is the claim that a node stands for; also the tag of the instance.
	Claim = Kerf + "/claim"
	// DoNotSyncTaints is "true" on a node whose taints must not be overwritten when it joins.
	DoNotSyncTaints = Karpenter + "/do-not-sync-taints"
	// ExcludeBalancers takes a draining node out of load balancers; its value is ExcludeBalancersValue.
	ExcludeBalancers      = "node.kubernetes.io/exclude-from-external-load-balancers"
	ExcludeBalancersValue = "karpenter"
)

// Kubernetes' own labels of nodes.
const (
	Zone         = "topology.kubernetes.io/zone"
	Region       = "topology.kubernetes.io/region"
	InstanceType = "node.kubernetes.io/instance-type"
	Arch         = "kubernetes.io/arch"
	OS           = "kubernetes.io/os"
	Hostname     = "kubernetes.io/hostname"
	WindowsBuild = "node.kubernetes.io/windows-build"
	// NamespaceName is the label of each namespace that holds its name.
	NamespaceName = "kubernetes.io/metadata.name"
)

// Older names of the labels above; see Normal.
const (
	oldZone         = "failure-domain.beta.kubernetes.io/zone"
	oldRegion       = "failure-domain.beta.kubernetes.io/region"
	oldInstanceType = "beta.kubernetes.io/instance-type"
	oldArch         = "beta.kubernetes.io/arch"
	oldOS           = "beta.kubernetes.io/os"
)

// Labels of where and on what an instance runs, in AWS's words.
const (
	// ZoneID is the zone's name that is the same in every account, for example "use1-az1".
	ZoneID = "topology.k8s.aws/zone-id"
	// EBSZone is the EBS CSI driver's name for the zone, read as Zone.
	EBSZone = "topology.ebs.csi.aws.com/zone"

	CapacityReservationID            = KarpenterAWS + "/capacity-reservation-id"
	CapacityReservationType          = KarpenterAWS + "/capacity-reservation-type"          // default or capacity-block
	CapacityReservationInterruptible = KarpenterAWS + "/capacity-reservation-interruptible" // true or false
	PlacementGroupID                 = KarpenterAWS + "/placement-group-id"
	PlacementGroupPartition          = KarpenterAWS + "/placement-group-partition"
)

// Labels that a node has because of its instance type. A type that has no value for one has no such label.
const (
	InstanceCategory            = KarpenterAWS + "/instance-category"
	InstanceFamily              = KarpenterAWS + "/instance-family"
	InstanceGeneration          = KarpenterAWS + "/instance-generation"
	InstanceSize                = KarpenterAWS + "/instance-size"
	InstanceCapabilityFlex      = KarpenterAWS + "/instance-capability-flex"
	InstanceCPU                 = KarpenterAWS + "/instance-cpu"                             // vCPUs
	InstanceCPUManufacturer     = KarpenterAWS + "/instance-cpu-manufacturer"                // intel, amd or aws
	InstanceCPUClockSpeed       = KarpenterAWS + "/instance-cpu-sustained-clock-speed-mhz"   // MHz
	InstanceMemory              = KarpenterAWS + "/instance-memory"                          // MiB
	InstanceEBSBandwidth        = KarpenterAWS + "/instance-ebs-bandwidth"                   // Mbit/s, maximum
	InstanceNetworkBandwidth    = KarpenterAWS + "/instance-network-bandwidth"               // Mbit/s, baseline
	InstanceHypervisor          = KarpenterAWS + "/instance-hypervisor"                      // nitro, xen or empty for metal
	InstanceEncryptionInTransit = KarpenterAWS + "/instance-encryption-in-transit-supported" // true or false
	InstanceLocalNVMe           = KarpenterAWS + "/instance-local-nvme"                      // GB
	InstanceGPUName             = KarpenterAWS + "/instance-gpu-name"
	InstanceGPUManufacturer     = KarpenterAWS + "/instance-gpu-manufacturer"
	InstanceGPUCount            = KarpenterAWS + "/instance-gpu-count"
	InstanceGPUMemory           = KarpenterAWS + "/instance-gpu-memory" // MiB
	InstanceAcceleratorName     = KarpenterAWS + "/instance-accelerator-name"
	InstanceAcceleratorMaker    = KarpenterAWS + "/instance-accelerator-manufacturer"
	InstanceAcceleratorCount    = KarpenterAWS + "/instance-accelerator-count"
	InstanceTenancy             = KarpenterAWS + "/instance-tenancy" // default or dedicated
	NitroSandbox                = KarpenterAWS + "/nitro-sandbox"
)

// Annotations.
const (
	// DoNotDisrupt is, on a pod, "true" or a positive duration counted from its start, and on a node, claim or pool "true":
	// no voluntary disruption.
	DoNotDisrupt = Karpenter + "/do-not-disrupt"
	// DoNotRepair is, on a node, "true": it is not replaced for being unhealthy.
	DoNotRepair = Karpenter + "/do-not-repair"
	// DisruptionCost is how costly it is to move a pod, on the scale of PodDeletionCost, before which it goes.
	DisruptionCost = Karpenter + "/disruption-cost"
	// NodePoolHash is the hash of the pool's template that a claim was made from.
	NodePoolHash = Karpenter + "/nodepool-hash"
	// NodePoolHashVersion is the version of the hash: two hashes are compared only when their versions agree.
	NodePoolHashVersion = Karpenter + "/nodepool-hash-version"
	// NodeClassHash is the hash of the node class that a claim was made from.
	NodeClassHash = KarpenterAWS + "/ec2nodeclass-hash"
	// NodeClassHashVersion is its version.
	NodeClassHashVersion = KarpenterAWS + "/ec2nodeclass-hash-version"
	// TerminationTimestamp is when a drain is forced, in RFC 3339.
	TerminationTimestamp = Karpenter + "/nodeclaim-termination-timestamp"
	// MinValuesRelaxed is "true" when a claim was made although a minValues could not be kept.
	MinValuesRelaxed = Karpenter + "/nodeclaim-min-values-relaxed"
	// PriceOverlay is the price overlay that influenced a claim, CapacityOverlay the capacity overlay.
	PriceOverlay    = Karpenter + "/price-overlay-applied"
	CapacityOverlay = Karpenter + "/capacity-overlay-applied"
	// PodDeletionCost is Kubernetes' own hint of how costly a pod's deletion is.
	PodDeletionCost = "controller.kubernetes.io/pod-deletion-cost"
	// PodDeletionCostByKerf has the same value where Kerf has written PodDeletionCost.
	PodDeletionCostByKerf = Kerf + "/pod-deletion-cost"
	// MirrorPod is on the API server's copies of pods that a kubelet runs from files.
	MirrorPod = "kubernetes.io/config.mirror"
	// VolumeBound is on a volume claim that a volume was bound to.
	VolumeBound = "pv.kubernetes.io/bind-completed"
	// BufferStartsAt and BufferExpiresAt bound when a capacity buffer wants its capacity, in RFC 3339.
	BufferStartsAt  = Kerf + "/starts-at"
	BufferExpiresAt = Kerf + "/expires-at"
	// Devices is, on a NodePool, what drivers will publish for its new nodes.
	Devices = Kerf + "/devices"
)

// Taints.
const (
	// TaintUnregistered is on a node from its boot until it is registered; effect NoExecute.
	TaintUnregistered = Karpenter + "/unregistered"
	// TaintDisrupted is on a node that is about to go; effect NoSchedule.
	TaintDisrupted = Karpenter + "/disrupted"
	// TaintRemovalDeferred is on a node that is to go once disruption budgets let it; effect PreferNoSchedule,
	// and NoSchedule while pods are being moved. Planning takes no notice of it: what it says, the planner has said.
	TaintRemovalDeferred = Kerf + "/removal-deferred"
	// TaintReadinessPrefix is that of taints that readiness gates put on a node for a while.
	TaintReadinessPrefix = "readiness.k8s.io/"
	// TaintNotReady and TaintUnreachable are the node controller's, TaintUninitialized the cloud provider's.
	TaintNotReady      = "node.kubernetes.io/not-ready"
	TaintUnreachable   = "node.kubernetes.io/unreachable"
	TaintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// Finalizers.
const (
	// FinalizerTermination is on nodes and claims, so that nothing disappears before it is drained and ended.
	FinalizerTermination = Karpenter + "/termination"
	// FinalizerNodeClass is on node classes, so that one goes only after the last instance made from it.
	FinalizerNodeClass = KarpenterAWS + "/termination"
)

// Tags of instances.
const (
	// TagCluster is the cluster that an instance belongs to; TagClaim, its claim, is the label Claim.
	TagCluster = Kerf + "/cluster"
	TagClaim   = Claim
	// TagLaunch is the call that launched it, perhaps for several claims.
	TagLaunch = Kerf + "/launch"
	// TagDiscovery is what users tag subnets and security groups with, to be found.
	TagDiscovery = Karpenter + "/discovery"
	// TagClusterPrefix and a cluster's name is Kubernetes' own tag of what belongs to a cluster.
	TagClusterPrefix = "kubernetes.io/cluster/"
)
