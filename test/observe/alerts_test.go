package observe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/observe"
)

// TestAlertsFireForWhatTheyAreFor runs promtool's unit tests of rules: each alert fires once in testdata/alerts.yaml, and none
// where all is well.
func TestAlertsFireForWhatTheyAreFor(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Prometheus, which -short leaves out")
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	promtool, err := assets.Tool(t.Context(), root, assets.Promtool, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := observe.Alerts(root)
	if err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, name, ok := strings.Cut(line, "alert: "); ok && !strings.Contains(string(tests), `alertname="`+strings.TrimSpace(name)+`"`) {
			t.Errorf("testdata/alerts.yaml has nothing for %s", name)
		}
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"rules.yml": data, "tests.yml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", filepath.Join(dir, "tests.yml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
