package cli_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
)

// What is not the form of an address is not asked for certificates, nor looked for on port 443.
func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"kerf: http://127.0.0.1:7600: want HOST:PORT, such as 127.0.0.1:7600, without http:// (127.0.0.1:7600)\n": {"plan", "--watcher", "http://127.0.0.1:7600"},
		"kerf: 127.0.0.1: want HOST:PORT, such as 127.0.0.1:7600\n":                                               {"snapshot", "--watcher", "127.0.0.1"},
		"kerf: kerf-actuator: want HOST:PORT, such as 127.0.0.1:7500\n":                                           {"claims", "--actuator", "kerf-actuator"},
	} {
		if got := run(t, "", args...); got.code != cli.ExitError || got.err != says {
			t.Errorf("%q: exit code %d, said %q, want %q", args, got.code, got.err, says)
		}
	}
}

// An error is about what is wrong: the files are not, where the planner can't be reached.
func TestErrorsNameTheirFlag(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"kerf: 127.0.0.1:1: dial tcp":                                              story(inflate+"inflate-5.yaml", "--planner", "127.0.0.1:1"),
		"kerf: --catalog /no/such/file: no such file or directory\n":               story(inflate+"inflate-5.yaml", "--catalog", "/no/such/file"),
		"kerf: --reserved-enis \"300\": out of range; see kerf plan --help\n":      story(inflate+"inflate-5.yaml", "--reserved-enis", "300"),
		"kerf: --reserved-enis \"three\": want a number; see kerf plan --help\n":   story(inflate+"inflate-5.yaml", "--reserved-enis", "three"),
		"kerf: --advice-time \"5\": want a duration such as 30s, 10m or 24h; see ": story(inflate+"inflate-5.yaml", "--advice-time", "5"),
	} {
		if got := run(t, "", args...); got.code != cli.ExitError || !strings.HasPrefix(got.err, says) {
			t.Errorf("%q: exit code %d, said %q, want %q", args, got.code, got.err, says)
		}
	}
}
