package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed requirements.txt
var requirements []byte

// pythonEnv is a Python environment with the packages of requirements.txt.
type pythonEnv struct {
	dir, python string
	data        string // botocore's models
}

// python makes the environment, once, where the control plane is kept: $KERF_CACHE or .cache.
func python(ctx context.Context, root string, out io.Writer) (pythonEnv, error) {
	base := os.Getenv("KERF_CACHE")
	if base == "" {
		base = filepath.Join(root, ".cache")
	}
	dir := filepath.Join(base, fmt.Sprintf("conformance-%x", sha256.Sum256(requirements))[:28])
	env := pythonEnv{dir: dir, python: filepath.Join(dir, "bin", "python")}
	whole := filepath.Join(dir, "whole")
	if _, err := os.Stat(whole); err != nil {
		fmt.Fprintln(out, "making a Python environment in", dir)
		if err := env.install(ctx); err != nil {
			return env, err
		}
		if err := os.WriteFile(whole, nil, 0o600); err != nil {
			return env, err
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages", "botocore", "data"))
	if err != nil || len(found) != 1 {
		return env, fmt.Errorf("%s has %d copies of botocore's models: remove it", dir, len(found))
	}
	env.data = found[0]
	return env, nil
}

func (e pythonEnv) install(ctx context.Context) error {
	system, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("there is no python3: install Python 3.10 or later, with venv")
	}
	if said, err := exec.CommandContext(ctx, system, "-m", "venv", "--clear", e.dir).CombinedOutput(); err != nil { //nolint:gosec // a folder of ours
		return fmt.Errorf("python3 -m venv: %w: Python 3.10 or later with venv is needed (python3-venv on Debian)\n%s", err, said)
	}
	file := filepath.Join(e.dir, "requirements.txt")
	if err := os.WriteFile(file, requirements, 0o600); err != nil {
		return err
	}
	pip := exec.CommandContext(ctx, e.python, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "-r", file) //nolint:gosec // a folder of ours
	if said, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("pip install: %w: moto and botocore come from PyPI, or from the index that pip is configured with; is it in reach?\n%s", err, said)
	}
	return nil
}
