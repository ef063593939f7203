package boot

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

// Exit codes of Main.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Main is the whole main of a service: it reads flags and the config file over
// the given defaults, runs the service until SIGINT or SIGTERM (a second signal
// kills), and returns the exit code: 0 done, 1 failed, 2 wrong flags. C is a
// struct that embeds ServiceConfig.
func Main[C any](name string, defaults C, run func(context.Context, C) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// Once the first signal has come, the next one has its default effect.
	defer context.AfterFunc(ctx, stop)()
	return execute(ctx, os.Args[1:], streams{os.Stdout, os.Stderr}, command[C]{name, defaults, run})
}

type streams struct{ out, err io.Writer }

type command[C any] struct {
	name     string
	defaults C
	run      func(context.Context, C) error
}

func execute[C any](ctx context.Context, args []string, std streams, cmd command[C]) int {
	flags := flag.NewFlagSet("kerf-"+cmd.name, flag.ContinueOnError)
	flags.SetOutput(std.err)
	file := flags.String("config", "", "read this JSON `file`; without it all settings have their defaults")
	version := flags.Bool("version", false, "print the version and exit")
	check := flags.Bool("check-config", false, "check the config and exit")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(std.err, "kerf-%s: unexpected argument %q; see -help\n", cmd.name, flags.Arg(0))
		return exitUsage
	}
	if *version {
		_, _ = fmt.Fprintf(std.out, "kerf-%s %s\n", cmd.name, ReadVersion())
		return exitOK
	}
	cfg := cmd.defaults
	err := load(*file, &cfg)
	if err == nil && *check {
		_, _ = fmt.Fprintf(std.out, "kerf-%s: config is valid\n", cmd.name)
		return exitOK
	}
	if err == nil {
		err = cmd.run(ctx, cfg)
	}
	if err != nil {
		_, _ = fmt.Fprintf(std.err, "kerf-%s: %v\n", cmd.name, err)
		return exitError
	}
	return exitOK
}

// load reads path over cfg; without a path the defaults alone are checked.
func load(path string, cfg any) error {
	if path != "" {
		return config.Load(path, cfg)
	}
	if err := config.Check(cfg); err != nil {
		return fmt.Errorf("config (none given, see -config): %w", err)
	}
	return nil
}
