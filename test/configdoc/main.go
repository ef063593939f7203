// Command configdoc makes docs/configuration.md of the Go types that the services read their config files into: each
// field's comment says what it is, its unit, and what it means when it is left out. A comment that does not is an
// error.
//
// It reads source code and must never run any. Start reading at page; then walker.walk, which goes through the fields.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// section is a part of the reference: the fields of one type.
type section struct {
	title, dir, name string
	intro            string
}

func main() {
	root := flag.String("root", ".", "the repository's `folder`")
	flag.Parse()
	text, err := page(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "configdoc:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// page is the whole reference.
func page(root string) (string, error) {
	src := open(root)
	var b strings.Builder
	flags, err := src.flags("services/internal/boot")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, head, flags)
	b.WriteString(environment() + applies + next())
	apart := map[string]bool{"ServiceConfig": true}
	for _, s := range sections() {
		apart[s.dir+"."+s.name] = true
	}
	for _, s := range sections() {
		p, err := src.pkg(s.dir)
		if err != nil {
			return "", err
		}
		d, ok := p.types[s.name]
		if !ok {
			return "", fmt.Errorf("%s has no type %s", s.dir, s.name)
		}
		w := &walker{src: src, apart: apart}
		w.walk("", d)
		if err := w.err(); err != nil {
			return "", err
		}
		s.write(&b, w.fields)
	}
	return b.String(), nil
}

func (s section) write(b *strings.Builder, fields []field) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", s.title, s.intro)
	if len(fields) == 0 {
		return
	}
	b.WriteString("\n| field | type | left out | what it is |\n|---|---|---|---|\n")
	for _, f := range fields {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.path, f.kind, cell(f.without), cell(f.text))
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
