package show

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/test/bench"
)

// Curve draws, for each line whose nodes were removed to save money, what they cost over the pods that were moved and over
// the CPU time that it took, beside the baseline's published trace and the bound. It is an SVG; the same lines give the
// same bytes.
func Curve(lines []bench.Line) []byte {
	var drawn []*bench.Line
	for i := range lines {
		if c := lines[i].Churner(); c != nil && c.OverBound > 0 && lines[i].Result.Given != nil {
			drawn = append(drawn, &lines[i])
		}
	}
	s := &sketch{}
	height := max(1, len(drawn))*curveRow + curveFoot
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui,Segoe UI,Helvetica,Arial,sans-serif" font-size="12" fill="#24292f">`,
		curveWidth, height)
	fmt.Fprintf(s, "\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", curveWidth, height)
	for i, l := range slices.Backward(drawn) { // the largest, which is asked last, comes first
		s.line(l, (len(drawn)-1-i)*curveRow)
	}
	s.legend(height - 18)
	s.WriteString("</svg>\n")
	return s.Bytes()
}

const (
	curveWidth, curveRow, curveFoot = 1000, 340, 40
	panelWidth, panelHeight         = 390, 230
	leftPanel, rightPanel, panelTop = 70, 560, 64

	kerfInk, baseInk, boundInk, gridInk, dimInk = "#0b63ce", "#8c959f", "#1a7f37", "#eaeef2", "#57606a"
)

// sketch is a picture that is being drawn.
type sketch struct{ bytes.Buffer }

// panel is a place for a curve: what its axes are, and where it is.
type panel struct {
	x, y  int
	least float64 // of x, where that is logarithmic
	most  float64 // of x
	top   float64 // of y, which begins at 0
	what  string
}

func (p *panel) at(x, y float64) (float64, float64) {
	part := x / p.most
	if p.least > 0 {
		part = math.Log(max(x, p.least)/p.least) / math.Log(p.most/p.least)
	}
	return float64(p.x) + part*panelWidth, float64(p.y) + panelHeight - y/p.top*panelHeight
}

// line draws both panels of a line of the report.
func (s *sketch) line(l *bench.Line, y int) {
	g, c := l.Result.Given, l.Churner()
	top := niceAbove(g.CostBefore)
	s.text(leftPanel, y+26, "font-size=\"16\" font-weight=\"600\"", fmt.Sprintf("%s: %d nodes, %d pods", l.Name(), g.NodesBefore, g.Pods))
	s.text(leftPanel, y+46, "fill=\""+dimInk+"\"", s.summary(l, c))
	moves := &panel{x: leftPanel, y: y + panelTop, most: niceAbove(float64(max(g.PodMoves, c.BaseMoves))), top: top, what: "pods moved"}
	s.frame(moves)
	cpu := &panel{x: rightPanel, y: y + panelTop, least: 0.01, most: 1000, top: top, what: "CPU seconds spent on planning (logarithmic)"}
	s.frame(cpu)
	for _, p := range []*panel{moves, cpu} {
		if floor := l.FloorOf(); floor > 0 {
			x0, y0 := p.at(p.least, floor)
			x1, _ := p.at(p.most, floor)
			fmt.Fprintf(s, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>\n", x0, y0, x1, boundInk)
			s.text(int(x1)-4, int(y0)+15, "text-anchor=\"end\" fill=\""+boundInk+"\"", fmt.Sprintf("bound $%.2f", floor))
		}
	}
	if c.BaseCost > 0 {
		// How many pods it had moved on the way was not published: only its end is known.
		s.ring(moves, float64(c.BaseMoves), c.BaseCost)
		s.ring(cpu, c.BaseCPU, c.BaseCost)
		var trace []place
		for _, t := range c.Trace {
			trace = append(trace, place{t.CPU, t.Cost})
		}
		s.curve(cpu, baseInk, trace)
	}
	ofMoves, ofCPU := []place{{0, g.CostBefore}}, []place{{cpu.least, g.CostBefore}}
	for i := range g.Rounds {
		r := &g.Rounds[i]
		if r.Actions == 0 && i < len(g.Rounds)-1 {
			continue
		}
		ofMoves, ofCPU = append(ofMoves, place{float64(r.AtMoves), r.CostAfter}), append(ofCPU, place{r.AtCPUMs / 1000, r.CostAfter})
	}
	s.curve(moves, kerfInk, ofMoves)
	s.curve(cpu, kerfInk, ofCPU)
	s.end(moves, float64(g.PodMoves), g.CostAfter, l.FloorOf(), fmt.Sprintf("$%.2f", g.CostAfter))
	s.end(cpu, l.Result.Solve.CPUMs/1000, g.CostAfter, l.FloorOf(), fmt.Sprintf("%.2g s", l.Result.Solve.CPUMs/1000))
}

func (s *sketch) summary(l *bench.Line, c *bench.Churner) string {
	g := l.Result.Given
	text := fmt.Sprintf("Kerf: $%.2f → $%.2f an hour in %d moves, none twice", g.CostBefore, g.CostAfter, g.PodMoves)
	if g.MostMoves > 1 {
		text = fmt.Sprintf("Kerf: $%.2f → $%.2f an hour in %d moves", g.CostBefore, g.CostAfter, g.PodMoves)
	}
	if c.BaseCost > 0 {
		text += fmt.Sprintf("; baseline: → $%.2f in %d moves and %.4g CPU s", c.BaseCost, c.BaseMoves, c.BaseCPU)
	}
	return text
}

// frame draws axes with their grid.
func (s *sketch) frame(p *panel) {
	step := niceStep(p.top)
	for v := 0.0; v <= p.top+step/2; v += step {
		x, y := p.at(p.least, v)
		fmt.Fprintf(s, "<path d=\"M%.1f %.1fh%d\" stroke=\"%s\"/>\n", x, y, panelWidth, gridInk)
		s.text(int(x)-8, int(y)+4, "text-anchor=\"end\" fill=\""+dimInk+"\"", fmt.Sprintf("%g", v))
	}
	tick := func(v float64) {
		x, y := p.at(v, 0)
		fmt.Fprintf(s, "<path d=\"M%.1f %.1fv%d\" stroke=\"%s\"/>\n", x, y, -panelHeight, gridInk)
		s.text(int(x), int(y)+16, "text-anchor=\"middle\" fill=\""+dimInk+"\"", fmt.Sprintf("%g", v))
	}
	if p.least > 0 {
		for e := math.Round(math.Log10(p.least)); e <= math.Round(math.Log10(p.most)); e++ {
			tick(math.Round(math.Pow(10, e)*1000) / 1000)
		}
	} else {
		step := niceStep(p.most)
		for v := 0.0; v <= p.most+step/2; v += step {
			tick(v)
		}
	}
	fmt.Fprintf(s, "<path d=\"M%d %dv%dh%d\" stroke=\"%s\" fill=\"none\"/>\n", p.x, p.y, panelHeight, panelWidth, baseInk)
	s.text(p.x+panelWidth/2, p.y+panelHeight+34, "text-anchor=\"middle\"", p.what)
	fmt.Fprintf(s, "<text transform=\"translate(%d %d) rotate(-90)\" text-anchor=\"middle\">$ an hour</text>\n", p.x-44, p.y+panelHeight/2)
}

type place struct{ x, y float64 }

// curve draws a line through places, with a dot on each.
func (s *sketch) curve(p *panel, ink string, places []place) {
	if len(places) == 0 {
		return
	}
	s.WriteString("<path d=\"")
	for i, pl := range places {
		x, y := p.at(pl.x, pl.y)
		fmt.Fprintf(s, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
	}
	fmt.Fprintf(s, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n", ink)
	for _, pl := range places {
		x, y := p.at(pl.x, pl.y)
		fmt.Fprintf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"/>\n", x, y, ink)
	}
}

// ring marks where the baseline ended.
func (s *sketch) ring(p *panel, x, y float64) {
	px, py := p.at(x, y)
	fmt.Fprintf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5.5\" fill=\"white\" stroke=\"%s\" stroke-width=\"2\"/>\n", px, py, baseInk)
	s.text(int(px), int(py)-28, "text-anchor=\"middle\" fill=\""+dimInk+"\"", fmt.Sprintf("baseline $%.2f", y))
}

// end labels the end of our curve, below the bound, where nothing else is.
func (s *sketch) end(p *panel, x, y, floor float64, label string) {
	px, _ := p.at(x, y)
	_, py := p.at(p.least, min(y, floor))
	s.text(int(px), int(py)+34, "text-anchor=\"middle\" font-weight=\"600\" fill=\""+kerfInk+"\"", label)
}

func (s *sketch) legend(y int) {
	x := leftPanel
	for _, e := range []struct{ ink, name string }{
		{kerfInk, "Kerf, a dot for each plan"},
		{baseInk, "baseline: Karpenter core 1.14, as published; a ring is its end"},
		{boundInk, "lower bound of the same pods on new nodes"},
	} {
		fmt.Fprintf(s, "<path d=\"M%d %dh22\" stroke=\"%s\" stroke-width=\"3\"/>\n", x, y-4, e.ink)
		s.text(x+30, y, "", e.name)
		x += 50 + 6*len(e.name)
	}
}

func (s *sketch) text(x, y int, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(s, "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, attributes, text)
}

// niceStep is a round number that divides an axis into four to eight parts.
func niceStep(most float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, part := range []float64{0.1, 0.2, 0.25, 0.5, 1} {
		if most/(step*part) <= 7 {
			return step * part
		}
	}
	return step * 2
}

// niceAbove is the end of an axis for values up to that.
func niceAbove(most float64) float64 {
	if most <= 0 {
		return 1
	}
	step := niceStep(most)
	return math.Ceil(most/step) * step
}
