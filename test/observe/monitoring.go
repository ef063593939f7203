package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Panel is one of the dashboard's.
type Panel struct {
	Title   string `json:"title"`
	Type    string `json:"type"`
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
	Config struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// Dashboard reads the panels of deploy/monitoring that ask for something.
func Dashboard(root string) ([]Panel, error) {
	data, err := os.ReadFile(filepath.Join(root, "deploy/monitoring/kerf.json"))
	if err != nil {
		return nil, err
	}
	var dashboard struct {
		Panels []Panel `json:"panels"`
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	var out []Panel
	for _, p := range dashboard.Panels {
		if len(p.Targets) > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// Filled is a panel's expression with Grafana's variables filled in: all clusters, all pools, and a time for rates and
// ranges.
func Filled(expr, window string) string {
	return strings.NewReplacer("$__rate_interval", window, "$__range", window, "$cluster", ".*", "$pool", ".*").Replace(expr)
}

// Alerts reads the alerts of deploy/monitoring in the form of a rule file of Prometheus.
func Alerts(root string) (map[string]any, error) {
	data, err := os.ReadFile(filepath.Join(root, "deploy/monitoring/rules.yaml"))
	if err != nil {
		return nil, err
	}
	var object struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("alerts: %w", err)
	}
	return object.Spec, nil
}
