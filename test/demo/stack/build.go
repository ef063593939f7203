package stack

import (
	"context"
	"os"
	"path/filepath"

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
	return assets.Programs(ctx, root, filepath.Join(root, "bin"), out, programs()...)
}
