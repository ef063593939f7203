// Command build shows how far it is while it builds: without arguments the control plane's programs, unless they are
// built already, and prints the folder that holds them; with -tools what tests ask about metrics and traces, Prometheus
// and Jaeger; with packages as arguments Kerf's own programs, into bin/, and with -released before them, as they are
// released, into bin/release/. Make's targets run it; the work is package assets'.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kerf-dev/kerf/test/harness/assets"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, packages []string) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	if len(packages) == 1 && packages[0] == "-tools" {
		return assets.Tools(ctx, root, os.Stderr)
	}
	if len(packages) > 1 && packages[0] == "-released" {
		return assets.Released(ctx, root, assets.ReleasedDir(root), os.Stderr, packages[1:]...)
	}
	if len(packages) > 0 {
		return assets.Programs(ctx, root, filepath.Join(root, "bin"), os.Stderr, packages...)
	}
	set, err := assets.Build(ctx, root, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(filepath.Dir(set.Path(assets.APIServer)))
	return nil
}
