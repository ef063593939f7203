// Package harness runs a real Kubernetes control plane for tests and the demo: etcd, kube-apiserver, kube-scheduler,
// kube-controller-manager and, as the kubelets, kwok, each a process of its own on loopback, in a temporary folder, so
// that a test can kill and restart any of them. Kerf's services reach it as the users that they are in production, with
// the rights of deploy/rbac/rbac.yaml and no others.
//
// Of Kerf it knows the users and their rights alone, and must never know what a node or a claim is for. Start reading
// at Start; a test package takes a Shared cluster, waits with Eventually, and makes its own namespace.
package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// startTimeout is far beyond the five seconds that a start takes, for machines that compile something beside it.
const startTimeout = 2 * time.Minute

// Options says what cluster to start. The zero value is a complete cluster in a temporary folder.
type Options struct {
	// Dir holds everything that the cluster writes; empty: a new temporary folder, which Stop removes.
	Dir string
	// Manifests are files, or folders of *.yaml, by an absolute path or relative to the repository's root, that are
	// applied beside the users' rights before Start returns.
	Manifests []string
}

// Cluster is a running control plane. Its methods are safe for concurrent use, but not two that start, stop or kill the
// same component.
type Cluster struct {
	root      string
	dir       string
	temporary bool
	external  bool // a cluster of the user's, of which only kwok is ours
	assets    assets.Set
	ports     ports
	users     []user
	processes map[string]*proc.Process
	applier   *applier
}

// Start starts a control plane and returns when it is ready to schedule pods: the API server answers, namespaces have
// their service accounts, and Kerf's users have their rights.
//
// With USE_EXISTING_CLUSTER=true it uses the cluster that $KUBECONFIG names instead and adds only kwok to it; Kerf's
// users are then impersonated. KUBECONFIG alone is not enough: many shells have it set to a cluster that matters.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := prepare(opts)
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	if err := c.start(ctx, opts.Manifests); err != nil {
		return nil, errors.Join(fmt.Errorf("start the control plane (logs in %s): %w", c.logs(), err), c.end())
	}
	return c, nil
}

func prepare(opts Options) (*Cluster, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	set, err := assets.Find(root)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		root: root, dir: opts.Dir, assets: set, processes: map[string]*proc.Process{},
		external: os.Getenv("USE_EXISTING_CLUSTER") == "true",
	}
	if c.dir == "" {
		c.temporary = true
		if c.dir, err = os.MkdirTemp("", "kerf-cluster-"); err != nil {
			return nil, err
		}
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil { // a relative path in a kubeconfig would be relative to the kubeconfig
		return nil, err
	}
	if err := os.MkdirAll(c.logs(), 0o700); err != nil {
		return nil, err
	}
	if c.users, err = newUsers(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, manifests []string) error {
	if err := c.startComponents(ctx); err != nil {
		return err
	}
	config, err := c.Config(Admin)
	if err != nil {
		return err
	}
	if c.applier, err = newApplier(config); err != nil {
		return err
	}
	for _, m := range append([]string{"deploy/rbac/rbac.yaml"}, manifests...) {
		if !filepath.IsAbs(m) {
			m = filepath.Join(c.root, m)
		}
		if err := c.ApplyFile(ctx, m); err != nil {
			return err
		}
	}
	return c.waitForServiceAccount(ctx, "default")
}

func (c *Cluster) startComponents(ctx context.Context) error {
	if c.external {
		if err := c.adopt(); err != nil {
			return err
		}
		return c.Start(ctx, Kwok)
	}
	if err := c.writeCredentials(); err != nil {
		return err
	}
	for _, name := range Components() {
		if err := c.Start(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends every component and removes the temporary folder. A component that had to be killed is an error, but the
// others are ended all the same.
func (c *Cluster) Stop() error {
	err := c.end()
	if c.temporary {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	return err
}

// end stops the components in the reverse order of their start and keeps the folder with its logs.
func (c *Cluster) end() error {
	var errs []error
	names := Components()
	for i := range names {
		if p := c.processes[names[len(names)-1-i]]; p != nil {
			errs = append(errs, p.Stop())
		}
	}
	return errors.Join(errs...)
}

// Dir is the folder that holds the cluster's files; services that run beside it may use it for theirs.
func (c *Cluster) Dir() string { return c.dir }

// Kubectl is the path of the kubectl that fits the cluster.
func (c *Cluster) Kubectl() string { return c.assets.Path(assets.Kubectl) }

// Client is a typed client that acts as the user, without a rate limit of its own.
func (c *Cluster) Client(user string) (kubernetes.Interface, error) {
	config, err := c.Config(user)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// Dynamic is a client for objects of any kind that acts as the user, without a rate limit of its own.
func (c *Cluster) Dynamic(user string) (dynamic.Interface, error) {
	config, err := c.Config(user)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// unlimited takes client-go's default of five requests a second off a configuration.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

func (c *Cluster) logs() string { return filepath.Join(c.dir, "logs") }
