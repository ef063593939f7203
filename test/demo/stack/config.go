package stack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/kerf-dev/kerf/test/harness"
)

// clusterName is what AWS calls the cluster; the examples in deploy/ select by it.
const clusterName = "kerf-demo"

// RepairAfter is how long a node may be not ready before it counts as unhealthy; AWS's own would be half an hour.
const RepairAfter = 10 * time.Second

// writeConfig writes a service's configuration file. The defaults are for a real AWS; here things happen faster.
func (s *Stack) writeConfig(service string) (string, error) {
	c, err := s.example(service)
	if err != nil {
		return "", err
	}
	merge(c, s.addresses()[service])
	if at := s.ports.health[service]; at != 0 {
		c["health_listen"], c["metrics"] = address(at), object{"legacy_names": true}
	}
	if !s.opts.Plain {
		merge(c, s.haste()[strings.TrimSuffix(service, "-standby")])
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", err
	}
	file := s.file(service + ".json")
	return file, os.WriteFile(file, append(data, '\n'), 0o600)
}

type object = map[string]any

// example is a service's file in the folder of examples.
func (s *Stack) example(service string) (object, error) {
	c := object{}
	if s.opts.Examples == "" {
		return c, nil
	}
	file := strings.TrimSuffix(service, "-standby") + ".json"
	data, err := os.ReadFile(filepath.Join(s.root, "deploy", "examples", s.opts.Examples, file))
	if err != nil {
		return nil, err
	}
	return c, json.Unmarshal(data, &c)
}

// merge sets fields over what is there, object by object.
func merge(into, over object) {
	for name, value := range over {
		below, isObject := into[name].(object)
		if above, also := value.(object); isObject && also {
			merge(below, above)
			continue
		}
		into[name] = value
	}
}

// addresses is what each service must be told: where it listens, whom it asks, and whose cluster it is.
func (s *Stack) addresses() map[string]object {
	return map[string]object{
		planner: {"listen": address(s.ports.planner)},
		watcher: s.watcherConfig(s.ports.watcher), actuator: s.actuatorConfig(s.ports.actuator),
		WatcherStandby: s.watcherConfig(s.ports.watcherStandby), ActuatorStandby: s.actuatorConfig(s.ports.actuatorStandby),
	}
}

func (s *Stack) watcherConfig(port int) object {
	actuators := []string{address(s.ports.actuator)}
	if s.opts.Standby {
		actuators = append(actuators, address(s.ports.actuatorStandby))
	}
	target := address(s.ports.planner)
	if s.opts.Between != nil {
		target = s.opts.Between(target)
	}
	return object{
		"listen": address(port), "cluster": clusterName, "kubeconfig": s.Cluster.Kubeconfig(harness.Watcher),
		"planner":  object{"target": target},
		"actuator": object{"addresses": actuators},
	}
}

func (s *Stack) actuatorConfig(port int) object {
	etcd := object{"endpoints": []string{address(s.ports.etcd)}}
	if s.opts.LeaseTTL != "" {
		etcd["lease_ttl"] = s.opts.LeaseTTL
	}
	aws := object{"region": "us-east-1", "endpoint": s.Sim.URL, "queue": clusterName}
	if s.opts.ZonalShift {
		aws["zonal_shift"] = "on"
	}
	c := object{
		"listen": address(port), "cluster": clusterName, "kubeconfig": s.Cluster.Kubeconfig(harness.Actuator), "etcd": etcd, "aws": aws,
	}
	if s.opts.Nominations != "" {
		c["nominations"] = s.opts.Nominations
	}
	return c
}

// haste is what the demo sets beside that, so that it is short.
func (s *Stack) haste() map[string]object {
	return map[string]object{
		watcher: {
			// The scheduler of a machine that is busy with all of this needs a moment between two pods.
			"batch":      object{"idle": "150ms", "max": "1s"},
			"disruption": object{"idle": "300ms", "interval": "1s"},
			"policy": object{
				// Two m5.large cost what one m5.xlarge does, and the story is about nodes that come and go one by one.
				"per_node_overhead": "0",
				// Pods that were moved would be left alone for half an hour, and the story moves the same again and again.
				"pod_rest": "0s",
				"repair":   repair(),
			},
		},
		actuator: {
			// A leader that was killed holds its lease for as long as it said; the story has no ten seconds to wait.
			"etcd":      object{"endpoints": []string{address(s.ports.etcd)}, "lease_ttl": "2s", "request_timeout": "2s"},
			"intervals": object{"fast_poll": "200ms", "poll": "5s", "orphans": "5s", "classes": "2s"},
			"repair":    repair(),
		},
	}
}

// repair is the policy by which nodes are unhealthy, the same for who plans and for who checks the plan.
func repair() object {
	var unhealthy []object
	for _, status := range []string{"False", "Unknown"} {
		unhealthy = append(unhealthy, object{"type": "Ready", "status": status, "after": RepairAfter.String()})
	}
	return object{"conditions": unhealthy}
}

// quickly reconnects soon to what was killed and revived.
func quickly() grpc.ConnectParams {
	b := backoff.DefaultConfig
	b.BaseDelay, b.MaxDelay = 50*time.Millisecond, 500*time.Millisecond
	return grpc.ConnectParams{Backoff: b, MinConnectTimeout: 2 * time.Second}
}
