// Command layout takes out the blank lines before returns, which gofumpt leaves to taste: one dialect for all services. It
// rewrites the Go files of the folders that it is given, generated ones and testdata aside; `make fmt` calls it.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	for _, dir := range os.Args[1:] {
		if err := tidy(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func tidy(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		tight, err := tighten(name, source)
		if err != nil || bytes.Equal(tight, source) {
			return err
		}
		return root.WriteFile(name, tight, 0o644)
	})
}

// tighten removes the blank lines between a return and what stands before it.
func tighten(name string, source []byte) ([]byte, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return source, nil
	}
	lines := bytes.SplitAfter(source, []byte("\n"))
	var blank []int
	ast.Inspect(tree, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok {
			return true
		}
		at := fset.Position(r.Pos())
		if len(bytes.TrimSpace(lines[at.Line-1][:at.Column-1])) > 0 {
			return true // the return of a function on one line; the blank line stands between functions
		}
		for i := at.Line - 2; i > 0 && len(bytes.TrimSpace(lines[i])) == 0; i-- {
			blank = append(blank, i)
		}
		return true
	})
	slices.Sort(blank)
	for _, i := range slices.Backward(blank) {
		lines = slices.Delete(lines, i, i+1)
	}
	return bytes.Join(lines, nil), nil
}
