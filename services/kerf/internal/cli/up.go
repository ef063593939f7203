package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kerf-dev/kerf/services/kerf/internal/up"
)

func newUp() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "up --config FILE",
		Short: "Run planner, actuator and watcher in one process, on one machine",
		Long: `Up runs the three services in this process until it is interrupted. They listen
on loopback, and claims live in an etcd inside the process, beside the config file.

The config is one JSON file with a section for each service. The least of it is

  {"actuator": {"cluster": "my-cluster", "kubeconfig": "/home/me/.kube/config"}}`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&file, "config", "", "`file` with the config, in JSON")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			return errors.New("no config: name it with --config; see kerf up --help")
		}
		cfg, err := up.Load(file)
		if err != nil {
			return err
		}
		return up.Run(cmd.Context(), cfg)
	}
	return c
}
