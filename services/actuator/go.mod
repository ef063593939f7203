module github.com/kerf-dev/kerf/services/actuator

go 1.26.7

require (
	github.com/kerf-dev/kerf/proto v0.0.0
	github.com/kerf-dev/kerf/services/internal v0.0.0
)

require (
	github.com/google/go-cmp v0.7.0
	k8s.io/api v0.37.1 // indirect
	k8s.io/apimachinery v0.37.1 // indirect
	k8s.io/client-go v0.37.1 // indirect
)

replace (
	github.com/kerf-dev/kerf/proto => ../../proto
	github.com/kerf-dev/kerf/services/internal => ../internal
)
