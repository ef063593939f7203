package scenario

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// record is a disruption that was accepted before, ten minutes ago unless the line says when. Without ended it goes on.
func (b *builder) record(s *statement) {
	claims := func(key string) []model.ClaimID {
		var out []model.ClaimID
		for _, id := range s.list(key) {
			out = append(out, model.ClaimID(id))
		}
		slices.Sort(out)
		return out
	}
	r := model.DisruptionRecord{
		ID: model.DisruptionID(s.name), Reason: s.reason("reason", model.ReasonUnderutilized.String()),
		Candidates: claims("candidates"), Replacements: claims("replacements"), Pods: s.pods(),
		AcceptTime: b.in.Now.Add(-s.duration("accepted", "10m")), RolledBack: s.is("rolled-back"),
	}
	slices.Sort(r.Pods)
	if s.has("ended") {
		r.EndTime = b.in.Now.Add(-s.duration("ended", "0s"))
	}
	if v := s.text("saving", ""); v != "" {
		r.Saving = s.money("saving", v)
	}
	for _, text := range s.list("workloads") {
		r.Workloads = append(r.Workloads, s.workload(text))
	}
	b.in.Snapshot.Disruptions = append(b.in.Snapshot.Disruptions, r)
}

// workload reads NAMESPACE/KIND/NAME@UID:REVISION=PODS; without a namespace it is in the default one, and what comes
// after the name may be left out.
func (s *statement) workload(text string) model.WorkloadEvictions {
	owner, count, _ := strings.Cut(text, "=")
	owner, of, _ := strings.Cut(owner, "@")
	uid, revision, _ := strings.Cut(of, ":")
	parts := strings.Split(owner, "/")
	if len(parts) == 2 {
		parts = append([]string{"default"}, parts...)
	}
	n, err := atoi(count)
	if err != nil || n < 1 || len(parts) != 3 {
		s.fail("%q is not a workload and how many of its pods: default/ReplicaSet/web=3, or default/Deployment/web@UID:REVISION=3", text)
		return model.WorkloadEvictions{}
	}
	return model.WorkloadEvictions{Namespace: parts[0], Kind: parts[1], Name: parts[2], UID: uid, Revision: revision, Pods: n}
}

// reason reads why nodes are disrupted.
func (s *statement) reason(key, otherwise string) model.DisruptionReason {
	name := s.text(key, otherwise)
	for r := model.ReasonEmpty; r <= model.ReasonSurplus; r++ {
		if r.String() == name {
			return r
		}
	}
	s.fail("%s=%s is not why nodes are disrupted, such as Drifted", key, name)
	return 0
}

// conditions reads TYPE=STATUS:AGE: what ails a node, and since when.
func (b *builder) conditions(s *statement) []model.NodeCondition {
	var out []model.NodeCondition
	for _, text := range s.list("condition") {
		c, age := s.condition(text)
		out = append(out, model.NodeCondition{Type: c.Type, Status: c.Status, TransitionTime: b.in.Now.Add(-age)})
	}
	slices.SortFunc(out, func(x, y model.NodeCondition) int { return cmp.Compare(x.Type, y.Type) })
	return out
}

// condition reads TYPE=STATUS:DURATION.
func (s *statement) condition(text string) (model.RepairCondition, time.Duration) {
	kind, rest, _ := strings.Cut(text, "=")
	status, after, ok := strings.Cut(rest, ":")
	d, err := time.ParseDuration(after)
	if !ok || kind == "" || err != nil {
		s.fail("%q is not a condition and a duration: Ready=False:40m", text)
	}
	return model.RepairCondition{Type: kind, Status: status, After: d}, d
}

// repair reads off, or TYPE=STATUS:AFTER,… max=20%: when nodes are unhealthy beyond waiting.
func (b *builder) repair(s *statement) {
	p := &b.in.Policy.Repair
	if s.name != "" {
		if p.Off = s.name == "off"; !p.Off {
			s.fail("want off, or conditions such as Ready=False:30m")
		}
		return
	}
	if text := s.text("max", ""); text != "" {
		n, err := atoi(strings.TrimSuffix(text, "%"))
		if err != nil || n < 1 || n > 100 {
			s.fail("max=%s is not a share such as 20%%", text)
		}
		p.MaxUnhealthyPercent = n
	}
	for i := range s.args {
		a := &s.args[i]
		if a.used || a.flag {
			continue
		}
		a.used = true
		for part := range strings.SplitSeq(a.key+"="+a.value, ",") {
			c, _ := s.condition(part)
			p.Conditions = append(p.Conditions, c)
		}
	}
	s.known = append(s.known, "TYPE=STATUS:AFTER")
}

// since reads the name as a duration of a policy; nil is what the policy says by default.
func (s *statement) since() *time.Duration {
	d, err := time.ParseDuration(s.name)
	if err != nil || d < 0 {
		s.fail("want a duration such as 30m")
	}
	return &d
}

// evictionPrice reads what one eviction costs.
func (b *builder) evictionPrice(s *statement) {
	var price int64
	if s.name != "free" {
		if price = s.money(s.verb, s.name); price == 0 {
			s.fail("want an amount such as $0.001, or free")
		}
	}
	b.in.Policy.EvictionPrice = &price
}
