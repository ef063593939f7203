// Command layout is what gofumpt leaves to taste, so that all services speak one dialect: no blank line before a return,
// and comments that are wrapped. It rewrites the Go files of the folders that it is given, generated ones and testdata
// aside; with -check it names those that it would rewrite, and fails. `make fmt` and `make format` call it.
package main

import (
	"bytes"
	"flag"
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
	check := flag.Bool("check", false, "name the files that are not tidy, and fail")
	flag.Parse()
	untidy := false
	for _, dir := range flag.Args() {
		err := walk(dir, func(root *os.Root, name string, tidied []byte) error {
			if *check {
				untidy = true
				_, err := fmt.Println(path.Join(dir, name))
				return err
			}
			return root.WriteFile(name, tidied, 0o644)
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if untidy {
		os.Exit(1)
	}
}

// walk gives fix each file below a folder that is not tidy, with what it should be.
func walk(dir string, fix func(root *os.Root, name string, tidied []byte) error) error {
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
		tidied, err := tidy(name, source)
		if err != nil || bytes.Equal(tidied, source) {
			return err
		}
		return fix(root, name, tidied)
	})
}

// tidy is a file as it should be.
func tidy(name string, source []byte) ([]byte, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return source, nil
	}
	lines := strings.SplitAfter(string(source), "\n")
	edits := append(blankBeforeReturns(lines, fset, tree), longComments(lines, fset, tree)...)
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	for _, e := range slices.Backward(edits) {
		lines = slices.Replace(lines, e.from, e.to, e.now...)
	}
	return []byte(strings.Join(lines, "")), nil
}

// edit is what stands in the place of some lines, each with its end; lines are counted from 0, and to is the first that
// stays.
type edit struct {
	from, to int
	now      []string
}

// blankBeforeReturns takes out the blank lines between a return and what stands before it.
func blankBeforeReturns(lines []string, fset *token.FileSet, tree *ast.File) []edit {
	var edits []edit
	ast.Inspect(tree, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok {
			return true
		}
		at := fset.Position(r.Pos())
		if strings.TrimSpace(lines[at.Line-1][:at.Column-1]) != "" {
			return true // the return of a function on one line; the blank line stands between functions
		}
		end := at.Line - 1
		begin := end
		for begin > 1 && strings.TrimSpace(lines[begin-1]) == "" {
			begin--
		}
		if begin < end {
			edits = append(edits, edit{from: begin, to: end})
		}
		return true
	})
	return edits
}
