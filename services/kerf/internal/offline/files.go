// Package offline reads what a dry run is made from: Kubernetes manifests or a saved snapshot, from files, directories or
// standard input.
//
// It opens files and nothing else: no connection, no credentials, no clock. What the manifests mean is package convert's
// matter, and what to do about it the planner's. Every error names the file. Start reading at Load.
package offline

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
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
	// Found says that the user named a directory, and not the file: it may be something else than manifests.
	Found bool
}

// Read reads files in the order given. A directory stands for the .yaml, .yml and .json files in it and below it,
// sorted, hidden ones left out; "-" stands for stdin. What gzip has compressed is unpacked. Nothing to read is an
// error, and so is a named file without content.
func Read(paths []string, stdin io.Reader) ([]File, error) {
	var names []string
	found := map[string]bool{}
	for _, p := range paths {
		expanded, isDir, err := expand(p)
		if err != nil {
			return nil, err
		}
		names = append(names, expanded...)
		for _, n := range expanded {
			found[n] = isDir
		}
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
		f.Found = found[name]
		if len(bytes.TrimSpace(f.Data)) == 0 {
			if f.Found {
				continue
			}
			return nil, fmt.Errorf("%s is empty", f.Name)
		}
		if total += len(f.Data); total > maxTotalBytes {
			return nil, fmt.Errorf("the files are larger than %d MiB together", maxTotalBytes>>20)
		}
		out = append(out, f)
	}
	return out, nil
}

// expand lists the files that a path stands for.
func expand(path string) (files []string, isDir bool, err error) {
	if path == "" {
		return nil, false, errors.New("a file name is empty")
	}
	if path == Stdin {
		return []string{path}, false, nil
	}
	if strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://") {
		return nil, false, fmt.Errorf("%s: kerf reads files only: curl -sSL %s | kerf plan -f -", path, path)
	}
	info, err := os.Stat(path)
	if problem, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, false, fmt.Errorf("%s: %w", path, problem.Err)
	}
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return []string{path}, false, nil
	}
	err = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at != path && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir():
		case slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(e.Name()))):
			if files = append(files, at); len(files) > maxFiles {
				return fmt.Errorf("%s holds more than %d files", path, maxFiles)
			}
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: the directory has no manifests: no .yaml, .yml or .json file is in it or below it", path)
	}
	return files, true, err
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
	data, err := readAll(from)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", shown, err)
	}
	if len(data) > maxFileBytes {
		return File{}, fmt.Errorf("%s is larger than %d MiB", shown, maxFileBytes>>20)
	}
	return File{Name: shown, Data: utf8Of(data)}, nil
}

// readAll reads up to a byte more than may be read, of what is compressed what it was made of.
func readAll(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxFileBytes+1))
	if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) { // gzip's mark
		return data, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxFileBytes+1))
}

// utf8Of is a text as UTF-8. Shells of Windows write what kubectl prints as UTF-16, which begins with a mark of its order.
func utf8Of(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return data
	}
	const size = 2
	units := make([]uint16, 0, len(data)/size)
	for rest := data[size:]; len(rest) >= size; rest = rest[size:] {
		units = append(units, order.Uint16(rest))
	}
	return []byte(string(utf16.Decode(units)))
}
