// Command actuator runs Kerf's actuator: it checks plans and carries them out. See -help, and actuator.Config for the
// fields of its configuration file.
package main

import (
	"os"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/internal/boot"
)

func main() {
	var defaults actuator.Config
	defaults.Listen = actuator.DefaultListen
	os.Exit(boot.Main("actuator", defaults, actuator.Run))
}
