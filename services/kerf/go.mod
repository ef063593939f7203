module github.com/kerf-dev/kerf/services/kerf

go 1.26.7

require (
	github.com/kerf-dev/kerf/proto v0.0.0
	github.com/kerf-dev/kerf/services/actuator v0.0.0
	github.com/kerf-dev/kerf/services/internal v0.0.0
	github.com/kerf-dev/kerf/services/planner v0.0.0
	github.com/kerf-dev/kerf/services/watcher v0.0.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jedib0t/go-pretty/v6 v6.8.3 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/term v0.45.0 // indirect
)

replace (
	github.com/kerf-dev/kerf/proto => ../../proto
	github.com/kerf-dev/kerf/services/actuator => ../actuator
	github.com/kerf-dev/kerf/services/internal => ../internal
	github.com/kerf-dev/kerf/services/planner => ../planner
	github.com/kerf-dev/kerf/services/watcher => ../watcher
)
