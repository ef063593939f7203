package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// goTest runs tests, and returns what became of each: "pass", "fail" or "skip". That some fail is no error.
func goTest(ctx context.Context, root string, env []string, args ...string) (map[string]string, error) {
	run := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1"}, args...)...) //nolint:gosec // of constants
	run.Dir, run.Env = root, append(os.Environ(), env...)
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	ran := map[string]string{}
	var said strings.Builder
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("go test %s: %w", strings.Join(args, " "), err)
		}
		said.WriteString(e.Output)
		if e.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			ran[e.Test] = e.Action
		}
	}
	if len(ran) == 0 {
		return nil, fmt.Errorf("go test %s ran nothing: %w\n%s%s", strings.Join(args, " "), err, said.String(), stderr.String())
	}
	return ran, nil
}
