package skew_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/skew"
)

// TestTheConfigOfThePreviousReleaseIsValid wants that each service of the working tree takes the files that the
// previous release was deployed with, and those of its examples.
func TestTheConfigOfThePreviousReleaseIsValid(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the services, which -short leaves out")
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := skew.CheckOut(t.Context(), root, previousCommit(t, root), dir); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin")
	for _, service := range stack.Services() {
		if err := assets.Programs(t.Context(), root, bin, os.Stderr, "./services/"+service+"/cmd/"+service); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "deploy/*/config", service+".*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: files %v, %v", service, files, err)
		}
		for _, file := range files {
			args := []string{"-check-config", "-config", file}
			if service != "planner" {
				args = append(args, "-set=cluster=c") // which differs by installation, and is not in the files that are deployed
			}
			out, err := exec.CommandContext(t.Context(), filepath.Join(bin, service), args...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v: %s", strings.TrimPrefix(file, dir), err, out)
			}
		}
	}
}
