package advise

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// mostWorkloads is how many workloads are looked at: the pending and the costliest.
const mostWorkloads = 8

// workloadCandidates are changes of workloads, for each in turn one of its most promising.
func (f *facts) workloadCandidates() []candidate {
	var lists [][]candidate
	longest := 0
	for _, l := range f.workloads[:min(len(f.workloads), mostWorkloads)] {
		if !l.pending && !worthIt(l.cost, f.base.CostAfter) {
			continue // not even if it cost nothing
		}
		list := slices.Concat(f.tolerate(l), f.dropRules(l))
		if l.pending || worthIt(l.cost*(tenths-lowest)/tenths, f.base.CostAfter) {
			list = append(list, f.lowerRequests(l)...)
		}
		lists = append(lists, list)
		longest = max(longest, len(list))
	}
	var out []candidate
	for i := range longest {
		for _, list := range lists {
			if i < len(list) {
				out = append(out, list[i])
			}
		}
	}
	return out
}

// editWorkload is a change of a workload's pods, made to a copy of the list. edit must not change what the class refers to.
func editWorkload(l *workload, edit func(*model.PodClass)) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		s.PodClasses = slices.Clone(s.PodClasses)
		for _, i := range l.classes {
			edit(&s.PodClasses[i])
		}
	}
}

func (l *workload) candidate(change, field, group string, edit func(*model.PodClass)) candidate {
	return candidate{
		Advice: Advice{Change: change + " of " + l.name, Subject: l.subject, Field: field},
		group:  "workload/" + l.name + "/" + group,
		apply:  editWorkload(l, edit),
	}
}

// sample is the class that stands for the workload: that of its last revision, as ids go.
func (f *facts) sample(l *workload) *model.PodClass {
	return &f.in.Snapshot.PodClasses[l.classes[len(l.classes)-1]]
}

// tolerate lets a workload with pending pods onto the pools whose taints keep it off.
func (f *facts) tolerate(l *workload) []candidate {
	var out []candidate
	for _, m := range l.misses {
		p := f.pool(m.NodePool)
		if m.Reason.Code != model.CodeTaint || p == nil {
			continue
		}
		var more []model.Toleration
		var words []string
		for _, t := range p.Taints {
			if t.Effect == model.PreferNoSchedule || slices.ContainsFunc(f.sample(l).Tolerations, func(x model.Toleration) bool { return x.Tolerates(t) }) {
				continue
			}
			more = append(more, model.Toleration{Key: t.Key, Value: t.Value, Effect: t.Effect})
			words = append(words, t.String())
		}
		out = append(out, candidate{
			Advice: Advice{
				Change: fmt.Sprintf("let %s tolerate %s, the taint of pool %s", l.name, list(words), p.Name), Subject: l.subject,
				Field: "spec.tolerations",
			},
			group: "workload/" + l.name + "/taint/" + string(p.Name),
			apply: editWorkload(l, func(c *model.PodClass) { c.Tolerations = slices.Concat(c.Tolerations, more) }),
		})
	}
	return out
}

// dropRules drops what a workload says of where its pods run, one rule at a time. Rules on labels of the user's own are
// left alone as long as the pods run: what they separate, no one but the user knows.
func (f *facts) dropRules(l *workload) []candidate {
	c := f.sample(l)
	mayGo := func(key string) bool { return l.pending || labels.WellKnown(labels.Normal(key)) }
	var out []candidate
	for _, s := range c.NodeSelector {
		if mayGo(s.Key) {
			out = append(out, l.candidate(fmt.Sprintf("drop the node selector %s=%s", s.Key, s.Value), "spec.nodeSelector", "select/"+s.Key,
				func(c *model.PodClass) {
					c.NodeSelector = slices.DeleteFunc(slices.Clone(c.NodeSelector), func(x model.Label) bool { return x.Key == s.Key })
				}))
		}
	}
	for _, key := range affinityKeys(c) {
		if mayGo(key) {
			out = append(out, l.candidate("drop the node affinity on "+key, "spec.affinity.nodeAffinity", "affinity/"+key,
				func(c *model.PodClass) { c.NodeAffinity = withoutKey(c.NodeAffinity, key) }))
		}
	}
	return append(out, dropPeerRules(l, c)...)
}

// dropPeerRules drops hard rules about other pods.
func dropPeerRules(l *workload, c *model.PodClass) []candidate {
	var out []candidate
	for _, key := range topologyKeys(c.TopologySpread, func(s model.TopologySpread) (string, bool) { return s.TopologyKey, s.Required }) {
		out = append(out, l.candidate("drop the spread over "+key, "spec.topologySpreadConstraints", "spread/"+key,
			func(c *model.PodClass) {
				c.TopologySpread = slices.DeleteFunc(slices.Clone(c.TopologySpread), func(s model.TopologySpread) bool {
					return s.Required && s.TopologyKey == key
				})
			}))
	}
	term := func(t model.PodAffinityTerm) (string, bool) { return t.TopologyKey, t.Weight == 0 }
	rest := func(terms []model.PodAffinityTerm, key string) []model.PodAffinityTerm {
		return slices.DeleteFunc(slices.Clone(terms), func(t model.PodAffinityTerm) bool { return t.Weight == 0 && t.TopologyKey == key })
	}
	for _, key := range topologyKeys(c.PodAntiAffinity, term) {
		out = append(out, l.candidate("drop the anti-affinity over "+key, "spec.affinity.podAntiAffinity", "apart/"+key,
			func(c *model.PodClass) { c.PodAntiAffinity = rest(c.PodAntiAffinity, key) }))
	}
	for _, key := range topologyKeys(c.PodAffinity, term) {
		out = append(out, l.candidate("drop the pod affinity over "+key, "spec.affinity.podAffinity", "together/"+key,
			func(c *model.PodClass) { c.PodAffinity = rest(c.PodAffinity, key) }))
	}
	return out
}

// topologyKeys are the keys of hard rules, sorted.
func topologyKeys[T any](rules []T, key func(T) (string, bool)) []string {
	var out []string
	for _, r := range rules {
		if k, hard := key(r); hard {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// affinityKeys are the labels that required node affinity is about, sorted.
func affinityKeys(c *model.PodClass) []string {
	var out []string
	for _, t := range c.NodeAffinity {
		for _, r := range t.Requirements {
			out = append(out, r.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withoutKey is node affinity that says nothing of a label. An alternative that spoke of nothing else holds everywhere,
// and so do all of them together then.
func withoutKey(terms []model.NodeAffinityTerm, key string) []model.NodeAffinityTerm {
	out := slices.Clone(terms)
	for i := range out {
		out[i].Requirements = slices.DeleteFunc(slices.Clone(out[i].Requirements), func(r model.Requirement) bool { return r.Key == key })
		if len(out[i].Requirements) == 0 && len(terms[i].Requirements) > 0 {
			return nil
		}
	}
	return out
}
