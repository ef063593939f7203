// Package actuator is the actuator as a whole: what its binary runs (Run), and its ways to AWS alone (OpenCloud) and to
// Kubernetes alone (OpenCluster). It wires packages and decides nothing.
//
// Start reading at lifecycle and disruption for the lives of claims and disruptions, at apply for what is checked of a
// plan, and at internal/loop for how it all runs.
package actuator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2"
	"github.com/kerf-dev/kerf/services/actuator/internal/etcd"
	"github.com/kerf-dev/kerf/services/actuator/internal/kube"
	"github.com/kerf-dev/kerf/services/actuator/internal/loop"
	"github.com/kerf-dev/kerf/services/actuator/internal/measure"
	"github.com/kerf-dev/kerf/services/actuator/internal/peer"
	"github.com/kerf-dev/kerf/services/actuator/internal/server"
	"github.com/kerf-dev/kerf/services/actuator/internal/sqs"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
	"github.com/kerf-dev/kerf/services/actuator/nodeclass"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/kubeclient"
	"github.com/kerf-dev/kerf/services/internal/kubeconfig"
	"github.com/kerf-dev/kerf/services/internal/metrics"
)

// The API server's own flow control bounds us; the client's only has to keep a mistake of ours from flooding it.
const (
	kubeQPS   = 100
	kubeBurst = 200
)

// Run serves until ctx is done: it campaigns, and acts while it leads.
func Run(ctx context.Context, cfg Config) error {
	if err := config.Check(cfg); err != nil {
		return err
	}
	svc, err := boot.Start(ctx, "actuator", cfg.ServiceConfig)
	if err != nil {
		return err
	}
	r := &runner{cfg: cfg, svc: svc}
	l, err := r.measured(ctx)
	if err != nil {
		return errors.Join(err, svc.Close(), r.close())
	}
	actuatorpb.RegisterActuatorServiceServer(svc, server.New(l))
	tasks := []boot.Task{{Name: "cluster", Run: r.kube.Run}, {Name: "loop", Run: l.Run}}
	if r.etcd.Run != nil {
		tasks = append(tasks, boot.Task{Name: "embedded etcd", Run: r.etcd.Run})
	}
	return errors.Join(svc.Run(ctx, tasks...), r.close())
}

// runner holds what has to be closed in the end.
type runner struct {
	cfg   Config
	svc   *boot.Service
	etcd  Embedded // zero without one
	store *etcd.Store
	kube  *kube.Kube

	recorder *metrics.Recorder // nil: nothing is measured
}

func (r *runner) close() error {
	var err error
	if r.store != nil {
		err = r.store.Close()
	}
	if r.etcd.Stop != nil {
		r.etcd.Stop()
	}
	return err
}

// measured sets the metrics up, and then the loop.
func (r *runner) measured(ctx context.Context) (*loop.Loop, error) {
	var err error
	if r.recorder, err = metrics.For(r.svc, metrics.Actuator, r.cfg.Metrics.LegacyNames); err != nil {
		return nil, err
	}
	m := measure.New(r.recorder)
	l, err := r.wire(ctx, m)
	if err != nil {
		return nil, err
	}
	return l, m.Follow(l.Shown)
}

func (r *runner) wire(ctx context.Context, m *measure.Measure) (*loop.Loop, error) {
	cfg := r.cfg
	rest, err := restConfig(cfg)
	if err != nil {
		return nil, err
	}
	rest.Wrap(r.recorder.Transport)
	reach := kubeclient.NewReach(r.svc.Log)
	rest.Wrap(reach.Wrap)
	kubeclient.Log(r.svc.Log)
	if r.kube, err = kube.New(kube.Config{REST: rest, Log: r.svc.Log, Silent: reach.Silent}); err != nil {
		return nil, err
	}
	if err := r.openStore(ctx); err != nil {
		return nil, err
	}
	cfg.AWS.Cluster, cfg.AWS.Logger = cfg.Cluster, r.svc.Log
	aws, err := openAWS(ctx, cfg.AWS, cfg.Catalog)
	if err != nil {
		return nil, err
	}
	var nominator cluster.Nominator
	if cfg.Nominations != settingOff {
		nominator = r.kube.Nominator()
	}
	var replicas cluster.Replicas
	if cfg.PodDeletionCosts != settingOff {
		replicas = r.kube.Replicas()
	}
	r.svc.HoldReadiness()
	return loop.New(loop.Config{
		Cluster: cfg.Cluster, Region: aws.region, Name: r.name(), Store: m.Store(r.store), Election: r.store, Measure: m,
		Cloud: m.Cloud(aws.adapter), Classes: m.Classes(aws.adapter), Market: m.Market(aws.adapter),
		Queue: m.Queue(aws.queue), Checks: m.Checks(aws.adapter), Shifts: m.Shifts(aws.shifts),
		Kube: m.Cluster(r.kube), Fallback: aws.known,
		Nominator: nominator, AlwaysNominate: cfg.Nominations == settingOn, Unbound: r.kube.Nominator().Unbound, Replicas: replicas,
		Settings: cfg.Nodes.settings, Parse: interrupt.Parse, Log: r.svc.Log, Tracer: r.svc.Tracer,
		Intervals: cfg.Intervals.loop(), Launches: cfg.Concurrency.Launches, Evictions: cfg.Concurrency.Evictions,
		Repair: cfg.Repair.Model(), WaitForDaemonPods: cfg.Disruption.WaitForDaemonPods,
		InitializationTimeout: time.Duration(cfg.Disruption.InitializationTimeout),
		DrainRebalanced:       cfg.Disruption.RebalanceRecommendations == settingDrain,
		Ask:                   func(ctx context.Context) error { return kube.Ask(ctx, r.kube) }, Prepared: aws.adapter.Known, Ready: r.svc.Ready,
	})
}

// name is what it campaigns by: where the leader is reached.
func (r *runner) name() string {
	if r.cfg.Advertise != "" {
		return r.cfg.Advertise
	}
	return r.svc.Addr().String()
}

// settings are those of the class and of the configuration together.
func (c NodesConfig) settings(s cloud.ClassSpec) instancetype.Settings {
	out := nodeclass.Settings(s)
	out.VMMemoryOverheadPercent, out.ReservedENIs = c.VMMemoryOverheadPercent, c.ReservedENIs
	return out
}

// readCatalog is the file's catalogue, or else what is bundled of the region; of a region of which nothing is, another's.
func readCatalog(file, region string) (*catalog.Catalog, error) {
	if file == "" {
		c, err := catalog.BundledFor(region)
		if errors.Is(err, catalog.ErrUnknownRegion) {
			return catalog.Bundled()
		}
		return c, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	c, err := catalog.Read(f)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", file, err)
	}
	return c, nil
}

func restConfig(cfg Config) (*rest.Config, error) {
	out := cfg.REST
	if out == nil {
		var err error
		if out, err = kubeconfig.Load(cfg.Kubeconfig, ""); err != nil {
			return nil, err
		}
	}
	out = rest.CopyConfig(out)
	out.QPS, out.Burst = kubeQPS, kubeBurst
	// The API server is near: what is compressed is paid for on both ends, and each watch holds buffers for it.
	out.DisableCompression = true
	out.UserAgent = "kerf-actuator/" + boot.ReadVersion().Version
	return out, nil
}

// openStore connects to etcd, after starting one where the configuration asks for it.
func (r *runner) openStore(ctx context.Context) error {
	c := r.cfg.Etcd
	endpoints := c.Endpoints
	if c.Embedded != nil {
		var err error
		if r.etcd, err = c.Embedded.Start(ctx, *c.Embedded, r.svc.Log); err != nil {
			return err
		}
		endpoints = []string{r.etcd.Endpoint}
	}
	password := ""
	if c.PasswordFile != "" {
		text, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return fmt.Errorf("etcd.password_file: %w", err)
		}
		password = strings.TrimSpace(string(text))
	}
	var err error
	r.store, err = etcd.Open(etcd.Config{
		Endpoints: endpoints, CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, Certificates: &r.svc.Certificates,
		Username: c.Username, Password: password,
		Prefix: c.Prefix, Cluster: r.cfg.Cluster, RequestTimeout: time.Duration(c.RequestTimeout), LeaseTTL: time.Duration(c.LeaseTTL),
		Died: peer.Watch(r.name()), Log: r.svc.Log,
	})
	return err
}

// aws is an opened AWS.
type aws struct {
	adapter *ec2.Adapter
	queue   cloud.Queue  // nil when none is configured
	shifts  cloud.Shifts // nil when they are not to be asked for
	region  string
	known   *catalog.Catalog
}

func openAWS(ctx context.Context, c AWSConfig, file string) (aws, error) {
	conf, err := ec2.LoadAWS(ctx, c.Region, c.Endpoint)
	if err != nil {
		return aws{}, err
	}
	known, err := readCatalog(file, conf.Region)
	if err != nil {
		return aws{}, err
	}
	adapter, err := ec2.New(ctx, ec2.Config{
		Cluster: c.Cluster, Region: conf.Region, Endpoint: c.Endpoint, API: userdata.APIServer(c.API), Log: c.Logger,
		Known: known, NoPriceList: c.PriceList == settingOff, NoDryRuns: c.DryRuns == settingOff,
		ZonalShift: c.ZonalShift == settingOn,
	})
	if err != nil {
		return aws{}, err
	}
	out := aws{adapter: adapter, region: conf.Region, known: known}
	if c.ZonalShift == settingOn {
		out.shifts = adapter
	}
	if c.Queue != "" {
		out.queue = sqs.New(conf, c.Queue)
	}
	return out, nil
}

// OpenCloud connects to AWS as Run does, for those who need only that. The queue is nil when none is configured.
func OpenCloud(ctx context.Context, c AWSConfig) (cloud.Cloud, cloud.Classes, cloud.Market, cloud.Queue, error) {
	a, err := openAWS(ctx, c, "")
	if err != nil {
		return nil, nil, nil, nil, err
	}
	return a.adapter, a.adapter, a.adapter, a.queue, nil
}

// ClusterConfig says how OpenCluster reaches the API server. Log and Now may be nil.
type ClusterConfig struct {
	REST *rest.Config
	Log  *slog.Logger
	// Now is the clock of events and conditions; nil means the machine's.
	Now func() time.Time
}

// Kubernetes is what the actuator needs of a cluster.
type Kubernetes interface {
	cluster.Cluster
	// Nominator brings pods to the nodes that plans have them on.
	Nominator() cluster.Nominator
	// Replicas writes deletion costs.
	Replicas() cluster.Replicas
}

// OpenCluster makes the cluster port as Run does, for those who need only that. The port is ready some time after run has
// been called, which feeds it until its context ends.
func OpenCluster(c ClusterConfig) (port Kubernetes, run func(context.Context) error, err error) {
	k, err := kube.New(kube.Config{REST: c.REST, Log: c.Log, Now: c.Now})
	if err != nil {
		return nil, nil, err
	}
	return k, k.Run, nil
}
