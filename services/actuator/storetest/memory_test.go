package storetest_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Suite(t, func(*testing.T) (a, b storetest.Backend) {
		m := storetest.New()
		return m, m
	})
}
