package awssim

import (
	"log/slog"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// Config is the world before anything was launched, and the simulator's knobs. Default fills it; New completes what
// is zero and checks it.
type Config struct {
	// Cluster is the EKS cluster's name; needed.
	Cluster string
	// Region must be the catalogue's; empty means the catalogue's.
	Region string
	// AccountID is the twelve-digit account.
	AccountID string
	// KubernetesVersion is major.minor, what EKS reports and kubelets run.
	KubernetesVersion string

	// VPC is the id of the only network. Subnets and SecurityGroups lie in it.
	VPC            string
	Subnets        []Subnet
	SecurityGroups []SecurityGroup
	// Roles are the names of the IAM roles that exist.
	Roles []string
	// Queues are the SQS queues; the first one receives the EC2 events.
	Queues []string
	// Parameters are SSM parameters beside the ones of the EKS images.
	Parameters map[string]string
	// Images are machine images beside the EKS ones.
	Images []Image
	// PlacementGroups and CapacityReservations are there to be launched into.
	PlacementGroups      []PlacementGroup
	CapacityReservations []CapacityReservation

	// Endpoint and CertificateAuthority (base64) are the cluster's API as EKS reports it. A node whose user data names
	// another cluster, endpoint or authority never joins. Empty means that EKS reports a place that is not there, and
	// that any will do for joining.
	Endpoint, CertificateAuthority string
	// ZonalShift says that the cluster is enabled for zonal shifts.
	ZonalShift bool
	// ServiceCIDR is the cluster's range of service addresses.
	ServiceCIDR string

	// LaunchLatency is from CreateFleet to running; zero means two seconds. The kubelet starts JoinLatency after that,
	// at once when it is zero.
	LaunchLatency, JoinLatency time.Duration
	// TerminateLatency is from shutting-down to terminated; zero means two seconds.
	TerminateLatency time.Duration
	// DescribeLag is how far Describe calls for instances, and tags on them, lie behind the truth; zero means not at all.
	DescribeLag time.Duration
	// ProfileLag is how long EC2 does not yet know a new instance profile or its role.
	ProfileLag time.Duration
	// TemplateLag is how long launches do not yet see a new launch template.
	TemplateLag time.Duration
	// TerminatedVisible is how long terminated instances can still be described; zero means an hour.
	TerminatedVisible time.Duration
	// SpotWarning is from the interruption warning to the end of the instance; zero means two minutes.
	SpotWarning time.Duration
	// QueueRetention is how long a message is kept; zero means five minutes.
	QueueRetention time.Duration

	// MemoryOverheadPercent is what the kubelet sees less than the nominal memory. Zero means 7.5.
	MemoryOverheadPercent float64
	// Limits are token buckets by service:Action, such as ec2:CreateFleet. A call with none is unlimited.
	Limits map[string]Limit
	// MaxBodyBytes limits a request's body; zero means 1 MiB.
	MaxBodyBytes int64
	// Seed is mixed into all ids and addresses, so that two worlds differ. May be empty.
	Seed string

	// Clock is nil for the machine's time.
	Clock Clock
	// Kubelet is nil when nothing joins any cluster.
	Kubelet Kubelet
	// Catalog is nil for the bundled one.
	Catalog *catalog.Catalog
	// Log is nil for silence.
	Log *slog.Logger
	// Record, where it is not nil, is called with each request and its answer, from several goroutines at once.
	Record func(Exchange)
}

// Exchange is a request and its answer as they were on the wire. Status is 0 where the connection was dropped.
type Exchange struct {
	Method, Path string
	// Target is the header by which JSON services tell their calls apart; "" for others.
	Target  string
	Request []byte
	Status  int
	Answer  []byte
}

// Subnet is one subnet of the VPC.
type Subnet struct {
	ID, Zone, CIDR string
	Tags           map[string]string
}

// SecurityGroup is one security group of the VPC.
type SecurityGroup struct {
	ID, Name string
	Tags     map[string]string
}

// PlacementGroup is a placement group.
type PlacementGroup struct {
	ID, Name, Strategy string
}

// CapacityReservation is room for instances of a type in a zone.
type CapacityReservation struct {
	ID, InstanceType, Zone string
	Total, Available       int64
	Tags                   map[string]string
	// Block says that it is a block of capacity; End is zero for no end. Open ones take launches that do not name them.
	Block, Interruptible, Open bool
	End                        time.Time
}

// Limit is a token bucket: Burst calls at once, refilled at PerSecond.
type Limit struct {
	Burst, PerSecond float64
}

// Default is a world for one cluster: three zones of us-east-1 with one subnet each and one security group, all tagged
// karpenter.sh/discovery=<cluster>, the role KerfNodeRole-<cluster>, and a queue named like the cluster.
func Default(cluster string) Config {
	discovery := func(name string) map[string]string {
		return map[string]string{"karpenter.sh/discovery": cluster, "Name": name}
	}
	c := Config{
		Cluster:        cluster,
		VPC:            "vpc-0a1b2c3d4e5f60718",
		SecurityGroups: []SecurityGroup{{ID: "sg-0123456789abcdef0", Name: cluster + "-node", Tags: discovery(cluster + "-node")}},
		Roles:          []string{"KerfNodeRole-" + cluster},
		Queues:         []string{cluster},
	}
	for i, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		cidr := []string{"10.0.32.0/19", "10.0.64.0/19", "10.0.96.0/19"}[i]
		id := []string{"subnet-0aaaaaaaaaaaaaaa1", "subnet-0bbbbbbbbbbbbbbb2", "subnet-0ccccccccccccccc3"}[i]
		c.Subnets = append(c.Subnets, Subnet{ID: id, Zone: zone, CIDR: cidr, Tags: discovery(cluster + "-" + zone)})
	}
	return c
}

// RealLimits are token buckets like those that an ordinary account has.
func RealLimits() map[string]Limit {
	limits := map[string]Limit{
		"ec2:RunInstances":       {Burst: 5, PerSecond: 2},
		"ec2:TerminateInstances": {Burst: 100, PerSecond: 5},
		"ec2:CreateTags":         {Burst: 100, PerSecond: 10},
	}
	for _, a := range []string{"CreateFleet", "CreateLaunchTemplate", "DeleteLaunchTemplate"} {
		limits["ec2:"+a] = Limit{Burst: 50, PerSecond: 5}
	}
	for _, a := range []string{
		"DescribeAvailabilityZones", "DescribeInstances", "DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "DescribeImages", "DescribeSubnets",
		"DescribeSecurityGroups", "DescribeLaunchTemplates", "DescribeSpotPriceHistory", "DescribeInstanceStatus",
	} {
		limits["ec2:"+a] = Limit{Burst: 100, PerSecond: 20}
	}
	return limits
}

// complete fills what is zero.
func (c *Config) complete() error {
	if c.Catalog == nil {
		bundled, err := catalog.Bundled()
		if err != nil {
			return err
		}
		c.Catalog = bundled
	}
	orString(&c.Region, c.Catalog.Region)
	orString(&c.AccountID, "111122223333")
	orString(&c.KubernetesVersion, "1.37")
	orString(&c.ServiceCIDR, "10.100.0.0/16")
	orDuration(&c.LaunchLatency, 2*time.Second)
	orDuration(&c.TerminateLatency, 2*time.Second)
	orDuration(&c.TerminatedVisible, time.Hour)
	orDuration(&c.SpotWarning, 2*time.Minute)
	orDuration(&c.QueueRetention, 5*time.Minute)
	if c.MemoryOverheadPercent == 0 {
		c.MemoryOverheadPercent = 7.5
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = 1 << 20
	}
	if c.Clock == nil {
		c.Clock = RealClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

func orString(dst *string, v string) {
	if *dst == "" {
		*dst = v
	}
}

func orDuration(dst *time.Duration, v time.Duration) {
	if *dst == 0 {
		*dst = v
	}
}
