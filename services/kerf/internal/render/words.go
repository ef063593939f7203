package render

import (
	"fmt"
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

// owners groups pods by what owns them.
type owners struct {
	byPod map[string]string
}

func ownersOf(s *clusterpb.Snapshot) owners {
	classes := make(map[string]string, len(s.GetPodClasses()))
	for _, c := range s.GetPodClasses() {
		if c.GetOwnerName() != "" {
			classes[c.GetId()] = c.GetNamespace() + "/" + c.GetOwnerName()
		}
	}
	byPod := make(map[string]string, len(s.GetPods()))
	for _, p := range s.GetPods() {
		if owner := classes[p.GetClassId()]; owner != "" {
			byPod[p.GetId()] = owner
		}
	}
	return owners{byPod}
}

// mostGroups is how many owners are named where pods are summed up.
const mostGroups = 3

// of is the owner of a pod, or the pod itself where nothing owns it.
func (o owners) of(pod string) string {
	if owner := o.byPod[pod]; owner != "" {
		return owner
	}
	if b, ok := bufferOf(pod); ok {
		return "buffer " + b
	}
	return pod
}

// bufferOf is the capacity buffer that one of the planner's virtual pods, "buffer/namespace/name/number", belongs to.
func bufferOf(pod string) (string, bool) {
	rest, ok := strings.CutPrefix(pod, "buffer/")
	if i := strings.LastIndexByte(rest, '/'); ok && strings.Count(rest, "/") > 1 {
		return rest[:i], true
	}
	return "", false
}

// sum writes pods as numbers and owners: "6 default/inflate, 2 shop/web".
func (o owners) sum(pods []string) string {
	if len(pods) == 0 {
		return "-"
	}
	counts := map[string]int{}
	var names []string
	for _, p := range pods {
		name := o.of(p)
		if counts[name] == 0 {
			names = append(names, name)
		}
		counts[name]++
	}
	var parts []string
	left := len(pods)
	for i, name := range names {
		if i == mostGroups {
			return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), left)
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
		left -= counts[name]
	}
	return strings.Join(parts, ", ")
}
