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
	// imports, literals, phrases and names give the rule away: an import path, a string that code spells out or that is
	// part of one, the name of a function, type, constant or variable that code declares. What the home itself does not
	// have guards nothing.
	imports           string
	literals, phrases []string
	names             []*regexp.Regexp
	// sounds are names that give the rule away too, and that the home itself has no need of.
	sounds []*regexp.Regexp
}

// named are patterns of names.
func named(patterns ...string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		out[i] = regexp.MustCompile(p)
	}
	return out
}

// keysHome is the package of all keys.
const keysHome = "services/core/labels"

// homes are the guarded rules. The keys of labels are read from the package that holds them.
func homes(pkgs []pkg) []home {
	return []home{
		{what: "cron", home: "services/core/schedule", imports: "github.com/robfig/cron/v3", sounds: named(`(?i)cron`)},
		{what: "label, annotation, taint and finalizer keys", home: keysHome, literals: keys(pkgs)},
		{
			what: "the ids of capacity buffers' pods", home: "services/core/model",
			literals: []string{"buffer/", "buffer0"}, names: named(`^Virtual$`),
		},
		{what: "repair defaults", home: "services/core/model", literals: []string{"AcceleratedHardwareReady"}},
		{
			what: "drift and how long it is paused", home: "services/core/rules",
			phrases: []string{"AMIDrift:", "InstanceTypeNotFound:", "NodeClassDrifted:", "NodePoolDrifted:", "RequirementsDrifted:", "SubnetDrift:"},
			names:   named(`(?i)^sameversion$`, `(?i)^(first|longest)pause$`),
		},
		{
			what: "which pods rest", home: "services/core/rules",
			phrases: []string{"was moved a short time ago"}, names: named(`^NewMoves$`, `^lateness$`, `^successors$`),
		},
		{
			what: "how Kubernetes' requirements are read", home: "services/internal/kubeapi/reader",
			literals: []string{"values: want one whole number"},
		},
		{what: "the requirement algebra", home: "services/core/require", names: named(`^Intersect$`, `^SubsetOf$`, `^AllowsAbsent$`)},
		{
			what: "whose nomination a pod has", home: "services/internal/kubeapi/reader",
			literals: []string{"kerf-actuator"}, phrases: []string{"f:nominatedNodeName"},
		},
		{
			what: "AWS's error codes", home: "services/actuator/internal/awserror",
			literals: []string{
				"InsufficientInstanceCapacity", "RequestLimitExceeded", "ThrottlingException", "UnauthorizedOperation", "NoSuchEntity",
				"ResourceNotFoundException", "ParameterNotFound", "IdempotentParameterMismatch", "VcpuLimitExceeded",
			},
		},
	}
}

// keys are the values of the constants of core/labels that are keys.
func keys(pkgs []pkg) []string {
	var found []string
	values := map[string]string{}
	for _, p := range pkgs {
		if p.path != keysHome {
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

// idle are the signs that the home itself does not have: what is found by them was renamed, or is gone.
func (h home) idle(pkgs []pkg) []string {
	var found []string
	missing := func(one home, sign string) {
		one.home = h.home
		lives := func(p pkg) bool {
			return p.path == h.home && slices.ContainsFunc(p.files, func(f file) bool { return !f.test && len(one.signs(f)) > 0 })
		}
		if !slices.ContainsFunc(pkgs, lives) {
			found = append(found, fmt.Sprintf("%s: %s has no %s, so that nothing is guarded by it", h.what, h.home, sign))
		}
	}
	if h.imports != "" {
		missing(home{imports: h.imports}, "import of "+h.imports)
	}
	for _, l := range h.literals {
		if h.home != keysHome { // keys are sums of constants there
			missing(home{literals: []string{l}}, strconv.Quote(l))
		}
	}
	for _, l := range h.phrases {
		missing(home{phrases: []string{l}}, "text with "+strconv.Quote(l))
	}
	for _, n := range h.names {
		missing(home{names: []*regexp.Regexp{n}}, "name like "+n.String())
	}
	return found
}

// signs are what gives the rule away in a file.
func (h home) signs(f file) []string {
	var found []string
	for _, imp := range f.names {
		if h.imports != "" && imp == h.imports {
			found = append(found, f.path+" imports "+imp+":")
		}
	}
	for _, id := range declared(f.ast) {
		if slices.ContainsFunc(slices.Concat(h.names, h.sounds), func(n *regexp.Regexp) bool { return n.MatchString(id.Name) }) {
			found = append(found, fmt.Sprintf("%s:%d %s sounds like the rule", f.path, f.line(id), id.Name))
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
