// Package render writes what Kerf decided and knows, for people: plans and claims as aligned text, and proto messages as
// JSON that is the same each time.
//
// It decides nothing and computes no prices: it groups, aligns and words what the messages hold. It must never ask
// anybody for more; what is not in its arguments is not shown. Start reading at Plan.
package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Style is how text is written. The zero value is plain text that is never wrapped.
type Style struct {
	// Color turns on ANSI colours.
	Color bool
	// Width is where sentences are wrapped, in columns; 0 or less means nowhere.
	Width int
}

// The colours in use, as ANSI codes.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s Style) paint(code, str string) string {
	if !s.Color || str == "" {
		return str
	}
	return "\x1b[" + code + "m" + str + "\x1b[0m"
}

// page is text that is being put together.
type page struct {
	Style
	b strings.Builder
}

func (p *page) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// gap is an empty line between what is there and what follows; nothing at the beginning.
func (p *page) gap() {
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
}

func (p *page) heading(title, detail string) {
	p.gap()
	if detail != "" {
		detail = "  " + detail
	}
	p.line("%s%s", p.paint(bold, title), p.paint(dim, detail))
}

// item is a sentence with a label before it; what does not fit its line goes on below, under its beginning.
func (p *page) item(label, sentence string) {
	for i, l := range strings.Split(p.wrap(sentence, text.StringWidthWithoutEscSequences(label)), "\n") {
		if i > 0 {
			label = strings.Repeat(" ", text.StringWidthWithoutEscSequences(label))
		}
		p.line("%s%s", label, l)
	}
}

func (p *page) wrap(sentence string, indent int) string {
	const narrowest = 30
	if p.Width <= 0 {
		return sentence
	}
	return text.WrapSoft(sentence, max(p.Width-indent, narrowest))
}

// rows writes a table without lines. numbers are the columns, from 1, that are aligned to the right.
func (p *page) rows(header table.Row, body []table.Row, numbers ...int) {
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingLeft: "  "},
		Options: table.OptionsNoBordersAndSeparators,
	})
	for i := range header {
		lines := strings.Split(fmt.Sprint(header[i]), "\n")
		for j := range lines {
			lines[j] = p.paint(dim, lines[j])
		}
		header[i] = strings.Join(lines, "\n")
	}
	t.AppendHeader(header)
	t.AppendRows(body)
	var columns []table.ColumnConfig
	for _, n := range numbers {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for l := range strings.SplitSeq(t.Render(), "\n") {
		p.line("%s", l)
	}
}

func (p *page) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
