package advise

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// How far requests are lowered: no lower than seven tenths, and by a tenth where nothing tells how far would do.
const (
	lowest, usual, tenths = 7, 9, 10
	mostSteps             = 2
	mebibyte              = int64(1) << 20
	gibi                  = int64(1) << 30
)

// lowerRequests asks for less of cpu or memory: as little less as lets one more pod onto the node that the workload was
// given, or its pods onto a cheaper type.
func (f *facts) lowerRequests(l *workload) []candidate {
	var out []candidate
	for _, r := range []model.Resource{model.CPU, model.Memory} {
		now := f.sample(l).Requests.Value(r)
		if now <= 0 {
			continue
		}
		for _, less := range f.steps(l, r, now) {
			out = append(out, l.candidate(fmt.Sprintf("ask for %s of %s instead of %s, for each pod", quantity(r, less), r, quantity(r, now)),
				"spec.containers[*].resources.requests."+string(r), "request/"+string(r),
				func(c *model.PodClass) { c.Requests = atMost(c.Requests, r, less) }))
		}
	}
	return out
}

func atMost(a model.Amounts, r model.Resource, v int64) model.Amounts {
	a = slices.Clone(a)
	for i := range a {
		if a[i].Resource == r {
			a[i].Value = min(a[i].Value, v)
		}
	}
	return a
}

// steps are the requests worth trying, the largest first.
func (f *facts) steps(l *workload, r model.Resource, now int64) []int64 {
	var out []int64
	add := func(v int64) {
		if v = roundDown(r, v); v < now && v*tenths >= now*lowest {
			out = append(out, v)
		}
	}
	if s, ok := f.hostOf(l); ok {
		if int64(len(l.pods)) > s.pods {
			add(s.fits(s.base, s.pods+1, r))
		}
		for _, t := range f.cheaper(s) {
			add(s.fits(t, s.pods, r))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	slices.Reverse(out)
	if len(out) == 0 {
		return []int64{roundDown(r, now*usual/tenths)}
	}
	return out[:min(len(out), mostSteps)]
}

// host is the claim that has most pods of a workload, as far as lowering their requests goes.
type host struct {
	claim *model.NodeClaim
	pool  *model.NodePool
	base  *model.InstanceType
	class *model.PodClass
	pods  int64
}

func (f *facts) hostOf(l *workload) (host, bool) {
	c := f.sample(l)
	var best host
	for i := range f.base.NodeClaims {
		claim := &f.base.NodeClaims[i]
		n := int64(0)
		for _, id := range claim.Pods {
			if f.class[id] == c.ID {
				n++
			}
		}
		if n > best.pods && len(claim.Offerings) > 0 {
			best = host{claim: claim, class: c, pods: n}
		}
	}
	if best.claim == nil {
		return best, false
	}
	best.pool = f.pool(best.claim.NodePool)
	if best.pool == nil {
		return best, false
	}
	best.base = f.shapes(best.pool)[best.claim.Offerings[0].InstanceType]
	return best, best.base != nil
}

// fits is how much of a resource each of n pods may ask for on a node of a type; 0 when the other resource does not
// suffice. What else is on the node stays.
func (s host) fits(t *model.InstanceType, n int64, r model.Resource) int64 {
	other := model.CPU
	if r == model.CPU {
		other = model.Memory
	}
	each := func(r model.Resource) int64 {
		rest := s.claim.Requests.Value(r) - s.pods*s.class.Requests.Value(r)
		return (t.Allocatable.Value(r) - rest) / n
	}
	if each(other) < s.class.Requests.Value(other) {
		return 0
	}
	return each(r)
}

// cheaper are the types that the pool allows and that cost less than the one that the claim was given, in no order.
func (f *facts) cheaper(s host) []*model.InstanceType {
	best := s.claim.Offerings[0]
	rules := require.NewSet(s.pool.Requirements...)
	var out []*model.InstanceType
	for name, t := range f.shapes(s.pool) {
		price, sold := f.prices[priceKey{name, best.CapacityType}]
		if sold && price < best.Weighed() && allows(rules, t.Labels) {
			out = append(out, t)
		}
	}
	return out
}

// allows says whether the rules on a type's labels hold; others are not for the type to keep.
func allows(rules require.Set, labels model.Labels) bool {
	for _, l := range labels {
		if r, ok := rules.Get(l.Key); ok && !r.Contains(l.Value) {
			return false
		}
	}
	return true
}

// roundDown makes a request a number that people write.
func roundDown(r model.Resource, v int64) int64 {
	unit := mebibyte
	switch {
	case r == model.CPU && v >= 100:
		unit = 5
	case r == model.CPU:
		unit = 1
	case v >= 64*mebibyte:
		unit = 4 * mebibyte
	}
	return v / unit * unit
}

// quantity is an amount as manifests write it: "250m", "2", "948Mi", "4Gi".
func quantity(r model.Resource, v int64) string {
	switch {
	case r == model.CPU && v%1000 != 0:
		return strconv.FormatInt(v, 10) + "m"
	case r == model.CPU:
		return strconv.FormatInt(v/1000, 10)
	case v != 0 && v%gibi == 0:
		return strconv.FormatInt(v/gibi, 10) + "Gi"
	case v != 0 && v%mebibyte == 0:
		return strconv.FormatInt(v/mebibyte, 10) + "Mi"
	}
	return strconv.FormatInt(v, 10)
}
