package assets

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tags are those that all of Kerf is built with: gRPC's list of traces is a page of html/template, which makes the
// linker keep each exported method of each type. stripped programs have no symbols and nothing for debuggers.
const (
	tags     = "grpcnotrace"
	stripped = "-s -w"
)

// version is the Kubernetes release in test/controlplane/go.mod. The stock build stamps it in; without it the API server
// calls itself v0.0.0 and kubectl complains about version skew.
const version = "v1.37.1"

const ldflags = stripped + " -X k8s.io/component-base/version.gitVersion=" + version +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37" +
	" -X k8s.io/component-base/version.gitTreeState=clean"

// stageFiles are the stages that kwok's own tool loads by default, within kwok's module (Apache-2.0). They are read from
// there at build time so that they always fit the kwok beside them.
func stageFiles() []string {
	return []string{
		"node/fast/node-initialize.yaml",
		"node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
		"pod/fast/pod-ready.yaml",
		"pod/fast/pod-complete.yaml",
		"pod/fast/pod-delete.yaml",
	}
}

// Build makes the set that Find finds, unless it is there already, and finds it. Progress goes to out: a line that
// renews itself on a terminal, else a line now and then. Safe to run in several processes at once: one builds,
// the others wait and use what it built. A stopped build leaves nothing but what the Go build cache has learned.
func Build(ctx context.Context, root string, out *os.File) (Set, error) {
	if set, err := Find(root); err == nil {
		return set, nil
	}
	if _, err := controlplane().build(ctx, root, out); err != nil {
		return Set{}, err
	}
	return Find(root)
}

// controlplane is what Build keeps.
func controlplane() kept {
	return kept{
		name: "controlplane", sources: sources(), by: ldflags + " " + strings.Join(stageFiles(), " "), into: buildInto,
		usable: func(dir string) bool { // what was linked from this machine may be gone
			_, err := find(dir)
			return err == nil
		},
	}
}

// buildInto gets etcd and Kubernetes the quickest way that there is, and builds what is left.
func buildInto(ctx context.Context, tmp, root string, out *os.File) error {
	c := compile{
		dir: filepath.Join(root, "test", "controlplane"), packages: []string{"sigs.k8s.io/kwok/cmd/kwok"}, flags: sharedFlags(ldflags),
		target: tmp + string(filepath.Separator), title: "kwok (simulated kubelets)", out: out, shared: true,
	}
	switch there, err := ready(ctx, tmp, out); {
	case err != nil:
		return err
	case len(there) == 0:
		// One command, so that what both programs need is compiled once, and the linker of one runs beside the compiler.
		c.packages, c.title = append(c.packages, "."), "etcd, Kubernetes "+version+" and kwok"
		for _, name := range links() {
			if err := os.Symlink(multicall, filepath.Join(tmp, name)); err != nil {
				return fmt.Errorf("link %s: %w", name, err)
			}
		}
	case !slices.Contains(there, Etcd):
		// Kerf has etcd in it, so that nearly all of it is compiled for Kerf anyway.
		c.packages, c.title = append(c.packages, "go.etcd.io/etcd/server/v3"), "etcd "+etcdVersion+" and kwok"
	}
	if err := c.run(ctx); err != nil {
		return err
	}
	if built := filepath.Join(tmp, "server"); exists(built) { // go calls etcd's program as its folder is called
		if err := os.Rename(built, filepath.Join(tmp, Etcd)); err != nil {
			return fmt.Errorf("name etcd: %w", err)
		}
	}
	return writeStages(ctx, c, filepath.Join(tmp, Stages))
}

// ready are the programs that need not be built: they are on this machine, or were fetched. All others are not in tmp.
func ready(ctx context.Context, tmp string, out *os.File) ([]string, error) {
	switch unfit, err := installed(ctx, tmp, links()); {
	case err != nil:
		return nil, err
	case unfit == "":
		fmt.Fprintln(out, "  etcd and Kubernetes: those that are installed")
		return links(), nil
	case os.Getenv(userAssets) != "":
		fmt.Fprintf(out, "  not those of %s or PATH: %s\n", userAssets, unfit)
	}
	if os.Getenv(noDownload) == "off" {
		return nil, nil
	}
	kubernetes := slices.DeleteFunc(links(), func(name string) bool { return name == Etcd })
	err := newDownload(out).fetch(ctx, tmp, kubernetes)
	if err == nil {
		return kubernetes, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	fmt.Fprintf(out, "  no released Kubernetes (%v): building it\n", err)
	for _, name := range kubernetes {
		_ = os.Remove(filepath.Join(tmp, name)) // what there is of them
	}
	return nil, nil
}

// writeStages joins kwok's stage files into the one that is passed to it.
func writeStages(ctx context.Context, kwok compile, target string) error {
	src, err := kwok.goTool(ctx, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").Output()
	if err != nil {
		return fmt.Errorf("find kwok's stages: %w", explain(err))
	}
	var all bytes.Buffer
	fmt.Fprintln(&all, "# From kwok's module, kustomize/stage (Apache-2.0, The Kubernetes Authors).")
	for _, name := range stageFiles() {
		stage, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(src)), "kustomize", "stage", name))
		if err != nil {
			return fmt.Errorf("read kwok's stages: %w", err)
		}
		fmt.Fprintf(&all, "---\n# %s\n%s\n", name, bytes.TrimSpace(stage))
	}
	if err := os.WriteFile(target, all.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write kwok's stages: %w", err)
	}
	return nil
}

// Programs builds Kerf's own programs, given by their packages, from the working tree into dir. Progress goes to out, as
// with Build; nothing does when all is up to date.
func Programs(ctx context.Context, root, dir string, out *os.File, packages ...string) error {
	// With the tag that releases are built with, and go test's flags beside it, so that most of what a test has
	// compiled is not compiled again.
	c := compile{dir: root, packages: packages, flags: []string{"-tags", tags}, target: dir + string(filepath.Separator), title: "Kerf", out: out, workspace: true}
	return c.run(ctx)
}

// Released builds programs as Programs does, and as releases have them: static and stripped. What is measured of
// programs is measured of these. tools/images and the Dockerfile, which can't ask here, have the same flags.
func Released(ctx context.Context, root, dir string, out *os.File, packages ...string) error {
	c := compile{
		dir: root, packages: packages, flags: []string{"-trimpath", "-tags", tags, "-ldflags", stripped}, target: dir + string(filepath.Separator),
		title: "Kerf, as it is released", out: out, workspace: true, static: true,
	}
	return c.run(ctx)
}

// ReleasedDir is where programs lie that Released built, of the repository in root.
func ReleasedDir(root string) string { return filepath.Join(root, "bin", "release") }

// compile is one call of go build.
type compile struct {
	dir       string   // where go runs
	packages  []string // of main programs
	flags     []string // that decide what is stale
	target    string   // a file, or a folder with a slash at its end
	title     string
	out       *os.File
	workspace bool // else the versions of the module in dir alone count: Kubernetes' own must not meet Kerf's
	shared    bool // with the environment that Kerf is built with, outside of the workspace
	static    bool // in the workspace, without cgo
}

// sharedFlags are those that Kerf's own programs are built with, but for the linker: what Kubernetes and Kerf both
// need, at the same versions, is compiled once.
func sharedFlags(ldflags string) []string {
	return []string{"-tags", tags, "-ldflags", ldflags}
}

// aloneFlags make small programs that are the same wherever they are built.
func aloneFlags(ldflags string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", ldflags}
}

// run compiles and shows how far it is.
func (c compile) run(ctx context.Context) error {
	total, err := c.stale(ctx)
	if err != nil {
		return err
	}
	if total == 0 && c.workspace { // nothing to show, but perhaps to link
		if out, err := c.goTool(ctx, c.args("build", "-o", c.target)...).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", c.title, err, bytes.TrimSpace(out))
		}
		return nil
	}
	p := startProgress(c.out, c.title, total)
	cmd := c.goTool(ctx, c.args("build", "-v", "-o", c.target)...)
	diag, err := c.watch(cmd, p.done.Add)
	p.stop(err == nil)
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", c.title, err, diag)
	}
	return nil
}

// stale counts the packages that are not in the Go build cache yet, without the programs themselves, which go calls stale
// as long as they are not installed; on a fresh machine it also fetches the modules.
func (c compile) stale(ctx context.Context) (int, error) {
	p := startProgress(c.out, c.title+": fetching modules", 0)
	cmd := c.goTool(ctx, c.args("list", "-deps", "-f", `{{if and .Stale (ne .Name "main")}}{{.ImportPath}}{{end}}`)...)
	var list bytes.Buffer
	cmd.Stdout = &list
	diag, err := c.watch(cmd, p.done.Add)
	p.stop(false)
	if err != nil {
		return 0, fmt.Errorf("list the packages of %s: %w\n%s", c.title, err, diag)
	}
	return len(strings.Fields(list.String())), nil
}

// args are a command of the go tool with its flags and packages.
func (c compile) args(command ...string) []string {
	return slices.Concat(command, c.flags, c.packages)
}

// watch runs cmd and calls step(1) for each line that it writes to its standard error that names a package or module;
// what else it writes (compiler errors) is returned.
func (c compile) watch(cmd *exec.Cmd, step func(int64) int64) (string, error) {
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var diag strings.Builder
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); strings.Contains(line, " ") && !strings.HasPrefix(line, "go: downloading ") {
			fmt.Fprintln(&diag, line)
			continue
		}
		step(1)
	}
	_, _ = io.Copy(io.Discard, pipe) // a line beyond the scanner's limit must not block the compiler
	return diag.String(), cmd.Wait()
}

func (c compile) goTool(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are this file's
	cmd.Dir = c.dir
	switch {
	case c.shared:
		cmd.Env = append(os.Environ(), "GOWORK=off")
	case c.static:
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	case !c.workspace:
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	}
	return cmd
}

// explain adds what a failed command wrote to its standard error.
func explain(err error) error {
	if exit, ok := err.(*exec.ExitError); ok && len(exit.Stderr) > 0 { //nolint:errorlint // straight from exec, never wrapped
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
