package verify

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// hair is how near to a half a price may be that can be rounded either way: the order of floating-point sums is nobody's
// business.
const hair = 1e-6

// evictionPrice is what it is weighed at to evict a pod, in micro-dollars: more where its deletion cost and priority say
// so, and up to twice as much where it has just been started.
func (c *checker) evictionPrice(p *model.Pod) float64 {
	price := float64(c.in.Policy.EvictionPrice)
	if price == 0 {
		price = model.DefaultEvictionPrice
	}
	weight := 1 + float64(p.DeletionCost)/(1<<27) + float64(c.class(p).Priority)/(1<<25)
	fresh := 0.0
	if rest := c.podRest(); !p.BindTime.IsZero() && rest > 0 {
		fresh = 1 - float64(c.in.Now.Sub(p.BindTime))/float64(rest)
	}
	return max(0, price) * min(max(weight, 0), 10) * (1 + min(max(fresh, 0), 1))
}

// churn checks what a disruption says of its evictions: whose pods they are, what they are weighed at, and how soon the
// saving makes up for it.
func (c *checker) churn(subject string, d *model.Disruption) {
	var least, most float64
	of := make(map[workload]int)
	for _, p := range c.evicted(d) {
		price := c.evictionPrice(p)
		least += math.Round(price - hair)
		most += math.Round(price + hair)
		if class := c.class(p); class.OwnerKind != "" {
			of[workloadOf(class)]++
		}
	}
	if n := float64(d.Churn); n < least || n > most {
		c.fail(subject, "it says that its evictions weigh %d, they weigh %.0f", d.Churn, least)
	}
	want := make([]model.WorkloadEvictions, 0, len(of))
	for w, n := range of {
		want = append(want, model.WorkloadEvictions{Namespace: w.namespace, Kind: w.kind, Name: w.name, Pods: n})
	}
	slices.SortFunc(want, func(a, b model.WorkloadEvictions) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if !slices.Equal(want, d.Workloads) {
		c.fail(subject, "it says that it evicts %v, it evicts %v", d.Workloads, want)
	}
	c.payBack(subject, d)
}

// payBack checks that money makes up for evictions in time. Replacing takes longer to be sure of than deleting, and spot
// prices move.
func (c *checker) payBack(subject string, d *model.Disruption) {
	var seconds float64
	if consolidates(d.Reason) && d.Saving > 0 {
		seconds = float64(d.Churn) / float64(d.Saving) * 3600
	}
	said := d.PayBack.Seconds()
	if d.PayBack%time.Second != 0 || said > seconds+hair || said+1 <= seconds-hair {
		c.fail(subject, "it says that it pays back in %s, it does in %.0f whole seconds", d.PayBack, math.Floor(seconds))
	}
	if d.Reason != model.ReasonUnderutilized {
		return
	}
	within := model.DefaultPayback
	if p := c.in.Policy.Payback; p != nil {
		within = *p
	}
	times := c.timesOver(d)
	if float64(d.Saving)*within.Hours() < times*float64(d.Churn)-hair {
		c.fail(subject, "it saves %d an hour; within %s that is not %g times what its evictions weigh, %d", d.Saving, within, times, d.Churn)
	}
}

// timesOver is how often a saving must make up for the evictions.
func (c *checker) timesOver(d *model.Disruption) float64 {
	if len(d.Replacements) == 0 {
		return 1
	}
	maySpot := slices.ContainsFunc(d.Replacements, func(id model.ClaimID) bool {
		fresh := c.fresh[id]
		return fresh != nil && slices.ContainsFunc(fresh.Offerings, func(o model.RankedOffering) bool { return o.CapacityType == model.Spot })
	})
	for _, id := range d.Candidates {
		if claim := c.live[id]; claim == nil || claim.CapacityType != model.Spot {
			return 2
		}
	}
	if maySpot {
		return 3
	}
	return 2
}
