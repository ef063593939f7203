// Command watcher runs Kerf's watcher: it reads the cluster, asks a planner for plans and relays them to the actuator.
// Start reading at package watcher.
package main

import (
	"os"

	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/watcher"
)

func main() {
	os.Exit(boot.Main("watcher", watcher.Config{}, watcher.Run))
}
