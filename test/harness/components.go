package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// The components, by the names that Start, Kill and Log take.
const (
	Etcd              = assets.Etcd
	APIServer         = assets.APIServer
	ControllerManager = assets.ControllerManager
	Scheduler         = assets.Scheduler
	Kwok              = assets.Kwok
)

// Components are the components in the order in which they start.
func Components() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

// KwokAnnotation on a Node object makes kwok its kubelet. A test that makes the Node without it decides later when the
// machine comes alive.
const (
	KwokAnnotation = "kwok.x-k8s.io/node"
	KwokValue      = "fake"
)

// controllers are the parts of the controller manager that a cluster of pods and nodes needs. The rest (cloud, service,
// certificates, …) would only cost memory.
func controllers() string {
	names := []string{
		"deployment", "replicaset", "statefulset", "daemonset", "job", "disruption", "namespace", "garbage-collector",
		"pod-garbage-collector", "serviceaccount", "root-ca-certificate-publisher", "node-lifecycle", "taint-eviction",
		"persistentvolume-binder",
	}
	return strings.Join(names, "-controller,") + "-controller"
}

// ports are the cluster's, on 127.0.0.1. They stay the same over restarts, so that clients find a restarted component.
type ports struct {
	etcd, etcdPeer, api int
}

func newPorts() (ports, error) {
	p, err := proc.Ports(3)
	if err != nil {
		return ports{}, err
	}
	return ports{etcd: p[0], etcdPeer: p[1], api: p[2]}, nil
}

func url(scheme string, port int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port) }

// EtcdURL is the client address of the API server's etcd; a test may keep keys of its own in it.
func (c *Cluster) EtcdURL() string { return url("http", c.ports.etcd) }

// Start starts a component, again after a Kill or for the first time, and returns when it answers. The scheduler, the
// controller manager and kwok have nothing to ask: they count as started when they run.
func (c *Cluster) Start(ctx context.Context, component string) error {
	if err := c.launch(component); err != nil {
		return err
	}
	switch component {
	case Etcd:
		return c.answers(ctx, Etcd, http.DefaultClient, c.EtcdURL()+"/health", "")
	case APIServer:
		return c.apiServerAnswers(ctx)
	}
	return nil
}

func (c *Cluster) launch(component string) error {
	if p := c.processes[component]; p != nil {
		return p.Start()
	}
	args, ok := c.args()[component]
	if !ok {
		return fmt.Errorf("start %q: no such component; there are %s", component, strings.Join(Components(), ", "))
	}
	p, err := proc.Start(proc.Spec{
		Name: component, Path: c.assets.Path(component), Args: args, Dir: c.dir,
		Log: filepath.Join(c.logs(), component+".log"),
	})
	if err != nil {
		return err
	}
	c.processes[component] = p
	return nil
}

// Kill ends a component as a crash would. Start brings it back with what it had on disk.
func (c *Cluster) Kill(component string) error {
	p := c.processes[component]
	if p == nil {
		return fmt.Errorf("kill %q: it was not started here; started are %s", component, strings.Join(c.started(), ", "))
	}
	return p.Kill()
}

// Pid is the process id of a component that was started here.
func (c *Cluster) Pid(component string) int { return c.processes[component].Pid() }

// Log is the path of a component's log.
func (c *Cluster) Log(component string) string { return filepath.Join(c.logs(), component+".log") }

func (c *Cluster) started() []string {
	return slices.DeleteFunc(Components(), func(name string) bool { return c.processes[name] == nil })
}

// args are the components' flags: what a stock cluster has, less the limits that would only slow a test, and with
// etcd's disk flushes off, as nothing here survives its machine.
func (c *Cluster) args() map[string][]string {
	admin, key := c.Kubeconfig(Admin), c.path("sa.key")
	fast := []string{"--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=2000"}
	return map[string][]string{
		Etcd: {
			"--data-dir=" + c.path("etcd"), "--unsafe-no-fsync", "--log-level=error",
			"--listen-client-urls=" + c.EtcdURL(), "--advertise-client-urls=" + c.EtcdURL(),
			"--listen-peer-urls=" + url("http", c.ports.etcdPeer), "--initial-advertise-peer-urls=" + url("http", c.ports.etcdPeer),
			"--initial-cluster=default=" + url("http", c.ports.etcdPeer),
		},
		APIServer: {
			"--etcd-servers=" + c.EtcdURL(), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", c.ports.api), "--endpoint-reconciler-type=none",
			"--cert-dir=" + c.path("certs"), "--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=RBAC",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + key,
			"--service-account-signing-key-file=" + key, "--service-cluster-ip-range=10.0.0.0/16",
			"--enable-priority-and-fairness=false", "--max-requests-inflight=4000",
			"--max-mutating-requests-inflight=2000", "--profiling=false",
		},
		ControllerManager: append([]string{
			"--kubeconfig=" + admin, "--service-account-private-key-file=" + key, "--root-ca-file=" + c.caFile(),
			"--controllers=" + controllers(),
		}, fast...),
		Scheduler: append([]string{"--kubeconfig=" + admin}, fast...),
		Kwok: {
			"--config=" + c.assets.Path(assets.Stages), "--kubeconfig=" + admin, "--cidr=10.244.0.0/16",
			"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=" + KwokAnnotation + "=" + KwokValue,
			"--node-lease-duration-seconds=40",
		},
	}
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// apiServerAnswers waits for /readyz. The certificate that the server makes for itself is trusted once it is on disk.
func (c *Cluster) apiServerAnswers(ctx context.Context) error {
	pool := x509.NewCertPool()
	err := Until(ctx, "kube-apiserver's certificate", startTimeout, func(context.Context) (string, bool) {
		if !c.processes[APIServer].Running() {
			return "it has ended", true
		}
		ca, err := os.ReadFile(c.caFile())
		return fmt.Sprintf("%d bytes, error %v", len(ca), err), pool.AppendCertsFromPEM(ca) // it is there empty for an instant
	})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	return c.answers(ctx, APIServer, client, url("https", c.ports.api)+"/readyz", c.user(Admin).token)
}

// answers waits until the address answers 200, and stops waiting when the component has died.
func (c *Cluster) answers(ctx context.Context, component string, client *http.Client, address, token string) error {
	p := c.processes[component]
	err := Until(ctx, component+" to answer on "+address, startTimeout, func(ctx context.Context) (string, bool) {
		if !p.Running() {
			return "it has ended", true
		}
		state, ok := get(ctx, client, address, token)
		return state, ok
	})
	if err == nil && !p.Running() {
		return errors.Join(fmt.Errorf("%s ended while it started", component), p.Err())
	}
	return err
}

func get(ctx context.Context, client *http.Client, address, token string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err.Error(), false
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error(), false
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err.Error(), false
	}
	return resp.Status + " " + strings.TrimSpace(string(body)), resp.StatusCode == http.StatusOK
}
