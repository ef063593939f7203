// Command differential holds the planner's plans against the real kube-scheduler, on random clusters.
//
// Each seed is one cluster. The summary counts what went wrong; the first failing seeds are made smaller and shown as
// scenario files. The exit code is 1 when any plan failed, but for the seeds of -fresh, which are others with each
// commit. See package judge for what counts as a failure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/kerf-dev/kerf/test/differential/gen"
)

func main() {
	// What a seed leaves behind is much beside what is kept: a collector that waits until the heap is nine times that
	// takes half of the time away. It stays below 200 MB.
	debug.SetGCPercent(800)
	var cfg config
	families := flag.String("families", "all", `constraints that clusters may have, such as "spread,nodes" or "all,-spread"`)
	flag.IntVar(&cfg.seeds, "seeds", 300, "how many seeds to try")
	flag.Uint64Var(&cfg.from, "from", 0, "the first seed")
	one := flag.Int64("seed", -1, "try this seed only, and show its plan")
	flag.IntVar(&cfg.options.Orders, "orders", 3, "how many random orders the scheduler places the pods in")
	flag.IntVar(&cfg.options.Worlds, "worlds", 2, "how many draws of what claims are launched as")
	flag.IntVar(&cfg.workers, "workers", runtime.GOMAXPROCS(0), "how many seeds at a time")
	flag.IntVar(&cfg.show, "show", 3, "how many failing seeds to make smaller and show")
	flag.DurationVar(&cfg.hunt, "hunt", 0, "try seeds that have not been tried for so long, such as 60m; -from says where to begin")
	flag.StringVar(&cfg.keep, "keep", "", "the folder that failing seeds are kept in at once as scenario files, made smaller")
	flag.StringVar(&cfg.fresh, "fresh", "", "try the seeds of this commit's hash; what fails there is a warning, and the exit code 0")
	flag.Parse()
	if cfg.hunt > 0 && cfg.from == 0 {
		cfg.from = uint64(time.Now().UnixNano())
	}
	var err error
	if cfg.families, err = gen.Parse(*families); err != nil {
		fmt.Fprintln(os.Stderr, "differential: -families:", err)
		os.Exit(2)
	}
	if cfg.fresh != "" {
		if cfg.from, err = seedsOf(cfg.fresh); err != nil {
			fmt.Fprintln(os.Stderr, "differential: -fresh:", err)
			os.Exit(2)
		}
	}
	if *one >= 0 {
		cfg.from, cfg.seeds, cfg.verbose = uint64(*one), 1, true
	}
	ok, err := run(context.Background(), cfg, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(2)
	}
	if !ok && cfg.fresh == "" {
		os.Exit(1)
	}
}
