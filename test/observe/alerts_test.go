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

// TestAlertsFireForWhatTheyAreFor runs promtool's unit tests of rules: each alert fires once in testdata/alerts.yaml,
// and none where all is well.
func TestAlertsFireForWhatTheyAreFor(t *testing.T) {
	tests := alertTests(t)
	for _, r := range alertRules(t) {
		if !strings.Contains(string(tests), `alertname="`+r.Alert+`"`) {
			t.Errorf("testdata/alerts.yaml has nothing for %s", r.Alert)
		}
	}
	promtool(t, tests)
}

// alertTests is testdata/alerts.yaml.
func alertTests(t *testing.T) []byte {
	t.Helper()
	tests, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// alertRule is one of deploy/monitoring/rules.yaml.
type alertRule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Annotations map[string]string `json:"annotations"`
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	var all struct {
		Groups []struct {
			Rules []alertRule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(ruleFile(t), &all); err != nil {
		t.Fatal(err)
	}
	var out []alertRule
	for _, g := range all.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

// ruleFile is the alerts as Prometheus reads them.
func ruleFile(t *testing.T) []byte {
	t.Helper()
	root, err := assets.Root()
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
	return data
}

// promtool runs unit tests of the alerts.
func promtool(t *testing.T, tests []byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Prometheus, which -short leaves out")
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	program, err := assets.Tool(t.Context(), root, assets.Promtool, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"rules.yml": ruleFile(t), "tests.yml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, "test", "rules", filepath.Join(dir, "tests.yml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
