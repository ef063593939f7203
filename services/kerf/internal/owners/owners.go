// Package owners sums up pods by what owns them, as people think of them: "6 default/inflate, 2 shop/web".
//
// It reads a snapshot, and never looks at a pod's name for its owner. Start reading at Owners.Sum.
package owners

import (
	"fmt"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
)

// Owners groups pods by what owns them.
type Owners struct {
	byPod map[string]string
}

// In reads the owners of a snapshot's pods.
func In(s *clusterpb.Snapshot) Owners {
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
	return Owners{byPod}
}

// mostGroups is how many owners are named where pods are summed up.
const mostGroups = 3

// Of is the owner of a pod, "namespace/name"; "" where nothing owns it.
func (o Owners) Of(pod string) string { return o.byPod[pod] }

// Name is the owner of a pod, or the pod itself where nothing owns it.
func (o Owners) Name(pod string) string {
	if owner := o.byPod[pod]; owner != "" {
		return owner
	}
	if b, ok := convert.Buffer(pod); ok {
		return "buffer " + b
	}
	return pod
}

// Sum writes pods as numbers and owners: "6 default/inflate, 2 shop/web".
func (o Owners) Sum(pods []string) string {
	if len(pods) == 0 {
		return "-"
	}
	counts := map[string]int{}
	var names []string
	for _, p := range pods {
		name := o.Name(p)
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
