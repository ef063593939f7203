package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/test/bench"
)

// Suite writes what was measured as a table, a line for each workload, and how the series grow.
func Suite(w io.Writer, r bench.Report) error {
	p := &suitePage{}
	for i := range r.Lines {
		p.baseline = p.baseline || r.Lines[i].Baseline != nil
		p.targets = p.targets || r.Lines[i].Target != (bench.Target{})
	}
	p.lines(r.Lines)
	p.growth(r.Growth)
	p.explain(r)
	return p.writeTo(w)
}

type suitePage struct {
	page
	// baseline and targets say that some line has one.
	baseline, targets bool
}

func (p *suitePage) lines(lines []bench.Line) {
	cols := columns("<WORKLOAD", "PODS", "SOLVE\nCPU s", "SET-UP\nCPU s", "TOTAL\nCPU s", "$/HOUR", "BOUND", "GAP", "NODES", "PEAK MiB",
		"DEFAULT\nCPU s", "DEFAULT\n$/HOUR", "DEFAULT\nNODES")
	if p.baseline {
		cols = append(cols, columns("BASELINE\nCPU s", "BASELINE\n$/HOUR", "OF IT\nCPU", "OF IT\nCOST")...)
	}
	if p.targets {
		cols = append(cols, columns("TARGET\nCPU s", "TARGET\nCOST", "<REACHED")...)
	}
	rows := make([][]any, len(lines))
	for i := range lines {
		rows[i] = p.row(&lines[i])
	}
	p.table(cols, rows)
}

func (p *suitePage) row(l *bench.Line) []any {
	r := &l.Result
	gap := "-"
	if l.Bound > 0 {
		gap = fmt.Sprintf("%.2f%%", over(l))
	}
	bound := usd(l.Bound)
	if proven(l) {
		bound = "* " + bound
	}
	out := []any{
		name(l), r.PendingPods, seconds(r.Solve.CPUMs / 1000), seconds(r.Setup.CPUMs / 1000), seconds(r.TotalCPUMs() / 1000),
		usd(r.HourlyCost), bound, gap, r.NewNodes,
		fmt.Sprintf("%.0f", r.Solve.PeakHeapMiB),
	}
	if d := r.Default; d != nil && r.DefaultSolve != nil {
		out = append(out, seconds(r.DefaultSolve.CPUMs/1000), usd(d.HourlyCost), d.NewNodes)
	} else {
		out = append(out, "-", "-", "-")
	}
	if p.baseline {
		out = append(out, compared(l)...)
	}
	if p.targets {
		out = append(out, judged(l)...)
	}
	return out
}

// proven says that the bound is a longer search's.
func proven(l *bench.Line) bool { p := l.Result.Proof; return p != nil && p.LowerBound == l.Bound }

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
func compared(l *bench.Line) []any {
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

func judged(l *bench.Line) []any {
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
		return []any{cpu, cost, "yes"}
	}
	return []any{cpu, cost, "no: " + missed(l)}
}

func missed(l *bench.Line) string {
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

func (p *suitePage) growth(series []bench.Growth) {
	if len(series) == 0 {
		return
	}
	p.heading("GROWTH", "of SOLVE; an exponent of 1 is linear")
	var rows [][]any
	for _, g := range series {
		reached := verdict(max(g.Exponent, g.Last) <= bench.MostExponent)
		if g.Partial {
			reached = "no: pods stay pending"
		}
		rows = append(rows, []any{
			g.Series, g.What, points(g), fmt.Sprintf("%.2f", g.Exponent), fmt.Sprintf("%.2f", g.Last), fmt.Sprintf("%.2f", g.Total), reached,
		})
	}
	p.table(columns("<SERIES", "<WHAT GROWS", "<SOLVE CPU s", "EXPONENT", "LAST STEP", "OF TOTAL", fmt.Sprintf("<≤ %g", bench.MostExponent)), rows)
}

// points are sizes with their CPU time.
func points(g bench.Growth) string {
	out := make([]string, len(g.Sizes))
	for i := range g.Sizes {
		out[i] = fmt.Sprintf("%d: %s", g.Sizes[i], seconds(g.CPU[i]))
	}
	return strings.Join(out, "  ")
}

// explain says what the figures are.
func (p *suitePage) explain(r bench.Report) {
	notes := []string{
		fmt.Sprintf("CPU s is user and system time, garbage collection included: the least of %s, each in a new process", count(r.Runs, "run")),
		"SET-UP is a session that reads and indexes the snapshot and the market, and keeps that from one decision to the next; " +
			"SOLVE is a decision of it; TOTAL is one decision from nothing",
		"BOUND is the highest price that is proven to be needed; GAP is the cost over it. Plans are checked by the second opinion",
		"measured with only prices counting; DEFAULT is the plan under the default policy, where one more node counts $0.001 an hour, and its SOLVE",
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
		if proven(l) {
			p, r := l.Result.Proof, &l.Result
			notes = append(notes, fmt.Sprintf("* %s: proven by a search with -work %d, of %s CPU s, whose plan costs %s; the bound of the usual one is %s, a gap of %.2f%%",
				l.Name(), p.Work, seconds(p.CPUMs/1000), usd(p.HourlyCost), usd(r.LowerBound), r.Gap*100))
		}
		if l.Result.UnscheduledPods > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s pending, most often: %s",
				l.Name(), count(l.Result.UnscheduledPods, "pod"), l.Result.Commonest()))
		}
	}
	p.notes(notes)
}
