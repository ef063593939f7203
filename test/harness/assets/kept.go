package assets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// kept is a folder of the cache: built once from its sources, then found.
type kept struct {
	name    string
	sources []string // files that decide what is built, relative to the repository's root
	by      string   // what decides beside them, such as flags
	into    func(ctx context.Context, dir, root string, out *os.File) error
	usable  func(dir string) bool // nil for: whenever it is there
}

// dir is where the folder is: $KERF_CACHE (or root/.cache)/NAME-HASH. It exists only if it is whole.
func (k kept) dir(root string) (string, error) {
	base := os.Getenv("KERF_CACHE")
	if base == "" {
		base = filepath.Join(root, ".cache")
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return "", fmt.Errorf("cache folder: %w", err)
	}
	key, err := k.hash(root)
	if err != nil {
		return "", err
	}
	return filepath.Join(base, k.name+"-"+key), nil
}

// hash names what is built: the sources, the flags, the compiler and the machine that it is for.
func (k kept) hash(root string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH, k.by)
	for _, name := range k.sources {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", fmt.Errorf("hash the sources of %s: %w", k.name, err)
		}
		fmt.Fprintln(h, name, len(content))
		h.Write(content)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// build makes the folder unless it is there, and returns its path. One process builds; the others wait.
func (k kept) build(ctx context.Context, root string, out *os.File) (string, error) {
	dir, err := k.dir(root)
	if err != nil || k.found(dir) {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := lock(dir+".lock", out)
	if err != nil {
		return "", err
	}
	defer unlock()
	if k.found(dir) { // another process built it while this one waited
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("make %s anew: %w", k.name, err)
	}
	return dir, k.whole(ctx, dir, root, out)
}

func (k kept) found(dir string) bool { return exists(dir) && (k.usable == nil || k.usable(dir)) }

// whole builds beside dir and renames, so that dir is whole or not there.
func (k kept) whole(ctx context.Context, dir, root string, out *os.File) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return fmt.Errorf("make the build folder: %w", err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // gone already after the rename; a leftover is only litter
	if err := k.into(ctx, tmp, root, out); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("put %s in place: %w", k.name, err)
	}
	return nil
}
