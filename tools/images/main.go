// Command images builds Kerf's images without a container engine or a registry: each is a static program, the roots that
// AWS's certificates come from, and a list of what is in it, for amd64 and arm64, as an OCI layout and as archives that
// docker, ctr and kind load. The same tree gives the same bytes.
//
// Start reading at run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// image is what one is made of: the first program is its entrypoint.
type image struct {
	name, what string
	programs   []string // packages of the repository
}

func images() []image {
	return []image{
		{"kerf-planner", "Kerf's planner: it decides", []string{"services/planner/cmd/planner"}},
		{"kerf-watcher", "Kerf's watcher: it sees", []string{"services/watcher/cmd/watcher"}},
		{"kerf-actuator", "Kerf's actuator: it acts", []string{"services/actuator/cmd/actuator"}},
		{"kerf", "Kerf's command line, and its services in one process", []string{"services/kerf/cmd/kerf", "services/kerf/cmd/kerf-up"}},
		{"kerf-awssim", "A simulated AWS, to try Kerf on", []string{"test/awssim/cmd/awssim"}},
	}
}

// options are the command's.
type options struct {
	root, out, version string
	arches, only       []string
	created            time.Time
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var arches, only string
	f := flag.NewFlagSet("images", flag.ContinueOnError)
	f.StringVar(&o.root, "root", "../..", "the repository")
	f.StringVar(&o.out, "out", "../../bin/images", "where images go")
	f.StringVar(&o.version, "version", "dev", "the images' tag, and what the programs say that they are")
	f.StringVar(&arches, "arch", "amd64,arm64", "processors, with commas between")
	f.StringVar(&only, "only", "", "images, with commas between; all if empty")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.arches = strings.Split(arches, ",")
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.created, err = commitTime(ctx, o.root); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { //nolint:gosec // images are no secret
		return err
	}
	for _, img := range images() {
		if len(o.only) > 0 && !slices.Contains(o.only, img.name) {
			continue
		}
		if err := o.build(ctx, img); err != nil {
			return fmt.Errorf("%s: %w", img.name, err)
		}
	}
	return nil
}

// build makes one image for all processors, and writes it.
func (o options) build(ctx context.Context, img image) error {
	began := time.Now()
	built := make([]v1.Image, len(o.arches))
	for i, arch := range o.arches {
		files, err := o.programs(ctx, img, arch)
		if err != nil {
			return err
		}
		if built[i], err = o.assemble(img, arch, files); err != nil {
			return err
		}
	}
	digest, err := o.write(img, built)
	if err != nil {
		return err
	}
	fmt.Printf("%-14s %s  %s (%.0fs)\n", img.name, digest, strings.Join(o.arches, " "), time.Since(began).Seconds())
	return nil
}

// programs compiles an image's programs, as they are released, and returns their files.
func (o options) programs(ctx context.Context, img image, arch string) ([]string, error) {
	dir := filepath.Join(o.out, "programs", arch)
	files := make([]string, len(img.programs))
	for i, program := range img.programs {
		file, err := filepath.Abs(filepath.Join(dir, filepath.Base(program)))
		if err != nil {
			return nil, err
		}
		//nolint:gosec // the packages are those above
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace",
			"-ldflags", "-s -w -X github.com/kerf-dev/kerf/services/internal/boot.version="+o.version, "-o", file, "./"+program)
		cmd.Dir, cmd.Stderr = o.root, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOWORK=", "GOFLAGS=")
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("build %s for %s: %w", program, arch, err)
		}
		files[i] = file
	}
	return files, nil
}

// commitTime is the one time that an image knows.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%cI")
	cmd.Dir = root
	text, err := cmd.Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the last commit: %w", err)
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	return at.UTC(), err
}
