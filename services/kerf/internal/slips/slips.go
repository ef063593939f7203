// Package slips finds values that pods ask of nodes and that nothing which is sold has, but for a slip: a zone us-east-1-a,
// an architecture x86_64.
//
// It goes by a snapshot alone, so that it tells of a live cluster what a plan of files warns of. Start reading at Known.Of.
package slips

import (
	"fmt"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/meant"
)

// Known are the values that there are, by label.
type Known struct {
	values  map[string]map[string]bool
	classes map[string]*clusterpb.PodClass // by pod
}

// In reads what is sold in a snapshot, and what its pods ask for.
func In(s *clusterpb.Snapshot) Known {
	k := Known{meant.Known(), map[string]*clusterpb.PodClass{}}
	for _, c := range s.GetCatalogs() {
		for _, t := range c.GetInstanceTypes() {
			for _, l := range t.GetLabels() {
				if values := k.values[l.GetKey()]; values != nil {
					values[l.GetValue()] = true
				}
			}
		}
	}
	for _, o := range s.GetOfferings() {
		k.values[labels.Zone][o.GetZone()] = true
	}
	classes := map[string]*clusterpb.PodClass{}
	for _, c := range s.GetPodClasses() {
		classes[c.GetId()] = c
	}
	for _, p := range s.GetPods() {
		k.classes[p.GetId()] = classes[p.GetClassId()]
	}
	return k
}

// Of are the slips of a pod, a sentence each.
func (k Known) Of(pod string) (hints []string) {
	look := func(key, value string) {
		values := k.values[labels.Normal(key)]
		if len(values) == 0 || values[value] {
			return
		}
		if _, question, asks := strings.Cut(meant.Value(key, value, values), "did you mean "); asks {
			hints = append(hints, fmt.Sprintf("there is no %s %s; did you mean %s", key, value, question))
		}
	}
	c := k.classes[pod]
	for _, l := range c.GetNodeSelector() {
		look(l.GetKey(), l.GetValue())
	}
	for _, t := range c.GetNodeAffinity() {
		for _, r := range t.GetRequirements() {
			if r.GetOperator() == clusterpb.Operator_OPERATOR_IN {
				for _, v := range r.GetValues() {
					look(r.GetKey(), v)
				}
			}
		}
	}
	slices.Sort(hints)
	return slices.Compact(hints)
}
