module github.com/kerf-dev/kerf/services/internal

go 1.26.7
