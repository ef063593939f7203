// Package report works out the figures of runs from their histories, and prints and keeps them. It is pure but for the
// file that it writes.
//
// Start reading at Measure; Print makes the table.
package report

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/test/versus/history"
)

// Values are figures by the keys of their measures.
type Values map[string]float64

// Marks of loads.
const (
	Created = "created"
	Scaled  = "scaled"
	// Rollout is when pods begin to be made anew, RolledOut when all are.
	Rollout   = "rollout"
	RolledOut = "rolled out"
	Day       = "day"
	Storm     = "storm"
)

// For how many seconds each is looked at from its mark on.
const (
	ScaledFor  = 200
	RolloutFor = 240
	StormFor   = 180
)

// burstCount is how many bursts there are.
const burstCount = 4

// Burst is the mark of the i-th burst.
func Burst(i int) string { return fmt.Sprint("burst ", i+1) }

// measure is one row of the table.
type measure struct {
	key, text, format string
}

// loadMeasures are the rows of each load, in their order; the controllers' use is shown for all.
func loadMeasures() map[string][]measure {
	use := []measure{
		{"cpu", "controllers: CPU s of the run", "%.1f"},
		{"memory", "controllers: most memory, MiB", "%.0f"},
		{"memory-anonymous", "controllers: of it not backed by files, MiB", "%.0f"},
		{"memory-end", "controllers: memory at the end, MiB", "%.0f"},
	}
	waits := []measure{
		{"p50", "pod to node, p50, s", "%.2f"},
		{"p99", "pod to node, p99, s", "%.2f"},
	}
	all := map[string][]measure{
		"bursts": append([]measure{{"first-node", "unschedulable to first node, s", "%.2f"}}, waits...),
		"ramp": append(waits[:2:2], []measure{
			{"cost", "$/h when steady", "%.2f"},
			{"nodes", "nodes when steady", "%.0f"},
			{"settled", "nothing changes after, s", "%.0f"},
			{"evictions", "evictions until then", "%.0f"},
			{"spent", "$ spent in the first 60 s", "%.3f"},
			{"scaled-cost-120", "scaled to 40 %: $/h after 120 s", "%.2f"},
			{"scaled-cost", "scaled to 40 %: $/h after 200 s", "%.2f"},
			{"scaled-nodes", "scaled to 40 %: nodes after 200 s", "%.0f"},
			{"scaled-spent", "scaled to 40 %: $ spent in 200 s", "%.3f"},
			{"scaled-evictions", "scaled to 40 %: evictions", "%.0f"},
			{"all-evictions", "evictions of the whole run", "%.0f"},
			{"scaled-again", "scaled to 40 %: moved again", "%.0f"},
		}...),
	}
	moves := []measure{
		{"evictions", "evictions", "%.0f"},
		{"again", "moved again", "%.0f"},
	}
	all["rollout"] = append([]measure{
		{"done", "all pods are new after, s", "%.0f"},
		{"before", "$/h before", "%.2f"},
		{"peak", "$/h at most", "%.2f"},
		{"after", "$/h 240 s after its start", "%.2f"},
		{"spent", "$ spent in 240 s", "%.3f"},
	}, slices.Concat(waits, moves)...)
	all["day"] = append([]measure{
		{"spent", "$ spent", "%.3f"},
		{"pods", "pods made", "%.0f"},
		{"nodes", "nodes made", "%.0f"},
	}, slices.Concat(waits, moves)...)
	all["spot"] = append([]measure{
		{"before", "$/h before", "%.2f"},
		{"after", "$/h 180 s after", "%.2f"},
		{"lost", "nodes lost", "%.0f"},
		{"killed", "pods that ended with their node", "%.0f"},
	}, slices.Concat(waits, moves)...)
	for name, m := range all {
		all[name] = append(m, use...)
	}
	all["size"] = sizeMeasures()
	return all
}

// Measure is the figures of a run.
func Measure(load string, h *history.History) Values {
	v := Values{"cpu": h.CPU()}
	v["memory"], v["memory-anonymous"], v["memory-end"] = h.Memory()
	if v["memory-anonymous"] == 0 {
		delete(v, "memory-anonymous") // of a run that did not tell the two apart
	}
	switch load {
	case "bursts":
		measureBursts(v, h)
	case "ramp":
		measureRamp(v, h)
	case "rollout":
		measureRollout(v, h)
	case "day":
		measureDay(v, h)
	case "spot":
		measureStorm(v, h)
	case "size":
		measureSize(v, h)
	}
	return v
}

func (v Values) waits(h *history.History, from, to float64) {
	waits := h.Waits(from, to)
	v["p50"], v["p99"] = history.Quantile(waits, 0.5), history.Quantile(waits, 0.99)
}

func measureBursts(v Values, h *history.History) {
	var first []float64
	for i := range burstCount {
		if s, ok := h.FirstNode(h.Mark(Burst(i)), h.Mark(Burst(i+1))); ok {
			first = append(first, s)
		}
	}
	if len(first) > 0 {
		v["first-node"] = history.Median(first)
	}
	v.waits(h, h.Mark(Burst(0)), h.End)
}

func measureRamp(v Values, h *history.History) {
	created, scaled := h.Mark(Created), h.Mark(Scaled)
	v.waits(h, created, scaled)
	v["cost"], v["nodes"] = h.Cost(scaled), float64(h.NodesAt(scaled))
	v["settled"] = h.LastChange(scaled) - created
	v["evictions"] = float64(h.Evictions(created, scaled))
	v["spent"] = h.Spent(created, created+60)
	v["scaled-cost-120"] = h.Cost(scaled + 120)
	end := scaled + ScaledFor
	v["scaled-cost"], v["scaled-nodes"] = h.Cost(end), float64(h.NodesAt(end))
	v["scaled-spent"] = h.Spent(scaled, end)
	v["scaled-evictions"] = float64(h.Evictions(scaled, end))
	v["all-evictions"] = float64(h.Evictions(created, end))
	v["scaled-again"] = float64(h.MovedAgain(scaled, end))
}

// moves counts the evictions of a time.
func (v Values) moves(h *history.History, from, to float64) {
	v["evictions"], v["again"] = float64(h.Evictions(from, to)), float64(h.MovedAgain(from, to))
}

func measureRollout(v Values, h *history.History) {
	began := h.Mark(Rollout)
	end := began + RolloutFor
	v["done"] = h.Mark(RolledOut) - began
	v["before"], v["after"] = h.Cost(began), h.Cost(end)
	v["spent"] = h.Spent(began, end)
	for at := began; at < end; at++ {
		v["peak"] = max(v["peak"], h.Cost(at))
	}
	v.waits(h, began, end)
	v.moves(h, began, end)
}

func measureDay(v Values, h *history.History) {
	began := h.Mark(Day)
	v["spent"] = h.Spent(began, h.End)
	v["pods"], v["nodes"] = float64(len(h.Pods)), float64(len(h.Nodes))
	v.waits(h, 0, h.End)
	v.moves(h, began, h.End)
}

func measureStorm(v Values, h *history.History) {
	began := h.Mark(Storm)
	end := began + StormFor
	v["before"], v["after"] = h.Cost(began), h.Cost(end)
	v["lost"] = float64(h.NodesGone(began, end))
	v["killed"] = float64(h.Killed(began, end))
	v.waits(h, began, end)
	v.moves(h, began, end)
}
