package e2e_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

// TestEachServiceAcceptsItsExampleConfig asks the services themselves, as a user does before a change. Other tests
// start them with both.
func TestEachServiceAcceptsItsExampleConfig(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the programs, which -short does not build")
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{today, next} {
		t.Run(folder, func(t *testing.T) { accepted(t, root, filepath.Join(root, "deploy", "examples", folder)) })
	}
}

func accepted(t *testing.T, root, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var services []string
	for _, file := range files {
		service := strings.TrimSuffix(filepath.Base(file), ".json")
		services = append(services, service)
		out, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", service), "-check-config", "-config", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}
	want := slices.Sorted(slices.Values(stack.Services()))
	if !slices.Equal(services, want) {
		t.Errorf("examples for %v, want them for %v", services, want)
	}
}
