package apply

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// disruption checks a disruption and its replacements as one.
func (v *verifier) disruption(d model.Disruption, claims []model.NodeClaim) {
	members := replacementsOf(d, claims)
	if _, known := v.state.Disruptions[d.ID]; known {
		v.acceptAgain(string(d.ID))
		for _, w := range members {
			v.acceptAgain(string(w.ID))
		}
		return
	}
	try := v.tally.clone()
	group, culprit, reason := v.group(d, members, try)
	if reason == (model.Reason{}) {
		v.tally = try
		v.groups = append(v.groups, group)
		v.verdicts[string(d.ID)] = model.Verdict{Decision: string(d.ID), Accepted: true}
		for _, w := range members {
			v.verdicts[string(w.ID)] = model.Verdict{Decision: string(w.ID), Accepted: true}
		}
		return
	}
	v.rejectGroup(d, members, culprit, reason)
}

// rejectGroup gives the culprit its reason and the others a pointer to it.
func (v *verifier) rejectGroup(d model.Disruption, members []model.NodeClaim, culprit string, reason model.Reason) {
	ids := []string{string(d.ID)}
	for _, w := range members {
		ids = append(ids, string(w.ID))
	}
	for _, id := range ids {
		r := reason
		if id != culprit {
			r = model.Reason{
				Code: model.CodeGroup, Subject: id,
				Message: fmt.Sprintf("%s of the same group was rejected: %s", culprit, reason.Message),
			}
		}
		v.verdicts[id] = model.Verdict{Decision: id, Reason: r}
	}
}

// podsOf are the pods that a disruption moves.
func podsOf(d model.Disruption) []model.PodID {
	var out []model.PodID
	for _, p := range d.Destinations {
		out = append(out, p.Pod)
	}
	return out
}

// replacementsOf returns the claims that name the disruption.
func replacementsOf(d model.Disruption, claims []model.NodeClaim) []model.NodeClaim {
	var out []model.NodeClaim
	for _, w := range claims {
		if w.Disruption == d.ID && d.ID != "" {
			out = append(out, w)
		}
	}
	return out
}

// group builds what has to be stored for the disruption, or says which decision is wrong and why.
func (v *verifier) group(d model.Disruption, members []model.NodeClaim, t tally) (Group, string, model.Reason) {
	if reason := wellFormed(d, members); reason != (model.Reason{}) {
		return Group{}, string(d.ID), reason
	}
	record := model.DisruptionRecord{
		ID: d.ID, Reason: d.Reason, Candidates: d.Candidates, Replacements: d.Replacements, Pods: podsOf(d), AcceptTime: v.state.Now,
		Workloads: d.Workloads, Staged: d.Staged,
	}
	g := Group{Disruption: &record}
	var price int64
	var going []cluster.Node
	for _, id := range d.Candidates {
		c, reason := v.candidate(id, d, t)
		if reason != (model.Reason{}) {
			return Group{}, string(d.ID), reason
		}
		if c.Disruption == "" && serves(c) {
			t.staying[c.NodePool]--
		}
		marked := lifecycle.Step(c, lifecycle.Event{Kind: lifecycle.EventDisrupt, Disruption: d.ID, DisruptionReason: d.Reason}, v.state.Now)
		price += v.price(c)
		going = append(going, v.state.Nodes[id])
		g.Claims = append(g.Claims, marked.Claim)
	}
	if d.Reason == model.ReasonDrifted {
		if reason := v.canary(d); reason != (model.Reason{}) {
			return Group{}, string(d.ID), reason
		}
	}
	if reason := v.budgets(d, t); reason != (model.Reason{}) {
		return Group{}, string(d.ID), reason
	}
	for _, w := range members {
		c, reason := v.claim(w, t)
		if reason != (model.Reason{}) {
			return Group{}, string(w.ID), reason
		}
		c.Arrivals = nominate.ArrivalsOf(c.Pods, going)
		g.Claims = append(g.Claims, c)
	}
	replacements := g.Claims[len(d.Candidates):]
	if saves(d.Reason) {
		if reason := dropUntilCheaper(replacements, price); reason != (model.Reason{}) {
			return Group{}, string(d.ID), reason
		}
	}
	g.shorten(replacements)
	if saves(d.Reason) {
		record.Saving = price
		for _, c := range replacements {
			record.Saving -= highest(c.Offerings)
		}
	}
	if n := g.Bytes(); n > maxGroupBytes {
		return Group{}, string(d.ID), model.Reason{
			Code: model.CodeInvalid, Subject: string(d.ID),
			Message: fmt.Sprintf("the disruption and its claims take %d bytes, and must be stored at once: at most %d", n, maxGroupBytes),
		}
	}
	return g, "", model.Reason{}
}

// shorten cuts the lists of what replacements may be launched as, which are best first, until the group can be stored or
// the lists are short: a set that is refused for its size would be planned again the same.
func (g Group) shorten(replacements []model.Claim) {
	for keep := 4 * fewestOfferings; keep >= fewestOfferings && g.Bytes() > maxGroupBytes; keep /= 2 {
		for i := range replacements {
			c := &replacements[i]
			c.Offerings = c.Offerings[:min(keep, len(c.Offerings))]
		}
	}
}

func wellFormed(d model.Disruption, members []model.NodeClaim) model.Reason {
	fail := func(format string, args ...any) model.Reason {
		return model.Reason{Code: model.CodeInvalid, Message: fmt.Sprintf(format, args...), Subject: string(d.ID)}
	}
	if !validName(string(d.ID)) {
		return fail("id: %q is not a name: want 1 to 63 of a-z, 0-9 and '-', with a letter or digit at both ends", d.ID)
	}
	if len(d.Candidates) == 0 {
		return fail("candidates: a disruption needs at least one")
	}
	if n := len(d.Candidates) + len(d.Replacements); n > MaxGroup {
		return fail("candidates, replacements: %d claims are too many for one disruption: at most %d", n, MaxGroup)
	}
	switch d.Reason {
	case model.ReasonEmpty, model.ReasonSurplus:
		if len(d.Replacements) > 0 {
			return fail("replacements: a node that is empty or one too many needs none")
		}
	case model.ReasonUnderutilized, model.ReasonExpired, model.ReasonDrifted, model.ReasonUnhealthy:
	default:
		return fail("reason: a plan may give EMPTY, UNDERUTILIZED, EXPIRED, DRIFTED, UNHEALTHY or SURPLUS, not %d", d.Reason)
	}
	if d.Staged && d.Reason != model.ReasonUnderutilized {
		return fail("staged: only what saves money may be drained in stages")
	}
	if problem := badWorkloads(d); problem != "" {
		return fail("workloads: %s", problem)
	}
	seen := map[model.ClaimID]bool{}
	for _, id := range slices.Concat(d.Candidates, d.Replacements) {
		if seen[id] {
			return fail("candidates, replacements: claim %s occurs twice", id)
		}
		seen[id] = true
	}
	if len(members) != len(d.Replacements) {
		return fail("replacements: %d are named, but %d claims of the plan name this disruption", len(d.Replacements), len(members))
	}
	for _, w := range members {
		if !slices.Contains(d.Replacements, w.ID) {
			return fail("replacements: claim %s names this disruption, which does not name it", w.ID)
		}
	}
	return model.Reason{}
}

// The longest names that Kubernetes takes.
const (
	maxNamespace = 63
	maxName      = 253
)

// badWorkloads says what is wrong with the list of those whose pods are evicted; "" when nothing is.
func badWorkloads(d model.Disruption) string {
	if n, most := len(d.Workloads), max(len(d.Destinations), d.Evictions); n > most {
		return fmt.Sprintf("%d owners of %d pods", n, most)
	}
	seen := map[model.WorkloadEvictions]bool{}
	for i, w := range d.Workloads {
		switch {
		case w.Namespace == "" || len(w.Namespace) > maxNamespace || len(w.Kind) > maxName || len(w.Name) > maxName:
			return fmt.Sprintf("entry %d: %q, %q, %q are not a namespace, a kind and a name", i, w.Namespace, w.Kind, w.Name)
		case len(w.UID) > maxName || len(w.Revision) > maxName:
			return fmt.Sprintf("entry %d: %q, %q are not a uid and a revision", i, w.UID, w.Revision)
		case (w.Kind == "") != (w.Name == ""):
			return fmt.Sprintf("entry %d: kind and name belong together", i)
		case w.Pods < 0:
			return fmt.Sprintf("entry %d: %d pods", i, w.Pods)
		}
		w.Pods = 0
		if seen[w] {
			return fmt.Sprintf("entry %d: %s %s/%s occurs twice", i, w.Kind, w.Namespace, w.Name)
		}
		seen[w] = true
	}
	return ""
}

// candidate checks that a claim may be taken away.
func (v *verifier) candidate(id model.ClaimID, d model.Disruption, t tally) (model.Claim, model.Reason) {
	c, ok := v.state.Claims[id]
	fail := func(code model.Code, format string, args ...any) (model.Claim, model.Reason) {
		return c, model.Reason{Code: code, Message: fmt.Sprintf(format, args...), Subject: "nodeclaim/" + string(id)}
	}
	needed := model.ClaimInitialized
	if d.Reason == model.ReasonUnhealthy {
		needed = model.ClaimRegistered
	}
	switch {
	case !ok || c.State.Ended():
		return fail(model.CodeNotFound, "claim %s does not exist any more", id)
	case c.Disruption != "" || c.State > model.ClaimInitialized || v.taken(id):
		return fail(model.CodeAlreadyDisrupted, "claim %s is being taken away already", id)
	case d.Reason != model.ReasonUnhealthy && d.Reason != model.ReasonSurplus && v.replacing(c):
		return fail(model.CodeAlreadyDisrupted, "claim %s is a replacement of disruption %s, which goes on", id, c.Replaces)
	case d.Reason == model.ReasonSurplus:
		return c, v.surplus(c, t)
	case c.State < needed:
		return fail(model.CodeNotInitialized, "claim %s is %s", id, c.State)
	}
	n, ok := v.state.Nodes[id]
	if !ok {
		return fail(model.CodeNotFound, "the node of claim %s is not there", id)
	}
	if n.Terminating {
		return fail(model.CodeAlreadyDisrupted, "node %s is being deleted", n.Name)
	}
	reason := v.reasonHolds(c, n, d)
	return c, reason
}

// replacing says that the claim replaces others that are still being taken away: its pods are yet to come.
func (v *verifier) replacing(c model.Claim) bool {
	d, ok := v.state.Disruptions[c.Replaces]
	return c.Replaces != "" && ok && d.EndTime.IsZero()
}

// surplus checks that a static pool has more nodes than it shall have. Which of them goes is the plan's to say: nothing
// protects a node that its pool is not to have, but its drain waits for protected pods, as long as it may.
func (v *verifier) surplus(c model.Claim, t tally) model.Reason {
	pool, ok := v.state.Pools[c.NodePool]
	if !ok || pool.Replicas == nil {
		return model.Reason{
			Code: model.CodeInvalid, Subject: "nodeclaim/" + string(c.ID),
			Message: fmt.Sprintf("claim %s is not one of a static pool", c.ID),
		}
	}
	if have := t.staying[c.NodePool]; have <= *pool.Replicas {
		return model.Reason{
			Code: model.CodeStaticPool, Subject: "nodepool/" + string(c.NodePool),
			Message: fmt.Sprintf("node pool %q has %d nodes, and is to have %d", c.NodePool, have, *pool.Replicas),
		}
	}
	return model.Reason{}
}

// taken says that a decision before this one takes the claim away.
func (v *verifier) taken(id model.ClaimID) bool {
	for _, g := range v.groups {
		if g.Disruption != nil && slices.Contains(g.Disruption.Candidates, id) {
			return true
		}
	}
	return false
}

// reasonHolds checks that the disruption's reason applies to the candidate, and that nothing protects it. An unhealthy
// node goes in spite of all protection, and one that has expired in spite of its pods where its drain is bounded: but not
// of its own annotation, which keeps it until it is taken off.
func (v *verifier) reasonHolds(c model.Claim, n cluster.Node, d model.Disruption) model.Reason {
	fail := func(code model.Code, format string, args ...any) model.Reason {
		return model.Reason{Code: code, Message: fmt.Sprintf(format, args...), Subject: "node/" + string(n.Name)}
	}
	if r := rules.ZoneShifted(c.Zone, v.state.ShiftedZones); !r.OK() {
		r.Subject = "node/" + string(n.Name)
		return r
	}
	forced := false
	switch d.Reason {
	case model.ReasonUnhealthy:
		return v.unhealthy(c, n)
	case model.ReasonExpired:
		forced = rules.ForcedByAge(&c, v.state.Now)
		if due, _ := rules.Expiring(&c, v.state.Now); due.OK() {
			return fail(model.CodeInvalid, "claim %s has not expired", c.ID)
		}
	case model.ReasonEmpty:
		if pods := lifecycle.LeavingPods(n, v.state.Now); len(pods) > 0 && !allTerminating(n) {
			return fail(model.CodeStale, "node %s is not empty: pod %s runs there", n.Name, pods[0])
		}
	case model.ReasonDrifted:
		if !v.drifted(c) {
			return fail(model.CodeInvalid, "claim %s has not drifted", c.ID)
		}
	default:
	}
	if n.Annotations[labels.DoNotDisrupt] == "true" {
		return fail(model.CodeNodeDoNotDisrupt, "node %s carries %s", n.Name, labels.DoNotDisrupt)
	}
	if forced {
		return model.Reason{}
	}
	for _, p := range n.Pods {
		if p.Finished || !p.DeletionTime.IsZero() {
			continue
		}
		pod := model.Pod{ID: model.PodID(p.Namespace + "/" + p.Name), DoNotDisrupt: p.DoNotDisrupt, DoNotDisruptUntil: p.DoNotDisruptUntil}
		if why, _ := rules.Protected(&pod, v.state.Now); !why.OK() {
			return why
		}
	}
	return model.Reason{}
}

// allTerminating says that every pod that would have to be moved is on its way out already.
func allTerminating(n cluster.Node) bool {
	return !slices.ContainsFunc(n.Pods, func(p cluster.Pod) bool {
		return !p.Daemon && !p.Mirror && !p.Finished && !p.ToleratesDisrupted && p.DeletionTime.IsZero()
	})
}
