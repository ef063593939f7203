package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// home is a rule that stands in one package of the product and nowhere else: what gives it away, and where it lives.
type home struct {
	what string
	home string
	// imports, literals, phrases and names give the rule away: an import path, a string that code spells out or that is part
	// of one, the name of a function, type, constant or variable that code declares.
	imports           string
	literals, phrases []string
	names             *regexp.Regexp
}

// homes are the guarded rules. The keys of labels are read from the package that holds them.
func homes(pkgs []pkg) []home {
	return []home{
		{what: "cron", home: "services/core/schedule", imports: "github.com/robfig/cron/v3", names: regexp.MustCompile(`(?i)cron`)},
		{what: "label, annotation, taint and finalizer keys", home: "services/core/labels", literals: keys(pkgs)},
		{what: "repair defaults", home: "services/core/model", literals: []string{"AcceleratedHardwareReady"}},
		{
			what: "drift and how long it is paused", home: "services/core/rules",
			phrases: []string{"AMIDrift:", "InstanceTypeNotFound:", "NodeClassDrifted:", "NodePoolDrifted:", "RequirementsDrifted:", "SubnetDrift:"},
			names:   regexp.MustCompile(`(?i)^sameversion$|helduntil|(first|longest)hold`),
		},
		{
			what: "how Kubernetes' requirements are read", home: "services/internal/kubeapi/reader",
			literals: []string{"values: want one whole number"},
		},
		{what: "the requirement algebra", home: "services/core/require", names: regexp.MustCompile(`^(Intersect|SubsetOf|AllowsAbsent)$`)},
	}
}

// keys are the values of the constants of core/labels that are keys.
func keys(pkgs []pkg) []string {
	var found []string
	values := map[string]string{}
	for _, p := range pkgs {
		if p.path != "services/core/labels" {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST && !f.test {
					constants(d, values)
				}
			}
		}
	}
	for _, v := range values {
		if strings.Contains(v, "/") {
			found = append(found, v)
		}
	}
	slices.Sort(found)
	return found
}

func constants(d *ast.GenDecl, values map[string]string) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range s.Names {
			if i < len(s.Values) {
				values[name.Name] = text(s.Values[i], values)
			}
		}
	}
}

// text is the value of a string expression: a literal, a known constant, or a sum of such.
func text(e ast.Expr, values map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return s
	case *ast.Ident:
		return values[e.Name]
	case *ast.BinaryExpr:
		return text(e.X, values) + text(e.Y, values)
	}
	return ""
}

// strays are the places of the product where the rule stands outside its home.
func (h home) strays(pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		if p.path == h.home || !strings.HasPrefix(p.path, "services/") || strings.HasSuffix(p.path, "test") {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, sign := range h.signs(f) {
				found = append(found, fmt.Sprintf("%s of %s, whose home is %s", sign, h.what, h.home))
			}
		}
	}
	return found
}

// lived says whether the home has what gives the rule away.
func (h home) lived(pkgs []pkg) bool {
	return slices.ContainsFunc(pkgs, func(p pkg) bool {
		return p.path == h.home && slices.ContainsFunc(p.files, func(f file) bool { return !f.test })
	})
}

// signs are what gives the rule away in a file.
func (h home) signs(f file) []string {
	var found []string
	for _, imp := range f.names {
		if h.imports != "" && imp == h.imports {
			found = append(found, f.path+" imports "+imp+":")
		}
	}
	if h.names != nil {
		for _, id := range declared(f.ast) {
			if h.names.MatchString(id.Name) {
				found = append(found, fmt.Sprintf("%s:%d %s sounds like the rule", f.path, f.line(id), id.Name))
			}
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s := text(lit, nil)
			part := func(phrase string) bool { return strings.Contains(s, phrase) }
			if slices.Contains(h.literals, s) || slices.ContainsFunc(h.phrases, part) {
				found = append(found, fmt.Sprintf("%s:%d spells out %q", f.path, f.line(lit), s))
			}
		}
		return true
	})
	return found
}
