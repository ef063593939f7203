package workload

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// Drawn is the name of the workload that a seed draws. Seeds are from 1 on.
func Drawn(seed int) string { return "draw-" + strconv.Itoa(seed) }

// anything is a workload of which the seed decides all: how many pods and apps, the pool, and by chance spread over
// zones or nodes, anti-affinity, selectors and GPUs. It is for finding out what was not thought of: no such workload
// was ever chosen.
func anything(c *Catalog, seed int) *Workload {
	const least, most = 10, 2000
	r := newRandom(uint64(seed))
	pods := int(least * math.Pow(most/least, r.float()))
	market := []string{"wide", "narrow", "capped"}[r.below(3)]
	w := &Workload{
		Note: fmt.Sprintf("%d pods drawn by seed %d", pods, seed), Seed: uint64(seed), Pools: []Pool{poolOf(market)},
	}
	apps := 1 + r.below(20)
	weights := make([]float64, apps)
	for i := range apps {
		s := anyShape(r)
		s.Labels = map[string]string{"app": "d" + strconv.Itoa(i)}
		tie(r, &s)
		choose(r, &s, c.Zones, market == "wide")
		w.Shapes = append(w.Shapes, s)
		weights[i] = (0.2 + r.heavy()) / math.Sqrt(float64(s.CPU))
	}
	for i, n := range r.draws(pods, weights) {
		if n > 0 {
			w.Pending = append(w.Pending, Count{i, n})
		}
	}
	return w
}

// Plain is the name of the workload without rules that a seed draws. Seeds are from 1 on.
func Plain(seed int) string { return "plain-" + strconv.Itoa(seed) }

// unruled is a workload as W2 and W4 are made, of which the seed decides how many pods and requests, the pool, and
// which generations and sizes that may buy.
func unruled(seed int) *Workload {
	const least, most, leastShapes, mostShapes = 1000, 50_000, 10, 220
	r := newRandom(uint64(seed))
	pods := int(least * math.Pow(most/least, r.float()))
	shapes := leastShapes + r.below(mostShapes-leastShapes+1)
	w := mixed(uint64(seed), []string{"wide", "narrow", "capped"}[r.below(3)], shapes, pods)
	for _, may := range []Requirement{
		{awsLabel + "instance-generation", "Gt", []string{[]string{"", "4", "5", "6"}[r.below(4)]}},
		{awsLabel + "instance-cpu", "Lt", []string{[]string{"", "129", "65", "33"}[r.below(4)]}},
	} {
		if may.Values[0] != "" {
			w.Pools[0].Requirements = append(w.Pools[0].Requirements, may)
		}
	}
	w.Note = fmt.Sprintf("%d pods of %d shapes without constraints, drawn by seed %d", pods, shapes, seed)
	return w
}

// Shrinking is the name of the scale-down that a seed draws. Seeds are from 1 on.
func Shrinking(seed int) string { return "shrink-" + strconv.Itoa(seed) }

// shrinking is a load that has come and is scaled down at once, to 30 to 60 %: 12 to 36 apps of 20 to 60 pods each, a
// quarter of them spread over zones, on types of up to 8 or 32 CPUs, spot or on-demand, under the usual budget.
func shrinking(seed int) *Workload {
	r := newRandom(uint64(seed))
	p := poolOf("narrow")
	p.Requirements = []Requirement{
		in(labels.OS, "linux"), in(labels.Arch, "amd64"), in(labels.CapacityType, []string{"on-demand", "spot"}[r.below(2)]),
		in(awsLabel+"instance-category", "c", "m", "r"),
		{awsLabel + "instance-generation", "Gt", []string{"4"}},
		{awsLabel + "instance-cpu", "Lt", []string{[]string{"9", "33"}[r.below(2)]}},
	}
	w := &Workload{Seed: uint64(seed), Pools: []Pool{p}, Kept: 30 + r.below(31)}
	for i := range 12 + r.below(25) {
		cpu := []int64{100, 200, 250, 400, 500, 750, 1000, 1500}[r.below(8)]
		s := Shape{CPU: cpu, Memory: cpu * []int64{1, 2, 4, 6, 8}[r.below(5)] * 1024 / 1000, Labels: map[string]string{"app": "d" + strconv.Itoa(i)}}
		if r.below(4) == 0 {
			s.Spread = []Spread{{labels.Zone, 1, s.Labels}}
		}
		w.Shapes, w.Pending = append(w.Shapes, s), append(w.Pending, Count{i, 20 + r.below(41)})
	}
	w.Note = fmt.Sprintf("scaled down to %d %%, drawn by seed %d", w.Kept, seed)
	return w
}

// tie ties four apps in ten to where their own pods are.
func tie(r *random, s *Shape) {
	switch at := r.float(); {
	case at < 0.2:
		s.Spread = []Spread{{labels.Zone, 1 + int32(r.below(2)), s.Labels}}
	case at < 0.3:
		s.Spread = []Spread{{labels.Hostname, 1 + int32(r.below(3)), s.Labels}}
	case at < 0.4:
		s.AntiAffinity = []Term{{labels.Hostname, s.Labels}}
	}
}

// choose lets two apps in ten ask for an architecture, a capacity type or a zone and, where there are types with GPUs,
// one in twenty for a GPU.
func choose(r *random, s *Shape, zones []string, gpus bool) {
	switch at := r.float(); {
	case at < 0.08:
		s.NodeSelector = map[string]string{labels.Arch: "amd64"}
	case at < 0.14:
		s.NodeSelector = map[string]string{labels.CapacityType: "on-demand"}
	case at < 0.2:
		s.Requirements = []Requirement{in(labels.Zone, zones[r.below(len(zones))])}
	case at < 0.25 && gpus:
		s.GPU = 1
	}
}
