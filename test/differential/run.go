package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
	"github.com/kerf-dev/kerf/test/differential/kube"
	"github.com/kerf-dev/kerf/test/differential/show"
	"github.com/kerf-dev/kerf/test/differential/shrink"
)

type config struct {
	seeds    int
	from     uint64
	families gen.Family
	options  judge.Options
	workers  int
	show     int
	verbose  bool
	// hunt is how long to go on, in rounds of huntRound seeds; 0 tries seeds once.
	hunt time.Duration
	// keep is where failing seeds are kept; "" is nowhere.
	keep string
}

// huntRound is how many seeds a hunt tries between two lines that say how it goes.
const huntRound = 2000

// totals sum up many results.
type totals struct {
	seeds, placed, pending, unsupported, cautious, misfits, missed, forbidden, violations, broken, misses, free int
	removed                                                                                                     map[model.DisruptionReason]int
	failing                                                                                                     []failing
}

// failing is a seed whose plan is wrong.
type failing struct {
	c        gen.Case
	failures []judge.Failure
}

func (t *totals) add(c gen.Case, r judge.Result) {
	t.seeds++
	t.placed += r.Placed
	t.pending += r.Pending
	t.unsupported += r.Unsupported
	t.cautious += r.Cautious
	t.misfits += r.Count(judge.Misfit)
	t.missed += r.Count(judge.Missed)
	t.forbidden += r.Count(judge.Forbidden)
	for _, d := range r.Plan.Disruptions {
		t.removed[d.Reason] += len(d.Candidates)
	}
	t.violations += r.Count(judge.Violation)
	t.broken += r.Count(judge.Broken)
	t.misses += r.Misses
	t.free += r.Free
	if len(r.Failures) > 0 {
		t.failing = append(t.failing, failing{c, r.Failures})
	}
}

// run tries the seeds and reports; it is false when a plan failed.
func run(ctx context.Context, cfg config, out io.Writer) (bool, error) {
	began := time.Now()
	t := &totals{removed: make(map[model.DisruptionReason]int)}
	for round := cfg; ; round.from += uint64(round.seeds) {
		if cfg.hunt > 0 {
			round.seeds = huntRound
		}
		if err := tryAll(ctx, round, t); err != nil {
			return false, err
		}
		if cfg.hunt == 0 || time.Since(began) > cfg.hunt {
			break
		}
		fmt.Fprintf(os.Stderr, "%s: %d seeds from %d on, %d failed\n", time.Since(began).Round(time.Second), t.seeds, cfg.from, len(t.failing))
	}
	slices.SortFunc(t.failing, func(a, b failing) int { return cmp.Compare(a.c.Seed, b.c.Seed) })
	for _, f := range t.failing {
		for _, x := range f.failures {
			fmt.Fprintf(out, "seed %d: %s\n", f.c.Seed, x)
		}
	}
	if err := explain(ctx, cfg, t.failing, out); err != nil {
		return false, err
	}
	if cfg.hunt > 0 {
		fmt.Fprintf(out, "-from %d -seeds %d tries the same again\n", cfg.from, t.seeds)
	}
	took := time.Since(began)
	fmt.Fprintf(out, "nodes removed:")
	for _, reason := range slices.Sorted(maps.Keys(t.removed)) {
		fmt.Fprintf(out, " %s %d", reason, t.removed[reason])
	}
	fmt.Fprintf(out, "\n%d seeds: %d pods placed, %d pending (%d unsupported, %d out of caution); misfits %d, missed %d, forbidden %d; "+
		"random orders missed %d of %d; violations %d, broken %d; %.1fs (%.1f ms each)\n",
		t.seeds, t.placed, t.pending, t.unsupported, t.cautious, t.misfits, t.missed, t.forbidden, t.misses, t.free, t.violations, t.broken,
		took.Seconds(), took.Seconds()*1000/float64(max(1, t.seeds)))
	return len(t.failing) == 0, nil
}

// mostTries bounds the work on one failing seed.
const mostTries = 4000

// explain makes the first failing seeds smaller, one of each kind of failure first, and shows them as scenarios.
func explain(ctx context.Context, cfg config, all []failing, out io.Writer) error {
	s, err := kube.New(ctx)
	if err != nil {
		return err
	}
	o := cfg.options
	o.Orders, o.Worlds = 0, 6
	shown := make(map[string]bool)
	for _, f := range all {
		first := f.failures[0]
		kind := string(first.Kind) + first.Rule
		if shown[kind] || len(shown) >= cfg.show {
			continue
		}
		shown[kind] = true
		var last judge.Failure
		small := shrink.Shrink(f.c, func(c gen.Case) bool {
			r, err := judge.Try(s, c, o)
			i := slices.IndexFunc(r.Failures, first.Same)
			if err != nil || i < 0 {
				return false
			}
			last = r.Failures[i]
			return true
		}, mostTries)
		r, err := judge.Try(s, small, o)
		if err != nil {
			return err
		}
		title := fmt.Sprintf("Seed %d of the differential test, made smaller: %s.", f.c.Seed, last)
		text := show.Scenario(small, title) + "-- planned --\n" + show.Plan(r.Plan)
		fmt.Fprintf(out, "\n%s", text)
		if err := keep(cfg.keep, f.c.Seed, text); err != nil {
			return err
		}
	}
	return nil
}

// keep writes a failing seed down.
func keep(dir string, seed uint64, text string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("seed-%d.txtar", seed)), []byte(text), 0o600)
}

// tryAll tries the seeds, several at a time; each worker has a scheduler of its own.
func tryAll(ctx context.Context, cfg config, sum *totals) (fail error) {
	var (
		next  atomic.Int64
		mutex sync.Mutex
		group sync.WaitGroup
	)
	for range max(1, cfg.workers) {
		group.Go(func() {
			s, err := kube.New(ctx)
			for err == nil {
				i := int(next.Add(1)) - 1
				if i >= cfg.seeds {
					return
				}
				c := gen.New(cfg.from+uint64(i), cfg.families)
				var r judge.Result
				if r, err = judge.Try(s, c, cfg.options); err != nil {
					err = fmt.Errorf("seed %d: %w", c.Seed, err)
					break
				}
				mutex.Lock()
				sum.add(c, r)
				mutex.Unlock()
			}
			mutex.Lock()
			fail = cmp.Or(fail, err)
			mutex.Unlock()
		})
	}
	group.Wait()
	return fail
}
