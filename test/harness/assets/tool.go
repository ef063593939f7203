package assets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The programs that Tool makes, by the names of their modules in tools/ and of their files.
const (
	Prometheus = "prometheus"
	// Promtool comes with Prometheus.
	Promtool = "promtool"
	Jaeger   = "jaeger"
)

// tools are the modules of tools/ that Tool builds, with the packages of each. Prometheus is built without the discovery of
// clouds, which is most of it.
func tools() map[string]map[string]string {
	return map[string]map[string]string{
		Prometheus: {
			Prometheus: "github.com/prometheus/prometheus/cmd/prometheus", Promtool: "github.com/prometheus/prometheus/cmd/promtool",
		},
		Jaeger: {Jaeger: "github.com/jaegertracing/jaeger/cmd/all-in-one"},
	}
}

// Tool finds a program that a module of tools/ pins, and builds the module's first where they are not in the cache: the
// first time that takes minutes, and progress goes to out. Safe to run in several processes at once.
func Tool(ctx context.Context, root, name string, out *os.File) (string, error) {
	for module, programs := range tools() {
		if programs[name] == "" {
			continue
		}
		dir, err := tool(module, programs).build(ctx, root, out)
		return filepath.Join(dir, name), err
	}
	return "", fmt.Errorf("no module of tools has the program %s", name)
}

// Tools builds all that Tool finds.
func Tools(ctx context.Context, root string, out *os.File) error {
	for module, programs := range tools() {
		if _, err := tool(module, programs).build(ctx, root, out); err != nil {
			return err
		}
	}
	return nil
}

func tool(module string, programs map[string]string) kept {
	dir := filepath.Join("tools", module)
	flags := append(aloneFlags("-s -w"), "-tags", "remove_all_sd,netgo")
	names := make([]string, 0, len(programs))
	for name, path := range programs {
		names = append(names, name+"="+path)
	}
	slices.Sort(names)
	return kept{
		name: module, sources: []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")},
		by: strings.Join(append(flags, names...), " "),
		into: func(ctx context.Context, into, root string, out *os.File) error {
			for _, name := range names {
				name, path, _ := strings.Cut(name, "=")
				c := compile{
					dir: filepath.Join(root, dir), packages: []string{path}, flags: flags, target: filepath.Join(into, name), title: name, out: out,
				}
				if err := c.run(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
