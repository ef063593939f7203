package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kerf-dev/kerf/test/harness/assets"
)

// The programs, by the names of their files in bin/.
const (
	watcher  = "watcher"
	planner  = "planner"
	actuator = "actuator"
	cli      = "kerf"
	sim      = "awssim"
)

// programs are the packages that make them.
func programs() []string {
	return []string{
		"./services/planner/cmd/planner", "./services/actuator/cmd/actuator", "./services/watcher/cmd/watcher",
		"./services/kerf/cmd/kerf", "./test/awssim/cmd/awssim",
	}
}

// Build makes what Start needs: the control plane, if it was never built, and the programs of the working tree. Progress
// goes to out.
func Build(ctx context.Context, root string, out *os.File) error {
	if _, err := assets.Build(ctx, root, out); err != nil {
		return err
	}
	// With go test's flags, so that what a test has compiled is not compiled again.
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", filepath.Join(root, "bin") + "/"}, programs()...)...) //nolint:gosec // constants
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the services: %w\n%s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
