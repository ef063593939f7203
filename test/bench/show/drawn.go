package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/kerf-dev/kerf/test/bench"
)

// Drawn writes the table of workloads that were drawn, and how far their costs are from their bounds.
func Drawn(w io.Writer, r bench.Report) error {
	table := Suite
	if len(r.Lines) > 0 && r.Lines[0].Mode == bench.Disrupt {
		table = scaleDowns
	}
	if err := table(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", overBounds(r.Lines))
	return err
}

// scaleDowns writes a line for each, without its plans.
func scaleDowns(w io.Writer, r bench.Report) error {
	p := &page{}
	p.given(r.Lines)
	moves, pods := 0, 0
	for i := range r.Lines {
		if g := r.Lines[i].Result.Given; g != nil {
			moves, pods = moves+g.PodMoves, pods+g.Pods
		}
	}
	p.notes([]string{
		fmt.Sprintf("%d of %s were moved; BOUND is what those that are left cost at least on new nodes", moves, count(pods, "pod")),
	})
	return p.writeTo(w)
}

// overBounds is the median and the worst of cost over bound. Workloads that leave pods pending, or have no bound, don't
// count.
func overBounds(all []bench.Line) string {
	var lines []bench.Line
	for _, l := range all {
		if l.Bound > 0 && l.Result.UnscheduledPods == 0 {
			lines = append(lines, l)
		}
	}
	left := ""
	if n := len(all) - len(lines); n > 0 {
		left = fmt.Sprintf("; %s without a bound, or with pods that stay pending", count(n, "workload"))
	}
	if len(lines) == 0 {
		return "COST OVER BOUND  of no workload" + left
	}
	slices.SortStableFunc(lines, func(a, b bench.Line) int { return cmp.Compare(over(&a), over(&b)) })
	worst := &lines[len(lines)-1]
	median := (over(&lines[(len(lines)-1)/2]) + over(&lines[len(lines)/2])) / 2
	mode := ""
	if worst.Mode == bench.Disrupt {
		mode = "-mode disrupt "
	}
	return fmt.Sprintf("COST OVER BOUND  of %s: median %.2f%%, worst %.2f%% (%s)%s\n  once more: bench %s-workload %s -runs 1",
		count(len(lines), "workload"), median, over(worst), worst.Name(), left, mode, worst.Name())
}

// over is how far the cost is over the bound, in per cent.
func over(l *bench.Line) float64 { return (l.Result.HourlyCost/l.Bound - 1) * 100 }
