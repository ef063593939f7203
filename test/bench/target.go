package bench

import "strings"

// Target is what a workload must reach. The zero Target asks for nothing.
type Target struct {
	// CPU is the most CPU seconds of one core that the decision may take, set-up aside; 0 means any.
	CPU float64
	// OverBound is the most that the plan may cost, as a multiple of the lower bound; 0 means any.
	OverBound float64
	// OverBaseline is another way to reach the cost: so much of what the baseline's plan costs; 0 means that there is none.
	OverBaseline float64
	// Optimum is what the cheapest plan costs, which must be met; 0 where it is not known.
	Optimum float64
}

// Baseline is what is known of a published workload: the figures of the planner that Kerf is measured against (Karpenter
// core 1.14, one worker, without set-up), and what others proved of the cost.
type Baseline struct {
	// CPU is seconds and Cost dollars an hour; 0 where nothing was published.
	CPU, Cost float64
	// Bound is a proven lower bound of the cost, Attained what a plan was found to cost; 0 where there is none.
	Bound, Attained float64
	// Similar says that the figures are of pods drawn from the same mix and not of the same pods.
	Similar bool
}

// known is what there is to say of a workload by its name.
type known struct {
	name     string
	target   Target
	baseline Baseline
	// file is the start of the SHA-256 of the published file, which the baseline is of.
	file string
}

// publishedCatalog is the start of the SHA-256 of the catalogue that published figures are for.
const publishedCatalog = "30962230ebab8f37"

// knowns are the workloads with targets, in the order of the table.
func knowns() []known {
	return []known{
		{"W1", Target{CPU: 0.01, OverBound: 1.005}, Baseline{CPU: 0.30, Cost: 8.009, Bound: 5.261, Attained: 5.274}, "45d456d6bdda3c18"},
		{"W2", Target{CPU: 0.10, OverBound: 1.005}, Baseline{CPU: 3.64, Cost: 48.692, Bound: 26.960, Attained: 27.133}, "35a9f2580c675662"},
		{"W2-od", Target{CPU: 0.15, OverBound: 1.005}, Baseline{CPU: 2.54, Cost: 161.397, Bound: 111.912, Attained: 114.180}, "889447e8c74b411c"},
		{"W2-cap", Target{CPU: 0.10, OverBound: 1.005}, Baseline{CPU: 64.8, Cost: 42.251, Bound: 32.694, Attained: 32.821}, "b273aefe71efb141"},
		// Of its four runs the cheapest; they differ.
		{"W3", Target{CPU: 1.0, OverBound: 1.05, OverBaseline: 0.75}, Baseline{CPU: 30.4, Cost: 173.1}, "dc98713ce4d58887"},
		{"W4", Target{CPU: 0.75, OverBound: 1.005}, Baseline{CPU: 38.7, Cost: 376.702, Bound: 199.358, Attained: 210.0}, "e119aae4c6de93e7"},
		{"W5-100-fresh", Target{CPU: 0.25, OverBound: 1.005}, Baseline{Cost: 17.992, Bound: 8.877, Attained: 8.984}, "dfdb098d968b6b5f"},
		{"W7a", Target{CPU: 0.001, Optimum: 0.096}, Baseline{CPU: 0.001, Cost: 0.096, Bound: 0.096, Attained: 0.096}, "26c1a1e00d1d9e96"},
		{"W7b", Target{CPU: 0.001, Optimum: 0.170}, Baseline{CPU: 0.001, Cost: 0.192, Bound: 0.170, Attained: 0.170}, "c3f24c8e08f5bfcf"},
		{"W7c", Target{CPU: 0.001, Optimum: 0.362}, Baseline{CPU: 0.001, Cost: 0.384, Bound: 0.362, Attained: 0.362}, "c351d24c9027ed95"},
		// 0.33 of it is its set-up, which it makes anew for each decision; a session here does not.
		{"GN-4000", Target{CPU: 0.005}, Baseline{CPU: 0.056 + 0.33}, "3f168585f9a9a141"},
		{"mix-10000", Target{CPU: 0.3}, Baseline{CPU: 43.0, Similar: true}, ""},
		{"preferences-4000", Target{CPU: 0.3}, Baseline{CPU: 131, Similar: true}, ""},
	}
}

// expect finds the target and the baseline of what was measured: a target for the workloads that are published, for
// those that are built in under the same names, and for the points of series, a baseline only for the very files that
// it is of.
func expect(r *Result) (Target, *Baseline) {
	for _, k := range knowns() {
		if k.name != r.Workload {
			continue
		}
		published := k.file != "" && strings.HasPrefix(r.WorkloadSHA256, k.file) && strings.HasPrefix(r.CatalogSHA256, publishedCatalog)
		switch {
		case published, k.baseline.Similar && r.WorkloadSHA256 == "":
			return k.target, &k.baseline
		case r.WorkloadSHA256 == "" && r.CatalogSHA256 == "":
			return k.target, nil
		}
	}
	for _, g := range growths() {
		for _, size := range g.sizes {
			if g.workload(size) == r.Workload {
				return Target{OverBound: g.overBound}, nil
			}
		}
	}
	return Target{}, nil
}
