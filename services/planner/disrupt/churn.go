package disrupt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// churn prices evictions.
type churn struct {
	v *view.View
	// price is of one ordinary pod, micro-dollars.
	price   float64
	rest    time.Duration
	payback time.Duration
}

func newChurn(v *view.View, rest time.Duration) *churn {
	return &churn{
		v: v, rest: rest,
		price:   float64(model.Or(v.Policy.EvictionPrice, model.DefaultEvictionPrice)),
		payback: model.Or(v.Policy.Payback, model.DefaultPayback),
	}
}

// hardness says how much harder than an ordinary pod one is to move, 0 to 10: its deletion cost and its priority count as
// they do for the ReplicaSet controller and the scheduler (Karpenter's EvictionCost).
func hardness(p view.Pod) float64 {
	return min(max(1+float64(p.DeletionCost)/(1<<27)+float64(p.Class.Priority)/(1<<25), 0), 10)
}

// of is what it costs to evict a pod, micro-dollars. One that has just started costs twice as much as one that has run for
// as long as moved pods rest.
func (c *churn) of(pod int) int64 {
	p := c.v.Pods[pod]
	fresh := 0.0
	if !p.BindTime.IsZero() && c.rest > 0 {
		fresh = min(max(1-float64(c.v.Now.Sub(p.BindTime))/float64(c.rest), 0), 1)
	}
	return int64(math.Round(c.price * hardness(p) * (1 + fresh)))
}

// sum is what it costs to evict pods.
func (c *churn) sum(pods []int) int64 {
	var out int64
	for _, p := range pods {
		out += c.of(p)
	}
	return out
}

// least is what a disruption must save at least, micro-dollars per hour: so much that it pays back in time, by some factor.
func (c *churn) least(price int64, factor float64) int64 {
	least := max(1, c.v.Policy.MinSaving)
	if price <= 0 {
		return least
	}
	const never = math.MaxInt64 / 4
	hours := c.payback.Hours()
	if hours <= 0 {
		return never // nothing pays back at once
	}
	return max(least, int64(min(math.Ceil(float64(price)*factor/hours), never)))
}

// Factors by which what a disruption saves must make up for its evictions.
const (
	byDelete  = 1
	byReplace = 2
	bySpot    = 3
)

// payBack is how long it takes for a saving to make up for evictions.
func payBack(price, saving int64) time.Duration {
	if price <= 0 || saving <= 0 {
		return 0
	}
	return time.Duration(float64(price) / float64(saving) * float64(time.Hour)).Truncate(time.Second)
}

// notWorth says that a saving does not make up for its evictions.
func (t *trials) notWorth(host int, saving, price, least int64) model.Reason {
	r := model.Reason{Code: model.CodePayback, Subject: t.s.v.Hosts[host].Name()}
	if price > 0 && least > t.s.v.Policy.MinSaving {
		r.Message = fmt.Sprintf("removing it would save %s an hour, and moving its pods weighs %s: it must save %s to pay back within %s",
			fit.Money(max(0, saving)), fit.Money(price), fit.Money(least), t.s.churn.payback)
		r.Remedy = "lower policy.eviction_price, or raise policy.payback"
		return r
	}
	r.Code = model.CodeNoCheaper
	r.Message = fmt.Sprintf("removing it saves %s; the least that is worth it is %s", fit.Money(max(0, saving)), fit.Money(least))
	return r
}

// workloads counts pods by owner.
func workloads(v *view.View, pods []int) []model.WorkloadEvictions {
	count := make(map[rules.Owner]int)
	for _, p := range pods {
		if o := rules.OwnerOf(v.Pods[p].Class.PodClass); o.Kind != "" {
			count[o]++
		}
	}
	out := make([]model.WorkloadEvictions, 0, len(count))
	for o, n := range count {
		out = append(out, model.WorkloadEvictions{Namespace: o.Namespace, Kind: o.Kind, Name: o.Name, Pods: n})
	}
	slices.SortFunc(out, func(a, b model.WorkloadEvictions) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}
