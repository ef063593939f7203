package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongArgumentsAreErrors(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"no config":             nil,
		`unexpected argument`:   {"now"},
		"no such file":          {"--config", filepath.Join(t.TempDir(), "gone.json")},
		"flag provided but not": {"--watch"},
	} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
