package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// The budgets. What is over one holds more than one noun.
const (
	fileBudget     = 500 // lines of a file; of a test file testFileBudget
	testFileBudget = 600
	functionBudget = 80   // lines of a function that is no test
	packageBudget  = 2000 // lines of a package, without tests
	receiverBudget = 40   // methods that can be called on one value, those that come by embedding included
	mostExceptions = 10
)

// largeForAReason are the exceptions: what is over its budget, and why that is better than to split it.
func largeForAReason() map[string]string {
	return map[string]string{
		"package services/core/convert":         "each message of the contract is read and written once, side by side",
		"receiver services/core/convert.reader": "it has a method for each message, and its fields are where it reads and what it found",
	}
}

// oversize is one thing that is over its budget.
type oversize struct{ what, text string }

func over(what string, has, budget int, unit string) oversize {
	return oversize{what, fmt.Sprintf("%s has %d %s, its budget is %d", what, has, unit, budget)}
}

func tooLarge(p pkg) []oversize {
	var found []oversize
	total := 0
	for _, f := range p.files {
		budget := fileBudget
		if f.test {
			budget = testFileBudget
		} else {
			total += f.lines
		}
		if f.lines > budget {
			found = append(found, over("file "+f.path, f.lines, budget, "lines"))
		}
		if !f.test {
			found = append(found, longFunctions(p, f)...)
		}
	}
	if !strings.HasPrefix(p.path, "services/") {
		return found // a fake is as large as what it stands for
	}
	if total > packageBudget {
		found = append(found, over("package "+p.path, total, packageBudget, "lines without tests"))
	}
	return append(found, godReceivers(p)...)
}

func longFunctions(p pkg, f file) []oversize {
	var found []oversize
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.endLine(fn) - f.line(fn) + 1; n > functionBudget {
			found = append(found, over("function "+p.path+"."+fn.Name.Name, n, functionBudget, "lines"))
		}
	}
	return found
}

// godReceivers are the types of a package that have too many methods. What matters is what a method can reach, so the
// methods of types that are embedded count; those of what a field holds do not.
func godReceivers(p pkg) []oversize {
	methods, embeds := map[string]int{}, map[string][]string{}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && len(d.Recv.List) == 1 {
					methods[typeName(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				addEmbedded(embeds, d)
			}
		}
	}
	var found []oversize
	for name := range methods {
		if n := reach(name, methods, embeds, map[string]bool{}); n > receiverBudget {
			found = append(found, over("receiver "+p.path+"."+name, n, receiverBudget, "methods"))
		}
	}
	slices.SortFunc(found, func(a, b oversize) int { return strings.Compare(a.what, b.what) })
	return found
}

func reach(name string, methods map[string]int, embeds map[string][]string, seen map[string]bool) int {
	if seen[name] {
		return 0
	}
	seen[name] = true
	n := methods[name]
	for _, inner := range embeds[name] {
		n += reach(inner, methods, embeds, seen)
	}
	return n
}

// addEmbedded notes which types of the package the structs of a declaration embed.
func addEmbedded(embeds map[string][]string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range s.Fields.List {
			if len(field.Names) == 0 {
				embeds[t.Name.Name] = append(embeds[t.Name.Name], typeName(field.Type))
			}
		}
	}
}

// typeName is the name of a type of the package, behind pointers and type parameters; "" for a type of another.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
