// Package show writes what was measured, as text and as a picture: tables of the suite, plan by plan what disruption
// came to, and the curve of cost over moves.
//
// It decides nothing and measures nothing; its input is a bench.Report. Start reading at Suite, then Disrupt and Curve.
package show

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// page is text that is being put together.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.WriteByte('\n')
}

func (p *page) heading(title, detail string) {
	p.WriteByte('\n')
	if detail != "" {
		detail = "  " + detail
	}
	p.line("%s%s", title, detail)
}

func (p *page) notes(sentences []string) {
	p.WriteByte('\n')
	for _, s := range sentences {
		p.line("  %s", s)
	}
}

// column is a column of a table.
type column struct {
	title string // of one or more lines
	left  bool   // its cells are text, aligned to the left
}

// columns are titles of columns; one that begins with "<" is aligned to the left.
func columns(titles ...string) []column {
	out := make([]column, len(titles))
	for i, t := range titles {
		out[i].title, out[i].left = strings.CutPrefix(t, "<")
	}
	return out
}

// table writes rows below a header, without rules.
func (p *page) table(cols []column, rows [][]any) {
	cells := make([][]string, len(rows))
	width := make([]int, len(cols))
	height := 0
	for i, c := range cols {
		for l := range strings.SplitSeq(c.title, "\n") {
			width[i] = max(width[i], utf8.RuneCountInString(l))
		}
		height = max(height, 1+strings.Count(c.title, "\n"))
	}
	for r, row := range rows {
		for i, cell := range row {
			cells[r] = append(cells[r], fmt.Sprint(cell))
			width[i] = max(width[i], utf8.RuneCountInString(cells[r][i]))
		}
	}
	header := make([][]string, height)
	for _, c := range cols {
		lines := append(strings.Split(c.title, "\n"), make([]string, height)...)
		for h := range header {
			header[h] = append(header[h], lines[h])
		}
	}
	for _, row := range append(header, cells...) {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if cols[i].left {
				b.WriteString("  " + cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		p.line("%s", b.String())
	}
}

func (p *page) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// count writes a number with its noun: "1 pod", "3 pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ratio is a part of the baseline's CPU time as a fraction, or how many times as much.
func ratio(r float64) string {
	switch {
	case r <= 0:
		return "-"
	case r > 1:
		return fmt.Sprintf("× %.1f", r)
	case r > 0.1:
		return fmt.Sprintf("1/%.1f", 1/r)
	}
	return fmt.Sprintf("1/%.0f", 1/r)
}

func seconds(s float64) string {
	switch {
	case s >= 10:
		return fmt.Sprintf("%.1f", s)
	case s >= 0.1:
		return fmt.Sprintf("%.2f", s)
	default:
		return fmt.Sprintf("%.4f", s)
	}
}

func usd(d float64) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", d)
}

func verdict(reached bool) string {
	if reached {
		return "yes"
	}
	return "no"
}
