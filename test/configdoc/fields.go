package main

import (
	"errors"
	"fmt"
	"go/ast"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// field is one field of a config file.
type field struct {
	path    string // "tls.cert_file", "repair.conditions[].after"
	kind    string // with its unit
	without string // what it means when it is left out
	text    string
}

// walker collects the fields of a struct, those of the structs in it after them.
type walker struct {
	src *source
	// apart are structs that have a section of their own.
	apart  map[string]bool
	fields []field
	errs   []error
}

// walk adds the fields of a struct.
func (w *walker) walk(path string, d declared) {
	st, ok := d.expr.(*ast.StructType)
	if !ok {
		w.fail(path, "%s is no struct", d.name)
		return
	}
	for _, f := range st.Fields.List {
		tag := ""
		if f.Tag != nil {
			raw, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				w.fail(path, "tag %s: %v", f.Tag.Value, err)
			}
			tag, _, _ = strings.Cut(reflect.StructTag(raw).Get("json"), ",")
		}
		switch {
		case tag == "-":
		case len(f.Names) == 0:
			w.embedded(path, d, f.Type)
		case len(f.Names) != 1 || tag == "":
			if f.Names[0].IsExported() {
				w.fail(path, "%s.%s: want one field to a line, with its name in JSON", d.name, f.Names[0].Name)
			}
		default:
			w.named(join(path, tag), d, st, f)
		}
	}
}

func (w *walker) embedded(path string, in declared, expr ast.Expr) {
	d, ours, err := w.src.find(in, expr)
	if err != nil || !ours {
		w.fail(path, "embedded in %s: %v", in.name, err)
		return
	}
	if !w.apart[d.name] {
		w.walk(path, d)
	}
}

// named adds a field, or those of the struct that it holds.
func (w *walker) named(path string, in declared, st *ast.StructType, f *ast.Field) {
	c := comment{path: path, in: in, siblings: st, name: f.Names[0].Name, text: oneLine(f.Doc.Text() + " " + f.Comment.Text())}
	expr := f.Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if list, ok := expr.(*ast.ArrayType); ok {
		if d, ours, _ := w.src.find(in, list.Elt); ours && isStruct(d) {
			w.add(c, "list")
			w.walk(path+"[]", d)
			return
		}
	}
	d, ours, err := w.src.find(in, expr)
	if err != nil {
		w.fail(path, "%v", err)
		return
	}
	if !ours {
		w.add(c, w.builtin(path, expr))
		return
	}
	switch {
	case d.name == "Duration":
		w.add(c, "duration")
	case d.name == "Dollars":
		w.add(c, "dollars")
	case w.apart[d.pkg.dir+"."+d.name]:
	case isStruct(d):
		w.walk(path, d)
	default:
		w.add(c, w.builtin(path, d.expr))
	}
}

func isStruct(d declared) bool {
	_, ok := d.expr.(*ast.StructType)
	return ok
}

// builtin words a type that Kerf has not declared.
func (w *walker) builtin(path string, expr ast.Expr) string {
	switch t := expr.(type) {
	case *ast.Ident:
		switch {
		case t.Name == "string":
			return "text"
		case t.Name == "bool":
			return "true or false"
		case strings.HasPrefix(t.Name, "float"):
			return "fraction"
		case strings.HasSuffix(path, "_bytes"):
			return "bytes"
		case strings.HasSuffix(path, "_percent"):
			return "per cent"
		case strings.Contains(t.Name, "int"):
			return "number"
		}
	case *ast.ArrayType:
		return "list of " + w.builtin(path, t.Elt) + "s"
	case *ast.MapType:
		return w.builtin(path, t.Key) + " to " + w.builtin(path, t.Value)
	case *ast.SelectorExpr:
		return t.Sel.Name
	}
	w.fail(path, "a type that configs do not have")
	return ""
}

// without finds what a comment says of a field that is left out.
var without = regexp.MustCompile(`(?i)(?:^|[;.,:]\s+)(?:zero|empty|0|left out|none)(?: is| means|,)? (.+?)(?:\.$|\.\s|;|$)`)

// constants finds the names of constants in a comment.
var constants = regexp.MustCompile(`\b(?:\w+\.)?Default[A-Z]\w+`)

// comment is what a field's comment says, and where that is.
type comment struct {
	path     string
	in       declared
	siblings *ast.StructType
	name     string
	text     string
}

func (w *walker) add(c comment, kind string) {
	f := field{path: c.path, kind: kind, text: strings.TrimSuffix(c.text, ".") + "."}
	if m := without.FindStringSubmatchIndex(f.text); m != nil {
		f.without = f.text[m[2]:m[3]]
		f.text = strings.TrimSuffix(strings.TrimSpace(f.text[:m[0]])+rest(f.text[m[1]:]), ".") + "."
	}
	switch {
	case f.without != "":
	case kind == "true or false":
		f.without = "`false`"
	case strings.Contains(c.text, "equired"):
		f.without = "required"
		f.text = strings.TrimSuffix(f.text, " Required.")
	}
	f.text = w.plain(c, f.text)
	unnamed := c
	unnamed.name = ""
	f.without = w.plain(unnamed, f.without)
	if len(f.text) < 2 || f.without == "" {
		w.fail(c.path, "%s.%s: its comment must say what it is, and what it means when it is zero, empty or left out, or that it is "+
			"required: %q", c.in.name, c.name, c.text)
	}
	w.fields = append(w.fields, f)
}

// rest is what follows on the words about zero.
func rest(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || text == "." {
		return ""
	}
	return ". " + sentence(text)
}

// sentence begins with a capital, but for words such as gRPC.
func sentence(text string) string {
	if len(text) > 1 && text[1] >= 'A' && text[1] <= 'Z' {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// plain words a comment for those who have not read Go: it does not begin with the field, fields have their names in
// JSON, and constants are values.
func (w *walker) plain(c comment, text string) string {
	if c.name != "" {
		for _, verb := range []string{" is ", " are ", " "} {
			if after, ok := strings.CutPrefix(text, c.name+verb); ok {
				text = after
				break
			}
		}
		if text != "" {
			text = sentence(text)
		}
	}
	text = constants.ReplaceAllStringFunc(text, func(name string) string {
		v, err := w.src.constant(c.in, name)
		if err != nil {
			w.fail(c.path, "%v", err)
		}
		return v
	})
	for _, f := range c.siblings.Fields.List {
		if len(f.Names) != 1 || f.Tag == nil {
			continue
		}
		raw, _ := strconv.Unquote(f.Tag.Value) // read before
		tag, _, _ := strings.Cut(reflect.StructTag(raw).Get("json"), ",")
		text = mention(text, f.Names[0].Name, "`"+tag+"`")
	}
	return text
}

// mention puts a field's name in JSON where a comment names it. A word that has one capital is a name amid a sentence
// only, and one that has nothing else is none.
func mention(text, name, with string) string {
	if strings.ToUpper(name) == name {
		return text
	}
	before := ""
	if strings.IndexFunc(name[1:], unicode.IsUpper) < 0 {
		before = "[a-z,] "
	}
	return regexp.MustCompile(before+`\b`+name+`\b`).ReplaceAllStringFunc(text, func(found string) string {
		return strings.TrimSuffix(found, name) + with
	})
}

func (w *walker) fail(path, text string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(text, args...)))
}

func (w *walker) err() error { return errors.Join(w.errs...) }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
