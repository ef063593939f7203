package render

import (
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// price is money with a mark where the price is Kerf's own guess.
func price(micro int64, estimated bool, digits int) string {
	if estimated {
		return "~" + page.Fixed(micro, digits)
	}
	return page.Fixed(micro, digits)
}

// dollars is the same with a dollar sign, and as many digits as it takes.
func dollars(micro int64, estimated bool) string {
	if estimated {
		return "~" + page.Dollars(micro)
	}
	return page.Dollars(micro)
}

func capacityType(t clusterpb.CapacityType) string {
	switch t {
	case clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND:
		return "on-demand"
	case clusterpb.CapacityType_CAPACITY_TYPE_SPOT:
		return "spot"
	case clusterpb.CapacityType_CAPACITY_TYPE_RESERVED:
		return "reserved"
	default:
		return "-"
	}
}

// zones writes zones short: those that differ in their last letter only are "us-east-1a b c".
func zones(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	var b strings.Builder
	for i, z := range names {
		switch {
		case i == 0:
			b.WriteString(z)
		case len(z) > 1 && len(names[i-1]) > 1 && z[:len(z)-1] == names[i-1][:len(names[i-1])-1]:
			b.WriteString(" " + z[len(z)-1:])
		default:
			b.WriteString(" " + z)
		}
	}
	return b.String()
}
