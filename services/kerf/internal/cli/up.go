package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// upProgram runs the services. It is a program of its own, so that this one carries neither etcd nor the AWS SDK.
const upProgram = "kerf-up"

func newUp() *cobra.Command {
	return &cobra.Command{
		Use:                "up --config FILE",
		Short:              "Run planner, actuator and watcher in one process, on one machine (by the program " + upProgram + ")",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := findUp()
			if err != nil {
				return err
			}
			//nolint:gosec // the arguments are the user's own
			return syscall.Exec(program, append([]string{upProgram}, args...), os.Environ())
		},
	}
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
