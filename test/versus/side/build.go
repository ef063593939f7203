package side

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

const (
	karpenterProgram = "karpenter"
	karpenterModule  = "sigs.k8s.io/karpenter"
	karpenterFlags   = "-s -w"
)

// crdFolders are where Karpenter's module keeps the definitions of its objects (Apache-2.0). They are read from there at
// build time, so that they always fit the program beside them.
func crdFolders() []string { return []string{"pkg/apis/crds", "kwok/apis/crds"} }

// Build makes what Start of these sides needs, where it is not there yet. Progress goes to out.
func Build(ctx context.Context, names []string, out *os.File) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	if err := stack.BuildReleased(ctx, root, out); err != nil { // for the bound, and the control plane, on either side
		return err
	}
	for _, name := range names {
		if name == Karpenter {
			if err := buildKarpenter(ctx, root, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// karpenterDir is the folder that holds the program and its definitions, once they are built. It lies beside the control
// plane's and is named by what goes into it.
func karpenterDir(root string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH, karpenterFlags)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, "test", "versus", "karpenter", name))
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	cache, err := assets.Dir(root)
	return filepath.Join(filepath.Dir(cache), "karpenter-"+hex.EncodeToString(h.Sum(nil))[:12]), err
}

func findKarpenter(root string) (string, error) {
	dir, err := karpenterDir(root)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("karpenter is not built: %w", err)
	}
	return dir, nil
}

// buildKarpenter builds beside the folder and renames, so that it is whole or not there.
func buildKarpenter(ctx context.Context, root string, out *os.File) error {
	dir, err := karpenterDir(root)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	fmt.Fprintln(out, "  building Karpenter's kwok provider (minutes, once)")
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // gone already after the rename
	module := filepath.Join(root, "test", "versus", "karpenter")
	_, err = goTool(ctx, module, "build", "-trimpath", "-buildvcs=false", "-ldflags", karpenterFlags,
		"-o", filepath.Join(tmp, karpenterProgram), karpenterModule+"/kwok")
	if err != nil {
		return err
	}
	source, err := goTool(ctx, module, "list", "-m", "-f", "{{.Dir}}", karpenterModule)
	if err != nil {
		return err
	}
	if err := copyDefinitions(strings.TrimSpace(source), filepath.Join(tmp, "crds")); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

func copyDefinitions(source, target string) error {
	if err := os.Mkdir(target, 0o750); err != nil {
		return err
	}
	for _, folder := range crdFolders() {
		files, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(folder), "*.yaml"))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("no definitions in %s of %s", folder, karpenterModule)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(target, filepath.Base(file)), text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// goTool runs the go command in Karpenter's module, by that module's versions alone.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are this file's
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(exit.Stderr))
	}
	return string(out), err
}
