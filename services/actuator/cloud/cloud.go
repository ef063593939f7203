// Package cloud is the actuator's port to AWS: small interfaces, their values, and the kinds of errors that callers
// act on. It must never know an SDK type. Every implementation passes the suite in cloudtest. Start at Cloud.
package cloud

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Cloud launches and ends instances. Implementations are safe for concurrent use.
type Cloud interface {
	// Launch starts one instance for the claim and returns it. It is idempotent by Request.Token: the same token with
	// the same request never makes a second instance, whenever and by whomever it is repeated.
	// Errors: *CapacityError, or one that wraps ErrThrottled, ErrInvalid, ErrUnauthorized, ErrClassNotReady, or any other
	// for "unknown: ask Instances before trying again".
	Launch(ctx context.Context, r Request) (Instance, error)
	// Terminate asks EC2 to end the instances. An instance that is gone already is no error.
	Terminate(ctx context.Context, instanceIDs ...string) error
	// Instances lists the instances that carry the cluster's tag, ended ones included for as long as EC2 shows them; where
	// claims are named, at most MaxClaims, those that carry the tag of one of them. Sorted by id. A launch may take seconds to
	// show.
	Instances(ctx context.Context, claims ...model.ClaimID) ([]Instance, error)
}

// MaxClaims is of how many claims the instances can be asked for at once.
const MaxClaims = 200

// Classes resolves node classes against AWS.
type Classes interface {
	// Resolve finds what the class selects and makes the instance profile if it is Kerf's to make. A class that can't
	// launch comes back with NotReady set and no error; an error means that AWS could not be asked.
	Resolve(ctx context.Context, s ClassSpec) (Class, error)
	// Look finds the same and makes nothing, for those who do not lead: a class whose profile is still to be made is not ready.
	Look(ctx context.Context, s ClassSpec) (Class, error)
	// Release deletes what was made for the class: launch templates, and its instance profile. Idempotent.
	Release(ctx context.Context, class model.NodeClassName) error
	// Sweep deletes launch templates of the cluster that no launch used for the given time. It returns their names.
	Sweep(ctx context.Context, unused time.Duration) ([]string, error)
}

// Market knows what EC2 sells. Prices are micro-dollars per hour.
type Market interface {
	// InstanceTypes returns the types of the region, sorted by name, Zones filled in.
	InstanceTypes(ctx context.Context) ([]catalog.Type, error)
	// OnDemandPrices returns the list price by instance type.
	OnDemandPrices(ctx context.Context) (map[model.TypeName]int64, error)
	// SpotPrices returns the present spot price by instance type and zone.
	SpotPrices(ctx context.Context) (map[TypeZone]int64, error)
}

// Queue brings AWS's notices.
type Queue interface {
	// Receive waits for messages and returns at most ten; none after a while is normal.
	Receive(ctx context.Context) ([]Message, error)
	// Delete takes messages off the queue by their receipts.
	Delete(ctx context.Context, receipts []string) error
}

// TypeZone is an instance type in a zone.
type TypeZone struct {
	InstanceType model.TypeName
	Zone         string
}

// Message is one message of the queue, unparsed.
type Message struct {
	ID, Receipt, Body string
}

// Request is everything that a launch depends on.
type Request struct {
	Claim model.ClaimID
	// Token is at most 64 ASCII characters, derived from the claim and the attempt.
	Token    string
	NodePool model.PoolName
	Class    Class
	Spec     ClassSpec
	// Offerings are what may be launched, best first; all of one capacity type.
	Offerings []model.RankedOffering
	// Labels and Taints are what the kubelet registers the node with.
	Labels model.Labels
	Taints []model.Taint
	// EFA attaches an elastic fabric adapter to each network card of the type that takes one.
	EFA bool
	// Shape, by instance type, is what the kubelet is configured to reserve and the pod limit it is given.
	MaxPods map[model.TypeName]int64
}

// Instance is an instance as EC2 shows it.
type Instance struct {
	ID           string
	ProviderID   string // aws:///zone/id
	State        InstanceState
	Claim        model.ClaimID // from the tag kerf.dev/claim; "" when the tag is missing
	NodePool     model.PoolName
	Class        model.NodeClassName
	InstanceType model.TypeName
	Zone         string
	CapacityType model.CapacityType
	ImageID      string
	PrivateDNS   string
	LaunchTime   time.Time
	// SubnetID and SecurityGroups (ids, sorted) say where it is in the network; empty where EC2 does not tell.
	SubnetID       string
	SecurityGroups []string
	// Short is what EC2 had none of before it made this one; of Launch's answer alone.
	Short []model.Shortage
}

// InstanceState is EC2's word.
type InstanceState string

// The states of an instance.
const (
	Pending      InstanceState = "pending"
	Running      InstanceState = "running"
	Stopping     InstanceState = "stopping"
	Stopped      InstanceState = "stopped"
	ShuttingDown InstanceState = "shutting-down"
	Terminated   InstanceState = "terminated"
)

// Alive says that the instance costs money or soon will again.
func (s InstanceState) Alive() bool { return s != Terminated && s != ShuttingDown }

// CapacityError says that EC2 had nothing of some offerings; the launch made no instance.
type CapacityError struct {
	// Offerings are those that EC2 named, with its words.
	Offerings []model.Shortage
	Message   string
}

// Error returns EC2's words.
func (e *CapacityError) Error() string { return "insufficient capacity: " + e.Message }

// Errors that callers act on; test with errors.Is.
var (
	// ErrThrottled: EC2 asked to slow down; try the same again later.
	ErrThrottled = errors.New("throttled")
	// ErrInvalid: EC2 will never accept this request.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthorized: the credentials do not allow the call.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrClassNotReady: what the class selects is not there (any more).
	ErrClassNotReady = errors.New("node class not ready")
	// ErrNoInstance: EC2 has answered, and made no instance; it answers a repetition with the same token by the same.
	// Beside any of the others.
	ErrNoInstance = errors.New("no instance was made")
	// ErrTokenMismatch: the token was used with another request.
	ErrTokenMismatch = errors.New("client token used with another request")
)

// ClassSpec is what a user's EC2NodeClass asks for, as far as Kerf supports it. Convert refuses fields that are not
// here with an error that names them.
type ClassSpec struct {
	Name       model.NodeClassName
	UID        string
	Generation int64
	// Hash changes when a running instance no longer matches the spec.
	Hash string

	SubnetTerms        []SelectorTerm
	SecurityGroupTerms []SelectorTerm
	ImageTerms         []ImageTerm
	AMIFamily          string // AL2, AL2023, Bottlerocket, Custom; "" follows the alias
	UserData           string

	Role            string // exactly one of Role and InstanceProfile
	InstanceProfile string

	Tags               model.Labels
	BlockDevices       []BlockDevice
	InstanceStoreRAID0 bool
	Metadata           MetadataOptions
	DetailedMonitoring bool
	AssociatePublicIP  *bool
	Kubelet            Kubelet
}

// SelectorTerm picks subnets or security groups: tags (value "*" means any), an id, or a name.
type SelectorTerm struct {
	Tags model.Labels
	ID   string
	Name string
}

// ImageTerm picks machine images: an alias ("al2023@latest"), or tags, a name with an owner, or an id.
type ImageTerm struct {
	Alias, ID, Name, Owner, SSMParameter string
	Tags                                 model.Labels
}

// BlockDevice is one block device mapping. VolumeBytes 0 leaves the size to the snapshot.
type BlockDevice struct {
	DeviceName           string
	Root                 bool
	VolumeBytes          int64
	VolumeType           string
	IOPS, Throughput     int64 // 0: EC2's default
	Encrypted            *bool
	KMSKeyID, SnapshotID string
	DeleteOnTermination  *bool
}

// MetadataOptions are the instance metadata settings, in EC2's words.
type MetadataOptions struct {
	HTTPEndpoint, HTTPProtocolIPv6, HTTPTokens string
	HopLimit                                   int32
}

// Kubelet is the part of the kubelet's configuration that changes a node's shape or is passed on.
type Kubelet struct {
	MaxPods, PodsPerCore                      *int64
	KubeReserved, SystemReserved              map[string]string
	EvictionHard, EvictionSoft                map[string]string
	EvictionSoftGracePeriod                   map[string]string
	EvictionMaxPodGracePeriod                 *int32
	ClusterDNS                                []string
	ImageGCHighThreshold, ImageGCLowThreshold *int32
	CPUCFSQuota                               *bool
}

// Class is what AWS has for a ClassSpec.
type Class struct {
	Name            model.NodeClassName
	Subnets         []Subnet // sorted by free addresses, most first, then id
	SecurityGroups  []SecurityGroup
	Images          []Image // newest first; the first that fits a type is used
	InstanceProfile string
	// NotReady says why the class can't launch; the zero Reason when it can.
	NotReady model.Reason
}

// Zones returns the zones of the class's subnets, sorted and unique.
func (c Class) Zones() []string {
	seen := make(map[string]bool, len(c.Subnets))
	var zones []string
	for _, s := range c.Subnets {
		if !seen[s.Zone] {
			seen[s.Zone] = true
			zones = append(zones, s.Zone)
		}
	}
	slices.Sort(zones)
	return zones
}

// Subnet is a subnet that the class may launch into.
type Subnet struct {
	ID, Zone, ZoneID string
	FreeAddresses    int64
}

// SecurityGroup is a security group that the class's instances get.
type SecurityGroup struct{ ID, Name string }

// Image is a machine image and the instance types that it boots on.
type Image struct {
	ID, Name     string
	CreateTime   time.Time
	Deprecated   bool
	Requirements []model.Requirement
}
