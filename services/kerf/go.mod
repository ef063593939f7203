module github.com/kerf-dev/kerf/services/kerf

go 1.26.7

require (
	github.com/kerf-dev/kerf/proto v0.0.0
	github.com/kerf-dev/kerf/services/actuator v0.0.0
	github.com/kerf-dev/kerf/services/internal v0.0.0
	github.com/kerf-dev/kerf/services/planner v0.0.0
	github.com/kerf-dev/kerf/services/watcher v0.0.0
)

replace (
	github.com/kerf-dev/kerf/proto => ../../proto
	github.com/kerf-dev/kerf/services/actuator => ../actuator
	github.com/kerf-dev/kerf/services/internal => ../internal
	github.com/kerf-dev/kerf/services/planner => ../planner
	github.com/kerf-dev/kerf/services/watcher => ../watcher
)
