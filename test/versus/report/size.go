package report

import (
	"fmt"
	"maps"
	"math"

	"github.com/kerf-dev/kerf/test/versus/history"
)

// Marks and facts of the load size: a step's own name is its mark, and the others are added to that name.
const (
	SizeIdle   = " rests"
	SizeEnd    = " has rested"
	SizeRound  = " full round"
	SizePlan   = " round"
	SizeBurst  = "burst"
	SizeClaims = "claims"
	SizeFailed = "failed claims"
)

// sizeSteps is how often the cluster grows.
const sizeSteps = 3

// SizeStep is the mark of the i-th step.
func SizeStep(i int) string { return fmt.Sprintf("step-%d", i+1) }

// SizeDeath is the fact of how long a service was missed.
func SizeDeath(service string) string { return "death " + service }

func services() []string { return []string{"watcher", "planner", "actuator"} }

func sizeMeasures() []measure {
	var out []measure
	for i := range sizeSteps {
		step := SizeStep(i)
		row := func(key, text, format string) { out = append(out, measure{step + key, step + ": " + text, format}) }
		row("nodes", "nodes", "%.0f")
		row("pods", "pods", "%.0f")
		row("bound", "all pods bound after, s", "%.1f")
		for _, s := range services() {
			row("memory"+s, s+", MiB", "%.0f")
			row("most"+s, s+", most until then, MiB", "%.0f")
			row("idle"+s, s+", CPU at rest, % of a core", "%.2f")
			row("cpu"+s, s+", CPU per created pod, ms", "%.2f")
		}
		row(SizeRound, "longest round over everything, s", "%.2f")
		row(SizePlan, "longest round, s", "%.2f")
	}
	for _, s := range services() {
		out = append(out, measure{"growth" + s, s + ": growth exponent of its memory, from the second step to the last", "%.2f"})
	}
	out = append(
		out, measure{"burst50", "2,000 more pods: pod to node, p50, s", "%.2f"}, measure{"burst99", "2,000 more pods: pod to node, p99, s", "%.2f"},
		measure{"burstnode", "2,000 more pods: unschedulable to first node, s", "%.2f"},
		measure{SizeClaims, "claims made", "%.0f"}, measure{SizeFailed, "claims failed", "%.0f"},
	)
	for _, s := range services() {
		out = append(out, measure{SizeDeath(s), s + " killed: a new pod has a claim after, s", "%.2f"})
	}
	return out
}

func measureSize(v Values, h *history.History) {
	maps.Copy(v, h.Facts)
	before := 0
	for i := range sizeSteps {
		step := SizeStep(i)
		if !h.Marked(step + SizeEnd) {
			return
		}
		began, rests, end := h.Mark(step), h.Mark(step+SizeIdle), h.Mark(step+SizeEnd)
		pods := h.PodsAt(end)
		v[step+"nodes"], v[step+"pods"] = float64(h.NodesAt(end)), float64(pods)
		v[step+"bound"] = h.LastChange(end) - began
		from := 0.0 // the pods of a step may be made before its mark
		if i > 0 {
			from = h.Mark(SizeStep(i-1) + SizeEnd)
		}
		for _, s := range services() {
			v[step+"memory"+s] = h.MemoryAt(s, end) / (1 << 20)
			v[step+"most"+s] = h.MostMemory(s, end) / (1 << 20)
			v[step+"idle"+s] = 100 * (h.CPUAt(s, end) - h.CPUAt(s, rests)) / (end - rests)
			v[step+"cpu"+s] = 1000 * (h.CPUAt(s, rests) - h.CPUAt(s, from)) / float64(pods-before)
		}
		before = pods
	}
	for _, s := range services() {
		a, b := SizeStep(sizeSteps-2), SizeStep(sizeSteps-1)
		v["growth"+s] = math.Log(v[b+"memory"+s]/v[a+"memory"+s]) / math.Log(v[b+"pods"]/v[a+"pods"])
	}
	if !h.Marked(SizeBurst + SizeEnd) {
		return
	}
	began, end := h.Mark(SizeBurst), h.Mark(SizeBurst+SizeEnd)
	waits := h.Waits(began, end)
	v["burst50"], v["burst99"] = history.Quantile(waits, 0.5), history.Quantile(waits, 0.99)
	if first, ok := h.FirstNode(began, end); ok {
		v["burstnode"] = first
	}
}
