// Package stack runs the whole of Kerf on one machine, on real parts: a Kubernetes cluster (package harness), an etcd of
// Kerf's own, the simulated AWS in a process of its own whose instances join the cluster, and the three services as three
// processes that talk gRPC over loopback, each with its own rights in the cluster.
//
// It must never know the story that is played on it. Start reading at Start; Kill and Revive are for those who want to
// see what the others do without a service.
package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// startTimeout is far beyond the second that a process takes, for machines that compile something beside it.
const startTimeout = time.Minute

// Options says what to start.
type Options struct {
	// Dir holds everything that is written, logs and data; needed. It stays when the stack ends.
	Dir string
	// Seed is mixed into AWS's ids and into what the planner breaks ties by.
	Seed uint64
	// Nominations is the actuator's setting of that name; "" leaves it out.
	Nominations string
	// Env is added to the environment of the services.
	Env []string
	// Released starts the programs as they are released, for those who measure them; else those of `make build`.
	Released bool
	// Plain leaves the services' settings at their defaults and AWS's delays at Delays, for those who measure. Else all is
	// faster than in life, for those who look on.
	Plain  bool
	Delays Delays
	// Standby starts a second watcher and a second actuator, which take over when the first dies.
	Standby bool
	// LeaseTTL is the actuators' etcd.lease_ttl; "" leaves it out.
	LeaseTTL string
	// Reserved is the account's capacity reservations and blocks, each as awssim's flag -reserve has it.
	Reserved []string
	// ZonalShift lets AWS shift the cluster away from a zone, and the actuator ask.
	ZonalShift bool
	// AWS are further flags of the simulated AWS.
	AWS []string
	// Scraped has Services serve metrics, under Karpenter's names too. Else they measure nothing.
	Scraped bool
	// Examples is a folder under deploy/examples, whose config files lie below the stack's own settings; "" is none.
	Examples string
	// Programs are folders of programs that are not those of the working tree, by service: see Exchange.
	Programs map[string]string
	// CRDs is the folder of the definitions that are applied first; "" is deploy/crds.
	CRDs string
	// Between, if set, gives the address at which watchers reach the planner whose own it is told.
	Between func(planner string) string
	// Started, if set, is called for each part that runs.
	Started func(part, text string)
}

// Delays are how long the simulated AWS takes: from a launch to running, from there to the node, and to terminate.
type Delays struct{ Launch, Join, Terminate time.Duration }

// Stack is everything that runs. Its methods are safe for concurrent use, but not two that start or end the same process.
type Stack struct {
	Cluster    *harness.Cluster
	Kubernetes kubernetes.Interface // as the admin
	Dynamic    dynamic.Interface    // as the admin
	Sim        Sim
	Watcher    watcherpb.WatcherServiceClient
	Planner    plannerpb.PlannerServiceClient
	Actuator   actuatorpb.ActuatorServiceClient
	// Actuators are Actuator and what stands by for it. One of them leads, and the others refuse what they are asked.
	Actuators []actuatorpb.ActuatorServiceClient

	root, bin string
	opts      Options
	ports     ports
	processes map[string]*proc.Process
	conns     map[string]*grpc.ClientConn
}

// Of is a stack whose parts others have started, with the programs in bin: processes by the names that Kill takes, and
// connections by those of Services. It is not for Stop.
func Of(bin string, cluster *harness.Cluster, sim Sim, processes map[string]*proc.Process, conns map[string]*grpc.ClientConn) (*Stack, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	s := &Stack{Cluster: cluster, Sim: sim, root: root, bin: bin, processes: processes, conns: conns}
	s.serve()
	return s, s.connect()
}

// ports are where everything listens; they stay the same over restarts.
type ports struct {
	etcd, etcdPeer, sim, watcher, planner, actuator, watcherStandby, actuatorStandby int
	// health is where each of Services answers probes and scrapers; empty unless Options.Scraped.
	health map[string]int
}

// Services are the three services, by the names that Kill and Revive take.
func Services() []string { return []string{watcher, planner, actuator} }

// Names of further processes for Kill, Revive and Pid: Kerf's own etcd, and what Options.Standby adds.
const (
	Etcd            = "etcd"
	WatcherStandby  = "watcher-standby"
	ActuatorStandby = "actuator-standby"
)

// Start starts everything and returns when all of it answers. What Build makes must be there.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	s := &Stack{opts: opts, processes: map[string]*proc.Process{}, conns: map[string]*grpc.ClientConn{}}
	if s.opts.Started == nil {
		s.opts.Started = func(string, string) {}
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w%s", err, s.Tails(10)), s.Stop())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	for _, part := range []func(context.Context) error{s.prepare, s.startCluster, s.startAWS, s.startEtcd, s.startServices} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) prepare(context.Context) error {
	var err error
	if s.root, err = assets.Root(); err != nil {
		return err
	}
	s.bin = filepath.Join(s.root, "bin")
	if s.opts.Released {
		s.bin = assets.ReleasedDir(s.root)
	}
	for _, name := range append(Services(), cli, sim) {
		if _, err := os.Stat(s.Bin(name)); err != nil {
			return fmt.Errorf("%w: run make build", err)
		}
	}
	p, err := proc.Ports(11)
	if err != nil {
		return err
	}
	s.ports = ports{etcd: p[0], etcdPeer: p[1], sim: p[2], watcher: p[3], planner: p[4], actuator: p[5], watcherStandby: p[6], actuatorStandby: p[7]}
	if s.opts.Scraped {
		s.ports.health = map[string]int{watcher: p[8], planner: p[9], actuator: p[10]}
	}
	s.Sim = Sim{URL: "http://" + address(s.ports.sim)}
	return nil
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Bin is the path of one of Kerf's programs, such as "kerf".
func (s *Stack) Bin(name string) string { return filepath.Join(s.bin, name) }

// Scraped is where Services serve their metrics, as host:port, where Options.Scraped says so.
func (s *Stack) Scraped() []string {
	var at []string
	for _, service := range Services() {
		at = append(at, address(s.ports.health[service]))
	}
	return at
}

// Root is the repository's root.
func (s *Stack) Root() string { return s.root }

func (s *Stack) startCluster(ctx context.Context) error {
	began := time.Now()
	var err error
	if s.Cluster, err = harness.Start(ctx, harness.Options{Dir: s.opts.Dir, Manifests: []string{cmp.Or(s.opts.CRDs, "deploy/crds")}}); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	s.opts.Started("control plane", "etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok "+took(began))
	return nil
}

// connect makes the admin's clients of the cluster.
func (s *Stack) connect() error {
	var err error
	if s.Kubernetes, err = s.Cluster.Client(harness.Admin); err != nil {
		return err
	}
	s.Dynamic, err = s.Cluster.Dynamic(harness.Admin)
	return err
}

func (s *Stack) startAWS(ctx context.Context) error {
	began := time.Now()
	delays := Delays{Launch: 1500 * time.Millisecond, Join: 500 * time.Millisecond, Terminate: time.Second}
	if s.opts.Plain {
		delays = s.opts.Delays
	}
	args := []string{
		"-listen", address(s.ports.sim), "-cluster", clusterName, "-kubeconfig", s.Cluster.Kubeconfig(harness.Admin),
		"-seed", fmt.Sprint(s.opts.Seed), "-launch-latency", delays.Launch.String(), "-join-latency", delays.Join.String(),
		"-terminate-latency", delays.Terminate.String(),
	}
	if s.opts.ZonalShift {
		args = append(args, "-zonal-shift")
	}
	args = append(args, s.opts.AWS...)
	for _, r := range s.opts.Reserved {
		args = append(args, "-reserve", r)
	}
	if err := s.run(sim, s.Bin(sim), args, nil); err != nil {
		return err
	}
	if err := s.await(ctx, sim, s.Sim.ready); err != nil {
		return err
	}
	s.opts.Started("aws", "simulated, at "+s.Sim.URL+" "+took(began))
	return nil
}

func (s *Stack) startEtcd(ctx context.Context) error {
	set, err := assets.Find(s.root)
	if err != nil {
		return err
	}
	client, peer := "http://"+address(s.ports.etcd), "http://"+address(s.ports.etcdPeer)
	err = s.run(Etcd, set.Path(assets.Etcd), []string{
		"--data-dir=" + s.file("kerf-etcd"), "--unsafe-no-fsync", "--log-level=error",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
	}, nil)
	if err != nil {
		return err
	}
	return s.await(ctx, Etcd, harness.Answers(client+"/health"))
}

func (s *Stack) startServices(ctx context.Context) error {
	began := time.Now()
	if err := s.dial(); err != nil {
		return err
	}
	for _, name := range []string{planner, actuator, watcher} {
		if err := s.startService(name); err != nil {
			return err
		}
	}
	for _, name := range Services() {
		if err := s.await(ctx, name, s.serving(name)); err != nil {
			return err
		}
	}
	if s.opts.Standby { // only now, so that they stand by
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(standbyAfter):
		}
		for _, name := range []string{ActuatorStandby, WatcherStandby} {
			if err := s.startService(name); err != nil {
				return err
			}
		}
	}
	s.opts.Started("kerf", fmt.Sprintf("watcher %s, planner %s, actuator %s %s",
		address(s.ports.watcher), address(s.ports.planner), address(s.ports.actuator), took(began)))
	return nil
}

// standbyAfter is how long the first ones may take to lead and to drive.
const standbyAfter = 3 * time.Second

func (s *Stack) startService(name string) error {
	file, err := s.writeConfig(name)
	if err != nil {
		return err
	}
	env := append([]string{"AWS_ACCESS_KEY_ID=demo", "AWS_SECRET_ACCESS_KEY=demo", "AWS_EC2_METADATA_DISABLED=true"}, s.opts.Env...)
	program := strings.TrimSuffix(name, "-standby")
	path := s.Bin(program)
	if folder := s.opts.Programs[name]; folder != "" {
		path = filepath.Join(folder, program)
	}
	return s.run(name, path, []string{"-config", file}, env)
}

func took(began time.Time) string { return fmt.Sprintf("(%.1fs)", time.Since(began).Seconds()) }

func (s *Stack) dial() error {
	asked := map[string]int{watcher: s.ports.watcher, planner: s.ports.planner, actuator: s.ports.actuator}
	if s.opts.Standby {
		asked[ActuatorStandby] = s.ports.actuatorStandby
	}
	for name, port := range asked {
		conn, err := grpc.NewClient(address(port), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)), grpc.WithConnectParams(quickly()))
		if err != nil {
			return err
		}
		s.conns[name] = conn
	}
	s.serve()
	return nil
}

// serve makes the clients of the services.
func (s *Stack) serve() {
	s.Watcher = watcherpb.NewWatcherServiceClient(s.conns[watcher])
	s.Planner = plannerpb.NewPlannerServiceClient(s.conns[planner])
	s.Actuator = actuatorpb.NewActuatorServiceClient(s.conns[actuator])
	s.Actuators = []actuatorpb.ActuatorServiceClient{s.Actuator}
	if conn := s.conns[ActuatorStandby]; conn != nil {
		s.Actuators = append(s.Actuators, actuatorpb.NewActuatorServiceClient(conn))
	}
}

// Store is the address of Kerf's etcd.
func (s *Stack) Store() string { return address(s.ports.etcd) }

// Conn is the connection to one of the services.
func (s *Stack) Conn(service string) *grpc.ClientConn { return s.conns[service] }

func (s *Stack) run(name, path string, args, env []string) error {
	p, err := proc.Start(proc.Spec{Name: name, Path: path, Args: args, Env: env, Log: s.file(name + ".log")})
	if err != nil {
		return err
	}
	s.processes[name] = p
	return nil
}

// file is the path of a file of the stack's.
func (s *Stack) file(name string) string { return filepath.Join(s.opts.Dir, name) }

// await waits until a process answers, and no longer than it lives.
func (s *Stack) await(ctx context.Context, name string, check harness.Check) error {
	p := s.processes[name]
	err := harness.Until(ctx, name+" to answer", startTimeout, func(ctx context.Context) (string, bool) {
		if !p.Running() {
			return "it has ended", true
		}
		return check(ctx)
	})
	if err == nil && !p.Running() {
		return errors.Join(fmt.Errorf("%s ended while it started", name), p.Err())
	}
	return err
}

// serving asks a service's health.
func (s *Stack) serving(name string) harness.Check {
	health := healthv1.NewHealthClient(s.conns[name])
	return func(ctx context.Context) (string, bool) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		resp, err := health.Check(ctx, &healthv1.HealthCheckRequest{})
		if err != nil {
			return err.Error(), false
		}
		return resp.GetStatus().String(), resp.GetStatus() == healthv1.HealthCheckResponse_SERVING
	}
}

// Kill ends a service, or Etcd, as a crash would.
func (s *Stack) Kill(name string) error { return s.processes[name].Kill() }

// Revive starts what was killed again, on the same terms. It does not wait until it answers.
func (s *Stack) Revive(name string) error { return s.processes[name].Start() }

// Exchange ends a service in order and starts it again from a folder with another build of it, "" for the working
// tree's, as an upgrade or a downgrade does. It returns when the service answers; of those that stand by, which no test
// asks, when it runs.
func (s *Stack) Exchange(ctx context.Context, name, folder string) error {
	if err := s.processes[name].Stop(); err != nil {
		return err
	}
	programs := maps.Clone(s.opts.Programs)
	if programs == nil {
		programs = map[string]string{}
	}
	programs[name] = folder
	s.opts.Programs = programs
	if err := s.startService(name); err != nil || strings.HasSuffix(name, "-standby") {
		return err
	}
	return s.await(ctx, name, s.serving(name))
}

// Dead are the processes that have ended, with the end of their logs. Sorted.
func (s *Stack) Dead() []string {
	var dead []string
	for name, p := range s.processes {
		if !p.Running() {
			dead = append(dead, fmt.Sprintf("%s has ended: %v", name, p.Err()))
		}
	}
	slices.Sort(dead)
	return dead
}

// Pid is the process id of a service.
func (s *Stack) Pid(name string) int { return s.processes[name].Pid() }

// Log is the path of a process's log.
func (s *Stack) Log(name string) string { return s.processes[name].Log() }

// Tails are the last n lines that each service wrote, without those about the calls by which the story looks on.
func (s *Stack) Tails(n int) string {
	var b strings.Builder
	for _, name := range append(Services(), sim) {
		p := s.processes[name]
		if p == nil {
			continue
		}
		fmt.Fprintf(&b, "\n--- %s, the end of %s", name, p.Log())
		lines := slices.DeleteFunc(p.Tail(tailLines), func(line string) bool {
			return strings.Contains(line, "WatcherService/GetPlan") || strings.Contains(line, "ActuatorService/ListClaims")
		})
		for _, line := range lines[max(0, len(lines)-n):] {
			fmt.Fprintf(&b, "\n%s", line[:min(len(line), tailWidth)])
		}
	}
	return b.String()
}

const (
	tailLines = 1000 // how far back Tails looks
	tailWidth = 400  // bytes of a line; the file has the rest
)

// Stop ends everything, in the reverse order of its start. A process that had to be killed is an error, but the others
// are ended all the same.
func (s *Stack) Stop() error {
	var errs []error
	for _, name := range []string{WatcherStandby, watcher, planner, ActuatorStandby, actuator, Etcd, sim} {
		if conn := s.conns[name]; conn != nil {
			errs = append(errs, conn.Close())
		}
		if p := s.processes[name]; p != nil {
			errs = append(errs, p.Stop())
		}
	}
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Stop())
	}
	return errors.Join(errs...)
}
