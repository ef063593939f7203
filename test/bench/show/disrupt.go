package show

import (
	"fmt"
	"io"

	"github.com/kerf-dev/kerf/test/bench"
)

// Disrupt writes what disruption came to: a line for each workload, each plan of them, and what was asked.
func Disrupt(w io.Writer, r bench.Report) error {
	p := &page{}
	p.given(r.Lines)
	for i := range r.Lines {
		if g := r.Lines[i].Result.Given; g != nil {
			p.rounds(&r.Lines[i], g)
		}
	}
	p.checks(r.Lines)
	if g, ok := r.Turns(); ok {
		p.turns(g)
	}
	p.notes([]string{
		"each plan is checked and done at once; CPU s is of all plans, in a session that hears of what was done by deltas: the least of " +
			count(r.Runs, "run"),
		"BOUND is what the same pods cost at least on new nodes; GAP is the cost after over it; MOST is how often one pod was moved",
		"JUDGED are the candidates whose waste the plan knows, TRIED the sets of nodes that it tried to remove; " +
			"DUE are nodes that are empty or drifted and stay",
	})
	return p.writeTo(w)
}

// given is a line for each workload.
func (p *page) given(lines []bench.Line) {
	var rows [][]any
	for i := range lines {
		if g := lines[i].Result.Given; g != nil {
			rows = append(rows, givenRow(&lines[i], g))
		}
	}
	p.table(columns("<WORKLOAD", "NODES", "AFTER", "$/HOUR", "AFTER", "BOUND", "GAP", "PLANS", "ACTIONS", "POD MOVES", "MOST", "CPU s", "SET-UP s",
		"PEAK MiB", "<FINISHED"), rows)
}

func givenRow(l *bench.Line, g *bench.Given) []any {
	r := &l.Result
	gap, finished := "-", "yes"
	floor := l.FloorOf()
	if floor > 0 {
		gap = fmt.Sprintf("%.2f%%", (g.CostAfter/floor-1)*100)
	}
	switch {
	case g.Finished:
	case l.Rounds > 0:
		finished = fmt.Sprintf("only %d plans", l.Rounds)
	default:
		finished = "no"
	}
	return []any{
		l.Name(), g.NodesBefore, g.NodesAfter, usd(g.CostBefore), usd(g.CostAfter), usd(floor), gap, g.Passes, g.Actions, g.PodMoves,
		g.MostMoves, seconds(r.Solve.CPUMs / 1000), seconds(r.Setup.CPUMs / 1000), fmt.Sprintf("%.0f", r.Solve.PeakHeapMiB), finished,
	}
}

// mostRounds is how many plans of a workload are shown: of more, the first ones and the last.
const mostRounds = 40

func (p *page) rounds(l *bench.Line, g *bench.Given) {
	p.heading(l.Name(), "plan by plan")
	var rows [][]any
	for i := range g.Rounds {
		if i >= mostRounds && i < len(g.Rounds)-1 {
			continue
		}
		r := &g.Rounds[i]
		next := r.ResumeAfter
		if next == "" {
			next = "-"
		}
		rows = append(rows, []any{
			i + 1, r.Candidates, r.Judged, r.Tried, r.Actions, r.Removed, r.Added, r.Moves, r.AtMoves, r.Due, r.NodesAfter, usd(r.CostAfter),
			seconds(r.CPUMs / 1000), seconds(r.AtCPUMs / 1000), next,
		})
	}
	p.table(columns("PLAN", "CANDIDATES", "JUDGED", "TRIED", "ACTIONS", "REMOVED", "ADDED", "MOVES", "SO FAR", "DUE", "NODES", "$/HOUR", "CPU s",
		"SO FAR", "<GOES ON AFTER"), rows)
}

func (p *page) checks(lines []bench.Line) {
	var rows [][]any
	for i := range lines {
		for _, c := range lines[i].Checks() {
			rows = append(rows, []any{lines[i].Name(), c.What, c.Want, c.Got, verdict(c.Reached)})
		}
	}
	if len(rows) > 0 {
		p.heading("ASKED", "")
		p.table(columns("<WORKLOAD", "<WHAT", "ASKED", "MEASURED", "<REACHED"), rows)
	}
}

func (p *page) turns(g bench.Growth) {
	p.heading("GROWTH", "of CPU seconds; an exponent of 1 is linear")
	p.table(columns("<WHAT GROWS", "<CPU s", "EXPONENT", "LAST STEP"), [][]any{
		{g.What, points(g), fmt.Sprintf("%.2f", g.Exponent), fmt.Sprintf("%.2f", g.Last)},
	})
}
