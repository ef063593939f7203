package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/kerf-dev/kerf/services/kerf/internal/bench"
)

// Bench writes what was measured as a table, a line for each workload, and how the series grow.
func Bench(w io.Writer, r bench.Report, s Style) error {
	p := &benchPage{page: page{Style: s}}
	for i := range r.Lines {
		p.baseline = p.baseline || r.Lines[i].Baseline != nil
		p.targets = p.targets || r.Lines[i].Target != (bench.Target{})
	}
	p.table(r.Lines)
	p.growth(r.Growth)
	p.notes(r)
	return p.writeTo(w)
}

type benchPage struct {
	page
	// baseline and targets say that some line has one.
	baseline, targets bool
}

func (p *benchPage) table(lines []bench.Line) {
	header := table.Row{
		"WORKLOAD", "PODS", "SOLVE\nCPU s", "SET-UP\nCPU s", "TOTAL\nCPU s", "$/HOUR", "BOUND", "GAP", "NODES", "PEAK MiB", "DEFAULT\nNODES", "DEFAULT\n$/HOUR",
	}
	if p.baseline {
		header = append(header, "BASELINE\nCPU s", "BASELINE\n$/HOUR", "OF IT\nCPU", "OF IT\nCOST")
	}
	if p.targets {
		header = append(header, "TARGET\nCPU s", "TARGET\nCOST", "REACHED")
	}
	var numbers []int
	for n := 2; n < len(header); n++ {
		numbers = append(numbers, n)
	}
	if !p.targets {
		numbers = append(numbers, len(header))
	}
	var rows []table.Row
	for i := range lines {
		rows = append(rows, p.row(&lines[i]))
	}
	p.rows(header, rows, numbers...)
}

func (p *benchPage) row(l *bench.Line) table.Row {
	r := &l.Result
	gap := "-"
	if l.Bound > 0 {
		gap = fmt.Sprintf("%.2f%%", (r.HourlyCost/l.Bound-1)*100)
	}
	out := table.Row{
		name(l), r.PendingPods, seconds(r.Solve.CPUMs / 1000), seconds(r.Setup.CPUMs / 1000), seconds(r.TotalCPUMs() / 1000),
		usd(r.HourlyCost), usd(l.Bound), gap, r.NewNodes,
		fmt.Sprintf("%.0f", r.Solve.PeakHeapMiB), "-", "-",
	}
	if d := r.Default; d != nil {
		out[len(out)-2], out[len(out)-1] = d.NewNodes, usd(d.HourlyCost)
	}
	if p.baseline {
		out = append(out, p.compared(l)...)
	}
	if p.targets {
		out = append(out, p.judged(l)...)
	}
	return out
}

// name is the workload's; with nodes that exist it says that they were known before.
func name(l *bench.Line) string {
	switch {
	case l.Result.ExistingNodes > 0:
		return l.Name() + " (warm)"
	default:
		return l.Name()
	}
}

// compared is the baseline, and Kerf's figures as parts of it.
func (p *benchPage) compared(l *bench.Line) []any {
	out := []any{"-", "-", "-", "-"}
	b := l.Baseline
	if b == nil {
		return out
	}
	if b.CPU > 0 {
		out[0] = seconds(b.CPU)
		if b.Similar {
			out[0] = "~" + seconds(b.CPU)
		}
		out[2] = ratio(l.Result.Solve.CPUMs / 1000 / b.CPU)
	}
	if b.Cost > 0 {
		out[1] = usd(b.Cost)
		if l.Result.UnscheduledPods == 0 {
			out[3] = fmt.Sprintf("%.3f", l.Result.HourlyCost/b.Cost)
		}
	}
	return out
}

func (p *benchPage) judged(l *bench.Line) []any {
	t := l.Target
	if t == (bench.Target{}) {
		return []any{"-", "-", ""}
	}
	cpu, cost := "-", "-"
	if t.CPU > 0 {
		cpu = seconds(t.CPU)
	}
	switch {
	case t.Optimum > 0:
		cost = "exact"
	case t.OverBound > 0 && t.OverBaseline > 0 && l.Baseline != nil:
		cost = fmt.Sprintf("≤ %g × bound, or %g × baseline", t.OverBound, t.OverBaseline)
	case t.OverBound > 0:
		cost = fmt.Sprintf("≤ %g × bound", t.OverBound)
	}
	if len(l.Missed) == 0 {
		return []any{cpu, cost, p.paint(green, "yes")}
	}
	return []any{cpu, cost, p.paint(red, "no: "+p.missed(l))}
}

func (p *benchPage) missed(l *bench.Line) string {
	words := make([]string, len(l.Missed))
	for i, m := range l.Missed {
		words[i] = m
		switch {
		case m == "cpu":
			words[i] = fmt.Sprintf("cpu %.1f×", l.Result.Solve.CPUMs/1000/l.Target.CPU)
		case m == "pods":
			words[i] = count(l.Result.UnscheduledPods, "pod") + " pending"
		}
	}
	return strings.Join(words, ", ")
}

func (p *benchPage) growth(series []bench.Growth) {
	if len(series) == 0 {
		return
	}
	p.heading("GROWTH", "of SOLVE; an exponent of 1 is linear")
	var rows []table.Row
	for _, g := range series {
		var points []string
		for i := range g.Sizes {
			points = append(points, fmt.Sprintf("%d: %s", g.Sizes[i], seconds(g.CPU[i])))
		}
		verdict := p.paint(green, "yes")
		switch {
		case g.Partial:
			verdict = p.paint(red, "no: pods stay pending")
		case max(g.Exponent, g.Last) > bench.MostExponent:
			verdict = p.paint(red, "no")
		}
		rows = append(rows, table.Row{
			g.Series, g.What, strings.Join(points, "  "), fmt.Sprintf("%.2f", g.Exponent), fmt.Sprintf("%.2f", g.Last),
			fmt.Sprintf("%.2f", g.Total), verdict,
		})
	}
	p.rows(table.Row{"SERIES", "WHAT GROWS", "SOLVE CPU s", "EXPONENT", "LAST STEP", "OF TOTAL", fmt.Sprintf("≤ %g", bench.MostExponent)}, rows, 4, 5, 6)
}

// notes say what the figures are.
func (p *benchPage) notes(r bench.Report) {
	p.gap()
	notes := []string{
		fmt.Sprintf("CPU s is user and system time, garbage collection included: the least of %s, each in a new process", count(r.Runs, "run")),
		"SET-UP is a session that reads and indexes the snapshot and the market, and keeps that from one decision to the next; " +
			"SOLVE is a decision of it; TOTAL is one decision from nothing",
		"BOUND is the highest price that is proven to be needed; GAP is the cost over it. Plans are checked by the second opinion",
		"measured with only prices counting; DEFAULT is the plan under the default policy, where one more node counts $0.001 an hour",
	}
	if p.baseline {
		notes = append(notes, "BASELINE is Karpenter core 1.14, one worker, its decision without its set-up, to compare with SOLVE (GN: with set-up, "+
			"which it makes for each decision); ~ is of pods drawn from the same mix, five workers")
	}
	if slices.ContainsFunc(r.Lines, func(l bench.Line) bool { return l.Result.ExistingNodes > 0 }) {
		notes = append(notes, "(warm): SOLVE is a delta that brings the pending pods, and a decision, in a session that knew the nodes; "+
			"SET-UP is its beginning with a decision for no pods")
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Result.UnscheduledPods > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s pending, most often: %s",
				l.Name(), count(l.Result.UnscheduledPods, "pod"), l.Result.Commonest()))
		}
	}
	for _, n := range notes {
		p.item("  ", p.paint(dim, n))
	}
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
