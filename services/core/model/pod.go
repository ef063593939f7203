package model

import "time"

// PodClass is everything about a pod that scheduling looks at; pods that a scheduler can't tell apart share one.
type PodClass struct {
	ID        ClassID
	Namespace string
	Labels    Labels
	// Requests is what one pod takes from a node, "pods" = 1 included.
	Requests     Amounts
	NodeSelector Labels
	// NodeAffinity is the required node affinity: the terms are alternatives; none means no such constraint.
	NodeAffinity          []NodeAffinityTerm
	PreferredNodeAffinity []PreferredNodeAffinityTerm
	Tolerations           []Toleration
	TopologySpread        []TopologySpread
	PodAffinity           []PodAffinityTerm
	PodAntiAffinity       []PodAffinityTerm
	HostPorts             []HostPort
	// Volumes are those that can't be reached from everywhere, or that pods may share.
	Volumes []VolumeTopology
	// VolumeAttachments count against a CSI driver's attach limit, shared volumes included; the "resource" is the driver's
	// name.
	VolumeAttachments Amounts
	// DeviceClaims are what the pods ask for of dynamic resource allocation, in the order in which the scheduler serves it.
	DeviceClaims  []DeviceClaim
	Priority      int32
	Preempts      bool
	SchedulerName string
	// OwnerKind is "" for pods that nothing would make again.
	OwnerKind     string
	OwnerName     string
	OwnerRevision string
	// OwnerUID is the uid of the pods' controller: the ReplicaSet's for the pods of a Deployment. "" where it is not known.
	OwnerUID string
	// DefaultSelector picks the pods that belong together with these, for default spread constraints: what Services and
	// the owner select. nil means that nothing tells, and default constraints do not apply.
	DefaultSelector *Selector
	// Daemon marks pods of a DaemonSet.
	Daemon bool
	// Mirror marks pods that a kubelet runs from its own disk.
	Mirror                 bool
	TerminationGracePeriod *time.Duration
	// Unsupported is what Kerf does not plan for; "" when there is nothing.
	Unsupported string
	// NeededDrivers and NeededFeatures are CSI drivers, and features of kubelets, without which the scheduler keeps the
	// pods off a node. Sorted.
	NeededDrivers, NeededFeatures []string
	// ExtendedRequests are devices that the scheduler claims in the place of resources which are among Requests, on nodes
	// that do not have these themselves, in the order in which it serves them. See package extended. It is the last field;
	// see encoding.
	ExtendedRequests []ExtendedRequest
}

// NodeAffinityTerm is one alternative: all its requirements must hold. A term without requirements matches no node.
type NodeAffinityTerm struct {
	Requirements []Requirement
}

// PreferredNodeAffinityTerm is a preference with a weight.
type PreferredNodeAffinityTerm struct {
	Weight       int32
	Requirements []Requirement
}

// TopologySpread limits how unevenly the selected pods may lie over the values of a label.
type TopologySpread struct {
	TopologyKey string
	MaxSkew     int32
	// Required is a hard constraint; otherwise it is a preference.
	Required bool
	Selector *Selector
	// MinDomains is 0 when absent.
	MinDomains         int32
	IgnoreNodeAffinity bool
	HonorTaints        bool
}

// PodAffinityTerm ties pods to, or keeps them from, the domains where the selected pods run.
type PodAffinityTerm struct {
	TopologyKey       string
	Selector          *Selector
	Namespaces        []string
	NamespaceSelector *Selector
	// Weight is 0 for a required term.
	Weight int32
}

// HostPort is a port that a pod takes on its node.
type HostPort struct {
	// Protocol is "TCP", "UDP" or "SCTP".
	Protocol string
	Port     int32
	// IP "" and "0.0.0.0" take the port on every address. To the scheduler "::" is one address of many.
	IP string
}

// VolumeTopology says from where one volume can be reached, and whether it is one that pods may share.
type VolumeTopology struct {
	// Name is the volume claim's namespace and name; "" where each pod has a volume of its own.
	Name string
	// Terms are alternatives; none means from everywhere.
	Terms []NodeAffinityTerm
	// Driver is the CSI driver that attaches it; "" when none does. A volume with a name counts once on a node, however
	// many of the node's pods use it.
	Driver string
	// Exclusive says that one pod at a time may use it (ReadWriteOncePod): as long as a pod that is bound has it, no other
	// one is bound. Only volumes with a name are.
	Exclusive bool
}

// PodPhase is how far a pod is.
type PodPhase int

// The phases. The zero PodPhase is invalid.
const (
	// PodWaiting is not bound, and the scheduler has not said that it can't be.
	PodWaiting PodPhase = iota + 1
	// PodUnschedulable is not bound, and the scheduler said that no node fits.
	PodUnschedulable
	// PodStarting is bound; its containers are not all running yet.
	PodStarting
	// PodRunning is bound and running.
	PodRunning
)

// Pod is one pod: its identity, its class and its state.
type Pod struct {
	ID    PodID
	UID   string
	Class ClassID
	// Node is where the pod is bound; "" when it is not.
	Node              NodeName
	Phase             PodPhase
	CreateTime        time.Time
	BindTime          time.Time
	UnschedulableTime time.Time
	// NominatedNode is where preemption frees capacity for the pod; "" when nowhere.
	NominatedNode NodeName
	// ExpectedNode is where Kerf has nominated the pod to, because a plan has it there; "" when nowhere. Such a pod is
	// planned for like any other, and stays there if it fits.
	ExpectedNode NodeName
	Terminating  bool
	// TerminationDeadline is when the grace of a pod that is being deleted ends; zero where it is not known.
	TerminationDeadline time.Time
	Ready               bool
	DoNotDisrupt        bool
	// DoNotDisruptUntil is when DoNotDisrupt ends; zero means never.
	DoNotDisruptUntil time.Time
	DeletionCost      int32
	// Devices are those that the pod's claims have been given, once it is bound. Sorted.
	Devices []DeviceRef
}

// DaemonSet is what each new node that admits it carries from the start.
type DaemonSet struct {
	// ID is "namespace/name".
	ID    string
	Class ClassID
}

// PodDisruptionBudget is the API server's word on how many pods may be evicted.
type PodDisruptionBudget struct {
	// ID is "namespace/name".
	ID                 string
	Namespace          string
	Selector           *Selector
	DisruptionsAllowed int32
	// AllowsUnhealthy is set when pods that are not ready may be evicted, which then counts for nothing: always, or for as
	// long as enough others are ready.
	AllowsUnhealthy bool
	// NeverAllows is set when nothing that becomes ready could make it allow an eviction.
	NeverAllows bool
}

// Namespace carries the labels that namespace selectors look at.
type Namespace struct {
	Name   string
	Labels Labels
}
