package bench

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Report is what a suite gave.
type Report struct {
	Lines  []Line
	Growth []Growth
	// Runs is how often each workload was measured, each time in a process of its own where that was possible; figures are
	// of the run that took the least CPU time.
	Runs int
}

// Line is what one row gave.
type Line struct {
	Row
	Result Result
	Target Target
	// Baseline is nil unless it is of this very workload.
	Baseline *Baseline
	// Bound is the highest lower bound that is known: the plan's own, a longer search's, or a published one; 0 without any.
	Bound float64
	// Missed are the parts of the target that were not reached: "cpu", "cost", "pods".
	Missed []string
}

// Growth is how the CPU time of a series' decisions grows.
type Growth struct {
	Series string
	// What is what grows.
	What string
	// Sizes and CPU (seconds) are the points, by size.
	Sizes []int
	CPU   []float64
	// Exponent is the slope of the straight line through the points, both axes logarithmic: 1 is linear.
	Exponent float64
	// Last is the slope from the last point but one to the last.
	Last float64
	// Total is the exponent of decisions from nothing, set-up included.
	Total float64
	// Partial says that some points left pods pending, so that the exponent tells little.
	Partial bool
}

// MostExponent is the steepest growth that is good enough.
const MostExponent = 1.1

// Progress hears of each run before it begins: which row of how many, and which run.
type Progress func(row, of, run int, j Job)

// Measure measures all rows.
func (run Runner) Measure(ctx context.Context, rows []Row, runs int, p Progress) (Report, error) {
	out := Report{Runs: runs}
	for i, row := range rows {
		var best Result
		for k := range runs {
			p(i+1, len(rows), k+1, row.Job)
			r, err := run(ctx, row.Job)
			if err != nil {
				return Report{}, err
			}
			if k > 0 && !samePlan(r, best) {
				return Report{}, fmt.Errorf("%s: two runs gave two plans: the planner must answer the same input with the same plan", row.Name())
			}
			if k == 0 || r.Solve.CPUMs < best.Solve.CPUMs {
				best = r
			}
		}
		l, err := judge(row, best)
		if err == nil {
			l, err = run.prove(ctx, row, l)
		}
		if err != nil {
			return Report{}, err
		}
		out.Lines = append(out.Lines, l)
	}
	out.Growth = grow(out.Lines)
	return out, nil
}

func samePlan(a, b Result) bool {
	a.Solve, a.Setup, b.Solve, b.Setup = Phase{}, Phase{}, Phase{}, Phase{}
	a.Cold, a.DefaultSolve, b.Cold, b.DefaultSolve = nil, nil, nil, nil
	a.Given, b.Given = a.Given.timeless(), b.Given.timeless()
	return reflect.DeepEqual(a, b)
}

// slack is how much a published figure, which is rounded, may be off.
const slack = 0.001

func judge(row Row, r Result) (Line, error) {
	l := Line{Row: row, Result: r, Bound: r.LowerBound}
	if r.Proof != nil {
		l.Bound = max(l.Bound, r.Proof.LowerBound)
	}
	if row.Types == 0 && row.Mode != Disrupt {
		l.Target, l.Baseline = expect(&r)
	}
	if b := l.Baseline; b != nil {
		if b.Attained > 0 && r.UnscheduledPods == 0 && l.Bound > b.Attained*(1+slack) {
			return Line{}, fmt.Errorf("%s: the lower bound $%.3f is above $%.3f, which a plan is known to reach: the bound is wrong",
				row.Name(), l.Bound, b.Attained)
		}
		l.Bound = max(l.Bound, b.Bound)
	}
	if l.Target == (Target{}) {
		return l, nil
	}
	if l.Target.CPU > 0 && r.Solve.CPUMs > l.Target.CPU*1000 {
		l.Missed = append(l.Missed, "cpu")
	}
	if !l.cheapEnough() {
		l.Missed = append(l.Missed, "cost")
	}
	if r.UnscheduledPods > 0 {
		l.Missed = append(l.Missed, "pods")
	}
	return l, nil
}

// cheapEnough says whether the cost is what was to be reached.
func (l *Line) cheapEnough() bool {
	cost, t := l.Result.HourlyCost, l.Target
	if t.Optimum > 0 {
		return cost <= t.Optimum*(1+slack)
	}
	if t.OverBound == 0 || l.Bound > 0 && cost <= t.OverBound*l.Bound {
		return true
	}
	return t.OverBaseline > 0 && l.Baseline != nil && cost <= t.OverBaseline*l.Baseline.Cost
}

// grow finds the exponents of all series that have two points or more.
func grow(lines []Line) []Growth {
	var out []Growth
	for _, g := range growths() {
		series := Growth{Series: g.series, What: g.what}
		var points, totals []point
		for i := range lines {
			for _, at := range lines[i].Series {
				if at.Series == g.series {
					points = append(points, pointOf(at, &lines[i].Result, lines[i].Result.Solve.CPUMs))
					totals = append(totals, pointOf(at, &lines[i].Result, lines[i].Result.TotalCPUMs()))
					series.Partial = series.Partial || lines[i].Result.UnscheduledPods > 0
				}
			}
		}
		if len(points) < 2 {
			continue
		}
		slices.SortFunc(points, func(a, b point) int { return a.size - b.size })
		for _, p := range points {
			series.Sizes, series.CPU = append(series.Sizes, p.size), append(series.CPU, p.cpu)
		}
		series.Exponent = slope(points)
		series.Last = slope(points[len(points)-2:])
		series.Total = slope(totals)
		out = append(out, series)
	}
	return out
}

type point struct {
	size int
	cpu  float64
}

// pointOf is a line's point in a series. The series of types has its largest without a size: all there are.
func pointOf(at Place, r *Result, cpuMs float64) point {
	const least = 1e-6 // a logarithm needs something
	p := point{at.Size, max(cpuMs/1000, least)}
	if p.size == 0 {
		p.size = r.InstanceTypes
	}
	return p
}

// slope is that of the straight line nearest to the points (least squares) with both axes logarithmic.
func slope(points []point) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		x, y := math.Log(float64(p.size)), math.Log(p.cpu)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
