package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
}

// totals sum up many results.
type totals struct {
	seeds, placed, pending, unsupported, cautious, misfits, missed, violations, broken, misses, free int
	failing                                                                                          []failing
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
	t, err := tryAll(ctx, cfg)
	if err != nil {
		return false, err
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
	took := time.Since(began)
	fmt.Fprintf(out, "%d seeds: %d pods placed, %d pending (%d unsupported, %d out of caution); misfits %d, missed %d; "+
		"random orders missed %d of %d; violations %d, broken %d; %.1fs (%.1f ms each)\n",
		t.seeds, t.placed, t.pending, t.unsupported, t.cautious, t.misfits, t.missed, t.misses, t.free, t.violations, t.broken,
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
		fmt.Fprintf(out, "\n%s", show.Scenario(small, title))
		fmt.Fprintf(out, "-- planned --\n%s", show.Plan(r.Plan))
	}
	return nil
}

// tryAll tries the seeds, several at a time; each worker has a scheduler of its own.
func tryAll(ctx context.Context, cfg config) (*totals, error) {
	var (
		next  atomic.Int64
		mutex sync.Mutex
		group sync.WaitGroup
		sum   totals
		fail  error
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
			fail = err
			mutex.Unlock()
		})
	}
	group.Wait()
	return &sum, fail
}
