// Command kerf-up runs planner, actuator and watcher in one process, for one machine, with an etcd of its own. It is
// what `kerf up` runs, and `kerf catalog fetch`: a program by itself because of its weight, as etcd's server and the
// AWS SDK are not for those who only plan.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/kerf/internal/fetch"
	"github.com/kerf-dev/kerf/services/kerf/internal/up"
)

const usage = `Usage: kerf up --config FILE [--set FIELD=VALUE] [--check-config]

Up runs the three services in this process until it is interrupted. They listen
on loopback, and claims live in an etcd inside the process, beside the config file.

The config is one file, in YAML or JSON, with a section for each service. The least
of it is

  actuator: {cluster: my-cluster, kubeconfig: /home/me/.kube/config}

--set FIELD=VALUE sets a field over the file, such as --set actuator.aws.queue=my-queue.
--check-config says whether the config is right, and ends.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// Once the first signal has come, the next one has its default effect.
	context.AfterFunc(ctx, stop)
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "kerf-up: interrupted")
		os.Exit(interrupted)
	case err != nil:
		fmt.Fprintf(os.Stderr, "kerf-up: %v\n", err)
		os.Exit(1)
	}
}

// interrupted is what shells have for a process that SIGINT ended.
const interrupted = 130

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 1 && args[0] == "catalog" && args[1] == "fetch" {
		return fetch.Main(ctx, args[2:], fetch.IO{Out: out, Err: os.Stderr, Now: time.Now})
	}
	flags := flag.NewFlagSet("kerf-up", flag.ContinueOnError)
	flags.Usage = func() {}
	flags.SetOutput(io.Discard) // the error says the same
	file := flags.String("config", "", "`file` with the config, in YAML or JSON")
	var set config.Settings
	flags.Var(&set, "set", "set a field over the file: `FIELD=VALUE`")
	check := flags.Bool("check-config", false, "check the config and exit")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return err
	case err != nil:
		return fmt.Errorf("%w; see kerf up --help", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see kerf up --help", flags.Arg(0))
	}
	if *file == "" {
		return errors.New("no config: name it with --config; see kerf up --help")
	}
	cfg, err := up.Load(*file, set...)
	if err != nil {
		return err
	}
	if *check {
		fmt.Fprintln(out, "kerf-up: config is valid")
		return nil
	}
	return up.Run(ctx, cfg)
}
