package topology

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

func spreadReason(t *Tally, rule *podrules.SpreadRule, s *Site) model.Reason {
	key := t.nodes.r.Counters[rule.Counter].Key
	name := t.nodes.r.TopologyKeys[key]
	d := t.nodes.at(s, key)
	if d == absent {
		return model.Reason{
			Code:    model.CodeTopologySpread,
			Message: fmt.Sprintf("the topology spread constraint needs the label %s, which %s does not have", name, s.name),
			Remedy:  fmt.Sprintf("label the nodes with %s, or spread over another label", name),
		}
	}
	has, least := t.domains.most(rule.Counter, s), t.domains.leastSeen(rule, s, false)
	message := fmt.Sprintf("%s has %d of the pods with %s, and one more is beyond maxSkew %d: the emptiest %s has %d",
		where(t, key, s), has, podrules.SelectorText(rule.Spec.Selector), rule.MaxSkew, name, least)
	remedy := fmt.Sprintf("raise maxSkew, or let the pods run where there are fewer of them, by another %s", name)
	if _, _, sure := t.domains.domainsOf(rule, t.domains.region(t.nodes.r.Counters[rule.Counter].Universe), false); sure < rule.MinDomains {
		message = fmt.Sprintf("%s has %d of the pods with %s, and may not have more than maxSkew %d while there are %d of the %d domains of minDomains",
			where(t, key, s), has, podrules.SelectorText(rule.Spec.Selector), rule.MaxSkew, sure, rule.MinDomains)
		remedy = fmt.Sprintf("lower minDomains, or allow nodes with more values of %s", name)
	}
	return model.Reason{Code: model.CodeTopologySpread, Message: message, Remedy: remedy}
}

func affinityReason(t *Tally, x *podrules.ClassRules, i int, s *Site) model.Reason {
	a := x.Affinity[i]
	key, selected := t.nodes.r.Counters[a.Counter].Key, a.Selects
	name := t.nodes.r.TopologyKeys[key]
	message := fmt.Sprintf("the required pod affinity asks for a pod with %s, and %s has none", selected, where(t, key, s))
	remedy := fmt.Sprintf("free capacity where such pods run, or change the required affinity on %s", name)
	switch {
	case t.nodes.at(s, key) == absent:
		message = fmt.Sprintf("the required pod affinity needs the label %s, which %s does not have", name, s.name)
		remedy = fmt.Sprintf("label the nodes with %s, or use another topologyKey", name)
	case t.domains.counts[a.Counter].total == 0:
		message = fmt.Sprintf("the required pod affinity asks for a pod with %s in the same %s, and no such pod runs", selected, name)
		remedy = "start a pod that the affinity selects, or change the affinity"
	}
	return model.Reason{Code: model.CodePodAffinity, Message: message, Remedy: remedy}
}

func antiReason(t *Tally, a podrules.AntiRule, s *Site) model.Reason {
	key := t.nodes.r.Counters[a.Counter].Key
	return model.Reason{
		Code: model.CodePodAntiAffinity,
		Message: fmt.Sprintf("the required pod anti-affinity keeps away from pods with %s, and %s has %d",
			podrules.SelectorText(a.Spec.Selector), where(t, key, s), t.domains.most(a.Counter, s)),
		Remedy: fmt.Sprintf("allow nodes with another %s, or change the required anti-affinity", t.nodes.r.TopologyKeys[key]),
	}
}

func inverseReason(t *Tally, c *view.Class, counter int32, s *Site) model.Reason {
	key := t.nodes.r.Counters[counter].Key
	owner := ownerOf(t, counter)
	return model.Reason{
		Code: model.CodePodAntiAffinity,
		Message: fmt.Sprintf("pods in %s (%d, such as those of %s %s/%s) keep pods like those of %s/%s away by required anti-affinity",
			where(t, key, s), t.domains.most(counter, s), owner.OwnerKind, owner.Namespace, owner.OwnerName, c.Namespace, c.OwnerName),
		Remedy: fmt.Sprintf("allow nodes with another %s, or change the anti-affinity of %s/%s", t.nodes.r.TopologyKeys[key], owner.Namespace, owner.OwnerName),
	}
}

// ownerOf is the first class whose required anti-affinity a counter counts.
func ownerOf(t *Tally, counter int32) *view.Class {
	i := slices.IndexFunc(t.nodes.r.Classes, func(x podrules.ClassRules) bool { return slices.Contains(x.Owned, counter) })
	return t.nodes.r.World.Classes[i]
}

func openReason(t *Tally, c *view.Class, key int32, s *Site) model.Reason {
	code := model.CodeTopologySpread
	x := &t.nodes.r.Classes[c.Index]
	switch {
	case len(x.Spread) > 0:
	case len(x.Affinity) > 0:
		code = model.CodePodAffinity
	default:
		code = model.CodePodAntiAffinity
	}
	return model.Reason{
		Code:    code,
		Message: fmt.Sprintf("it is not decided yet which %s %s will have, and rules about other pods depend on it", t.nodes.r.TopologyKeys[key], s.name),
	}
}

func opensReason(s *Site) model.Reason {
	return model.Reason{Code: model.CodeSuperseded, Message: s.name + " " + s.opens, Remedy: "wait for the next plan"}
}

// where names the domain of a site.
func where(t *Tally, key int32, s *Site) string {
	if key == podrules.Hostname || t.nodes.at(s, key) < 0 {
		return s.name
	}
	return fmt.Sprintf("%s %s", t.nodes.r.TopologyKeys[key], t.nodes.names[key][t.nodes.at(s, key)])
}
