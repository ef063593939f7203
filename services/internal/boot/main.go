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
	if os.Getenv("GOGC") == "" {
		go paceGC(ctx)
	}
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
	file := flags.String("config", "", "read this `file`, in YAML or JSON; without it all fields have their defaults")
	var set config.Settings
	flags.Var(&set, "set", "set a field of the config over the file, as `FIELD=VALUE` with the field's path; may be repeated")
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
	err := config.Load(*file, &cfg, set...)
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
