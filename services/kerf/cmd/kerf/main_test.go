package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheProgramIsLight holds what users download free of what only the services need.
func TestTheProgramIsLight(t *testing.T) {
	t.Parallel()
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{
		"go.etcd.io/etcd/server/", "github.com/aws/aws-sdk-go-v2/service/", "k8s.io/kubernetes/",
		"github.com/kerf-dev/kerf/services/actuator\n", "github.com/kerf-dev/kerf/services/kerf/internal/up\n", "github.com/kerf-dev/kerf/test/",
	} {
		if strings.Contains("\n"+string(deps), "\n"+heavy) {
			t.Errorf("kerf carries %s", strings.TrimSpace(heavy))
		}
	}
}
