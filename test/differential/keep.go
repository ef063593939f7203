package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
	"github.com/kerf-dev/kerf/test/differential/kube"
	"github.com/kerf-dev/kerf/test/differential/show"
	"github.com/kerf-dev/kerf/test/differential/shrink"
)

// mostTries bounds the work on one failing seed.
const mostTries = 4000

// smaller is a failing seed as a scenario file, with as little in it as fails in the same way.
func smaller(s *kube.Scheduler, cfg config, f failing) (string, error) {
	o := cfg.options
	o.Orders, o.Worlds = 0, 6
	last := f.failures[0]
	small := shrink.Shrink(f.c, func(c gen.Case) bool {
		r, err := judge.Try(s, c, o)
		i := slices.IndexFunc(r.Failures, f.failures[0].Same)
		if err != nil || i < 0 {
			return false
		}
		last = r.Failures[i]
		return true
	}, mostTries)
	r, err := judge.Try(s, small, o)
	if err != nil {
		return "", err
	}
	title := fmt.Sprintf("Seed %d of the differential test, made smaller: %s.", f.c.Seed, last)
	return show.Scenario(small, title) + "-- planned --\n" + show.Plan(r.Plan), nil
}

// keep writes a failing seed down at once, as it is and then made smaller: a hunt that is ended early has what it found.
func keep(s *kube.Scheduler, cfg config, f failing) error {
	if cfg.keep == "" {
		return nil
	}
	if err := os.MkdirAll(cfg.keep, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return err
	}
	path := filepath.Join(cfg.keep, fmt.Sprintf("seed-%d.txtar", f.c.Seed))
	fmt.Fprintf(os.Stderr, "seed %d: %s (%s)\n", f.c.Seed, f.failures[0], path)
	title := fmt.Sprintf("Seed %d of the differential test: %s.", f.c.Seed, f.failures[0])
	if err := os.WriteFile(path, []byte(show.Scenario(f.c, title)), 0o600); err != nil {
		return err
	}
	text, err := smaller(s, cfg, f)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
