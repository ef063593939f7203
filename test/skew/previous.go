// Package skew holds the promise that services of two releases next to each other work together, whichever is upgraded
// first, and that an upgrade can be taken back: it runs programs of the previous release beside those of the working
// tree, on one cluster and one etcd.
//
// Start reading at TestServicesOfTwoReleasesWorkTogether; then Previous, for what the previous release is.
package skew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kerf-dev/kerf/test/harness/assets"
)

// ErrNoHistory is in the chain of Previous's error where there is no older commit to compare with.
var ErrNoHistory = errors.New("no older commit is here: this is a shallow clone, or none at all")

// baseline is the contract of the last release: `make proto` lets nothing in that breaks its callers.
const baseline = "proto/released/kerf.binpb"

// Previous is the commit of the previous release: the last tag before HEAD, or, while there is none, the commit at
// which the contract was last said to be the released one.
func Previous(ctx context.Context, root string) (string, error) {
	if tag, err := git(ctx, root, "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"); err == nil {
		return git(ctx, root, "rev-parse", tag+"^{commit}")
	}
	head, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return "", errors.Join(ErrNoHistory, err)
	}
	commit, err := git(ctx, root, "log", "-1", "--format=%H", "--", baseline)
	if err == nil && commit != "" && commit != head {
		return commit, nil
	}
	if commit, err = git(ctx, root, "rev-parse", "--verify", "--quiet", "HEAD^"); err != nil {
		return "", errors.Join(ErrNoHistory, err)
	}
	return commit, nil
}

// Release is what there is of a commit: a folder with the three services' programs, and the folder crds in it.
func Release(ctx context.Context, root, commit string) (string, error) {
	controlplane, err := assets.Dir(root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(controlplane), "release-"+commit[:12])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "release-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a folder that is left over harms nothing
	src, out := filepath.Join(work, "src"), filepath.Join(work, "out")
	if err := CheckOut(ctx, root, commit, src); err != nil {
		return "", err
	}
	if _, err := run(ctx, src, nil, "go", "build", "-buildvcs=false", "-tags", "grpcnotrace", "-o", out+string(filepath.Separator),
		"./services/planner/cmd/planner", "./services/watcher/cmd/watcher", "./services/actuator/cmd/actuator"); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(src, "deploy", "crds"), filepath.Join(out, "crds")); err != nil {
		return "", err
	}
	return dir, os.Rename(out, dir) // there whole, or not at all
}

// CheckOut writes the files of a commit into a folder.
func CheckOut(ctx context.Context, root, commit, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	files, err := run(ctx, root, nil, "git", "archive", "--format=tar", commit)
	if err != nil {
		return err
	}
	_, err = run(ctx, dir, files, "tar", "-x")
	return err
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := run(ctx, root, nil, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// run runs a program in a folder and returns what it writes.
func run(ctx context.Context, dir string, stdin []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // go, git and tar, of this file
	var problems bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(stdin), &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, problems.Bytes())
	}
	return out, nil
}
