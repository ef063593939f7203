// Command versus plays the same loads on Kerf and on Karpenter's kwok provider, each with a fresh Kubernetes control plane,
// and prints what came of them beside each other. It looks on through the API server only.
//
// Start reading at run; package side says what is started, load what is asked for, report what is counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kerf-dev/kerf/test/versus/market"
	"github.com/kerf-dev/kerf/test/versus/picture"
	"github.com/kerf-dev/kerf/test/versus/play"
	"github.com/kerf-dev/kerf/test/versus/report"
	"github.com/kerf-dev/kerf/test/versus/side"
	"github.com/kerf-dev/kerf/test/versus/watch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(1)
	}
}

type options struct {
	loads  []play.Load
	seeds  []uint64
	sides  []string
	output string
	raw    string
	show   string
	dir    string
	// picture is a file; empty for none.
	picture string
	nice    int
	// nodes is how large the load size grows, and leaseTTL what an actuator's lease lasts; empty for the default.
	nodes    int
	leaseTTL string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("versus", flag.ContinueOnError)
	loads := f.String("loads", "bursts,ramp", "loads to play: "+strings.Join(loadTexts(), "; "))
	seeds := f.String("seeds", "1,2,3", "seeds of the loads")
	sides := f.String("sides", side.Kerf+","+side.Karpenter, "sides to play them on")
	f.StringVar(&o.output, "o", "table", "table, json or markdown")
	f.StringVar(&o.raw, "raw", "versus.json", "file that all that was seen is written to")
	f.StringVar(&o.show, "show", "", "play nothing, and show this file, which -raw wrote")
	f.StringVar(&o.picture, "picture", "", "file for a picture of all runs, as SVG; empty for none")
	f.IntVar(&o.nice, "nice", -15, "priority over the machine's other work, -20 to 0; below 0 it takes root")
	f.IntVar(&o.nodes, "nodes", 5000, "how many nodes the load size grows to, each with ten pods")
	f.StringVar(&o.leaseTTL, "lease-ttl", "", "the actuators' etcd.lease_ttl; empty for its default")
	f.StringVar(&o.dir, "dir", "", "folder for logs and data, which stay; empty for a temporary one, which goes unless a run fails")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if formats()[o.output] == nil {
		return o, fmt.Errorf("-o: %q is not table, json or markdown", o.output)
	}
	for word := range strings.SplitSeq(*seeds, ",") {
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return o, fmt.Errorf("-seeds: %w", err)
		}
		o.seeds = append(o.seeds, seed)
	}
	o.sides = strings.Split(*sides, ",")
	for _, name := range o.sides {
		if name != side.Kerf && name != side.Karpenter {
			return o, fmt.Errorf("-sides: no side is called %q; there are %s and %s", name, side.Kerf, side.Karpenter)
		}
	}
	all := play.All()
	for name := range strings.SplitSeq(*loads, ",") {
		i := slices.IndexFunc(all, func(l play.Load) bool { return l.Name == name })
		if i < 0 {
			return o, fmt.Errorf("-loads: no load is called %q; there are %s", name, strings.Join(names(), ", "))
		}
		o.loads = append(o.loads, all[i])
	}
	return o, nil
}

// formats are the ways to print results.
func formats() map[string]func(*report.Results, io.Writer) error {
	return map[string]func(*report.Results, io.Writer) error{
		"table": (*report.Results).Print, "json": (*report.Results).PrintJSON, "markdown": (*report.Results).PrintMarkdown,
	}
}

func names() []string {
	var out []string
	for _, l := range play.All() {
		out = append(out, l.Name)
	}
	return out
}

// loadTexts are the loads, each with what it is.
func loadTexts() []string {
	var out []string
	for _, l := range play.All() {
		out = append(out, fmt.Sprintf("%s, %s", l.Name, l.About))
	}
	return out
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	results := &report.Results{}
	if o.show != "" {
		if results, err = report.Read(o.show); err != nil {
			return err
		}
	} else {
		err = o.play(ctx, results) // what came before a failure is shown all the same
	}
	if o.picture != "" {
		err = errors.Join(err, os.WriteFile(o.picture, picture.Draw(results), 0o600))
	}
	return errors.Join(err, formats()[o.output](results, os.Stdout))
}

// play plays each load with each seed on each side, and keeps what is done after each run.
func (o options) play(ctx context.Context, results *report.Results) error {
	if err := side.Build(ctx, o.sides, os.Stderr); err != nil {
		return err
	}
	undo, err := goFirst(o.nice)
	if err != nil {
		fmt.Fprintln(os.Stderr, "  no priority over the machine's other work:", err)
	}
	defer undo()
	m, err := market.New()
	if err != nil {
		return err
	}
	results.About = fmt.Sprintf("%d types, %d zones, %d CPUs", m.Len(), len(market.Zones()), runtime.NumCPU())
	for _, l := range o.loads {
		for _, seed := range o.seeds {
			if l.Bound != nil {
				values, err := l.Bound(ctx, seed)
				if err != nil {
					return err
				}
				results.Runs = append(results.Runs, report.Run{Load: l.Name, Seed: seed, Side: report.BoundSide, Values: values})
			}
			if err := o.all(ctx, m, l, seed, results); err != nil {
				return err
			}
		}
	}
	return nil
}

// all plays a load with a seed on all sides.
func (o options) all(ctx context.Context, m *market.Market, l play.Load, seed uint64, results *report.Results) error {
	for _, name := range o.sides {
		if (l.Spot || l.Size) && name != side.Kerf {
			continue
		}
		r, err := o.one(ctx, m, l, name, seed)
		if err != nil {
			err = fmt.Errorf("%s, seed %d on %s: %w", l.Name, seed, name, err)
		}
		if r.History != nil { // of a run that failed, too: what came before that is worth a look
			results.Runs = append(results.Runs, r)
			err = errors.Join(err, results.Write(o.raw))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one plays one load on one side. Its folder stays if it fails.
func (o options) one(ctx context.Context, m *market.Market, l play.Load, name string, seed uint64) (report.Run, error) {
	began := time.Now()
	say := func(text string) {
		fmt.Fprintf(os.Stderr, "%6.1fs  %s, seed %d, %s: %s\n", time.Since(began).Seconds(), l.Name, seed, name, text)
	}
	dir, err := o.folder(l.Name, name, seed)
	if err != nil {
		return report.Run{}, err
	}
	say("starting in " + dir)
	s, err := side.Start(ctx, name, side.Options{
		Dir: dir, Market: m, Seed: seed, Spot: l.Spot, Standby: l.Size, LeaseTTL: o.leaseTTL,
	})
	if err != nil {
		return report.Run{}, err
	}
	r := report.Run{Load: l.Name, Seed: seed, Side: name}
	err = func() error {
		w, err := watch.Start(ctx, s.Client, m, s.Pids)
		if err != nil {
			return err
		}
		defer w.Stop()
		err = l.Play(ctx, &play.Stage{Side: s, Watch: w, Seed: seed, Nodes: o.nodes, Say: say})
		w.Stop()
		r.History = w.History()
		r.Values = report.Measure(l.Name, r.History)
		return err
	}()
	if err = errors.Join(err, s.Stop()); err != nil {
		return r, fmt.Errorf("%w (logs in %s)", err, dir)
	}
	say("done")
	if o.dir == "" {
		return r, os.RemoveAll(dir)
	}
	return r, nil
}

func (o options) folder(load, name string, seed uint64) (string, error) {
	if o.dir == "" {
		return os.MkdirTemp("", "kerf-versus-")
	}
	if err := os.MkdirAll(o.dir, 0o750); err != nil {
		return "", err
	}
	return os.MkdirTemp(o.dir, fmt.Sprintf("%s-%d-%s-", load, seed, name))
}
