// Package picture draws what was seen as one SVG: cost, nodes and evictions over time, a line for each run. The same
// results give the same bytes.
//
// Start reading at Draw.
package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/test/versus/history"
	"github.com/kerf-dev/kerf/test/versus/load"
	"github.com/kerf-dev/kerf/test/versus/report"
)

const (
	width, left, right  = 1180, 64, 1160
	gap                 = 58 // between columns, for the scale of the next
	headHeight          = 76
	bandHead            = 54
	chartHeight         = 130
	chartGap            = 52
	ink, dim, grid      = "#24292f", "#57606a", "#eaeef2"
	boundInk            = "#1a7f37"
	points              = 400 // of a line
	thin, thick, dashed = 1.4, 2.0, "6 4"
)

// inks are the colours of the sides.
func inks(side string) string {
	if side == "karpenter" {
		return "#bf8700"
	}
	return "#0b63ce"
}

// column is one part of a load, over time.
type column struct {
	load, mark, title string
	until             string  // the mark at which its lines end; empty for the end of the run
	length            float64 // seconds
	bound             string  // the key of its cost in the bound's values; empty for none
	weight            float64 // its part of the width
}

// bands are the columns beside each other, one band below the other.
func bands() [][]column {
	return [][]column{
		{
			{load: "ramp", mark: report.Created, until: report.Scaled, title: "960 pods at once", length: 120, bound: "cost", weight: 3},
			{load: "ramp", mark: report.Scaled, title: "then 40 % of them", length: report.ScaledFor, bound: "scaled-cost", weight: 5},
		},
		{
			{load: "rollout", mark: report.Rollout, title: "all 960 pods made anew", length: report.RolloutFor, weight: 1},
			{load: "spot", mark: report.Storm, title: "a third of the spot nodes goes at once", length: report.StormFor, weight: 1},
		},
		{{load: "day", mark: report.Day, title: "a day in ten minutes", length: load.DayLength, weight: 1}},
	}
}

// Draw draws all that there are results of.
func Draw(r *report.Results) []byte {
	p := &picture{results: r}
	var body picture
	body.results = r
	y := float64(headHeight)
	for _, band := range bands() {
		band = slices.DeleteFunc(slices.Clone(band), func(c column) bool { return len(p.runs(c)) == 0 })
		if len(band) > 0 {
			y = body.band(band, y)
		}
	}
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" font-family="system-ui,Segoe UI,Helvetica,Arial,sans-serif" font-size="12" fill="%s">`,
		width, y+12, ink)
	fmt.Fprintf(p, "\n<rect width=\"%d\" height=\"%.0f\" fill=\"white\"/>\n", width, y+12)
	p.head()
	p.Write(body.Bytes())
	p.WriteString("</svg>\n")
	return p.Bytes()
}

type picture struct {
	bytes.Buffer

	results *report.Results
}

// runs are a column's, with a history.
func (p *picture) runs(c column) []report.Run {
	runs := slices.DeleteFunc(slices.Clone(p.results.Runs), func(r report.Run) bool {
		return r.Load != c.load || r.History == nil || !r.History.Marked(c.mark)
	})
	slices.SortStableFunc(runs, func(a, b report.Run) int { return cmp.Compare(a.Side, b.Side) }) // Kerf is drawn last
	return runs
}

func (p *picture) text(x, y float64, attributes, text string) {
	fmt.Fprintf(p, "<text x=\"%.0f\" y=\"%.0f\" %s>%s</text>\n", x, y, attributes, strings.ReplaceAll(text, "&", "&amp;"))
}

func (p *picture) head() {
	p.text(left, 32, `font-size="20" font-weight="600"`, "Kerf and Karpenter under the same loads")
	x := float64(left)
	for _, l := range []struct{ name, ink, dash string }{
		{"Kerf", inks("kerf"), ""}, {"Karpenter", inks("karpenter"), ""}, {"the least that the pods can cost", boundInk, dashed},
	} {
		fmt.Fprintf(p, "<path d=\"M%.0f 52h22\" stroke=\"%s\" stroke-width=\"%g\" stroke-dasharray=\"%s\"/>\n", x, l.ink, thick, l.dash)
		p.text(x+28, 56, fmt.Sprintf(`fill="%s"`, dim), l.name)
		x += 58 + 6.6*float64(len(l.name))
	}
	p.text(right, 56, fmt.Sprintf(`text-anchor="end" fill="%s"`, dim), "a line for each seed")
}

// row is what is drawn of each column.
type row struct {
	title string
	of    func(h *history.History, from, at float64) float64
}

func rows() []row {
	return []row{
		{"nodes, $ an hour", func(h *history.History, _, at float64) float64 { return h.Cost(at) }},
		{"number of nodes", func(h *history.History, _, at float64) float64 { return float64(h.NodesAt(at)) }},
		{"evictions so far", func(h *history.History, from, at float64) float64 { return float64(h.Evictions(from, at)) }},
	}
}

// band draws columns beside each other, and returns where the next band begins.
func (p *picture) band(columns []column, top float64) float64 {
	weights := 0.0
	for _, c := range columns {
		weights += c.weight
	}
	room := float64(right-left) - gap*float64(len(columns)-1)
	x := float64(left)
	for _, c := range columns {
		w := room * c.weight / weights
		p.column(c, x, top, w)
		x += w + gap
	}
	return top + bandHead + float64(len(rows()))*(chartHeight+chartGap)
}

func (p *picture) column(c column, x, top, w float64) {
	p.text(x, top+20, `font-size="15" font-weight="600"`, c.title)
	runs := p.runs(c)
	for i, row := range rows() {
		ch := chart{x: x, y: top + bandHead + float64(i)*(chartHeight+chartGap), w: w, length: c.length}
		lines := make([][]float64, len(runs))
		for k, r := range runs {
			lines[k] = sample(r.History, c, row)
			ch.most = max(ch.most, slices.Max(lines[k]))
		}
		bound := 0.0
		if i == 0 {
			bound = p.bound(c)
		}
		ch.most = max(ch.most, bound)
		p.frame(&ch, row.title)
		if bound > 0 {
			fmt.Fprintf(p, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"%s\" stroke-width=\"%g\" stroke-dasharray=\"%s\"/>\n",
				ch.x, ch.at(bound), ch.w, boundInk, thick, dashed)
		}
		for k, r := range runs {
			p.line(ch, lines[k], inks(r.Side))
		}
	}
}

// sample is a row's values over a column's time, up to the end of the run.
func sample(h *history.History, c column, row row) []float64 {
	from, end := h.Mark(c.mark), h.End
	if c.until != "" {
		end = h.Mark(c.until)
	}
	var out []float64
	for i := range points + 1 {
		at := from + c.length*float64(i)/points
		if at > end {
			break
		}
		out = append(out, row.of(h, from, at))
	}
	return out
}

// chart is a frame with scales.
type chart struct{ x, y, w, most, length float64 }

func (c chart) at(value float64) float64 { return c.y + chartHeight - value/c.most*chartHeight }

func (p *picture) frame(c *chart, title string) {
	step := nice(c.most / 4)
	c.most = math.Ceil(c.most/step) * step
	if c.most == 0 {
		c.most = step
	}
	p.text(c.x, c.y-8, `font-weight="600"`, title)
	for v := 0.0; v <= c.most+step/2; v += step {
		fmt.Fprintf(p, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"%s\"/>\n", c.x, c.at(v), c.w, grid)
		p.text(c.x-6, c.at(v)+4, fmt.Sprintf(`text-anchor="end" fill="%s"`, dim), fmt.Sprintf("%g", v))
	}
	tick := nice(c.length / 7)
	for t := 0.0; t <= c.length; t += tick {
		x := c.x + t/c.length*c.w
		fmt.Fprintf(p, "<path d=\"M%.1f %.1fv4\" stroke=\"%s\"/>\n", x, c.y+chartHeight, dim)
		p.text(x, c.y+chartHeight+16, fmt.Sprintf(`text-anchor="middle" fill="%s"`, dim), fmt.Sprintf("%g s", t))
	}
}

// nice is a round number, not below v.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, k := range []float64{1, 2, 5} {
		if v <= k*unit {
			return k * unit
		}
	}
	return 10 * unit
}

func (p *picture) line(c chart, values []float64, color string) {
	p.WriteString("<path d=\"")
	letter := byte('M')
	for i, v := range values {
		fmt.Fprintf(p, "%c%.1f %.1f", letter, c.x+float64(i)/points*c.w, c.at(v))
		letter = 'L'
	}
	fmt.Fprintf(p, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\"/>\n", color, thin)
}

// bound is the median of the seeds'; 0 where there is none.
func (p *picture) bound(of column) float64 {
	var values []float64
	for _, r := range p.results.Runs {
		if v, ok := r.Values[of.bound]; ok && r.Load == of.load && r.Side == report.BoundSide {
			values = append(values, v)
		}
	}
	return history.Median(values)
}
