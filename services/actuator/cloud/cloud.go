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
	// Launch starts the request's instances and returns them, sorted by id. It is idempotent by Request.Token: the same
	// token with the same request never makes other instances, whenever and by whomever it is repeated. Where there are
	// fewer than were asked for, the error beside them says why the others were not made. Errors: *CapacityError, or
	// one that wraps ErrThrottled, ErrInvalid, ErrUnauthorized, ErrClassNotReady, or any other for "unknown: ask
	// Instances before trying again".
	Launch(ctx context.Context, r Request) ([]Instance, error)
	// Terminate asks EC2 to end the instances. An instance that is gone already is no error.
	Terminate(ctx context.Context, instanceIDs ...string) error
	// Instances lists the instances that carry the cluster's tag, ended ones included for as long as EC2 shows them; where
	// something is named, at most MaxSome, those alone. Sorted by id. A launch may take seconds to show.
	Instances(ctx context.Context, some ...Some) ([]Instance, error)
	// Tag gives an instance the tag of its claim, and its name where it has none.
	Tag(ctx context.Context, i Instance) error
}

// Some are the instances of a claim, or of a launch, or one instance, by its id: one of them is set.
type Some struct {
	Claim            model.ClaimID
	Launch, Instance string
}

// MaxSome is how much can be named at once: EC2 takes 200 values in all filters of a call together, and one of them is
// the cluster.
const MaxSome = 199

// Classes resolves node classes against AWS.
type Classes interface {
	// Resolve finds what the class selects and makes the instance profile if it is Kerf's to make. A class that can't
	// launch comes back with NotReady set and no error; an error means that AWS could not be asked.
	Resolve(ctx context.Context, s ClassSpec) (Class, error)
	// Look finds the same and makes nothing, for those who do not lead: a class whose profile is still to be made is
	// not ready.
	Look(ctx context.Context, s ClassSpec) (Class, error)
	// Release deletes what was made for the class: launch templates, and its instance profiles. Of a class that can't
	// be used there may be the name alone. Idempotent.
	Release(ctx context.Context, s ClassSpec) error
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

// Checks tells what EC2 finds wrong with instances.
type Checks interface {
	// Statuses lists the instances of the region, the account's others among them, whose status checks fail or for
	// which EC2 has scheduled something.
	Statuses(ctx context.Context) ([]Status, error)
}

// Shifts tells from which zones the cluster is shifted away.
type Shifts interface {
	// ShiftedZones are the ids of those zones, sorted.
	ShiftedZones(ctx context.Context) ([]string, error)
}

// Status is what EC2 finds wrong with an instance.
type Status struct {
	InstanceID string
	// Impaired says that a status check of the instance or of its host fails, ImpairedSince since when; zero where EC2
	// does not say.
	Impaired      bool
	ImpairedSince time.Time
	Events        []ScheduledEvent
}

// ScheduledEvent is what EC2 is going to do to an instance, in its words.
type ScheduledEvent struct {
	ID, Code, Description string
	NotBefore             time.Time
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
	// Claim is what the instance is for. Where more than one are asked for it is one of their claims: they carry the
	// tag of none until Tag.
	Claim model.ClaimID
	// Count is how many instances are asked for; 0 means one.
	Count int
	// Token is at most 64 ASCII characters, derived from the claims and their attempts. Instances carry it as Launch.
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
	// Enclaves allows the instance to run Nitro Enclaves.
	Enclaves bool
	// Shape, by instance type, is what the kubelet is configured to reserve and the pod limit it is given.
	MaxPods map[model.TypeName]int64
}

// Instance is an instance as EC2 shows it.
type Instance struct {
	ID           string
	ProviderID   string // aws:///zone/id
	State        InstanceState
	Claim        model.ClaimID // from the tag kerf.dev/claim; "" when the tag is missing
	Launch       string        // from the tag kerf.dev/launch: the token of the launch that made it
	Name         string        // from the tag Name
	InstanceType model.TypeName
	Zone         string
	CapacityType model.CapacityType
	// ReservationID is the capacity reservation that it is in; "" for none.
	ReservationID string
	ImageID       string
	LaunchTime    time.Time
	// SubnetID and SecurityGroups (ids, sorted) say where it is in the network; empty where EC2 does not tell.
	SubnetID       string
	SecurityGroups []string
	// Why has EC2's words for why it ends or has ended; "" while it is alive. Unfilled says that it was pending, and
	// EC2 had no capacity for it after all.
	Why      string
	Unfilled bool
	// Short is what EC2 had none of before it made this one; of the first of Launch's answer alone.
	Short []model.Shortage
	// Untagged says that Claim is not from the tag, which is still to be written. The port never sets it.
	Untagged bool
}

// Asked is how many instances the request asks for.
func (r *Request) Asked() int { return max(r.Count, 1) }

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

	Reservations []ReservationTerm
	// PlacementGroup is the group by name or id; the zero value for none.
	PlacementGroup PlacementGroupTerm
	// IPPrefixCount is how many address prefixes the primary interface gets; nil leaves it to EC2.
	IPPrefixCount      *int32
	NetworkInterfaces  []NetworkInterface
	ConnectionTracking ConnectionTracking
	// NestedVirtualization is EC2's word; "" leaves it to EC2.
	NestedVirtualization string
	// Context goes into the fleet's field of that name.
	Context string

	// Likely are instance types that pools of the class allow, best first: no object has it, and Resolve alone asks by
	// it whether launches are allowed. Empty where no pool is known to allow any.
	Likely []model.TypeName
}

// ReservationTerm picks capacity reservations: an id, or tags, an owner's account, and which launches they accept ("open",
// "targeted").
type ReservationTerm struct {
	Tags                         model.Labels
	ID, OwnerID, MatchesLaunches string
}

// PlacementGroupTerm names a placement group.
type PlacementGroupTerm struct{ Name, ID string }

// NetworkInterface is one interface of an instance. One that is for EFA alone takes no addresses.
type NetworkInterface struct {
	Card, Device int32
	EFAOnly      bool
}

// ConnectionTracking is how long security groups remember idle connections; 0 leaves it to EC2.
type ConnectionTracking struct{ TCPEstablished, UDPStream, UDP time.Duration }

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
	InitializationRate   int32 // MiB a second that a snapshot is loaded at; 0: EC2's default
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
	MaxPodsFormula                            string // an expression for MaxPods; "" for none
	KubeReserved, SystemReserved              map[string]string
	EvictionHard, EvictionSoft                map[string]string
	EvictionSoftGracePeriod                   map[string]string
	EvictionMaxPodGracePeriod                 *int32
	ClusterDNS                                []string
	ImageGCHighThreshold, ImageGCLowThreshold *int32
	CPUCFSQuota                               *bool
	// Extra are the fields that Kerf passes on unread, sorted by name.
	Extra []KubeletField
}

// KubeletField is a field of the kubelet's configuration, with its value as JSON.
type KubeletField struct{ Name, JSON string }

// Class is what AWS has for a ClassSpec.
type Class struct {
	Name            model.NodeClassName
	Subnets         []Subnet // sorted by free addresses, most first, then id
	SecurityGroups  []SecurityGroup
	Images          []Image // newest first; the first that fits a type is used
	InstanceProfile string
	Reservations    []Reservation // by id
	PlacementGroup  PlacementGroup
	// Findings are all that keeps the class from launching; NotReady is about the first, the zero Reason when there is
	// none.
	Findings []Finding
	NotReady model.Reason
}

// Finding is something that keeps a class from launching, as its object's status tells it.
type Finding struct {
	// Condition is which one it makes false, and Reason the condition's reason.
	Condition, Reason string
	Message           string
	// Field is what to correct, below spec; "" where the remedy is elsewhere.
	Field string
}

// Found adds a finding.
func (c *Class) Found(f Finding) {
	c.Findings = append(c.Findings, f)
	if !c.NotReady.OK() {
		return
	}
	c.NotReady = model.Reason{
		Code: model.CodeNodeClassNotReady, Subject: "ec2nodeclass/" + string(c.Name), Message: f.Message,
	}
	if f.Field != "" {
		c.NotReady.Remedy = "correct spec." + f.Field + " of EC2NodeClass " + string(c.Name)
	}
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

// Reservation is the class's reservation of that id, and whether there is one.
func (c Class) Reservation(id string) (Reservation, bool) {
	i := slices.IndexFunc(c.Reservations, func(r Reservation) bool { return r.ID == id })
	if i < 0 {
		return Reservation{}, false
	}
	return c.Reservations[i], true
}

// Subnet is a subnet that the class may launch into.
type Subnet struct {
	ID, Zone, ZoneID string
	FreeAddresses    int64
}

// SecurityGroup is a security group that the class's instances get.
type SecurityGroup struct{ ID, Name string }

// Reservation is a capacity reservation that the class may launch into.
type Reservation struct {
	ID, OwnerID  string
	InstanceType model.TypeName
	Zone         string
	// MatchesLaunches is which launches it accepts: "open" or "targeted".
	MatchesLaunches string
	// Block says that it is a block of capacity with an end. Of an interruptible one EC2 may take instances back before.
	Block, Interruptible bool
	// Expiring says that EC2 is about to take its instances back, at the latest at EndTime; zero for no end.
	Expiring bool
	EndTime  time.Time
	// Free is how many more instances it has room for.
	Free int64
}

// Of a block of capacity EC2 takes the instances back some time before the end; they are drained for some time before that.
const (
	blockReclaim = 30 * time.Minute
	blockDrain   = 10 * time.Minute
)

// Ending says that the instances of a block have to go now: EC2 is about to take them back.
func (r Reservation) Ending(now time.Time) bool {
	from, _ := r.Drain()
	return !from.IsZero() && !now.Before(from)
}

// Drain is from when the instances of a block are drained, and when EC2 begins to take them back; zero where there is
// no end.
func (r Reservation) Drain() (from, until time.Time) {
	if !r.Block || r.EndTime.IsZero() {
		return time.Time{}, time.Time{}
	}
	until = r.EndTime.Add(-blockReclaim)
	return until.Add(-blockDrain), until
}

// PlacementGroup is a placement group; the zero value for none. Strategy is in EC2's words.
type PlacementGroup struct{ ID, Strategy string }

// Image is a machine image and the instance types that it boots on.
type Image struct {
	ID, Name     string
	CreateTime   time.Time
	Deprecated   bool
	Requirements []model.Requirement
}
