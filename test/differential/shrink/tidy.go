package shrink

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// own says whether a label is the user's own, and does not follow from what a node is.
func own(key string) bool { return !strings.Contains(key, "/") }

// tidy takes away what refers to something that was left out.
func tidy(s *model.Snapshot) {
	pools, types, nodes := make(map[model.PoolName]bool), make(map[model.TypeName]bool), make(map[model.NodeName]bool)
	for _, p := range s.NodePools {
		pools[p.Name] = true
	}
	for _, o := range s.Offerings {
		types[o.InstanceType] = true
	}
	s.Claims = slices.DeleteFunc(s.Claims, func(c model.Claim) bool { return !pools[c.NodePool] })
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n model.Node) bool {
		pool, _ := n.Labels.Get(labels.NodePool)
		claimed := slices.ContainsFunc(s.Claims, func(c model.Claim) bool { return c.ID == n.Claim })
		return !pools[model.PoolName(pool)] || (n.Claim != "" && !claimed)
	})
	for _, n := range s.Nodes {
		nodes[n.Name] = true
	}
	s.Claims = slices.DeleteFunc(s.Claims, func(c model.Claim) bool {
		return (c.Node != "" && !nodes[c.Node]) || (c.Node == "" && c.InstanceType == "" && len(c.Offerings) == 0)
	})
	for i := range s.Claims {
		types[s.Claims[i].InstanceType] = true
		for _, o := range s.Claims[i].Offerings {
			types[o.InstanceType] = true
		}
	}
	s.Pods = slices.DeleteFunc(s.Pods, func(p model.Pod) bool { return p.Node != "" && !nodes[p.Node] })
	for i := range s.Pods {
		if !nodes[s.Pods[i].ExpectedNode] {
			s.Pods[i].ExpectedNode = ""
		}
	}
	s.Notices = slices.DeleteFunc(s.Notices, func(x model.Notice) bool {
		return !slices.ContainsFunc(s.Claims, func(c model.Claim) bool { return c.ID == x.Claim })
	})
	for i := range s.Catalogs {
		s.Catalogs[i].InstanceTypes = slices.DeleteFunc(s.Catalogs[i].InstanceTypes, func(t model.InstanceType) bool { return !types[t.Name] })
	}
	tidyClasses(s)
	tidyDevices(s)
}

// tidyDevices takes away claims that ask for nothing, and from pods what they have no claim on.
func tidyDevices(s *model.Snapshot) {
	claims := make(map[model.ClassID]bool)
	for i := range s.PodClasses {
		c := &s.PodClasses[i]
		for j := range c.DeviceClaims {
			x := &c.DeviceClaims[j]
			x.Requests = slices.DeleteFunc(x.Requests, func(r model.DeviceRequest) bool { return len(r.Options) == 0 })
		}
		c.DeviceClaims = slices.DeleteFunc(c.DeviceClaims, func(x model.DeviceClaim) bool { return len(x.Requests) == 0 })
		claims[c.ID] = len(c.DeviceClaims) > 0
	}
	for i := range s.Pods {
		if !claims[s.Pods[i].Class] {
			s.Pods[i].Devices = nil
		}
	}
}

func tidyClasses(s *model.Snapshot) {
	used := make(map[model.ClassID]bool)
	for _, p := range s.Pods {
		used[p.Class] = true
	}
	for _, d := range s.DaemonSets {
		used[d.Class] = true
	}
	for _, b := range s.CapacityBuffers {
		used[b.Class] = true
	}
	known := make(map[model.ClassID]bool)
	s.PodClasses = slices.DeleteFunc(s.PodClasses, func(c model.PodClass) bool { return !used[c.ID] })
	for i := range s.PodClasses {
		c := &s.PodClasses[i]
		known[c.ID] = true
		if len(c.VolumeAttachments) > 0 {
			c.VolumeAttachments[0].Value = int64(len(c.Volumes))
			if len(c.Volumes) == 0 {
				c.VolumeAttachments = nil
			}
		}
	}
	s.Pods = slices.DeleteFunc(s.Pods, func(p model.Pod) bool { return !known[p.Class] })
	s.DaemonSets = slices.DeleteFunc(s.DaemonSets, func(d model.DaemonSet) bool { return !known[d.Class] })
}

// valid says whether a snapshot is one that a cluster could have.
func valid(s *model.Snapshot) bool {
	for i := range s.PodClasses {
		if !validClass(&s.PodClasses[i]) {
			return false
		}
	}
	for _, p := range s.NodePools {
		if !validRequirements(p.Requirements) {
			return false
		}
	}
	for _, c := range s.Claims {
		if !validRequirements(c.Requirements) {
			return false
		}
	}
	for _, c := range s.NodeClasses {
		if len(c.Images) == 0 {
			return false
		}
		for _, im := range c.Images {
			if !validRequirements(im.Requirements) {
				return false
			}
		}
	}
	return true
}

func validClass(c *model.PodClass) bool {
	for _, p := range c.PreferredNodeAffinity {
		if !validTerms([]model.NodeAffinityTerm{{Requirements: p.Requirements}}) {
			return false
		}
	}
	for _, v := range c.Volumes {
		if !validTerms(v.Terms) {
			return false
		}
	}
	named := func(t model.PodAffinityTerm) bool { return len(t.Namespaces) == 0 && t.NamespaceSelector == nil }
	if slices.ContainsFunc(c.PodAffinity, named) || slices.ContainsFunc(c.PodAntiAffinity, named) {
		return false
	}
	return validTerms(c.NodeAffinity)
}

func validTerms(ts []model.NodeAffinityTerm) bool {
	return !slices.ContainsFunc(ts, func(t model.NodeAffinityTerm) bool {
		return len(t.Requirements) == 0 || !validRequirements(t.Requirements)
	})
}

func validRequirements(rs []model.Requirement) bool {
	return !slices.ContainsFunc(rs, func(r model.Requirement) bool {
		return len(r.Values) == 0 && r.Operator != model.Exists && r.Operator != model.DoesNotExist
	})
}
