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
	return build(ctx, root, out, assets.Programs, filepath.Join(root, "bin"))
}

// BuildReleased makes what Start needs with Options.Released.
func BuildReleased(ctx context.Context, root string, out *os.File) error {
	return build(ctx, root, out, assets.Released, assets.ReleasedDir(root))
}

type builder func(ctx context.Context, root, dir string, out *os.File, packages ...string) error

func build(ctx context.Context, root string, out *os.File, programsInto builder, dir string) error {
	if _, err := assets.Build(ctx, root, out); err != nil {
		return err
	}
	return programsInto(ctx, root, dir, out, programs()...)
}
