package up

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/embedded"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/kerf/internal/address"
	"github.com/kerf-dev/kerf/services/planner"
	"github.com/kerf-dev/kerf/services/watcher"
)

// dataDir is where the etcd inside the process keeps its data unless the config says otherwise, beside the config file.
const dataDir = "kerf-data"

// Config is the config file of kerf up: those of the three services, each with defaults that fit the others.
type Config struct {
	Planner  planner.Config  `json:"planner"`
	Actuator actuator.Config `json:"actuator"`
	Watcher  watcher.Config  `json:"watcher"`
}

// Validate implements config.Validator.
func (c Config) Validate() error {
	if c.Watcher.Cluster != c.Actuator.Cluster {
		return config.Errorf("watcher.cluster", "%q is not the actuator's, which is %q: name the cluster once", c.Watcher.Cluster, c.Actuator.Cluster)
	}
	return nil
}

// Load reads a config file, strictly, and settings over it. What they leave open is filled in: each service listens on
// its usual loopback address, the watcher finds the two others there, watcher and actuator have the same cluster,
// kubeconfig and repair policy, and claims live in an etcd inside the process, in kerf-data beside the file.
func Load(path string, set ...string) (Config, error) {
	cfg, err := defaults(path, set)
	if err != nil {
		return Config{}, err
	}
	if err := config.Load(path, &cfg, set...); err != nil {
		return Config{}, err
	}
	// Only nodes that are unhealthy by both are taken: what is said once counts for both.
	cfg.Actuator.Repair = cmp.Or(cfg.Actuator.Repair, cfg.Watcher.Policy.Repair)
	cfg.Watcher.Policy.Repair = cmp.Or(cfg.Watcher.Policy.Repair, cfg.Actuator.Repair)
	return cfg, nil
}

// hints are the fields that the defaults of others depend on.
type hints struct {
	Planner struct {
		Listen string `json:"listen"`
	} `json:"planner"`
	Actuator struct {
		Listen     string `json:"listen"`
		Cluster    string `json:"cluster"`
		Kubeconfig string `json:"kubeconfig"`
		Etcd       struct {
			Endpoints []string `json:"endpoints"`
		} `json:"etcd"`
	} `json:"actuator"`
	Watcher struct {
		Cluster    string `json:"cluster"`
		Kubeconfig string `json:"kubeconfig"`
	} `json:"watcher"`
}

// defaults is the config before file and settings are read over it. Whatever is wrong with them is said when that is done.
func defaults(path string, set []string) (Config, error) {
	data, err := config.Read(path)
	if err != nil {
		return Config{}, fmt.Errorf("config %s: %w", path, err)
	}
	var h hints
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, &h); errors.As(err, &syntax) {
		h = hints{}
	}
	for _, one := range set {
		// Most settings are none of the hints, which is the error here.
		_ = config.Load("", &h, one)
	}
	var cfg Config
	cfg.Planner.Listen = planner.DefaultListen
	cfg.Actuator.Listen = address.Actuator
	cfg.Watcher.Listen = address.Watcher
	cfg.Watcher.Planner.Target = either(h.Planner.Listen, cfg.Planner.Listen)
	cfg.Watcher.Actuator.Addresses = []string{either(h.Actuator.Listen, cfg.Actuator.Listen)}
	cfg.Watcher.Cluster, cfg.Actuator.Cluster = h.Actuator.Cluster, h.Watcher.Cluster
	cfg.Watcher.Kubeconfig, cfg.Actuator.Kubeconfig = h.Actuator.Kubeconfig, h.Watcher.Kubeconfig
	if len(h.Actuator.Etcd.Endpoints) == 0 {
		cfg.Actuator.Etcd.Embedded = &actuator.EmbeddedConfig{Dir: filepath.Join(filepath.Dir(path), dataDir), Start: startEtcd}
	}
	return cfg, nil
}

func startEtcd(ctx context.Context, c actuator.EmbeddedConfig, log *slog.Logger) (actuator.Embedded, error) {
	e, err := embedded.Start(ctx, embedded.Config{Dir: c.Dir, Listen: c.Listen, Log: log})
	if err != nil {
		return actuator.Embedded{}, err
	}
	return actuator.Embedded{Endpoint: e.Endpoint, Run: e.Run, Stop: e.Stop}, nil
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
