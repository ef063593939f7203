package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// young is how old a claim must be before it counts that its type is not sold any more: catalogues and claims come by
// different ways.
const young = time.Hour

// Drift says how a node no longer is what its pool or class asks for, or the zero Reason: what the actuator found in AWS,
// or else what the snapshot tells. What says how nodes behave, and not what they are, is no drift: weight, limits,
// disruption settings, replicas. Nodes without a pool do not drift.
func Drift(v *view.View, host int) model.Reason {
	h := v.Hosts[host]
	if h.Claim == nil || h.Node == nil || h.Pool == nil || h.Claim.State < model.ClaimLaunched {
		return model.Reason{}
	}
	if d := h.Claim.Drifted; !d.OK() {
		r := d
		r.Code, r.Subject = model.CodeDrifted, h.Name()
		return r
	}
	for _, check := range []func(v *view.View, h *view.Host) string{
		poolChanged,      // the template by its hash
		requirementsMiss, // what the pool asks for now
		typeGone,         // what is sold to it
		classChanged,     // the class by its hash
		imageGone,        // what the class boots
	} {
		if text := check(v, h); text != "" {
			return model.Reason{Code: model.CodeDrifted, Subject: h.Name(), Message: text}
		}
	}
	return model.Reason{}
}

// changed says whether two hashes are of different content. Those of different versions, which is what comes before a "-",
// tell nothing.
func changed(a, b string) bool {
	return a != "" && b != "" && a != b && version(a) == version(b)
}

func version(hash string) string {
	before, _, found := strings.Cut(hash, "-")
	if !found {
		return ""
	}
	return before
}

func poolChanged(_ *view.View, h *view.Host) string {
	if !changed(h.Claim.PoolHash, h.Pool.Hash) {
		return ""
	}
	return fmt.Sprintf("NodePoolDrifted: the template of node pool %s has changed since the launch", h.Pool.Name)
}

func requirementsMiss(_ *view.View, h *view.Host) string {
	labels := view.MergeLabels(h.Node.Labels, h.Claim.Labels)
	r, ok := require.NewSet(h.Pool.NodePool.Requirements...).Matches(labels)
	if ok {
		return ""
	}
	has, there := labels.Get(r.Key)
	if !there {
		return fmt.Sprintf("RequirementsDrifted: node pool %s asks for %s, and the node has no such label", h.Pool.Name, r)
	}
	return fmt.Sprintf("RequirementsDrifted: node pool %s asks for %s, and the node has %s", h.Pool.Name, r, has)
}

func typeGone(v *view.View, h *view.Host) string {
	c := h.Claim
	if c.InstanceType == "" || h.Pool.Catalog == nil || !h.Pool.Class.NotReady.OK() || v.Now.Sub(c.CreateTime) < young {
		return ""
	}
	if h.Pool.Catalog.Type(c.InstanceType) == nil {
		return fmt.Sprintf("InstanceTypeNotFound: the catalogue of node class %s has no %s any more", h.Pool.Class.Name, c.InstanceType)
	}
	if v.Sold(c.InstanceType, c.Zone, c.CapacityType) || (c.CapacityType == model.Reserved && v.Sold(c.InstanceType, c.Zone, model.OnDemand)) {
		return ""
	}
	return fmt.Sprintf("InstanceTypeNotFound: %s is not sold as %s in %s any more", c.InstanceType, c.CapacityType, c.Zone)
}

func classChanged(_ *view.View, h *view.Host) string {
	class := h.Pool.Class
	if class == nil || !changed(h.Claim.ClassHash, class.Hash) || class.Name != h.Claim.NodeClass {
		return ""
	}
	return fmt.Sprintf("NodeClassDrifted: EC2NodeClass %s has changed since the launch", class.Name)
}

func imageGone(_ *view.View, h *view.Host) string {
	class := h.Pool.Class
	if class == nil || !class.NotReady.OK() || class.Name != h.Claim.NodeClass || h.Claim.ImageID == "" || len(class.Images) == 0 {
		return ""
	}
	if slices.ContainsFunc(class.Images, func(i model.MachineImage) bool { return i.ID == h.Claim.ImageID }) {
		return ""
	}
	return fmt.Sprintf("AMIDrift: EC2NodeClass %s no longer launches %s", class.Name, h.Claim.ImageID)
}

// drifted replaces nodes that are not what they should be.
func (s *search) drifted() {
	var hosts []int
	for _, h := range s.candidates {
		if !s.drift[h].OK() && !s.v.Removed(h) && s.verdicts[h].OK() {
			hosts = append(hosts, h)
		}
	}
	s.oldestFirst(hosts)
	slices.SortStableFunc(hosts, func(a, b int) int { return cmp.Compare(s.v.Hosts[a].Pool.Index, s.v.Hosts[b].Pool.Index) })
	s.replaceAll(hosts, model.ReasonDrifted, func(h int) model.Reason { return s.drift[h] }, func(h int) model.Reason {
		return s.canary(s.v.Hosts[h].Pool)
	})
}
