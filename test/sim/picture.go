package sim

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	canvas, left, right   = 1180, 78, 1150
	ink, dim, grid        = "#24292f", "#57606a", "#eaeef2"
	costInk, boundInk     = "#0b63ce", "#1a7f37"
	podInk, pendInk       = "#8250df", "#cf222e"
	nodeInk, spotInk      = "#57606a", "#bf8700"
	costTop, costHeight   = 196, 240
	loadTop, loadHeight   = 480, 150
	evictTop, evictHeight = 690, 150
	pictureHeight         = 905
)

func causeInk(w cause) string {
	return [...]string{"#0b63ce", "#8250df", "#bf8700", "#cf222e", "#57606a"}[w]
}

// Picture draws the day as an SVG: what it cost beside the bound, pods and nodes, evictions, and what happened. The same
// day gives the same bytes.
func (d *Day) Picture() []byte {
	day := *d
	if d.Config.Days > 1 { // no one sees single minutes in a week
		const every = 5
		day.Samples = slices.DeleteFunc(slices.Clone(d.Samples), func(s Sample) bool { return s.At.Minute()%every != 0 })
	}
	p := &picture{day: &day}
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui,Segoe UI,Helvetica,Arial,sans-serif" font-size="12" fill="%s">`,
		canvas, pictureHeight, ink)
	fmt.Fprintf(p, "\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", canvas, pictureHeight)
	p.head()
	p.marks()
	p.cost()
	p.load()
	p.evictions()
	p.WriteString("</svg>\n")
	return p.Bytes()
}

type picture struct {
	bytes.Buffer
	day *Day
}

func (p *picture) text(x, y float64, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(p, "<text x=\"%.0f\" y=\"%.0f\"%s>%s</text>\n", x, y, attributes, strings.ReplaceAll(text, "&", "&amp;"))
}

// x is where a time is.
func (p *picture) x(at time.Time) float64 {
	return left + float64(at.Sub(midnight()))/float64(p.day.Config.whole())*(right-left)
}

// head tells the day in a few large figures.
func (p *picture) head() {
	d := p.day
	high := 0
	for _, s := range d.Samples {
		high = max(high, s.Nodes)
	}
	p.text(left, 34, `font-size="20" font-weight="600"`, fmt.Sprintf("%s of a cluster with Kerf's planner: %d nodes at the peak", d.Config.title(), high))
	figures := []struct{ value, name, ink string }{
		{fmt.Sprintf("$%.2f", d.Cost), "for all of it", costInk},
		{fmt.Sprintf("+%.1f %%", d.Over()*100), "over the clairvoyant bound", boundInk},
		{fmt.Sprint(d.Violations()), "rules broken, by two counts", p.verdict(d.Violations())},
		{fmt.Sprint(d.MovedTwice), "pods moved twice in 30 min", p.verdict(d.MovedTwice)},
		{fmt.Sprint(d.Evictions[forMoney] + d.Evictions[forDrift] + d.Evictions[forAge]), "pods moved by choice", ink},
		{quantile(d.displacedWaits, 0.95).String(), "until 95 % of them are bound", ink},
	}
	for i, f := range figures {
		x := float64(left + i*(right-left)/len(figures))
		p.text(x, 76, fmt.Sprintf(`font-size="24" font-weight="600" fill="%s"`, f.ink), f.value)
		p.text(x, 95, fmt.Sprintf(`fill="%s"`, dim), f.name)
	}
}

func (p *picture) verdict(n int) string {
	if n == 0 {
		return boundInk
	}
	return pendInk
}

// marks are what happened, as lines through all charts with their names above.
func (p *picture) marks() {
	rows := [3]float64{-1e9, -1e9, -1e9} // where each row of names ends
	for _, m := range p.day.Marks {
		x := p.x(m.At)
		if x < left || x > right-40 {
			continue
		}
		fmt.Fprintf(p, "<path d=\"M%.1f %dV%d\" stroke=\"#d0d7de\" stroke-dasharray=\"3 3\"/>\n", x, costTop-24, evictTop+evictHeight)
		row := 0
		for row < len(rows)-1 && rows[row] > x-4 {
			row++
		}
		rows[row] = x + 6.2*float64(len(m.What))
		p.text(x-2, float64(costTop-28-14*row), fmt.Sprintf(`font-size="11" fill="%s"`, dim), m.What)
	}
}

// chart is a frame with a scale on its left.
type chart struct{ top, height, most float64 }

func (p *picture) chart(top, height, most float64, what, unit string) chart {
	step := nice(most / 5)
	ch := chart{top, height, math.Ceil(most/step) * step}
	for v := 0.0; v <= ch.most+step/2; v += step {
		fmt.Fprintf(p, "<path d=\"M%d %.1fH%d\" stroke=\"%s\"/>\n", left, ch.y(v), right, grid)
		p.text(left-8, ch.y(v)+4, fmt.Sprintf(`text-anchor="end" fill="%s"`, dim), fmt.Sprintf("%s%g", unit, v))
	}
	ticks := 12
	if days := p.day.Config.Days; days > 1 {
		ticks = days
	}
	for i := 0; i <= ticks; i++ {
		at := midnight().Add(p.day.Config.whole() * time.Duration(i) / time.Duration(ticks))
		fmt.Fprintf(p, "<path d=\"M%.1f %.1fv4\" stroke=\"%s\"/>\n", p.x(at), top+height, dim)
		label := at.Format("15:04")
		switch {
		case p.day.Config.Days > 1:
			label = at.Format("Mon 15:04")
		case i == ticks && p.day.Config.Length == 24*time.Hour:
			label = "24:00"
		}
		p.text(p.x(at), top+height+17, fmt.Sprintf(`text-anchor="middle" fill="%s"`, dim), label)
	}
	p.text(left, top-6+0, `font-weight="600"`, what)
	return ch
}

func (ch chart) y(v float64) float64 { return ch.top + ch.height - v/ch.most*ch.height }

// nice is a round number, not below v.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, k := range []float64{1, 2, 2.5, 5} {
		if v <= k*unit {
			return k * unit
		}
	}
	return 10 * unit
}

// series draws a line through the minutes.
func (p *picture) series(ch chart, color string, width float64, of func(s *Sample) (float64, bool)) {
	p.WriteString("<path d=\"")
	letter := byte('M')
	for i := range p.day.Samples {
		s := &p.day.Samples[i]
		if v, ok := of(s); ok {
			fmt.Fprintf(p, "%c%.1f %.1f", letter, p.x(s.At), ch.y(v))
			letter = 'L'
		}
	}
	fmt.Fprintf(p, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\"/>\n", color, width)
}

// legend writes names with their colours, from the right.
func (p *picture) legend(top float64, names, inks []string) {
	x := float64(right)
	for i, name := range slices.Backward(names) {
		x -= 6.6*float64(len(name)) + 34
		fmt.Fprintf(p, "<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"10\" rx=\"2\" fill=\"%s\"/>\n", x, top-15, inks[i])
		p.text(x+19, top-6, fmt.Sprintf(`fill="%s"`, dim), name)
	}
}

func (p *picture) cost() {
	most := 0.0
	for _, s := range p.day.Samples {
		most = max(most, s.Cost, s.Bound)
	}
	ch := p.chart(costTop, costHeight, most, "What the nodes cost, $ an hour", "")
	// The gap between cost and bound is filled, so that it is seen how little there is to gain.
	var over, under bytes.Buffer
	for i := range p.day.Samples {
		s := &p.day.Samples[i]
		letter := "L"
		if over.Len() == 0 {
			letter = "M"
		}
		fmt.Fprintf(&over, "%s%.1f %.1f", letter, p.x(s.At), ch.y(s.Cost))
	}
	for i := len(p.day.Samples) - 1; i >= 0; i-- {
		if s := &p.day.Samples[i]; s.Bound > 0 {
			fmt.Fprintf(&under, "L%.1f %.1f", p.x(s.At), ch.y(s.Bound))
		}
	}
	if under.Len() > 0 {
		fmt.Fprintf(p, "<path d=\"%s%sZ\" fill=\"%s\" fill-opacity=\"0.12\"/>\n", over.String(), under.String(), costInk)
	}
	p.series(ch, boundInk, 1.8, func(s *Sample) (float64, bool) { return s.Bound, s.Bound > 0 })
	p.series(ch, costInk, 1.8, func(s *Sample) (float64, bool) { return s.Cost, true })
	p.legend(costTop, []string{"cost", "clairvoyant bound"}, []string{costInk, boundInk})
}

func (p *picture) load() {
	pods, nodes := 0, 0
	for _, s := range p.day.Samples {
		pods, nodes = max(pods, s.Pods), max(nodes, s.Nodes)
	}
	times := 1
	for _, k := range []int{2, 5, 10, 20} {
		if nodes*k <= pods {
			times = k
		}
	}
	many := func(n int) (float64, bool) { return float64(times * n), times*n <= pods }
	ch := p.chart(loadTop, loadHeight, float64(pods), "Pods and nodes", "")
	p.series(ch, podInk, 1.8, func(s *Sample) (float64, bool) { return float64(s.Pods), true })
	p.series(ch, nodeInk, 1.6, func(s *Sample) (float64, bool) { return many(s.Nodes) })
	p.series(ch, spotInk, 1.2, func(s *Sample) (float64, bool) { return many(s.Spot) })
	p.series(ch, pendInk, 1.2, func(s *Sample) (float64, bool) { return float64(s.Pending), true })
	p.legend(loadTop, []string{"pods", fmt.Sprintf("nodes × %d", times), fmt.Sprintf("spot nodes × %d", times), "pods without a node"},
		[]string{podInk, nodeInk, spotInk, pendInk})
}

func (p *picture) evictions() {
	most := 1
	for _, b := range p.day.bins {
		sum := 0
		for _, n := range b {
			sum += n
		}
		most = max(most, sum)
	}
	span := p.day.Config.whole() / bins
	ch := p.chart(evictTop, evictHeight, float64(most), fmt.Sprintf("Evictions in each %s", short(span)), "")
	width := float64(right-left)/bins - 1.5
	for i, b := range p.day.bins {
		sum := 0
		for w, n := range b {
			if n == 0 {
				continue
			}
			y0, y1 := ch.y(float64(sum)), ch.y(float64(sum+n))
			sum += n
			fmt.Fprintf(p, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
				p.x(midnight().Add(span*time.Duration(i)))+0.75, y1, width, y0-y1, causeInk(cause(w)))
		}
	}
	var names, inks []string
	for w := range causes {
		names, inks = append(names, w.String()), append(inks, causeInk(w))
	}
	p.legend(evictTop, names, inks)
	p.text(left, pictureHeight-14, fmt.Sprintf(`fill="%s"`, dim), fmt.Sprintf(
		"Seed %d. The bound is what all pods of that moment would cost at least on new nodes, for somebody who moves them at no price.", p.day.Config.Seed))
}

func short(d time.Duration) string { return strings.TrimSuffix(d.String(), "0s") }
