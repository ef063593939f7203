package cli_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
)

// Whoever wrote a manifest has no say in the terminal of who reads it.
func TestNamesReachNoTerminal(t *testing.T) {
	t.Parallel()
	const pods = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  "fo\e[2J\no": 1
  schedulerName: "ev\e[2J\e]0;title\ail"
  containers: [{name: web, image: web}]
`
	for name, got := range map[string]result{
		"a plan":             run(t, pods, "plan", "-f", "-"),
		"an explanation":     run(t, pods, "plan", "-f", "-", "--explain", "pod/web"),
		"a kind":             run(t, "apiVersion: v1\nkind: \"Po\\e[2Jd\"\n", "plan", "-f", "-"),
		"a name of a file":   run(t, "", "plan", "-f", "no\x1b[2Jfile.yaml"),
		"what is asked for":  run(t, pods, "plan", "-f", "-", "--explain", "pod/\x1b[2J"),
		"a flag's own value": run(t, pods, "plan", "-f", "-", "--now", "\x1b[2J"),
	} {
		if all := got.out + got.err; strings.ContainsAny(all, "\x1b\a\r") || !strings.Contains(all, `\x1b[2J`) {
			t.Errorf("%s: want each \\x1b as it is written here, got exit code %d and %q", name, got.code, all)
		}
		for l := range strings.Lines(got.err) {
			if !strings.HasPrefix(l, "warning: ") && !strings.HasPrefix(l, "kerf: ") {
				t.Errorf("%s: a line of its own: %q", name, l)
			}
		}
	}
	if r := run(t, pods, "plan", "-f", "-"); r.code != cli.ExitPending {
		t.Errorf("exit code %d, said %q", r.code, r.err)
	}
}
