package workload

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// Drawn is the name of the workload that a seed draws. Seeds are from 1 on.
func Drawn(seed int) string { return "draw-" + strconv.Itoa(seed) }

// anything is a workload of which the seed decides all: how many pods and apps, the pool, and by chance spread over zones or
// nodes, anti-affinity, selectors and GPUs. It is for finding out what was not thought of: no such workload was ever chosen.
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

// choose lets two apps in ten ask for an architecture, a capacity type or a zone and, where there are types with GPUs, one in
// twenty for a GPU.
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
