package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// module is what the import paths of all of Kerf's packages begin with.
const module = "github.com/kerf-dev/kerf/"

// source is the repository's Go code, as far as it was asked for.
type source struct {
	root     string
	files    *token.FileSet
	packages map[string]*pkg // by folder
}

// pkg is what a package declares.
type pkg struct {
	dir    string
	types  map[string]declared
	consts map[string]ast.Expr
}

// declared is a type and the file that it is in, whose imports its fields need.
type declared struct {
	pkg  *pkg
	file *ast.File
	name string
	doc  string
	expr ast.Expr
}

func open(root string) *source {
	return &source{root: root, files: token.NewFileSet(), packages: map[string]*pkg{}}
}

// pkg parses the package in a folder.
func (s *source) pkg(dir string) (*pkg, error) {
	if p := s.packages[dir]; p != nil {
		return p, nil
	}
	paths, err := filepath.Glob(filepath.Join(s.root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &pkg{dir: dir, types: map[string]declared{}, consts: map[string]ast.Expr{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(s.files, path, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.declare(file)
	}
	s.packages[dir] = p
	return p, nil
}

func (p *pkg) declare(file *ast.File) {
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				doc := spec.Doc.Text()
				if doc == "" {
					doc = group.Doc.Text()
				}
				p.types[spec.Name.Name] = declared{pkg: p, file: file, name: spec.Name.Name, doc: oneLine(doc), expr: spec.Type}
			case *ast.ValueSpec:
				for i, name := range spec.Names {
					if group.Tok == token.CONST && i < len(spec.Values) {
						p.consts[name.Name] = spec.Values[i]
					}
				}
			}
		}
	}
}

// find is the declaration that a type's name stands for; false for what is not Kerf's.
func (s *source) find(from declared, expr ast.Expr) (declared, bool, error) {
	switch expr := expr.(type) {
	case *ast.Ident:
		d, ok := from.pkg.types[expr.Name]
		return d, ok, nil
	case *ast.SelectorExpr:
		qualifier, ok := expr.X.(*ast.Ident)
		if !ok {
			return declared{}, false, nil
		}
		dir, ok := folder(from.file, qualifier.Name)
		if !ok {
			return declared{}, false, nil
		}
		p, err := s.pkg(dir)
		if err != nil {
			return declared{}, false, err
		}
		d, ok := p.types[expr.Sel.Name]
		if !ok {
			return declared{}, false, fmt.Errorf("%s: no type %s", dir, expr.Sel.Name)
		}
		return d, true, nil
	}
	return declared{}, false, nil
}

// folder is where the package is that a file imports under a name; false for what is not Kerf's.
func folder(file *ast.File, name string) (string, bool) {
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		dir, ours := strings.CutPrefix(path, module)
		if err != nil || !ours {
			continue
		}
		if i.Name != nil && i.Name.Name == name || i.Name == nil && filepath.Base(path) == name {
			return dir, true
		}
	}
	return "", false
}

// constant words a constant of a type's package, or of one that its file imports.
func (s *source) constant(in declared, name string) (string, error) {
	qualifier, base, ok := strings.Cut(name, ".")
	if !ok {
		return s.value(in.pkg, name)
	}
	dir, _ := folder(in.file, qualifier)
	p, err := s.pkg(dir)
	if err != nil {
		return "", err
	}
	return s.value(p, base)
}

// value words a constant as a user would write it: a duration, a size, a number or a text.
func (s *source) value(p *pkg, name string) (string, error) {
	expr, ok := p.consts[name]
	if !ok {
		return "", fmt.Errorf("%s has no constant %s", p.dir, name)
	}
	var text bytes.Buffer
	if err := printer.Fprint(&text, s.files, expr); err != nil {
		return "", err
	}
	number := text.String()
	isTime := strings.Contains(number, "time.")
	for unit, length := range map[string]time.Duration{
		"time.Millisecond": time.Millisecond, "time.Second": time.Second, "time.Minute": time.Minute, "time.Hour": time.Hour,
	} {
		number = strings.ReplaceAll(number, unit, strconv.FormatInt(int64(length), 10))
	}
	v, err := types.Eval(s.files, nil, token.NoPos, number)
	if err != nil {
		return "", fmt.Errorf("%s.%s: %w", p.dir, name, err)
	}
	kind := v.Value.Kind()
	if kind == constant.String {
		return "`" + constant.StringVal(v.Value) + "`", nil
	}
	n, whole := constant.Int64Val(constant.ToInt(v.Value))
	switch {
	case isTime && whole:
		return "`" + short(time.Duration(n)) + "`", nil
	case whole && n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20), nil
	case kind == constant.Int, kind == constant.Float:
		return v.Value.String(), nil
	}
	return "", errors.New(name + " is no value of a config")
}

// short is a duration without the zeros at its end: 1m rather than 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// flags are the flags that a package's main reads, in a table.
func (s *source) flags(dir string) (string, error) {
	file, err := parser.ParseFile(s.files, filepath.Join(s.root, dir, "main.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| flag | what it is |\n|---|---|\n")
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, ok := method.X.(*ast.Ident)
		if !ok || on.Name != "flags" || len(call.Args) != 3 {
			return true
		}
		name, usage := call.Args[0], call.Args[2]
		if method.Sel.Name == "Var" {
			name = call.Args[1]
		}
		value, usageText := "", literal(usage)
		if parts := strings.Split(usageText, "`"); len(parts) == 3 {
			value, usageText = " "+strings.ToUpper(parts[1]), strings.Join(parts, "")
		}
		fmt.Fprintf(&b, "| `-%s%s` | %s |\n", literal(name), value, sentence(usageText))
		return true
	})
	return b.String(), nil
}

func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return lit.Value
	}
	return text
}
