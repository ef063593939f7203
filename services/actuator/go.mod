module github.com/kerf-dev/kerf/services/actuator

go 1.26.7

require (
	github.com/kerf-dev/kerf/proto v0.0.0
	github.com/kerf-dev/kerf/services/internal v0.0.0
)

replace (
	github.com/kerf-dev/kerf/proto => ../../proto
	github.com/kerf-dev/kerf/services/internal => ../internal
)
