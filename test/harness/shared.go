package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
)

// Shared is one cluster for all tests of a package:
//
//	var shared harness.Shared
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m, harness.Options{})) }
//
// With -short there is no cluster, and the tests that ask for it are skipped; without it a cluster that does not start
// fails the package.
type Shared struct {
	cluster *Cluster
}

// Main runs the package's tests with the cluster and returns their exit code. When a test failed, the cluster's folder
// stays, and its path is printed.
func (s *Shared) Main(m *testing.M, opts Options) int {
	flag.Parse()
	if testing.Short() {
		return m.Run()
	}
	cluster, err := Start(context.Background(), opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.cluster = cluster
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "the control plane's logs:", cluster.logs())
		cluster.temporary = false
	}
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Cluster is the shared cluster. It skips the test when the package runs with -short.
func (s *Shared) Cluster(tb testing.TB) *Cluster {
	tb.Helper()
	if s.cluster == nil {
		tb.Skip("needs the control plane, which -short leaves out")
	}
	return s.cluster
}
