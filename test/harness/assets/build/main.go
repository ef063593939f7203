// Command build makes the control plane's programs unless they are built already and prints the folder that holds them.
// `make controlplane` runs it; the work is package assets'.
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
	root, err := assets.Root()
	if err == nil {
		var set assets.Set
		set, err = assets.Build(ctx, root, os.Stderr)
		fmt.Println(filepath.Dir(set.Path(assets.APIServer)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}
