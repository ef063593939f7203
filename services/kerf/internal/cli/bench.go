package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kerf-dev/kerf/services/kerf/internal/bench"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
)

// benchFlags are the flags of kerf bench.
type benchFlags struct {
	catalog   string
	workloads []string
	files     string
	types     int
	mode      string
	runs      int
	threads   int
	inProcess bool
	write     string
	rounds    int
	curve     string
}

func newBench(std IO) *cobra.Command {
	var flags benchFlags
	c := &cobra.Command{
		Use:   "bench [--catalog FILE] [--workload FILE...]",
		Short: "Measure the planner: cost, proven bound, CPU time and memory",
		Long: `Bench plans for workloads and prints what each plan costs, how far that is from
a proven lower bound, and how much CPU time and memory the decision took. Each plan
is checked by the planner's second opinion; one that breaks a rule is an error.

Without flags it measures the built-in suite. Workloads and catalogues are files
(docs/benchmarks.md has the schema) or the names of built-in ones.`,
		Example: `  kerf bench
  kerf bench --workload W2 --workload W4
  kerf bench --catalog catalog.json --workload my-pods.json -o json
  kerf bench --files /path/with/catalog.json/and/workloads`,
		Args: func(_ *cobra.Command, args []string) error {
			// What follows --workload are workloads too, so that --workload *.json does what it looks like.
			if len(args) > 0 && len(flags.workloads) == 0 {
				return fmt.Errorf("unexpected argument %q: name workloads with --workload; see kerf bench --help", args[0])
			}
			flags.workloads = append(flags.workloads, args...)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&flags.catalog, "catalog", "", "`file` of instance types, or one of "+strings.Join(bench.Catalogs(), ", ")+
		"; "+bench.Market+" by default")
	f.StringArrayVar(&flags.workloads, "workload", nil, "`file` of pods, or the name of a built-in workload; may be repeated; the whole suite by default")
	f.StringVar(&flags.files, "files", "", "`directory` with catalog.json and workloads/NAME.json, used for the suite where it has them")
	f.IntVar(&flags.types, "types", 0, "sell only that `many` of the catalogue's types; 0 is all")
	f.StringVar(&flags.mode, "mode", bench.Schedule, "what to measure: schedule, a plan for the pending pods; disrupt, plan after plan until no more nodes go")
	f.IntVar(&flags.runs, "runs", 3, "how `often` to measure each workload; the run with the least CPU time counts")
	f.IntVar(&flags.threads, "threads", 1, "how `many` threads may run at a time in a process that measures")
	f.BoolVar(&flags.inProcess, "in-process", false, "measure in this process, for a profiler; earlier workloads then leave traces in the figures")
	f.StringVar(&flags.write, "write", "", "write the built-in catalogue and workloads into a `directory`, and measure nothing")
	f.IntVar(&flags.rounds, "rounds", 0, "with --mode disrupt: stop after so `many` plans; 0 goes on until no more nodes go")
	f.StringVar(&flags.curve, "curve", "", "with --mode disrupt: draw cost over moves and over CPU time into a `file` (SVG)")
	out := addOutput(c, "table", "json")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := flags.check(); err != nil {
			return err
		}
		if flags.write != "" {
			return bench.Write(flags.write)
		}
		rows, err := flags.rows()
		if err != nil {
			return err
		}
		progress, done := flags.progress(std)
		report, err := flags.runner().Measure(cmd.Context(), rows, flags.runs, progress)
		done()
		if err != nil {
			return err
		}
		if flags.curve != "" {
			if err := os.WriteFile(flags.curve, bench.Curve(report.Lines), 0o644); err != nil { //nolint:gosec // a picture, for everybody
				return err
			}
		}
		switch {
		case out.json():
			err = printResults(std.Out, report)
		case flags.mode == bench.Disrupt:
			err = render.BenchDisrupt(std.Out, report, std.style())
		default:
			err = render.Bench(std.Out, report, std.style())
		}
		if err == nil && !flags.inProcess { // a process that measures for another one leaves the verdict to it
			err = report.Broken()
		}
		return err
	}
	return c
}

func (b *benchFlags) check() error {
	if err := bench.CheckMode(b.mode); err != nil {
		return fmt.Errorf("--mode: %w", err)
	}
	switch {
	case b.runs < 1:
		return fmt.Errorf("--runs %d: want 1 or more", b.runs)
	case b.threads < 1:
		return fmt.Errorf("--threads %d: want 1 or more", b.threads)
	case b.types < 0:
		return fmt.Errorf("--types %d: want a number of types, or 0 for all", b.types)
	case b.rounds < 0:
		return fmt.Errorf("--rounds %d: want a number of plans, or 0 for all", b.rounds)
	case b.mode != bench.Disrupt && (b.rounds > 0 || b.curve != ""):
		return errors.New("--rounds and --curve are for --mode disrupt")
	case b.files != "" && b.catalog != "":
		return errors.New("--files and --catalog both name a catalogue: give one of them")
	case len(b.workloads) == 0 && (b.catalog != "" || b.types > 0):
		return errors.New("--catalog and --types are for workloads that are named: add --workload; see kerf bench --help")
	}
	return nil
}

// rows are the named workloads, or all of the suite.
func (b *benchFlags) rows() ([]bench.Row, error) {
	list := bench.Rows
	if b.mode == bench.Disrupt {
		list = bench.DisruptRows
	}
	suite, err := list(b.files)
	if err != nil || len(b.workloads) == 0 {
		return suite, err
	}
	var out []bench.Row
	for _, w := range b.workloads {
		job, known := bench.Job{Catalog: bench.Market, Workload: w}, false
		for _, r := range suite {
			if r.Name() == w {
				job, known = r.Job, true // with the suite's own catalogue and file
			}
		}
		if b.catalog != "" {
			job.Catalog = b.catalog
		} else if b.files != "" && !known {
			job.Catalog = filepath.Join(b.files, "catalog.json")
		}
		job.Types, job.Mode, job.Rounds = b.types, b.mode, cmp.Or(b.rounds, job.Rounds)
		out = append(out, bench.Row{Job: job})
	}
	return out, nil
}

func (b *benchFlags) runner() bench.Runner {
	if b.inProcess {
		return func(_ context.Context, j bench.Job) (bench.Result, error) { return bench.Measure(j) }
	}
	return b.fresh
}

// fresh measures a job in a new process of this program, so that CPU time and heap are of this job alone.
func (b *benchFlags) fresh(ctx context.Context, j bench.Job) (bench.Result, error) {
	program, err := os.Executable()
	if err != nil {
		return bench.Result{}, fmt.Errorf("find this program, to run it once more: %w", err)
	}
	//nolint:gosec // it is this program itself, and its arguments are the user's own
	c := exec.CommandContext(ctx, program, "bench", "--in-process", "--runs", "1", "-o", "json",
		"--catalog", j.Catalog, "--workload", j.Workload, "--types", strconv.Itoa(j.Types), "--mode", cmp.Or(j.Mode, bench.Schedule),
		"--rounds", strconv.Itoa(j.Rounds))
	c.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(b.threads))
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return bench.Result{}, ctx.Err()
		}
		return bench.Result{}, fmt.Errorf("%s: %w: %s", j.Name(), err, strings.TrimPrefix(strings.TrimSpace(said.String()), "kerf: "))
	}
	var r bench.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return bench.Result{}, fmt.Errorf("%s: the process that measured it wrote no result: %w", j.Name(), err)
	}
	return r, nil
}

// progress says on standard error what is being measured: on a terminal on one line that done takes away, else a line for
// each workload, and nothing in a process that measures for another one.
func (b *benchFlags) progress(std IO) (p bench.Progress, done func()) {
	f, ok := std.Err.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) {
		const fresh = "\r\x1b[K"
		return func(row, of, run int, j bench.Job) {
			fmt.Fprintf(std.Err, fresh+"%d of %d: %s, run %d of %d", row, of, j.Name(), run, b.runs)
		}, func() { fmt.Fprint(std.Err, fresh) }
	}
	return func(row, of, run int, j bench.Job) {
		if run == 1 && !b.inProcess {
			fmt.Fprintf(std.Err, "%d of %d: %s\n", row, of, j.Name())
		}
	}, func() {}
}

// printResults writes one result as an object, several as a list.
func printResults(w io.Writer, report bench.Report) error {
	results := make([]bench.Result, len(report.Lines))
	for i := range report.Lines {
		results[i] = report.Lines[i].Result
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if len(results) == 1 {
		return e.Encode(results[0])
	}
	return e.Encode(results)
}
