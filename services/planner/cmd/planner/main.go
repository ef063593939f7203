// Command planner runs Kerf's planner: it turns snapshots of a cluster into plans. See -help, and planner.Config for the
// fields of its configuration file.
package main

import (
	"os"

	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/planner"
)

func main() {
	var defaults planner.Config
	defaults.Listen = planner.DefaultListen
	os.Exit(boot.Main("planner", defaults, planner.Run))
}
