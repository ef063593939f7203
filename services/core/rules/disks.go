package rules

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Disks are the nodes that volumes lie on, by hostname or by name: those of them that are there, and stay.
type Disks map[model.Label]bool

// DisksOf finds the nodes that volumes of a snapshot's classes lie on at a time. One that its age forces to go is lost
// already.
func DisksOf(s *model.Snapshot, now time.Time) Disks {
	named, there := Disks{}, Disks{}
	for i := range s.PodClasses {
		for _, v := range s.PodClasses[i].Volumes {
			named.addNamed(v)
		}
	}
	if len(named) == 0 {
		return there
	}
	goes := map[model.NodeName]bool{}
	for i := range s.Claims {
		if c := &s.Claims[i]; ForcedByAge(c, now) {
			goes[c.Node] = true
		}
	}
	for i := range s.Nodes {
		for _, l := range s.Nodes[i].Labels {
			if named[l] && !goes[s.Nodes[i].Name] {
				there[l] = true
			}
		}
	}
	return there
}

func (d Disks) addNamed(v model.VolumeTopology) {
	if v.Driver != "" {
		return
	}
	for _, t := range v.Terms {
		for _, l := range namesIn(t) {
			d[l] = true
		}
	}
}

// Reachable is a class with its volumes as they can be reached now. One that no driver attaches lies on a node's disk,
// and is tied to that node as long as that stays. Once the node is gone its data is lost, and no new node can have its
// name: then the volume does not keep its pod from another node. A class of which nothing changes is returned itself.
func (d Disks) Reachable(c *model.PodClass) *model.PodClass {
	out := c
	for i, v := range c.Volumes {
		if v.Driver != "" || len(v.Terms) == 0 || !d.lost(v.Terms) {
			continue
		}
		if out == c {
			changed := *c
			changed.Volumes = slices.Clone(c.Volumes)
			out = &changed
		}
		out.Volumes[i].Terms = withoutNames(v.Terms)
	}
	return out
}

// lost says that each alternative is a node that is gone.
func (d Disks) lost(terms []model.NodeAffinityTerm) bool {
	return !slices.ContainsFunc(terms, func(t model.NodeAffinityTerm) bool {
		names := namesIn(t)
		return len(names) == 0 || slices.ContainsFunc(names, func(l model.Label) bool { return d[l] })
	})
}

// namesIn are the nodes that a term names.
func namesIn(t model.NodeAffinityTerm) []model.Label {
	var out []model.Label
	for _, r := range t.Requirements {
		if !NamesNodes(r) {
			continue
		}
		for _, v := range r.Values {
			out = append(out, model.Label{Key: r.Key, Value: v})
		}
	}
	return out
}

// NamesNodes says that a requirement is about single nodes: it is met by those of certain hostnames, or names, alone.
func NamesNodes(r model.Requirement) bool {
	return (r.Key == labels.Hostname || r.Key == model.KeyNodeName) && r.Operator == model.In
}

// withoutNames are terms that name no nodes; none, which is everywhere, where one of them asks for nothing else.
func withoutNames(terms []model.NodeAffinityTerm) []model.NodeAffinityTerm {
	var out []model.NodeAffinityTerm
	for _, t := range terms {
		rest := slices.DeleteFunc(slices.Clone(t.Requirements), NamesNodes)
		if len(rest) == 0 {
			return nil
		}
		out = append(out, model.NodeAffinityTerm{Requirements: rest})
	}
	return out
}
