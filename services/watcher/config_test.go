package watcher_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/watcher"
)

func TestTheExampleConfigIsValid(t *testing.T) {
	data, err := os.ReadFile("../../deploy/examples/config/watcher.json")
	if err != nil {
		t.Fatal(err)
	}
	var cfg watcher.Config
	if err := config.Decode(data, &cfg); err != nil {
		t.Fatal(err)
	}
	if p := cfg.Policy.Proto(); len(p.GetRepair().GetConditions()) != 7 || p.GetPerNodeOverheadMicroUsdPerHour() != 1000 {
		t.Errorf("policy %v", p)
	}
}

func TestAPolicyThatIsWrongIsNamedWithItsSection(t *testing.T) {
	var cfg watcher.Config
	err := config.Decode([]byte(`{"cluster": "c", "planner": {"target": "127.0.0.1:1"}, "actuator": {"addresses": ["127.0.0.1:2"]},
		"policy": {"repair": {"conditions": [{"type": "Ready", "status": "False"}]}}}`), &cfg)
	if err == nil || !strings.Contains(err.Error(), "policy.repair.conditions[0].after: 0s is too short") {
		t.Errorf("error %v", err)
	}
}

func TestAClusterIsCalledAsItsTagsCanBe(t *testing.T) {
	var cfg watcher.Config
	err := config.Decode([]byte(`{"cluster": "my cluster", "planner": {"target": "127.0.0.1:1"}, "actuator": {"addresses": ["127.0.0.1:2"]}}`), &cfg)
	if err == nil || !strings.Contains(err.Error(), `cluster: "my cluster": want the cluster's name`) {
		t.Errorf("error %v", err)
	}
}
