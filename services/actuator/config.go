package actuator

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kerf-dev/kerf/services/actuator/internal/loop"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/policy"
)

// DefaultListen is where the actuator's binary listens unless its configuration says otherwise.
const DefaultListen = "127.0.0.1:7500"

// Config is the actuator's config file. cluster and etcd must be set; everything else has defaults.
type Config struct {
	boot.ServiceConfig

	// Cluster is the cluster's name: instances are tagged with it, and keys in etcd begin with it. Required.
	Cluster string `json:"cluster"`
	// Advertise is the gRPC name under which others reach this actuator when it leads; empty is the address that it is
	// bound to.
	Advertise string `json:"advertise"`
	// Kubeconfig is a file, or several as in $KUBECONFIG; empty is $KUBECONFIG, or else the pod that the actuator runs in.
	Kubeconfig string `json:"kubeconfig"`
	// Etcd is where claims live.
	Etcd EtcdConfig `json:"etcd"`
	// AWS is how AWS is reached.
	AWS AWSConfig `json:"aws"`
	// Catalog is a file with instance types, whose list prices are used where AWS gives none; empty is the catalogue
	// that comes with the program.
	Catalog string `json:"catalog"`
	// Nodes are what nodes keep for themselves.
	Nodes NodesConfig `json:"nodes"`
	// Intervals are how often things are looked at again.
	Intervals IntervalsConfig `json:"intervals"`
	// Concurrency is how much goes on at once.
	Concurrency ConcurrencyConfig `json:"concurrency"`
	// Disruption is how nodes are replaced and given up.
	Disruption DisruptionConfig `json:"disruption"`
	// Nominations says whether the scheduler is told where plans have pods: "auto" where Kubernetes is new enough and
	// the actuator may patch pods/status, "on" without asking, or "off"; empty is "auto".
	Nominations string `json:"nominations"`
	// PodDeletionCosts says whether pods are told which of them to delete first when their ReplicaSet is scaled down:
	// "auto" where the actuator may patch pods/status, or "off"; empty is "auto".
	PodDeletionCosts string `json:"pod_deletion_costs"`
	// Repair says which nodes this actuator lets be taken away for being unhealthy. Planners decide by the watcher's
	// policy: only nodes that are unhealthy by both are taken.
	Repair *policy.Repair `json:"repair"`

	// REST, if set, is used instead of Kubeconfig.
	REST *rest.Config `json:"-"`
}

// EtcdConfig says where etcd is: endpoints of a cluster, or an etcd inside this process.
type EtcdConfig struct {
	// Endpoints are the addresses of its members, host:port or URLs. Required, or else Embedded.
	Endpoints []string `json:"endpoints"`
	// Embedded runs an etcd inside this process instead, for one machine, where the program has one in it, as kerf-up has.
	Embedded *EmbeddedConfig `json:"embedded"`
	// CAFile is the CA of etcd's servers, a PEM file; empty is plaintext, or the system's where CertFile is set.
	CAFile string `json:"ca_file"`
	// CertFile is the certificate by which etcd knows the actuator; empty is none. It belongs with KeyFile.
	CertFile string `json:"cert_file"`
	// KeyFile is the private key of CertFile; empty is none.
	KeyFile string `json:"key_file"`
	// Username is for etcd's own authentication; empty is none. It belongs with PasswordFile.
	Username string `json:"username"`
	// PasswordFile holds the password of Username; empty is none.
	PasswordFile string `json:"password_file"`
	// Prefix is the first part of every key; empty is "/kerf".
	Prefix string `json:"prefix"`
	// RequestTimeout bounds each request; zero is 5s.
	RequestTimeout boot.Duration `json:"request_timeout"`
	// LeaseTTL is how long a silent leader is waited for, as one whose machine is gone; zero is 4s, the least is 1s.
	// Where the leader's process dies, one that stands by takes over at once.
	LeaseTTL boot.Duration `json:"lease_ttl"`
}

// EmbeddedConfig is an etcd inside this process.
type EmbeddedConfig struct {
	// Dir is the folder of its data; it is made if it is not there. Required, and only for programs that have an etcd
	// in them.
	Dir string `json:"dir"`
	// Listen is the address for its clients, "host:port" on loopback; empty is a free port.
	Listen string `json:"listen"`
	// Start starts it: by embedded.Start, in programs that have it in them.
	Start func(ctx context.Context, c EmbeddedConfig, log *slog.Logger) (Embedded, error) `json:"-"`
}

// Embedded is an etcd that runs inside this process.
type Embedded struct {
	// Endpoint is where it is reached.
	Endpoint string
	// Run returns an error once it has failed, or nil when ctx ends, and Stop stops it.
	Run  func(ctx context.Context) error
	Stop func()
}

// AWSConfig is how AWS is reached. Credentials come the way that every AWS program gets them.
type AWSConfig struct {
	// Region is the AWS region; empty is AWS_REGION, the shared config files', or the machine's own.
	Region string `json:"region"`
	// Endpoint is an address in place of every endpoint of AWS; empty is AWS itself.
	Endpoint string `json:"endpoint"`
	// PriceList says whether list prices are asked of AWS: "auto" where the region's partition has a price list, or
	// "off" where nothing leads to it, as in a network without the internet: then those that come with the program
	// stand in, as estimates. Empty is "auto".
	PriceList string `json:"price_list"`
	// Queue is the name of the SQS queue that notices come by; empty is none.
	Queue string `json:"queue"`
	// DryRuns says whether EC2 is asked, by dry runs, whether the launches of a node class are allowed before there are
	// any: "auto" or "off". Empty is "auto".
	DryRuns string `json:"dry_runs"`
	// ZonalShift says whether AWS is asked from which zones the cluster is shifted away, by a zonal shift or an
	// autoshift: "on" or "off". Where it is, nothing is launched, and nodes are left alone. The cluster must be enabled
	// for zonal shifts, and the actuator allowed arc-zonal-shift:GetManagedResource. Empty is "off".
	ZonalShift string `json:"zonal_shift"`
	// API is what nodes need to join; what is left empty is asked of EKS.
	API APIConfig `json:"api"`

	// Cluster is the cluster's name; Run sets it from Config.Cluster.
	Cluster string `json:"-"`
	// Logger, if set, gets one line for each thing that is made or deleted in AWS.
	Logger *slog.Logger `json:"-"`
}

// APIConfig is how nodes reach the API server.
type APIConfig struct {
	// Endpoint is the API server's address, as nodes reach it; empty is what EKS says.
	Endpoint string `json:"endpoint"`
	// CABase64 is the cluster's CA, the PEM in base64; empty is what EKS says.
	CABase64 string `json:"ca"`
	// ServiceCIDR is the range of Services' addresses, such as 172.20.0.0/16; empty is what EKS says.
	ServiceCIDR string `json:"service_cidr"`
	// KubernetesVersion is the version, major.minor, which picks machine images; empty is what EKS says, asked again
	// every five minutes.
	KubernetesVersion string `json:"kubernetes_version"`
}

// NodesConfig are what nodes keep for themselves, beside what their class says.
type NodesConfig struct {
	// VMMemoryOverheadPercent is the share of a machine's memory that its firmware and kernel keep, as a fraction of
	// one; zero is 0.075.
	VMMemoryOverheadPercent float64 `json:"vm_memory_overhead_percent"`
	// ReservedENIs is how many network interfaces of each node pods can't use; zero is none.
	ReservedENIs int64 `json:"reserved_enis"`
}

// IntervalsConfig are how often things are looked at again. Zero is the default.
type IntervalsConfig struct {
	// Types is how often instance types and list prices are read; zero is 12h.
	Types boot.Duration `json:"types"`
	// Spot is how often spot prices are read; zero is 5m.
	Spot boot.Duration `json:"spot"`
	// Classes is how often it is looked up what node classes select; zero is 5m.
	Classes boot.Duration `json:"classes"`
	// Poll is how often instances are looked at while nothing is expected; zero is 30s.
	Poll boot.Duration `json:"poll"`
	// FastPoll is how often instances are looked at while one comes or goes; zero is 1s.
	FastPoll boot.Duration `json:"fast_poll"`
	// Templates is how long launch templates are unused before they are deleted; zero is 10m.
	Templates boot.Duration `json:"templates"`
	// Orphans is how long instances have no claim before they are ended; zero is 1m.
	Orphans boot.Duration `json:"orphans"`
	// Shortage is how long EC2's "no capacity" is believed the first time; each time in a row for twice as long, 30m at
	// most. Zero is 3m.
	Shortage boot.Duration `json:"shortage"`
	// History is how long ended claims are remembered, 15m at least; zero is 1h.
	History boot.Duration `json:"history"`
}

// DisruptionConfig is how nodes are replaced and given up.
type DisruptionConfig struct {
	// WaitForDaemonPods lets the drain of a node begin only when the DaemonSet pods on its replacements are ready, too.
	WaitForDaemonPods bool `json:"wait_for_daemon_pods"`
	// InitializationTimeout is how long a node that has joined the cluster may take to become Initialized, before it is
	// given up: zero is 30m, the least is 1m.
	InitializationTimeout boot.Duration `json:"initialization_timeout"`
	// RebalanceRecommendations says what becomes of a node whose spot instance EC2 thinks to take back: "tell" writes
	// an event, and "drain" drains it as well, once its pods have another node to go to. EC2 recommends so far more
	// often than it takes instances back. Empty is "tell".
	RebalanceRecommendations string `json:"rebalance_recommendations"`
}

// ConcurrencyConfig is how much goes on at once. Zero is the default.
type ConcurrencyConfig struct {
	// Launches is how many instances are asked for at once; zero is 10.
	Launches int `json:"launches"`
	// Evictions is how many pods are evicted at once; zero is 20.
	Evictions int `json:"evictions"`
}

// The values of Config.Nominations, Config.PodDeletionCosts, AWSConfig.PriceList, AWSConfig.DryRuns and
// AWSConfig.ZonalShift: the first has all, the last no "auto", and the others no "on".
const (
	settingAuto = "auto"
	settingOn   = "on"
	settingOff  = "off"

	settingTell  = "tell"
	settingDrain = "drain"
)

// minHistory is longer than a plan can live, so that no plan buys twice.
const minHistory = 15 * time.Minute

// Validate implements config.Validator.
func (c Config) Validate() error {
	var errs []error
	if c.Cluster == "" || strings.ContainsAny(c.Cluster, "/ ") {
		errs = append(errs, config.Errorf("cluster", "%q: want the cluster's name, as its instances are tagged with it", c.Cluster))
	}
	switch c.Nominations {
	case "", settingAuto, settingOn, settingOff:
	default:
		errs = append(errs, config.Errorf("nominations", "%q: want %s, %s or %s", c.Nominations, settingAuto, settingOn, settingOff))
	}
	switch c.PodDeletionCosts {
	case "", settingAuto, settingOff:
	default:
		errs = append(errs, config.Errorf("pod_deletion_costs", "%q: want %s or %s", c.PodDeletionCosts, settingAuto, settingOff))
	}
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (c AWSConfig) Validate() error {
	var errs []error
	for _, s := range []struct{ key, value string }{{"price_list", c.PriceList}, {"dry_runs", c.DryRuns}} {
		switch s.value {
		case "", settingAuto, settingOff:
		default:
			errs = append(errs, config.Errorf(s.key, "%q: want %s or %s", s.value, settingAuto, settingOff))
		}
	}
	switch c.ZonalShift {
	case "", settingOn, settingOff:
	default:
		errs = append(errs, config.Errorf("zonal_shift", "%q: want %s or %s", c.ZonalShift, settingOn, settingOff))
	}
	return errors.Join(append(errs,
		matches("region", c.Region, `[a-z]+(-[a-z]+)+-[0-9]+`, "a region such as eu-west-1"),
		matches("endpoint", c.Endpoint, `https?://.+`, "a URL such as http://127.0.0.1:4577"),
		matches("queue", c.Queue, `[A-Za-z0-9_-]{1,80}`, "the queue's name, the last part of its URL or ARN"))...)
}

// Validate implements config.Validator.
func (c APIConfig) Validate() error {
	var errs []error
	if _, err := netip.ParsePrefix(c.ServiceCIDR); c.ServiceCIDR != "" && err != nil {
		errs = append(errs, config.Errorf("service_cidr", "%q: want a range such as 172.20.0.0/16", c.ServiceCIDR))
	}
	return errors.Join(append(errs,
		matches("endpoint", c.Endpoint, `https?://.+`, "a URL such as https://ABC.gr7.eu-west-1.eks.amazonaws.com"),
		matches("kubernetes_version", c.KubernetesVersion, `[0-9]+\.[0-9]+`, "major.minor, such as 1.33"))...)
}

// matches refuses a text that is set and of another form.
func matches(field, text, form, want string) error {
	if text == "" || regexp.MustCompile("^("+form+")$").MatchString(text) {
		return nil
	}
	return config.Errorf(field, "%q: want %s", text, want)
}

// Validate implements config.Validator.
func (c EtcdConfig) Validate() error {
	var errs []error
	switch {
	case len(c.Endpoints) == 0 && c.Embedded == nil:
		errs = append(errs, config.Errorf("endpoints",
			`required: where etcd is, such as ["127.0.0.1:2379"]`))
	case len(c.Endpoints) > 0 && c.Embedded != nil:
		errs = append(errs, config.Errorf("embedded", "can't be set together with endpoints: keep one"))
	case c.Embedded != nil && (c.CAFile != "" || c.CertFile != "" || c.KeyFile != "" || c.Username != ""):
		errs = append(errs, config.Errorf("embedded", "has neither TLS nor users: leave ca_file, cert_file, key_file and username out"))
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, config.Errorf("cert_file", "and key_file belong together: set both or none"))
	}
	if (c.Username == "") != (c.PasswordFile == "") {
		errs = append(errs, config.Errorf("username", "and password_file belong together: set both or none"))
	}
	errs = append(errs, positive("request_timeout", c.RequestTimeout, 0), positive("lease_ttl", c.LeaseTTL, time.Second))
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (c EmbeddedConfig) Validate() error {
	if c.Dir == "" {
		return config.Errorf("dir", "required: a directory for etcd's data")
	}
	if c.Start == nil {
		return config.Errorf("dir", "this program has no etcd in it: run kerf-up, or set etcd.endpoints instead")
	}
	return nil
}

// Validate implements config.Validator.
func (c NodesConfig) Validate() error {
	var errs []error
	if c.VMMemoryOverheadPercent < 0 || c.VMMemoryOverheadPercent >= 1 {
		errs = append(errs, config.Errorf("vm_memory_overhead_percent", "%v: want a fraction from 0 to less than 1", c.VMMemoryOverheadPercent))
	}
	if c.ReservedENIs < 0 {
		errs = append(errs, config.Errorf("reserved_enis", "%d is negative", c.ReservedENIs))
	}
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (c IntervalsConfig) Validate() error {
	return errors.Join(
		positive("types", c.Types, time.Minute), positive("spot", c.Spot, time.Second), positive("classes", c.Classes, time.Second),
		positive("poll", c.Poll, time.Second), positive("fast_poll", c.FastPoll, 100*time.Millisecond),
		positive("templates", c.Templates, time.Minute), positive("orphans", c.Orphans, time.Second),
		positive("shortage", c.Shortage, time.Second), positive("history", c.History, minHistory))
}

// Validate implements config.Validator.
func (c ConcurrencyConfig) Validate() error {
	var errs []error
	for field, n := range map[string]int{"launches": c.Launches, "evictions": c.Evictions} {
		if n < 0 || n > 1000 {
			errs = append(errs, config.Errorf(field, "%d: want 1 to 1000, or 0 for the default", n))
		}
	}
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (c DisruptionConfig) Validate() error {
	err := positive("initialization_timeout", c.InitializationTimeout, time.Minute)
	switch c.RebalanceRecommendations {
	case "", settingTell, settingDrain:
		return err
	default:
		return errors.Join(err, config.Errorf("rebalance_recommendations", "%q: want %s or %s", c.RebalanceRecommendations, settingTell, settingDrain))
	}
}

// positive refuses durations that are set and too short.
func positive(field string, d boot.Duration, least time.Duration) error {
	if d != 0 && time.Duration(d) < max(least, 1) {
		return config.Errorf(field, "%s is too short: want at least %s, or \"0s\" for the default", d, max(least, 1))
	}
	return nil
}

func (c IntervalsConfig) loop() loop.Intervals {
	return loop.Intervals{
		Types: time.Duration(c.Types), Spot: time.Duration(c.Spot), Classes: time.Duration(c.Classes), Poll: time.Duration(c.Poll),
		FastPoll: time.Duration(c.FastPoll), Templates: time.Duration(c.Templates), Orphans: time.Duration(c.Orphans),
		Shortage: time.Duration(c.Shortage), History: time.Duration(c.History),
	}
}
