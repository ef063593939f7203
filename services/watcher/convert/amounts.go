package convert

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// maxAmount bounds every quantity, so that sums over a whole cluster stay inside an int64: a pebibyte, or a trillion
// cores.
const maxAmount = 1 << 50

// amountOf is a quantity in the unit that Kerf counts the resource in, rounded up. Quantities out of bounds come back as
// the bound, and false.
func amountOf(name corev1.ResourceName, q resource.Quantity) (int64, bool) {
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

// amounts converts a list, without the zeros, sorted. The first resource that is out of bounds is named.
func amounts(list corev1.ResourceList) (out []*clusterpb.Amount, outOfBounds string) {
	for name, q := range list {
		v, ok := amountOf(name, q)
		if !ok && (outOfBounds == "" || string(name) < outOfBounds) {
			outOfBounds = string(name)
		}
		if v != 0 {
			out = append(out, &clusterpb.Amount{Resource: string(name), Value: v})
		}
	}
	sortAmounts(out)
	return out, outOfBounds
}

// countsOf converts counts by name, sorted; a negative count is nought.
func countsOf(m map[string]int64) []*clusterpb.Amount {
	out := make([]*clusterpb.Amount, 0, len(m))
	for name, n := range m {
		out = append(out, &clusterpb.Amount{Resource: name, Value: min(max(n, 0), math.MaxInt32)})
	}
	sortAmounts(out)
	return out
}

func sortAmounts(list []*clusterpb.Amount) {
	slices.SortFunc(list, func(a, b *clusterpb.Amount) int { return strings.Compare(a.GetResource(), b.GetResource()) })
}
