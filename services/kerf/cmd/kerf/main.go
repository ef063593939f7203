// Command kerf shows what Kerf would do (plan), what it has done (claims), and runs it (up). See kerf --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// Once the first signal has come, the next one has its default effect.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, os.Args[1:], cli.System()))
}
