package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kerf-dev/kerf/test/bench/workload"
)

// Job is one measurement. Catalog and Workload are files, or the names of built-in ones.
type Job struct {
	Catalog, Workload string
	// Types is how many of the catalogue's types are sold; 0 means all.
	Types int
	// Work is how far a plan goes, as model.Policy.Work says; 0 is as far as is usual.
	Work int64
	// Mode is Schedule or Disrupt; "" is Schedule.
	Mode string
	// Rounds ends mode Disrupt after so many plans; 0 goes on until nothing more comes.
	Rounds int
	// EvictionPrice is what an eviction weighs in mode Disrupt, micro-dollars; nil is model.DefaultEvictionPrice.
	EvictionPrice *int64
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
func (j Job) Load() (c *workload.Catalog, w *workload.Workload, digests [2]string, err error) {
	c, digests[0], err = load(j.Catalog, workload.ReadCatalog, workload.BuiltInCatalog)
	if err != nil {
		return nil, nil, digests, err
	}
	w, digests[1], err = load(j.Workload, workload.ReadWorkload, func(name string) (*workload.Workload, error) { return workload.BuiltIn(name, c) })
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
	run := func(c *workload.Catalog, w *workload.Workload) (Result, error) { return Run(c, w, j.Work) }
	if j.Mode == Disrupt {
		run = func(c *workload.Catalog, w *workload.Workload) (Result, error) { return runDisrupt(c, w, j) }
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
	// Prove is how far a second search goes, for its bound, where the first one's is not near the cost; 0 asks for none.
	Prove int64
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
	s := suite{dir: dir, catalog: workload.Market}
	if dir != "" {
		s.catalog = filepath.Join(dir, "catalog.json")
	}
	var rows []Row
	for _, k := range knowns() {
		rows = append(rows, Row{Job: s.job(k.name), Series: places(k.name)})
	}
	for _, g := range growths() {
		for _, size := range g.sizes {
			at := []Place{{g.series, size}}
			if g.series != typesSeries {
				rows = append(rows, Row{Job: s.job(g.workload(size)), Series: at})
				continue
			}
			j := s.job(g.last)
			j.Types = size
			rows = append(rows, Row{Job: j, Series: at})
		}
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
	// overBound is the most that its plans may cost, as Target.OverBound says.
	overBound float64
}

// workload is the name of one that is no other row's.
func (g growth) workload(size int) string { return fmt.Sprintf("%s-%d", g.series, size) }

const typesSeries = "types"

func growths() []growth {
	return []growth{
		{"G2", "pods of the mix of W2", []int{1000, 5000, 20000}, "W2", 10000, 1.005},
		{"G3", "pods of the mix of W3", []int{1000, 5000}, "W3", 10000, 1.05},
		{"GC", "pods of the mix of W2-cap", []int{1250, 2500, 5000}, "W2-cap", 10000, 1.005},
		{"GN", "nodes, 200 pods pending", []int{1000}, "GN-4000", 4000, 0},
		{typesSeries, "instance types, the pods of W2", []int{100, 200, 400}, "W2", 0, 0},
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
	if strings.HasPrefix(name, "mix-") || strings.HasPrefix(name, "preferences-") {
		j.Catalog = workload.Sizes400
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

// Write puts the built-in catalogue and the suite's built-in workloads on it into a directory, as files of the schema:
// catalog.json and workloads/NAME.json, for Rows to find and for other planners to be measured on.
func Write(dir string) error {
	c, err := workload.BuiltInCatalog(workload.Market)
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
		if r.Catalog != workload.Market || r.Types > 0 {
			continue
		}
		w, err := workload.BuiltIn(r.Workload, c)
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
