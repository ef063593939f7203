package bench

import (
	"errors"
	"fmt"
	"strings"
)

// Churner is what is known of a workload whose nodes are removed: what is asked of the planner, and what Karpenter core
// 1.14 did with the same file (one worker, its waits skipped). Zero figures are not known, or not asked for.
type Churner struct {
	name, file string
	// Cost is the most that the nodes may cost in the end, dollars an hour, of the published file; OverBound is that as a
	// multiple of the bound, of any file.
	Cost, OverBound float64
	// Moves is the most pods that may be moved, of the published file.
	Moves int
	// CPU is the most CPU seconds of all plans, RoundCPU of one, ClearCPU until no empty or drifted node is left.
	CPU, RoundCPU, ClearCPU float64
	// Bound is the published lower bound.
	Bound float64
	// BaseCost, BaseMoves and BaseCPU are the baseline's in the end, Trace how it came there.
	BaseCost  float64
	BaseMoves int
	BaseCPU   float64
	Trace     []TracePoint
	// Published says that the workload is the very file that the baseline's figures are of.
	Published bool
}

// TracePoint is what the baseline's nodes cost after so many CPU seconds.
type TracePoint struct{ CPU, Cost float64 }

// LessCPU is how many times less CPU time than the baseline it may take to reach the baseline's cost.
const LessCPU = 20

func churners() []Churner {
	return []Churner{
		{
			name: "W5-100", file: "2cf86bc5fdf1b879", Cost: 9.32, OverBound: 1.05, Moves: 994, CPU: 0.4,
			Bound: 8.877, BaseCost: 9.579, BaseMoves: 1324, BaseCPU: 53.6,
		},
		{
			name: "W5", file: "5ec90f9ee198dc88", Cost: 99, OverBound: 1.05, Moves: 10000, CPU: 4, RoundCPU: 1,
			Bound: 94.376, BaseCost: 105.91, BaseMoves: 8053, BaseCPU: 422,
			Trace: []TracePoint{
				{0, 263.57},
				{2.7, 230.8},
				{5.2, 200.3},
				{10.5, 153.0},
				{16.5, 115.7},
				{26, 109.4},
				{46, 107.67},
				{120, 106.97},
				{232, 106.44},
				{320, 105.94},
				{422, 105.91},
			},
		},
		{name: "W6", file: "e45968f7f881fbe6", ClearCPU: 1, BaseCPU: 190},
		{name: "W5-5000", RoundCPU: 8},
	}
}

// Churner finds what is known of the line's workload; nil where nothing is.
func (l *Line) Churner() *Churner {
	for _, c := range churners() {
		if c.name != l.Result.Workload {
			continue
		}
		c.Published = c.file != "" && strings.HasPrefix(l.Result.WorkloadSHA256, c.file) && strings.HasPrefix(l.Result.CatalogSHA256, publishedCatalog)
		if !c.Published && l.Result.WorkloadSHA256 != "" {
			return nil // another file of that name
		}
		if !c.Published {
			c.Cost, c.Moves, c.Bound, c.BaseCost, c.BaseMoves, c.BaseCPU, c.Trace = 0, 0, 0, 0, 0, 0, nil
		}
		return &c
	}
	return nil
}

// FloorOf is the highest lower bound that is known of what the line's pods cost.
func (l *Line) FloorOf() float64 {
	floor := l.Result.LowerBound
	if c := l.Churner(); c != nil {
		floor = max(floor, c.Bound)
	}
	return floor
}

// Check is one thing that is asked of a run, and what was measured.
type Check struct {
	What, Want, Got string
	Reached         bool
}

// Checks are all that is asked of a line of mode disrupt.
func (l *Line) Checks() []Check {
	g := l.Result.Given
	if g == nil {
		return nil
	}
	out := []Check{{"most moves of a pod", "≤ 1", fmt.Sprint(g.MostMoves), g.MostMoves <= 1}, g.judged()}
	c := l.Churner()
	if c == nil {
		return out
	}
	upTo := func(what string, want, got float64, format string) {
		if want > 0 {
			out = append(out, Check{what, "≤ " + fmt.Sprintf(format, want), fmt.Sprintf(format, got), got <= want})
		}
	}
	const money, time, whole = "%.3f", "%.2f", "%.0f"
	upTo("$/hour in the end", c.Cost, g.CostAfter, money)
	if floor := l.FloorOf(); c.OverBound > 0 && floor > 0 {
		upTo("cost over the bound", c.OverBound, g.CostAfter/floor, "%.4f")
	}
	upTo("pods moved", float64(c.Moves), float64(g.PodMoves), whole)
	upTo("CPU s of all plans", c.CPU, l.Result.Solve.CPUMs/1000, time)
	if d := g.costliest(); d != nil {
		upTo("CPU s of the most expensive plan", c.RoundCPU, d.CPUMs/1000, time)
	}
	if c.ClearCPU > 0 {
		out = append(out, c.clears(g)...)
	}
	if c.BaseCost > 0 {
		out = append(out, c.overtakes(g)...)
	}
	return out
}

// judged says whether every candidate was judged in every round.
func (g *Given) judged() Check {
	out := Check{What: "candidates judged", Want: "all, in each plan", Reached: true}
	candidates, judged := 0, 0
	for _, r := range g.Rounds {
		candidates, judged = candidates+r.Candidates, judged+r.Judged
		out.Reached = out.Reached && r.Summed && r.Candidates == r.Judged
	}
	out.Got = fmt.Sprintf("%d of %d", judged, candidates)
	return out
}

// clears compares how soon nodes that are empty or drifted are gone.
func (c *Churner) clears(g *Given) []Check {
	out := Check{What: "CPU s until all empty and drifted nodes are gone", Want: fmt.Sprintf("≤ %g", c.ClearCPU), Got: "never"}
	at := g.cleared()
	if at == nil {
		return []Check{out}
	}
	out.Got, out.Reached = fmt.Sprintf("%.2f", at.AtCPUMs/1000), at.AtCPUMs <= c.ClearCPU*1000
	return append([]Check{out}, c.lessCPU("until then", at)...)
}

// overtakes compares what it took to reach the baseline's cost.
func (c *Churner) overtakes(g *Given) []Check {
	at := g.reaches(c.BaseCost)
	if at == nil {
		return []Check{{"the baseline's cost", fmt.Sprintf("≤ %.3f", c.BaseCost), "never reached", false}}
	}
	moves := Check{
		fmt.Sprintf("pods moved until $%.2f", c.BaseCost), fmt.Sprintf("< %d", c.BaseMoves), fmt.Sprint(at.AtMoves), at.AtMoves < c.BaseMoves,
	}
	return append([]Check{moves}, c.lessCPU(fmt.Sprintf("until $%.2f", c.BaseCost), at)...)
}

func (c *Churner) lessCPU(when string, at *Round) []Check {
	if c.BaseCPU == 0 || at.AtCPUMs == 0 {
		return nil
	}
	times := c.BaseCPU * 1000 / at.AtCPUMs
	return []Check{{"less CPU than the baseline " + when, fmt.Sprintf("≥ %d ×", LessCPU), fmt.Sprintf("%.0f ×", times), times >= LessCPU}}
}

// Broken says what no run may do, whatever it costs: move a pod twice, or leave a candidate unjudged.
func (r *Report) Broken() error {
	var all []error
	for i := range r.Lines {
		l := &r.Lines[i]
		g := l.Result.Given
		if g == nil {
			continue
		}
		if g.MostMoves > 1 {
			all = append(all, fmt.Errorf("%s: a pod was moved %d times, within the time that pods rest", l.Name(), g.MostMoves))
		}
		for k, round := range g.Rounds {
			if round.Judged != round.Candidates {
				all = append(all, fmt.Errorf("%s: plan %d judged %d of %d candidates", l.Name(), k+1, round.Judged, round.Candidates))
			}
		}
	}
	return errors.Join(all...)
}

// Turns are how the CPU time of one plan grows with the nodes, from the rows that differ in size only.
func (r *Report) Turns() (Growth, bool) {
	g := Growth{Series: "round", What: "nodes, ten pods each: the most expensive plan"}
	var points []point
	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Result.Given == nil || !strings.HasPrefix(l.Result.Workload, "W5") {
			continue
		}
		d := l.Result.costliest()
		if d == nil || d.CPUMs == 0 {
			continue
		}
		points = append(points, point{size: l.Result.ExistingNodes, cpu: d.CPUMs / 1000})
		g.Sizes, g.CPU = append(g.Sizes, l.Result.ExistingNodes), append(g.CPU, d.CPUMs/1000)
	}
	if len(points) < 2 {
		return g, false
	}
	g.Exponent, g.Last = slope(points), slope(points[len(points)-2:])
	return g, true
}
