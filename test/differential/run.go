package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
	"github.com/kerf-dev/kerf/test/differential/kube"
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
	// fresh is the commit that the seeds are of; "" where they are given.
	fresh string
}

// huntRound is how many seeds a hunt tries between two looks at the clock.
const huntRound = 2000

// progress is how many seeds are tried between two lines that say how it goes.
const progress = 10_000

// seedsOf is the first of the seeds that a commit is tried with: they were not chosen, and can be repeated.
func seedsOf(commit string) (uint64, error) {
	const digits = 9
	if len(commit) < digits {
		return 0, fmt.Errorf("%q is no commit's hash", commit)
	}
	n, err := strconv.ParseUint(commit[:digits], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no commit's hash", commit)
	}
	return n, nil
}

// totals sum up many results.
type totals struct {
	began time.Time
	from  uint64

	seeds, placed, pending, unsupported, cautious, unjudged, misfits, missed, forbidden, refused, restless, violations, broken, misses, free int
	removed                                                                                                                                  map[model.DisruptionReason]int
	failing                                                                                                                                  []failing
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
	t.unjudged += r.Unjudged
	t.misfits += r.Count(judge.Misfit)
	t.missed += r.Count(judge.Missed)
	t.forbidden += r.Count(judge.Forbidden)
	t.refused += r.Count(judge.Refused)
	t.restless += r.Count(judge.Restless)
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
	if t.seeds%progress == 0 {
		fmt.Fprintf(os.Stderr, "%s: %d seeds from %d on, %d failed\n", time.Since(t.began).Round(time.Second), t.seeds, t.from, len(t.failing))
	}
}

// run tries the seeds and reports; it is false when a plan failed.
func run(ctx context.Context, cfg config, out io.Writer) (bool, error) {
	t := &totals{began: time.Now(), from: cfg.from, removed: make(map[model.DisruptionReason]int)}
	for round := cfg; ; round.from += uint64(round.seeds) {
		if cfg.hunt > 0 {
			round.seeds = huntRound
		}
		if err := tryAll(ctx, round, t); err != nil {
			return false, err
		}
		if cfg.hunt == 0 || time.Since(t.began) > cfg.hunt {
			break
		}
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
	t.print(out, time.Since(t.began))
	if cfg.fresh != "" {
		again := fmt.Sprintf("make differential SEEDS=%d ARGS=\"-from %d\"", t.seeds, cfg.from)
		if len(t.failing) == 0 {
			fmt.Fprintf(out, "the seeds of commit %s; again: %s\n", cfg.fresh, again)
		} else {
			fmt.Fprintf(out, "WARNING: of %d seeds of commit %s %d fail; again: %s\n", t.seeds, cfg.fresh, len(t.failing), again)
		}
	}
	return len(t.failing) == 0, nil
}

// print writes the sums down.
func (t *totals) print(out io.Writer, took time.Duration) {
	fmt.Fprintf(out, "nodes removed:")
	for _, reason := range slices.Sorted(maps.Keys(t.removed)) {
		fmt.Fprintf(out, " %s %d", reason, t.removed[reason])
	}
	fmt.Fprintf(out, "\n%d seeds: %d pods placed, %d pending (%d unsupported; of classes %d out of caution, %d not judged); "+
		"misfits %d, missed %d, forbidden %d, refused %d, restless %d; random orders missed %d of %d; violations %d, broken %d; %.1fs (%.1f ms each)\n",
		t.seeds, t.placed, t.pending, t.unsupported, t.cautious, t.unjudged, t.misfits, t.missed, t.forbidden, t.refused, t.restless, t.misses, t.free, t.violations,
		t.broken, took.Seconds(), took.Seconds()*1000/float64(max(1, t.seeds)))
}

// explain shows the first failing seeds, made smaller, one of each kind of failure first.
func explain(ctx context.Context, cfg config, all []failing, out io.Writer) error {
	s, err := kube.New(ctx)
	if err != nil {
		return err
	}
	shown := make(map[string]bool)
	for _, f := range all {
		kind := string(f.failures[0].Kind) + f.failures[0].Rule
		if shown[kind] || len(shown) >= cfg.show {
			continue
		}
		shown[kind] = true
		text, err := smaller(s, cfg, f)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s", text)
	}
	return nil
}

// tryAll tries the seeds, several at a time; each worker has a scheduler of its own, which ends with it: a hunt tries
// many times.
func tryAll(ctx context.Context, cfg config, sum *totals) (fail error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
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
				if len(r.Failures) > 0 {
					err = keep(s, cfg, failing{c, r.Failures})
				}
			}
			mutex.Lock()
			fail = cmp.Or(fail, err)
			mutex.Unlock()
		})
	}
	group.Wait()
	return fail
}
