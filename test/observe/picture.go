package observe

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Graph is a panel with what Prometheus has for it.
type Graph struct {
	Title, Unit string
	Lines       []Line
}

// Line is one of a graph's.
type Line struct {
	Name   string
	Points []Point
}

// Name is a series as the panel's legend calls it.
func Name(legend string, s Series) string {
	name := regexp.MustCompile(`\{\{\s*([a-z_]+)\s*\}\}`).ReplaceAllStringFunc(legend, func(label string) string {
		return s.Labels[strings.Trim(label, "{} ")]
	})
	return strings.TrimSpace(name)
}

const (
	columns               = 3
	panelWide, panelHigh  = 380.0, 232.0
	plotLeft, plotTop     = 52.0, 34.0
	plotWide, plotHigh    = 312.0, 116.0
	legendTop, legendMost = 172.0, 6
	longName              = 14
)

func inks() []string {
	return []string{"#0b63ce", "#1a7f37", "#bf8700", "#8250df", "#cf222e", "#57606a"}
}

// Picture draws graphs over a time as an SVG, three in a row.
func Picture(graphs []Graph, from, to time.Time) []byte {
	var b bytes.Buffer
	rows := (len(graphs) + columns - 1) / columns
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="system-ui,Helvetica,Arial,sans-serif" font-size="11" fill="#24292f">`,
		columns*panelWide, float64(rows)*panelHigh)
	fmt.Fprintf(&b, "\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	for i, g := range graphs {
		fmt.Fprintf(&b, "<g transform=\"translate(%.0f %.0f)\">\n", float64(i%columns)*panelWide, float64(i/columns)*panelHigh)
		g.draw(&b, from, to)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (g Graph) draw(b *bytes.Buffer, from, to time.Time) {
	fmt.Fprintf(b, "<text x=\"12\" y=\"20\" font-weight=\"600\" font-size=\"12\">%s</text>\n", html.EscapeString(g.Title))
	most, abreast := g.most(), 3
	if slices.ContainsFunc(g.Lines, func(l Line) bool { return len(l.Name) > longName }) {
		abreast = 2
	}
	for i := range 3 {
		y := plotTop + plotHigh*float64(i)/2
		fmt.Fprintf(b, "<path d=\"M%.0f %.1fh%.0f\" stroke=\"#d8dee4\"/><text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#57606a\">%s</text>\n",
			plotLeft, y, plotWide, plotLeft-5, y+4, html.EscapeString(amount(most*(1-float64(i)/2), g.Unit)))
	}
	fmt.Fprintf(b, "<text x=\"%.0f\" y=\"%.0f\" fill=\"#57606a\">0</text><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\" fill=\"#57606a\">%.0f s</text>\n",
		plotLeft, plotTop+plotHigh+13, plotLeft+plotWide, plotTop+plotHigh+13, to.Sub(from).Seconds())
	for i, l := range g.Lines {
		ink := inks()[i%len(inks())]
		fmt.Fprintf(b, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"%s\"/>\n", ink, l.path(from, to, most))
		if i < legendMost {
			x, y := plotLeft+float64(i%abreast)*plotWide/float64(abreast), legendTop+14+float64(i/abreast)*15
			fmt.Fprintf(b, "<rect x=\"%.0f\" y=\"%.0f\" width=\"8\" height=\"3\" fill=\"%s\"/><text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
				x, y-5, ink, x+11, y, html.EscapeString(l.Name))
		}
	}
}

// most is the upper end of the scale.
func (g Graph) most() float64 {
	most := 0.0
	for _, l := range g.Lines {
		for _, p := range l.Points {
			if !math.IsNaN(p.Value) {
				most = max(most, p.Value)
			}
		}
	}
	return cmp.Or(most, 1)
}

// path is a line with gaps where there is no value.
func (l Line) path(from, to time.Time, most float64) string {
	var b strings.Builder
	pen, last := "M", time.Time{}
	for _, p := range l.Points {
		if math.IsNaN(p.Value) || p.At.Sub(last) > 5*time.Second {
			pen = "M"
		}
		if last = p.At; math.IsNaN(p.Value) {
			continue
		}
		x := plotLeft + plotWide*float64(p.At.Sub(from))/float64(to.Sub(from))
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, x, plotTop+plotHigh*(1-p.Value/most))
		pen = "L"
	}
	return b.String()
}

// amount is a number with its unit, as Grafana calls that.
func amount(v float64, unit string) string {
	switch unit {
	case "currencyUSD":
		return fmt.Sprintf("$%.3f", v)
	case "percentunit":
		return fmt.Sprintf("%.0f %%", 100*v)
	case "s":
		return fmt.Sprintf("%.3g s", v)
	case "bytes":
		return fmt.Sprintf("%.0f MiB", v/(1<<20))
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// Largest sorts lines, so that those with the largest values come first, and leaves lines out that are never above zero.
func Largest(lines []Line) []Line {
	top := func(l Line) float64 { return Graph{Lines: []Line{l}}.sum() }
	lines = slices.DeleteFunc(lines, func(l Line) bool { return top(l) == 0 })
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(top(b), top(a)) })
	return lines
}

func (g Graph) sum() float64 {
	sum := 0.0
	for _, l := range g.Lines {
		for _, p := range l.Points {
			if !math.IsNaN(p.Value) {
				sum += p.Value
			}
		}
	}
	return sum
}
