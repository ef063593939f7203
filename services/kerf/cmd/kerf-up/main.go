// Command kerf-up runs planner, actuator and watcher in one process, for one machine, with an etcd of its own. It is what
// `kerf up` runs, and a program by itself because of its weight: etcd's server and the AWS SDK are not for those who only ask.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/kerf/internal/up"
)

const usage = `Usage: kerf up --config FILE [--set FIELD=VALUE]

Up runs the three services in this process until it is interrupted. They listen
on loopback, and claims live in an etcd inside the process, beside the config file.

The config is one file, in YAML or JSON, with a section for each service. The least
of it is

  actuator: {cluster: my-cluster, kubeconfig: /home/me/.kube/config}

--set FIELD=VALUE sets a field over the file, such as --set actuator.aws.queue=my-queue.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// Once the first signal has come, the next one has its default effect.
	context.AfterFunc(ctx, stop)
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "kerf-up: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kerf-up", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	file := flags.String("config", "", "`file` with the config, in YAML or JSON")
	var set config.Settings
	flags.Var(&set, "set", "set a field over the file: `FIELD=VALUE`")
	check := flags.Bool("check-config", false, "check the config and exit")
	if err := flags.Parse(args); err != nil {
		return err
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
		fmt.Println("kerf-up: config is valid")
		return nil
	}
	return up.Run(ctx, cfg)
}
