module github.com/kerf-dev/kerf/services/core

go 1.26.7

require (
	github.com/google/go-cmp v0.7.0
	github.com/kerf-dev/kerf/proto v0.0.0
	github.com/robfig/cron/v3 v3.0.1
	google.golang.org/protobuf v1.36.12
	pgregory.net/rapid v1.3.0
)

require (
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260706201446-f0a921348800 // indirect
	google.golang.org/grpc v1.84.0 // indirect
)

replace github.com/kerf-dev/kerf/proto => ../../proto
