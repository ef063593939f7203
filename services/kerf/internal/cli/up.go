package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// upProgram runs the services, and asks AWS. It is a program of its own, so that this one carries neither etcd nor the
// AWS SDK.
const upProgram = "kerf-up"

func newUp() *cobra.Command {
	return &cobra.Command{
		Use:                "up --config FILE",
		Short:              "Run planner, actuator and watcher in one process, on one machine (by the program " + upProgram + ")",
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return execUp(args...) },
	}
}

func newCatalog() *cobra.Command {
	c := &cobra.Command{
		Use:   "catalog",
		Short: "Instance types and prices of a region, as a file",
		Long: `A catalogue is what a region sells: instance types, zones and prices. kerf plan has those of
most regions built in, and takes another with --catalog.`,
		Example: `  kerf catalog fetch --region eu-central-1
  kerf plan --catalog catalog-eu-central-1.json -f manifests/

  kerf catalog fetch --region us-gov-west-1 --no-price-list -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:                "fetch --region REGION [-o FILE]",
		Short:              "Ask AWS, with your credentials, what a region sells now (by the program " + upProgram + ")",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return execUp(append([]string{"catalog", "fetch"}, args...)...)
		},
	})
	return c
}

// execUp goes on as kerf-up.
func execUp(args ...string) error {
	program, err := findUp()
	if err != nil {
		return err
	}
	//nolint:gosec // the arguments are the user's own
	return syscall.Exec(program, append([]string{upProgram}, args...), os.Environ())
}

// findUp finds kerf-up beside this program, else on the PATH.
func findUp() (string, error) {
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			if found, err := exec.LookPath(filepath.Join(filepath.Dir(self), upProgram)); err == nil {
				return found, nil
			}
		}
	}
	if found, err := exec.LookPath(upProgram); err == nil {
		return found, nil
	}
	return "", errors.New("the program " + upProgram + " is neither beside this one nor on the PATH: it is released together with kerf")
}
