module github.com/kerf-dev/kerf/proto

go 1.26.7
