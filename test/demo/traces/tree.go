package traces

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Trace is all spans of one trace, sorted by their start.
type Trace struct {
	ID    string
	Spans []Span
}

// Has says whether the trace holds a span of that name.
func (t Trace) Has(name string) bool {
	return slices.ContainsFunc(t.Spans, func(s Span) bool { return s.Name == name })
}

// Missing are those of the names that no span has.
func (t Trace) Missing(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), t.Has)
}

// Services are the names of the services that took part. Sorted.
func (t Trace) Services() []string {
	seen := map[string]bool{}
	for _, s := range t.Spans {
		seen[s.Service] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Length is from the first start to the last end.
func (t Trace) Length() time.Duration {
	last := t.Spans[0].End
	for _, s := range t.Spans {
		if s.End.After(last) {
			last = s.End
		}
	}
	return last.Sub(t.Spans[0].Start)
}

// Write writes the trace as a tree: per span its name, its service, when it began after the trace did, how long it took,
// and its values of the attributes asked for. A span whose parent was never received stands at the root.
func (t Trace) Write(w io.Writer, attributes ...string) error {
	known := map[string]bool{}
	for _, s := range t.Spans {
		known[s.ID] = true
	}
	children := map[string][]Span{}
	for _, s := range t.Spans {
		parent := s.Parent
		if !known[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], s)
	}
	tree := tree{children: children, began: t.Spans[0].Start, attributes: attributes}
	for _, root := range children[""] {
		tree.add(root, "", "")
	}
	return tree.write(w)
}

type tree struct {
	children   map[string][]Span
	began      time.Time
	attributes []string
	rows       [][4]string // name, service, times, attributes
}

// add puts a span and all below it into rows. lead stands before the span itself, below before its children.
func (t *tree) add(s Span, lead, below string) {
	name := lead + s.Name
	if s.Failed {
		name += " (failed)"
	}
	t.rows = append(t.rows, [4]string{
		name, s.Service, fmt.Sprintf("%8s %9s", "+"+short(s.Start.Sub(t.began)), short(s.End.Sub(s.Start))), t.facts(s),
	})
	children := t.children[s.ID]
	for i, child := range children {
		if i == len(children)-1 {
			t.add(child, below+"└─ ", below+"   ")
		} else {
			t.add(child, below+"├─ ", below+"│  ")
		}
	}
}

func (t *tree) facts(s Span) string {
	var facts []string
	for _, key := range t.attributes {
		if v := s.Attributes[key]; v != "" {
			facts = append(facts, key+"="+v)
		}
	}
	return strings.Join(facts, " ")
}

func (t *tree) write(w io.Writer) error {
	var names, services int
	for _, r := range t.rows {
		names, services = max(names, utf8.RuneCountInString(r[0])), max(services, utf8.RuneCountInString(r[1]))
	}
	for _, r := range t.rows {
		line := pad(r[0], names) + "  " + pad(r[1], services) + "  " + r[2] + "  " + r[3]
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) }

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}
