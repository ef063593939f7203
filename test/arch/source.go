package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// pkg is one folder with Go files; its path is relative to the repository.
type pkg struct {
	path  string
	files []file
}

// file is one parsed Go file. names maps the name under which a package is known in it to that package's import path.
type file struct {
	path  string
	test  bool
	lines int
	ast   *ast.File
	fset  *token.FileSet
	names map[string]string
}

// imports are the different import paths of the package, sorted, with those of its tests or without.
func (p pkg) imports(tests bool) []string {
	var paths []string
	for _, f := range p.files {
		if f.test && !tests {
			continue
		}
		for _, imp := range f.names {
			paths = append(paths, imp)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (f file) line(n ast.Node) int    { return f.fset.Position(n.Pos()).Line }
func (f file) endLine(n ast.Node) int { return f.fset.Position(n.End()).Line }

// load parses every hand-written Go file of the repository, sorted by folder. Generated code follows its generator, and
// modules outside the workspace are tools, not Kerf.
func load(repo fs.FS) ([]pkg, error) {
	found := map[string]*pkg{}
	err := fs.WalkDir(repo, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if foreign(repo, name) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(repo, name)
		if err != nil || f == nil {
			return err
		}
		dir := path.Dir(name)
		if found[dir] == nil {
			found[dir] = &pkg{path: dir}
		}
		found[dir].files = append(found[dir].files, *f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the repository: %w", err)
	}
	pkgs := make([]pkg, 0, len(found))
	for _, p := range found {
		pkgs = append(pkgs, *p)
	}
	slices.SortFunc(pkgs, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return pkgs, nil
}

// foreign says whether a folder holds nothing of the workspace's: hidden, test data, or a module that go.work leaves out.
func foreign(repo fs.FS, dir string) bool {
	base := path.Base(dir)
	if dir != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
		return true
	}
	if _, err := fs.Stat(repo, path.Join(dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	work, err := fs.ReadFile(repo, "go.work")
	return err != nil || !slices.Contains(strings.Fields(string(work)), "./"+dir)
}

// parse reads one file; nil is one that a generator wrote.
func parse(repo fs.FS, name string) (*file, error) {
	text, err := fs.ReadFile(repo, name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return nil, nil
	}
	f := &file{
		path: name, test: strings.HasSuffix(name, "_test.go"), lines: bytes.Count(text, []byte("\n")), ast: tree, fset: fset,
		names: map[string]string{},
	}
	for i, spec := range tree.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		known := path.Base(imp)
		if spec.Name != nil {
			known = spec.Name.Name
		}
		if known == "_" || known == "." || f.names[known] != "" { // keep each import, though nothing selects from it
			known = strconv.Itoa(i)
		}
		f.names[known] = imp
	}
	return f, nil
}

// standard says whether an import path is of the standard library: those have no dot in their first element.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}
