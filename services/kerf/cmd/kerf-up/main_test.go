package main

import (
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongArgumentsAreErrors(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"no config":           nil,
		`unexpected argument`: {"now"},
		"no such file":        {"--config", filepath.Join(t.TempDir(), "gone.json")},
		"flag provided but not defined: -watch; see kerf up --help": {"--watch"},
	} {
		var out strings.Builder
		if err := run(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%q: %v, want %q; printed %q", args, err, want, out.String())
		}
	}
}

func TestHelpIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), []string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) || out.String() != usage {
		t.Errorf("%v, printed %q", err, out.String())
	}
}
