// Package page puts text together for people: headings, sentences, tables, and the words for money, times and counts that
// all commands share.
//
// It knows the messages' enums and reasons, and decides nothing. Start reading at Page.
package page

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
	// Currency is what money is in, as an ISO 4217 code; "" means US dollars. What is written with a dollar sign, the
	// planner's words among it, gets the sign of the currency.
	Currency string
	// Width is where sentences are wrapped, in columns; 0 or less means nowhere.
	Width int
}

// The colours in use, as ANSI codes.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Paint puts a text into one of the terminal's colours, if colours are wanted.
func (s Style) Paint(code, str string) string {
	if !s.Color || str == "" {
		return str
	}
	return "\x1b[" + code + "m" + str + "\x1b[0m"
}

// Page is text that is being put together.
type Page struct {
	Style
	b strings.Builder
}

// Line writes one line, without spaces at its end.
func (p *Page) Line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// Gap is an empty line between what is there and what follows; nothing at the beginning.
func (p *Page) Gap() {
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
}

// Heading begins a block: its title, and a detail beside it.
func (p *Page) Heading(title, detail string) {
	p.Gap()
	if detail != "" {
		detail = "  " + detail
	}
	p.Line("%s%s", p.Paint(Bold, title), p.Paint(Dim, detail))
}

// Item is a sentence with a label before it; what does not fit its line goes on below, under its beginning.
func (p *Page) Item(label, sentence string) {
	for i, l := range strings.Split(p.wrap(sentence, text.StringWidthWithoutEscSequences(label)), "\n") {
		if i > 0 {
			label = strings.Repeat(" ", text.StringWidthWithoutEscSequences(label))
		}
		p.Line("%s%s", label, l)
	}
}

func (p *Page) wrap(sentence string, indent int) string {
	const narrowest = 30
	if p.Width <= 0 {
		return sentence
	}
	return text.WrapSoft(sentence, max(p.Width-indent, narrowest))
}

// Rows writes a table without lines. numbers are the columns, from 1, that are aligned to the right.
func (p *Page) Rows(header table.Row, body []table.Row, numbers ...int) {
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingLeft: "  "},
		Options: table.OptionsNoBordersAndSeparators,
	})
	for i := range header {
		lines := strings.Split(fmt.Sprint(header[i]), "\n")
		for j := range lines {
			lines[j] = p.Paint(Dim, lines[j])
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
		p.Line("%s", l)
	}
}

// Flush writes the page.
func (p *Page) Flush(w io.Writer) error {
	if _, err := io.WriteString(w, p.priced(p.plain(p.b.String()))); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
