// Command bench measures the planner: what plans cost, how far that is from a proven bound, and the CPU time and memory
// that a decision takes. docs/benchmarks.md says how to read the figures.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/kerf-dev/kerf/test/bench"
	"github.com/kerf-dev/kerf/test/bench/show"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	catalog   string
	workloads []string
	files     string
	types     int
	work      int64
	prove     int64
	mode      string
	runs      int
	threads   int
	inProcess bool
	write     string
	rounds    int
	curve     string
	eviction  *int64
	output    string
	draw      int
	plain     bool
	seed      int
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.catalog, "catalog", "", "`file` of instance types, or one of "+strings.Join(workload.Catalogs(), ", ")+
		"; "+workload.Market+" by default")
	f.Func("workload", "`file` of pods, or the name of a built-in workload; may be repeated; the whole suite by default", func(w string) error {
		o.workloads = append(o.workloads, w)
		return nil
	})
	f.StringVar(&o.files, "files", "", "`directory` with catalog.json and workloads/NAME.json, used for the suite where it has them")
	f.IntVar(&o.types, "types", 0, "sell only `N` of the catalogue's types; 0 is all")
	f.Int64Var(&o.work, "work", 0, "how far plans go, thousands of steps, as --work of kerf plan says; 0 is as far as is usual")
	f.Int64Var(&o.prove, "prove", 3_000_000, "where a plan is not within 0.5 % of its bound, how far another search for a bound goes, as -work says; "+
		"10 times what is usual by default; 0 looks no further")
	f.StringVar(&o.mode, "mode", bench.Schedule, "what to measure: schedule, a plan for the pending pods; disrupt, plan after plan until no more nodes go")
	f.IntVar(&o.runs, "runs", 3, "measure each workload `N` times; the run with the least CPU time counts")
	f.IntVar(&o.threads, "threads", 1, "`N` threads may run at a time in a process that measures")
	f.BoolVar(&o.inProcess, "in-process", false, "measure in this process, for a profiler; earlier workloads then leave traces in the figures")
	f.StringVar(&o.write, "write", "", "write the built-in catalogue and workloads into a `directory`, and measure nothing")
	f.IntVar(&o.rounds, "rounds", 0, "with -mode disrupt: stop after `N` plans; 0 goes on until no more nodes go")
	f.StringVar(&o.curve, "curve", "", "with -mode disrupt: draw cost over moves and over CPU time into a `file` (SVG)")
	f.Func("eviction-price", "with -mode disrupt: what an eviction weighs, `micro-dollars`; the planner's default, 1000, if not given", func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return errors.New("want a number of micro-dollars, 0 or more")
		}
		o.eviction = &n
		return nil
	})
	f.IntVar(&o.draw, "draw", 0, "measure `N` workloads that are drawn, not chosen, and say the median and the worst of cost over bound; with -mode disrupt scale-downs")
	f.BoolVar(&o.plain, "plain", false, "with -draw: workloads without rules, of 1,000 to 50,000 pods and 10 to 220 requests")
	f.IntVar(&o.seed, "seed", 1, "with -draw: the first workload's `seed`; the others have the next ones")
	f.StringVar(&o.output, "o", "table", "how to print: table or json")
	return f
}

// parse reads the arguments. Those that follow -workload are workloads too, so that -workload *.json does what it looks
// like.
func (o *options) parse(args []string, stderr io.Writer) error {
	f := o.flags()
	f.SetOutput(io.Discard)
	err := f.Parse(args)
	for err == nil && f.NArg() > 0 {
		rest := f.Args()
		if len(o.workloads) == 0 {
			return fmt.Errorf("unexpected argument %q: name workloads with -workload; see bench -help", rest[0])
		}
		o.workloads = append(o.workloads, rest[0])
		err = f.Parse(rest[1:])
	}
	if errors.Is(err, flag.ErrHelp) {
		f.SetOutput(stderr)
		f.Usage()
	}
	if err != nil {
		return err
	}
	return o.check()
}

func (o *options) check() error {
	if err := bench.CheckMode(o.mode); err != nil {
		return fmt.Errorf("-mode: %w", err)
	}
	switch {
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("-o %q: want table or json", o.output)
	case o.runs < 1:
		return fmt.Errorf("-runs %d: want 1 or more", o.runs)
	case o.threads < 1:
		return fmt.Errorf("-threads %d: want 1 or more", o.threads)
	case o.types < 0:
		return fmt.Errorf("-types %d: want a number of types, or 0 for all", o.types)
	case o.work < 0 || o.work > 0 && o.mode == bench.Disrupt:
		return fmt.Errorf("-work %d: want thousands of steps, for -mode schedule, or 0 for as far as is usual", o.work)
	case o.prove < 0:
		return fmt.Errorf("-prove %d: want thousands of steps, or 0 to look no further", o.prove)
	case o.rounds < 0:
		return fmt.Errorf("-rounds %d: want a number of plans, or 0 for all", o.rounds)
	case o.mode != bench.Disrupt && (o.rounds > 0 || o.curve != "" || o.eviction != nil):
		return errors.New("-rounds, -curve and -eviction-price are for -mode disrupt")
	case o.draw < 0 || o.seed < 1:
		return fmt.Errorf("-draw %d -seed %d: want a number of workloads, and a seed of 1 or more", o.draw, o.seed)
	case o.draw > 0 && (len(o.workloads) > 0 || o.files != ""):
		return errors.New("-draw, -workload and -files name workloads: give one of them")
	case o.files != "" && o.catalog != "":
		return errors.New("-files and -catalog both name a catalogue: give one of them")
	case o.plain && (o.draw == 0 || o.mode == bench.Disrupt):
		return errors.New("-plain says what -draw draws in the mode schedule: give -draw, and no -mode disrupt")
	case len(o.workloads) == 0 && o.draw == 0 && (o.catalog != "" || o.types > 0):
		return errors.New("-catalog and -types are for workloads that are named: add -workload; see bench -help")
	}
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	if err := o.parse(args, stderr); err != nil {
		return err
	}
	if o.write != "" {
		return bench.Write(o.write)
	}
	rows, err := o.rows()
	if err != nil {
		return err
	}
	progress, done := o.progress(stderr)
	report, err := o.runner().Measure(ctx, rows, o.runs, progress)
	done()
	if err != nil {
		return err
	}
	if o.curve != "" {
		if err := os.WriteFile(o.curve, show.Curve(report.Lines), 0o644); err != nil { //nolint:gosec // a picture, for everybody
			return err
		}
	}
	switch {
	case o.output == "json":
		err = printJSON(stdout, report)
	case o.draw > 0:
		err = show.Drawn(stdout, report)
	case o.mode == bench.Disrupt:
		err = show.Disrupt(stdout, report)
	default:
		err = show.Suite(stdout, report)
	}
	if err == nil && !o.inProcess { // a process that measures for another one leaves the verdict to it
		err = report.Broken()
	}
	return err
}

// rows are the named or drawn workloads, or all of the suite.
func (o *options) rows() ([]bench.Row, error) {
	for i := range o.draw {
		drawn := workload.Drawn
		switch {
		case o.mode == bench.Disrupt:
			drawn = workload.Shrinking
		case o.plain:
			drawn = workload.Plain
		}
		o.workloads = append(o.workloads, drawn(o.seed+i))
	}
	list := bench.Rows
	if o.mode == bench.Disrupt {
		list = bench.DisruptRows
	}
	prove := o.prove
	if o.inProcess || o.mode == bench.Disrupt || prove <= o.work {
		prove = 0 // the process that started this one looks further, or the plan has gone that far already
	}
	suite, err := list(o.files)
	for i := range suite {
		suite[i].Work, suite[i].Prove = o.work, prove
	}
	if err != nil || len(o.workloads) == 0 {
		return suite, err
	}
	var out []bench.Row
	for _, w := range o.workloads {
		job, known := bench.Job{Catalog: workload.Market, Workload: w}, false
		for _, r := range suite {
			if r.Name() == w {
				job, known = r.Job, true // with the suite's own catalogue and file
			}
		}
		if o.catalog != "" {
			job.Catalog = o.catalog
		} else if o.files != "" && !known {
			job.Catalog = filepath.Join(o.files, "catalog.json")
		}
		job.Types, job.Work, job.Mode, job.Rounds, job.EvictionPrice = o.types, o.work, o.mode, cmp.Or(o.rounds, job.Rounds), o.eviction
		out = append(out, bench.Row{Job: job, Prove: prove})
	}
	return out, nil
}

func (o *options) runner() bench.Runner {
	if o.inProcess {
		return func(_ context.Context, j bench.Job) (bench.Result, error) { return bench.Measure(j) }
	}
	return o.fresh
}

// fresh measures a job in a new process of this program, so that CPU time and heap are of this job alone.
func (o *options) fresh(ctx context.Context, j bench.Job) (bench.Result, error) {
	program, err := os.Executable()
	if err != nil {
		return bench.Result{}, fmt.Errorf("find this program, to run it once more: %w", err)
	}
	//nolint:gosec // it is this program itself, and its arguments are the user's own
	c := exec.CommandContext(ctx, program, "-in-process", "-runs", "1", "-o", "json",
		"-catalog", j.Catalog, "-workload", j.Workload, "-types", strconv.Itoa(j.Types), "-work", strconv.FormatInt(j.Work, 10), "-mode", cmp.Or(j.Mode, bench.Schedule),
		"-rounds", strconv.Itoa(j.Rounds))
	if j.EvictionPrice != nil {
		c.Args = append(c.Args, "-eviction-price", strconv.FormatInt(*j.EvictionPrice, 10))
	}
	c.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(o.threads))
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return bench.Result{}, ctx.Err()
		}
		return bench.Result{}, fmt.Errorf("%s: %w: %s", j.Name(), err, strings.TrimPrefix(strings.TrimSpace(said.String()), "bench: "))
	}
	var r bench.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return bench.Result{}, fmt.Errorf("%s: the process that measured it wrote no result: %w", j.Name(), err)
	}
	return r, nil
}

// progress says on standard error what is being measured: on a terminal on one line that done takes away, else a line for
// each workload, and nothing in a process that measures for another one.
func (o *options) progress(stderr io.Writer) (p bench.Progress, done func()) {
	f, ok := stderr.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) {
		const fresh = "\r\x1b[K"
		return func(row, of, run int, j bench.Job) {
			fmt.Fprintf(stderr, fresh+"%d of %d: %s, run %d of %d", row, of, j.Name(), run, o.runs)
		}, func() { fmt.Fprint(stderr, fresh) }
	}
	return func(row, of, run int, j bench.Job) {
		if run == 1 && !o.inProcess {
			fmt.Fprintf(stderr, "%d of %d: %s\n", row, of, j.Name())
		}
	}, func() {}
}

// printJSON writes one result as an object, several as a list.
func printJSON(w io.Writer, report bench.Report) error {
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
