package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// odd are words that must not be in the name of anything, each with what to say instead.
func odd() map[string]string {
	return map[string]string{
		"berth": "slot, or what it contains", "carefree": "unconstrained", "crowd": "group", "dearer": "more expensive", "desk": "scheduler",
		"employed": "DaemonSet pods", "gear": "devices", "minds": "has pod rules", "mindful": "has pod rules", "nobody": "none",
		"nought": "zero", "seat": "assignment", "seats": "assignments", "sick": "unhealthy", "staff": "DaemonSet pods",
		"suspect": "say what is doubted", "whoever": "any", "wish": "preference, or NodeClaim", "wishes": "preferences",
	}
}

// oddWords finds names that are declared with one of those words in them.
func oddWords(p pkg) []string {
	banned := odd()
	var found []string
	for _, f := range p.files {
		for _, id := range declared(f.ast) {
			for _, w := range split(id.Name) {
				if instead := banned[w]; instead != "" {
					found = append(found, fmt.Sprintf("%s:%d %s says %q; say %s", f.path, f.line(id), id.Name, w, instead))
				}
			}
		}
	}
	return found
}

// declared are the names that a file declares: of types, functions, fields, parameters, constants and variables.
func declared(tree *ast.File) []*ast.Ident {
	var ids []*ast.Ident
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			ids = append(ids, n.Name)
		case *ast.TypeSpec:
			ids = append(ids, n.Name)
		case *ast.ValueSpec:
			ids = append(ids, n.Names...)
		case *ast.Field:
			ids = append(ids, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok {
						ids = append(ids, id)
					}
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					ids = append(ids, id)
				}
			}
		}
		return true
	})
	return ids
}

// split cuts a name into its words, in lower case: freeDesk is free and desk, HTTPDesk is http and desk.
func split(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	for i := 1; i <= len(runes); i++ {
		switch {
		case i == len(runes), runes[i] == '_', unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]),
			unicode.IsUpper(runes[i]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			words = append(words, strings.Trim(strings.ToLower(string(runes[start:i])), "_"))
			start = i
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}
