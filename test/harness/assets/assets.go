// Package assets knows where the real programs of a Kubernetes control plane are and gets them when they are missing:
// etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl from this machine, from Kubernetes'
// release, or else built (one binary, test/controlplane); and kwok, which that module builds as well, with the stages
// that make it a kubelet.
//
// What is got lands in a cache folder named by a hash of everything that goes into it, appears there whole or not at
// all, and is found again in a millisecond. The package knows nothing of clusters: package harness runs what it finds.
// Start reading at Find; Build is for `make controlplane` and the demo, tests only ever Find. Tool is for the programs that
// the modules of tools/ pin, such as Prometheus.
package assets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The programs, by the names of their files.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
	// Stages is not a program: it is the configuration that tells kwok how nodes and pods come to life and go.
	Stages = "kwok-stages.yaml"
)

// multicall is the one binary that the Kubernetes and etcd programs are links to, where they are built.
const multicall = "controlplane"

// sources are the files that decide what is built, relative to the repository's root.
func sources() []string {
	return []string{"test/controlplane/go.mod", "test/controlplane/go.sum", "test/controlplane/main.go"}
}

// links are etcd and Kubernetes: where they are built, the names under which the multi-call binary is known.
func links() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kubectl}
}

// all are the files that a complete set holds, the multi-call binary aside.
func all() []string { return append(links(), Kwok, Stages) }

// ErrMissing is in the chain of Find's error when a program is not there.
var ErrMissing = errors.New("the control plane is not built")

// Set is a complete set of programs, safe for concurrent use.
type Set struct {
	paths map[string]string
}

// Path is the absolute path of a program, or "" for a name that is not one of this package's constants.
func (s Set) Path(name string) string { return s.paths[name] }

// Find locates the programs in the cache. It gets none; what is missing is an error that wraps ErrMissing and says what
// to run.
func Find(root string) (Set, error) {
	dir, err := Dir(root)
	if err != nil {
		return Set{}, err
	}
	return find(dir)
}

func find(dir string) (Set, error) {
	s := Set{paths: map[string]string{}}
	for _, name := range all() {
		p := filepath.Join(dir, name)
		if !exists(p) {
			return Set{}, fmt.Errorf("%w: no %s in %s; run `make controlplane`", ErrMissing, name, dir)
		}
		s.paths[name] = p
	}
	return s, nil
}

// Dir is the cache folder of the set that belongs to the sources under root:
// $KERF_CACHE (or root/.cache)/controlplane-HASH. It exists only if the set is whole.
func Dir(root string) (string, error) { return controlplane().dir(root) }

// Root is the repository's root: the nearest folder above the working directory that holds go.work.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		if exists(filepath.Join(d, "go.work")) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("find the repository: no go.work in %s or above it", dir)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
