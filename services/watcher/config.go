package watcher

import (
	"errors"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/kubeclient"
	"github.com/kerf-dev/kerf/services/internal/policy"
	"github.com/kerf-dev/kerf/services/watcher/internal/pace"
)

// Defaults of the knobs below, where a config leaves them zero.
const (
	DefaultBatchIdle          = 50 * time.Millisecond
	DefaultBatchMax           = time.Second
	DefaultDisruptionIdle     = time.Second
	DefaultDisruptionInterval = 10 * time.Second
	DefaultDisruptionQuiet    = time.Minute
	DefaultPlanTimeout        = time.Minute
	DefaultApplyTimeout       = 30 * time.Second

	retryMin = 250 * time.Millisecond
	retryMax = 10 * time.Second
)

// Config is the watcher's config file. cluster, planner and actuator must be set.
type Config struct {
	boot.ServiceConfig

	// Cluster is the cluster's name, as its nodes' instances are tagged with it. Required.
	Cluster string `json:"cluster"`
	// Kubeconfig is a file, or several as in $KUBECONFIG; empty is $KUBECONFIG, or else the pod that the watcher runs in.
	Kubeconfig string `json:"kubeconfig"`
	// Planner is where plans are made.
	Planner rpc.ClientConfig `json:"planner"`
	// Actuator is where plans go.
	Actuator ActuatorConfig `json:"actuator"`
	// Batch is how new unschedulable pods are planned together.
	Batch BatchConfig `json:"batch"`
	// Disruption is how often plans look for nodes to disrupt.
	Disruption DisruptionConfig `json:"disruption"`
	// Policy is how plans weigh what the cluster's objects leave open.
	Policy policy.Config `json:"policy"`
	// Timeouts bound the calls of one plan.
	Timeouts TimeoutConfig `json:"timeouts"`
	// Queues bound what is kept for those who are slow.
	Queues QueueConfig `json:"queues"`

	// Client and Dynamic, if set, are used instead of Kubeconfig.
	Client  kubeclient.Reader `json:"-"`
	Dynamic dynamic.Interface `json:"-"`
}

// ActuatorConfig is how the actuators are reached. All of them have the same credentials.
type ActuatorConfig struct {
	// Addresses are gRPC names such as "127.0.0.1:7500". The leader is found from any of them; the more there are, the
	// fewer of them need to be alive for that. Required.
	Addresses []string      `json:"addresses"`
	TLS       rpc.ClientTLS `json:"tls"`
	Keepalive rpc.Keepalive `json:"keepalive"`
	// MaxRecvBytes is how large an answer may be; zero is rpc.DefaultMaxMessageBytes.
	MaxRecvBytes int `json:"max_recv_bytes"`
}

// BatchConfig is when new unschedulable pods are planned.
type BatchConfig struct {
	// Idle is how long no further pod must come before those that are there are planned; zero is DefaultBatchIdle.
	// Where pods keep coming, a batch waits for four times the usual gap between them.
	Idle boot.Duration `json:"idle"`
	// Max is when pods are planned anyway, from the first one on; zero is DefaultBatchMax.
	Max boot.Duration `json:"max"`
}

// DisruptionConfig is when everything is planned anew, disruption included.
type DisruptionConfig struct {
	// Idle is how long nothing in the cluster must change before everything is planned anew; zero is
	// DefaultDisruptionIdle. It is also the delay after the time at which the newest plan asks to be reconsidered, such
	// as a node's expiry.
	Idle boot.Duration `json:"idle"`
	// Interval is when everything is planned anew anyway after a change, while pods wait for a place, and after a plan
	// whose search ended early; zero is DefaultDisruptionInterval.
	Interval boot.Duration `json:"interval"`
	// Quiet is when everything is planned anew although nothing has changed since the last time; zero is
	// DefaultDisruptionQuiet, or Interval where that is longer.
	Quiet boot.Duration `json:"quiet"`
}

// TimeoutConfig bounds calls.
type TimeoutConfig struct {
	// Plan is how long the planner may take for one plan; zero is DefaultPlanTimeout.
	Plan boot.Duration `json:"plan"`
	// Apply is how long the actuator may take to answer to a plan; zero is DefaultApplyTimeout.
	Apply boot.Duration `json:"apply"`
}

// QueueConfig bounds queues.
type QueueConfig struct {
	// Changes is how many names of changed objects are kept before everything is read again from memory; zero is 65536.
	Changes int `json:"changes"`
	// Subscriber is how many snapshots a subscriber of WatchSnapshot may lag behind before it is cut off; zero is 64.
	Subscriber int `json:"subscriber"`
	// Readers is how many calls may read the snapshot at the same time, each of which holds a copy of it; zero is 32.
	Readers int `json:"readers"`
}

// Validate implements config.Validator.
func (c Config) Validate() error {
	switch {
	case c.Cluster == "":
		return config.Errorf("cluster", "required: the cluster's name, as its instances are tagged with it")
	case strings.ContainsAny(c.Cluster, "/ "):
		return config.Errorf("cluster", "%q: want the cluster's name, as its instances are tagged with it", c.Cluster)
	default:
		return nil
	}
}

// Validate implements config.Validator.
func (c ActuatorConfig) Validate() error {
	if len(c.Addresses) == 0 {
		return config.Errorf("addresses", `required: where the actuators are, such as ["127.0.0.1:7500"]`)
	}
	var errs []error
	for _, a := range c.Addresses {
		if a == "" {
			errs = append(errs, config.Errorf("addresses", "an address is empty: want a gRPC name such as 127.0.0.1:7500"))
			continue
		}
		errs = append(errs, config.Check(c.client(a)))
	}
	return errors.Join(errs...)
}

func (c ActuatorConfig) client(address string) rpc.ClientConfig {
	return rpc.ClientConfig{Target: address, TLS: c.TLS, Keepalive: c.Keepalive, MaxRecvBytes: c.MaxRecvBytes}
}

// Validate implements config.Validator.
func (c BatchConfig) Validate() error {
	return ordered("idle", c.Idle.Or(DefaultBatchIdle), "max", c.Max.Or(DefaultBatchMax))
}

// Validate implements config.Validator.
func (c DisruptionConfig) Validate() error {
	interval := c.Interval.Or(DefaultDisruptionInterval)
	return errors.Join(ordered("idle", c.Idle.Or(DefaultDisruptionIdle), "interval", interval),
		ordered("interval", interval, "quiet", c.quiet()))
}

func (c DisruptionConfig) quiet() time.Duration {
	return c.Quiet.Or(max(DefaultDisruptionQuiet, c.Interval.Or(DefaultDisruptionInterval)))
}

func ordered(short string, a time.Duration, long string, b time.Duration) error {
	switch {
	case a < 0:
		return config.Errorf(short, "%s is negative: want a positive duration", a)
	case b < a:
		return config.Errorf(long, "%s is shorter than %s, which is %s: want at least that", b, short, a)
	default:
		return nil
	}
}

// Validate implements config.Validator.
func (c TimeoutConfig) Validate() error {
	return errors.Join(notNegative("plan", c.Plan), notNegative("apply", c.Apply))
}

func notNegative(field string, d boot.Duration) error {
	if d < 0 {
		return config.Errorf(field, "%s is negative: want a positive duration", d)
	}
	return nil
}

// Validate implements config.Validator.
func (c QueueConfig) Validate() error {
	if c.Changes < 0 {
		return config.Errorf("changes", "%d is negative: want a count, or 0 for the default", c.Changes)
	}
	if c.Subscriber < 0 {
		return config.Errorf("subscriber", "%d is negative: want a count, or 0 for the default", c.Subscriber)
	}
	if c.Readers < 0 {
		return config.Errorf("readers", "%d is negative: want a count, or 0 for the default", c.Readers)
	}
	return nil
}

func (c Config) pace() pace.Config {
	return pace.Config{
		Idle: c.Batch.Idle.Or(DefaultBatchIdle), Max: c.Batch.Max.Or(DefaultBatchMax),
		SweepIdle: c.Disruption.Idle.Or(DefaultDisruptionIdle), SweepEvery: c.Disruption.Interval.Or(DefaultDisruptionInterval),
		SweepQuiet: c.Disruption.quiet(),
		RetryMin:   retryMin, RetryMax: retryMax,
	}
}
