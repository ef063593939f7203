// Package place holds the placements of a plan against kube-scheduler's filters: may pods run where they are sent, together
// with all that is there?
//
// It is independent of the packages that place pods (fit, pack, topology, volumes), so that a mistake in them is not
// repeated here: every filter is written anew from its definition, in plain loops over the model. Shared are the algebra of
// requirements (core/require), what overlays and buffers say (offer), and which devices a pod gets (devices): that is
// decided in one place, which a test holds against the scheduler.
//
// A claim may become any of its offerings. A filter that looks at one node must pass on each of these Variants. A
// filter that counts pods by a label counts a pod where the label is not decided as being in every domain that it may
// be in where fewer pods are better, and in none where more are (counts); so it holds whatever the claims become, and a
// pod may go to a claim that leaves such a label open only where it would be right in each of the outcomes. A domain
// that may exist is one to spread over. Where that refuses a pod, as each node can't be the worst for it at once, the
// outcomes are gone through one by one (outcomes.go), if they are few.
//
// It must never propose a better place. Start reading with Check; variant.go and capacity.go have the filters that look
// at one node, filters.go those that look at pods on others, order.go and displaced.go say which pods are there when a
// pod is bound.
package place

import "github.com/kerf-dev/kerf/services/planner/verify/facts"

// Check is the check of one plan's placements. Its methods are rules that a plan must keep; they can be called in any
// order.
type Check struct {
	f      *facts.Facts
	r      *facts.Report
	places *Places
	// all are the places that there are, or will be; of these going are those that leave whatever the plan says, and taken
	// those that its disruptions empty.
	all          []*Place
	going, taken map[*Place]bool
	selectors    *facts.Selectors
}

// New makes a check that reports to r.
func New(f *facts.Facts, r *facts.Report, places *Places) *Check {
	c := &Check{
		f: f, r: r, places: places, all: places.all(), going: make(map[*Place]bool), taken: make(map[*Place]bool),
		selectors: facts.NewSelectors(f.Cluster.Snapshot),
	}
	for _, p := range c.all {
		if p.node != nil && f.Cluster.NodeGoes(p.node.Name) {
			c.going[p] = true
		}
	}
	for id, claim := range f.Cluster.Live {
		if f.Cluster.Leaving(claim) {
			c.going[places.claim(claim)] = true
		}
		if f.Decisions.TakenBy[id] != "" {
			c.taken[places.claim(claim)] = true
		}
	}
	return c
}
