// Package churn says what it takes to move pods: what an eviction costs, how much a disruption must save to pay that back,
// and which pods were moved or rolled out so lately that they are left alone.
//
// It must never know where pods could go, nor which decisions a plan makes. Start reading with Prices.
package churn

import (
	"math"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Prices says what evictions cost.
type Prices struct {
	v *view.View
	// price is of one ordinary pod, micro-dollars.
	price float64
	// settled is from which age on a pod's eviction weighs no more for that.
	settled time.Duration
	// Payback is how long a saving may take to make up for its evictions.
	Payback time.Duration
}

// NewPrices takes the policy's price; rest is for how long moved pods are left alone.
func NewPrices(v *view.View, rest time.Duration) *Prices {
	return &Prices{
		v: v, settled: min(rest, model.SettledAfter),
		price:   float64(model.Or(v.Policy.EvictionPrice, model.DefaultEvictionPrice)),
		Payback: model.Or(v.Policy.Payback, model.DefaultPayback),
	}
}

// Hardness says how much harder than an ordinary pod one is to move, 0 to 10: its deletion cost and its priority count as
// they do for the ReplicaSet controller and the scheduler (Karpenter's EvictionCost).
func Hardness(p view.Pod) float64 {
	return min(max(1+float64(p.DeletionCost)/(1<<27)+float64(p.Class.Priority)/(1<<25), 0), 10)
}

// mostSought is how many times more a pod weighs at most for having just started where it is looked for what is to go.
const mostSought = 2

// freshness is how many times more the eviction of a pod weighs because it has not run for long: what has just changed
// soon changes again, and a saving lasts until then. It falls with the square of the pod's age, from JustStarted to 1
// at SettledAfter, or sooner where moved pods rest for less.
func (c *Prices) freshness(bound time.Time) float64 {
	if bound.IsZero() || c.settled <= 0 {
		return 1
	}
	times := float64(c.settled) / float64(max(c.v.Now.Sub(bound), 1))
	return min(max(times*times, 1), model.JustStarted)
}

// Sum is what it costs to evict pods where it is looked for what is to go: less than what it costs now, if they have
// just started. What young pods keep for now is not replaced by a part of it, which would be packed worse and let its
// pods rest.
func (c *Prices) Sum(pods []int) int64 { return c.sum(pods, mostSought) }

// Now is what it costs to evict pods now: what a disruption must make up for.
func (c *Prices) Now(pods []int) int64 { return c.sum(pods, model.JustStarted) }

// Settled is when the last of some pods weighs no more than where it is looked for what is to go.
func (c *Prices) Settled(pods []int) (last time.Time) {
	after := time.Duration(float64(c.settled) / math.Sqrt(mostSought))
	for _, p := range pods {
		if at := c.v.Pods[p].BindTime.Add(after); at.After(last) {
			last = at
		}
	}
	return last
}

// sum is what it costs to evict pods, micro-dollars, where none weighs more than so many times as much for having just
// started.
func (c *Prices) sum(pods []int, most float64) (out int64) {
	for _, i := range pods {
		p := c.v.Pods[i]
		out += int64(math.Round(c.price * Hardness(p) * min(c.freshness(p.BindTime), most)))
	}
	return out
}

// Least is what a disruption must save at least, micro-dollars per hour: so much that it pays back in time, by some factor.
func (c *Prices) Least(price int64, factor float64) int64 {
	least := max(1, c.v.Policy.MinSaving)
	if price <= 0 {
		return least
	}
	const never = math.MaxInt64 / 4
	hours := c.Payback.Hours()
	if hours <= 0 {
		return never // nothing pays back at once
	}
	return max(least, int64(min(math.Ceil(float64(price)*factor/hours), never)))
}

// PayBack is how long it takes for a saving to make up for evictions.
func PayBack(price, saving int64) time.Duration {
	if price <= 0 || saving <= 0 {
		return 0
	}
	return time.Duration(float64(price) / float64(saving) * float64(time.Hour)).Truncate(time.Second)
}

// Workloads counts pods by workload.
func Workloads(v *view.View, pods []int) []model.WorkloadEvictions {
	count := make(map[rules.Workload]int)
	for _, p := range pods {
		if w := rules.WorkloadOf(v.Pods[p].Class.PodClass); w.Kind != "" {
			count[w]++
		}
	}
	out := make([]model.WorkloadEvictions, 0, len(count))
	for w, n := range count {
		out = append(out, w.Evicts(n))
	}
	slices.SortFunc(out, model.WorkloadEvictions.Compare)
	return out
}
