// Package reader turns the objects by which users order nodes into the values that services work with: a NodePool into
// model.NodePool, an EC2NodeClass into a spec that is defaulted, validated and hashed. It also reads what several objects
// write alike: requirements, selectors, taints, tolerations, quantities.
//
// The watcher plans with what it reads here, and the actuator acts on it. So both refuse the same objects for the same
// reason, with what kubeapi.Validate finds. Each function is a function of its arguments and never fails: an object that
// can't be used is a value too, which says in NotReady why. It must never know a client, a message of the contract or
// what is decided from a pool. Start reading at NodePool.
package reader

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kerf-dev/kerf/services/core/model"
)

// maxAmount bounds every quantity, so that sums over a whole cluster stay inside an int64: a pebibyte, or a trillion
// cores.
const maxAmount = 1 << 50

// Amount is a quantity in the unit that Kerf counts the resource in, rounded up. Quantities out of bounds come back as
// the bound, and false.
func Amount(name corev1.ResourceName, q resource.Quantity) (int64, bool) {
	if q.Sign() < 0 {
		return 0, false
	}
	if name == corev1.ResourceCPU {
		if q.CmpInt64(maxAmount/1000) > 0 {
			return maxAmount, false
		}
		return q.MilliValue(), true
	}
	if q.CmpInt64(maxAmount) > 0 {
		return maxAmount, false
	}
	return q.Value(), true
}

// Amounts reads a list, without the zeros. The first resource by name that is out of bounds is named.
func Amounts(list corev1.ResourceList) (out model.Amounts, outOfBounds string) {
	for name, q := range list {
		v, ok := Amount(name, q)
		if !ok && (outOfBounds == "" || string(name) < outOfBounds) {
			outOfBounds = string(name)
		}
		if v != 0 {
			out = append(out, model.Amount{Resource: model.Resource(name), Value: v})
		}
	}
	SortAmounts(out)
	return out, outOfBounds
}

// Counts reads counts by name. A negative count is zero.
func Counts(m map[string]int64) model.Amounts {
	out := make(model.Amounts, 0, len(m))
	for name, n := range m {
		out = append(out, model.Amount{Resource: model.Resource(name), Value: min(max(n, 0), math.MaxInt32)})
	}
	SortAmounts(out)
	return out
}

// SortAmounts puts quantities into their canonical order.
func SortAmounts(list model.Amounts) {
	slices.SortFunc(list, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) })
}
