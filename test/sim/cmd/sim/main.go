// Command sim plays a day or a week in the life of a cluster, draws it, and prints what came of it.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/kerf-dev/kerf/test/sim"
)

// evictionPrice is a fortieth of what a pod costs in an hour here: Kerf's default is for more expensive ones.
const evictionPrice = 400

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg := sim.Config{}
	week := flag.Bool("week", false, "play a week of a smaller cluster that runs on spot; of what else is said the seed, -scatter and -pack count")
	flag.Uint64Var(&cfg.Seed, "seed", 1, "the `dice`")
	flag.DurationVar(&cfg.Length, "length", 24*time.Hour, "how `long` the day is")
	flag.IntVar(&cfg.Pods, "pods", 2600, "about how `many` pods there are at the peak")
	flag.BoolVar(&cfg.Scatter, "scatter", false, "bind pods to the least allocated nodes, and not where plans expect them")
	flag.BoolVar(&cfg.Pack, "pack", false, "let the scheduler prefer the most allocated nodes to the least")
	flag.DurationVar(&cfg.BoundEvery, "bound", 15*time.Minute, "how `often` the bound is worked out")
	cfg.Policy.EvictionPrice = flag.Int64("eviction-price", evictionPrice, "what moving a pod weighs, in `micro-dollars`")
	out := flag.String("out", "", "draw the day into a `file` (SVG)")
	flag.Parse()
	if *week {
		of := sim.Week(cfg.Seed)
		of.Scatter, of.Pack = cfg.Scatter, cfg.Pack
		cfg = of
	}
	began := time.Now()
	d, err := sim.Run(cfg)
	if err != nil {
		return err
	}
	if *out != "" {
		if err := os.WriteFile(*out, d.Picture(), 0o644); err != nil { //nolint:gosec // a picture, for everybody
			return err
		}
	}
	if err := d.Print(os.Stdout); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "took %s\n", time.Since(began).Truncate(time.Second))
	if n := d.Violations(); n > 0 {
		return fmt.Errorf("rules were broken %d times; -seed %d plays the same day again", n, cfg.Seed)
	}
	return nil
}
