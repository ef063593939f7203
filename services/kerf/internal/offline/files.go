// Package offline reads what a dry run is made from: Kubernetes manifests or a saved snapshot, from files, directories or
// standard input.
//
// It opens files and nothing else: no connection, no credentials, no clock. What the manifests mean is package convert's
// matter, and what to do about it the planner's. Every error names the file. Start reading at Load.
package offline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what is read.
const (
	maxFileBytes  = 256 << 20
	maxTotalBytes = 512 << 20
	maxFiles      = 10_000
)

// Stdin is the name that stands for standard input.
const Stdin = "-"

// File is a file's content. Its name is as the user wrote it, or "standard input".
type File struct {
	Name string
	Data []byte
}

// Read reads files in the order given. A directory stands for the .yaml, .yml and .json files right in it, sorted; "-"
// stands for stdin. Nothing to read is an error, and so is a file without content.
func Read(paths []string, stdin io.Reader) ([]File, error) {
	var names []string
	for _, p := range paths {
		expanded, err := expand(p)
		if err != nil {
			return nil, err
		}
		names = append(names, expanded...)
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("%d files: want at most %d", len(names), maxFiles)
	}
	var out []File
	var total int
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return nil, fmt.Errorf("%s is named twice", name)
		}
		seen[name] = true
		f, err := readOne(name, stdin)
		if err != nil {
			return nil, err
		}
		if total += len(f.Data); total > maxTotalBytes {
			return nil, fmt.Errorf("the files are larger than %d MiB together", maxTotalBytes>>20)
		}
		out = append(out, f)
	}
	return out, nil
}

// expand lists the files that a path stands for.
func expand(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("a file name is empty")
	}
	if path == Stdin {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(e.Name()))) {
			out = append(out, filepath.Join(path, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the directory has no manifests: no .yaml, .yml or .json file is right in it", path)
	}
	return out, nil
}

func readOne(name string, stdin io.Reader) (File, error) {
	from, shown := stdin, "standard input"
	if name != Stdin {
		f, err := os.Open(name)
		if err != nil {
			return File{}, err
		}
		defer f.Close() //nolint:errcheck // opened for reading only
		from, shown = f, name
	}
	data, err := io.ReadAll(io.LimitReader(from, maxFileBytes+1))
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", shown, err)
	}
	if len(data) > maxFileBytes {
		return File{}, fmt.Errorf("%s is larger than %d MiB", shown, maxFileBytes>>20)
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return File{}, fmt.Errorf("%s is empty", shown)
	}
	return File{Name: shown, Data: data}, nil
}
