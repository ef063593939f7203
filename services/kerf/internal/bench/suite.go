package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Job is one measurement. Catalog and Workload are files, or the names of built-in ones.
type Job struct {
	Catalog, Workload string
	// Types is how many of the catalogue's types are sold; 0 means all.
	Types int
	// Mode is Schedule or Disrupt; "" is Schedule.
	Mode string
}

// Name is what the job is called where the workload's name does not tell enough.
func (j Job) Name() string {
	name := strings.TrimSuffix(filepath.Base(j.Workload), ".json")
	if j.Types > 0 {
		name += fmt.Sprintf(", %d types", j.Types)
	}
	return name
}

// isFile says whether a name is a file's and not a built-in's.
func isFile(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.ContainsRune(name, filepath.Separator)
}

// Load reads or makes what the job names. The digests are of files, and "" for what is built in.
func (j Job) Load() (c *Catalog, w *Workload, digests [2]string, err error) {
	c, digests[0], err = load(j.Catalog, ReadCatalog, BuiltInCatalog)
	if err != nil {
		return nil, nil, digests, err
	}
	w, digests[1], err = load(j.Workload, ReadWorkload, func(name string) (*Workload, error) { return BuiltIn(name, c) })
	return c.Thin(j.Types), w, digests, err
}

func load[T any](name string, read func([]byte) (*T, error), builtIn func(string) (*T, error)) (*T, string, error) {
	if !isFile(name) {
		out, err := builtIn(name)
		return out, "", err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, "", err
	}
	out, err := read(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	return out, hex.EncodeToString(sum[:]), nil
}

// Measure loads a job and runs it in this process.
func Measure(j Job) (Result, error) {
	c, w, digests, err := j.Load()
	if err != nil {
		return Result{}, err
	}
	run := Run
	if j.Mode == Disrupt {
		run = RunDisrupt
	}
	r, err := run(c, w)
	if err != nil {
		return Result{}, err
	}
	r.CatalogSHA256, r.WorkloadSHA256 = digests[0], digests[1]
	return r, nil
}

// Runner measures a job, preferably in a process that did nothing before.
type Runner func(context.Context, Job) (Result, error)

// Row is one line of a suite.
type Row struct {
	Job
	// Series are those that it is a point of.
	Series []Place
}

// Place is a place in a series.
type Place struct {
	Series string
	// Size is what grows: pods, nodes or types.
	Size int
}

// Rows are the workloads of the suite: those with targets, then the other points of the series. Files of the directory
// are used where it has them (catalog.json, workloads/NAME.json), built-in ones otherwise; "" has none.
func Rows(dir string) ([]Row, error) {
	s := suite{dir: dir, catalog: Market}
	if dir != "" {
		s.catalog = filepath.Join(dir, "catalog.json")
	}
	var rows []Row
	for _, k := range knowns() {
		rows = append(rows, Row{s.job(k.name), places(k.name)})
	}
	for _, g := range growths() {
		for _, size := range g.sizes {
			at := []Place{{g.series, size}}
			if g.series != typesSeries {
				rows = append(rows, Row{s.job(fmt.Sprintf("%s-%d", g.series, size)), at})
				continue
			}
			j := s.job(g.last)
			j.Types = size
			rows = append(rows, Row{j, at})
		}
	}
	return rows, s.err
}

// DisruptRows are the workloads of mode disrupt.
func DisruptRows(dir string) ([]Row, error) {
	s := suite{dir: dir, catalog: Market}
	if dir != "" {
		s.catalog = filepath.Join(dir, "catalog.json")
	}
	var rows []Row
	for _, name := range []string{"W5-100", "W5", "W6"} {
		j := s.job(name)
		j.Mode = Disrupt
		rows = append(rows, Row{Job: j})
	}
	return rows, s.err
}

// growth is a series of workloads that differ in size only.
type growth struct {
	series, what string
	sizes        []int
	// last is the workload of the table that is the series' largest, and its size.
	last string
	size int
}

const typesSeries = "types"

func growths() []growth {
	return []growth{
		{"G2", "pods of the mix of W2", []int{1000, 5000, 20000}, "W2", 10000},
		{"G3", "pods of the mix of W3", []int{1000, 5000}, "W3", 10000},
		{"GC", "pods of the mix of W2-cap", []int{1250, 2500, 5000}, "W2-cap", 10000},
		{"GN", "nodes, 200 pods pending", []int{1000}, "GN-4000", 4000},
		{typesSeries, "instance types, the pods of W2", []int{100, 200, 400}, "W2", 0},
	}
}

// places are the places of one of the table's workloads in series.
func places(name string) []Place {
	var out []Place
	for _, g := range growths() {
		if g.last == name {
			out = append(out, Place{g.series, g.size})
		}
	}
	return out
}

// suite is where a suite's workloads come from.
type suite struct {
	dir, catalog string
	err          error
}

func (s *suite) job(name string) Job {
	j := Job{Catalog: s.catalog, Workload: name}
	if strings.HasPrefix(name, "mix-") || strings.HasPrefix(name, "wishes-") {
		j.Catalog = Sizes400
		return j
	}
	if s.dir == "" {
		return j
	}
	file := filepath.Join(s.dir, "workloads", name+".json")
	_, err := os.Stat(file)
	switch {
	case err == nil:
		j.Workload = file
	case !errors.Is(err, fs.ErrNotExist):
		s.err = errors.Join(s.err, err)
	}
	return j
}

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
	// Bound is the highest lower bound that is known, the plan's own or a published one; 0 without any.
	Bound float64
	// Missed are the parts of the target that were not reached: "cpu", "cost", "pods".
	Missed []string
}

// Growth is how the CPU time of a series grows.
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
	a.Given, b.Given = a.Given.timeless(), b.Given.timeless()
	return reflect.DeepEqual(a, b)
}

// slack is how much a published figure, which is rounded, may be off.
const slack = 0.001

func judge(row Row, r Result) (Line, error) {
	l := Line{Row: row, Result: r, Bound: r.LowerBound}
	if row.Types == 0 && row.Mode != Disrupt {
		l.Target, l.Baseline = expect(&r)
	}
	if b := l.Baseline; b != nil {
		if b.Attained > 0 && r.UnscheduledPods == 0 && r.LowerBound > b.Attained*(1+slack) {
			return Line{}, fmt.Errorf("%s: the lower bound $%.3f is above $%.3f, which a plan is known to reach: the bound is wrong",
				row.Name(), r.LowerBound, b.Attained)
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
		var points []point
		for i := range lines {
			for _, at := range lines[i].Series {
				if at.Series == g.series {
					points = append(points, pointOf(at, &lines[i].Result))
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
		out = append(out, series)
	}
	return out
}

type point struct {
	size int
	cpu  float64
}

// pointOf is a line's point in a series. The series of types has its largest without a size: all there are.
func pointOf(at Place, r *Result) point {
	const least = 1e-6 // a logarithm needs something
	p := point{at.Size, max(r.Solve.CPUMs/1000, least)}
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

// Write puts the built-in catalogue and the suite's built-in workloads on it into a directory, as files of the schema:
// catalog.json and workloads/NAME.json, for Rows to find and for other planners to be measured on.
func Write(dir string) error {
	c, err := BuiltInCatalog(Market)
	if err != nil {
		return err
	}
	rows, err := Rows("")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "workloads"), 0o750); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "catalog.json"), c); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Catalog != Market || r.Types > 0 {
			continue
		}
		w, err := BuiltIn(r.Workload, c)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, "workloads", w.Name+".json"), w); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
