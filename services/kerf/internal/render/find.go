package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
	"github.com/kerf-dev/kerf/services/kerf/internal/unplanned"
)

// answer is what a plan says about one object.
type answer struct {
	// object is its kind and name, in full.
	object string
	// outcome is what becomes of it, in a word or two.
	outcome string
	reason  *clusterpb.Reason

	node *nodeFacts
	// pods are those of the node or the claim, by id.
	pods []string

	pending    *plannerpb.PendingPod
	placement  *plannerpb.Placement
	disruption *plannerpb.Disruption
	claim      *plannerpb.NodeClaim
	// removal is the decision that the actuator has carried out or carries out, where it still knows it.
	removal *clusterpb.DisruptionRecord
}

// nodeFacts are what is known of a node, or of a claim that may have none yet.
type nodeFacts struct {
	name, claim, pool, shape, zone, capacity, state string
	// removed is why it goes or has gone, "" where it stays.
	removed string

	price, waste int64
	estimated    bool // the price
}

const wantObject = "want node/NAME, claim/NAME, pod/NAME or pod/NAMESPACE/NAME"

// find looks an object up: "node/NAME", "claim/NAME" or "pod/NAME".
func (p *PlanView) find(object string) (answer, error) {
	kind, name, ok := strings.Cut(object, "/")
	if ok && name != "" {
		switch kind {
		case "pod":
			return p.findPod(name)
		case "node":
			return p.findNode(name)
		case "claim", "nodeclaim":
			return p.findClaim(name)
		}
	}
	return answer{}, fmt.Errorf("explain %q: %s", object, wantObject)
}

func (p *PlanView) findPod(name string) (answer, error) {
	found := p.podsNamed(name)
	if a, ok := p.findGated(name); ok && len(found) == 0 {
		return a, nil
	}
	id, err := p.podID(name, found)
	if err != nil {
		return answer{}, err
	}
	a := answer{object: "pod/" + id}
	for _, pod := range p.Plan.GetPending() {
		if pod.GetPod() == id {
			a.outcome, a.pending, a.reason = "stays pending", pod, pod.GetReason()
			return a, nil
		}
	}
	for _, d := range p.Plan.GetDisruptions() {
		for _, pl := range d.GetDestinations() {
			if pl.GetPod() == id {
				a.outcome, a.placement, a.disruption, a.reason = "moves", pl, d, d.GetReason()
				a.claim = p.planned(pl.GetClaim())
				return a, nil
			}
		}
	}
	for _, pl := range p.Plan.GetPlacements() {
		if pl.GetPod() == id {
			a.outcome, a.placement, a.claim = "is planned for", pl, p.planned(pl.GetClaim())
			if pl.GetWaitUntil() != nil {
				a.outcome = "waits for room"
			}
			return a, nil
		}
	}
	for _, pod := range p.Snapshot.GetPods() {
		if pod.GetId() != id {
			continue
		}
		a.outcome, a.reason = unplanned.Why(p.input(), pod)
		if pod.GetNode() != "" {
			a.placement = &plannerpb.Placement{Pod: id, Target: &plannerpb.Placement_Node{Node: pod.GetNode()}}
		}
	}
	return a, nil
}

func (p *PlanView) input() unplanned.Input {
	return unplanned.Input{Snapshot: p.Snapshot, Policy: p.Policy, Plan: p.Plan}
}

// findGated is a pod that is not in the snapshot, because it waits for a scheduling gate to go. What begins with the name
// of a workload is a pod of it where nothing else begins so: elsewhere it may be a slip in another pod's name.
func (p *PlanView) findGated(name string) (answer, bool) {
	full := strings.Contains(name, "/")
	as := func(id string) string { // as it is written where the name is
		if _, short, ok := strings.Cut(id, "/"); ok && !full {
			return short
		}
		return id
	}
	gated := slices.Sorted(maps.Keys(p.Gated))
	i := slices.IndexFunc(gated, func(id string) bool { return as(id) == name })
	if i < 0 {
		others := append(p.plannedNames(), gated...)
		i = slices.IndexFunc(gated, func(id string) bool {
			begin := as(id) + "-"
			return strings.HasPrefix(name, begin) &&
				!slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(as(other), begin) })
		})
	}
	if i < 0 {
		return answer{}, false
	}
	return answer{object: "pod/" + gated[i], outcome: "waits for its scheduling gate " + p.Gated[gated[i]]}, true
}

// plannedNames are the pods of the snapshot, and what owns them.
func (p *PlanView) plannedNames() (names []string) {
	for _, c := range p.Snapshot.GetPodClasses() {
		if c.GetOwnerName() != "" {
			names = append(names, c.GetNamespace()+"/"+c.GetOwnerName())
		}
	}
	for _, pod := range p.Snapshot.GetPods() {
		names = append(names, pod.GetId())
	}
	return names
}

// podsNamed are the pods of the snapshot that a name may mean.
func (p *PlanView) podsNamed(name string) (found []string) {
	for _, pod := range p.Snapshot.GetPods() {
		if pod.GetId() == name || (!strings.Contains(name, "/") && strings.HasSuffix(pod.GetId(), "/"+name)) {
			found = append(found, pod.GetId())
		}
	}
	return found
}

// podID is the one pod that is meant by a name, of those that have it.
func (p *PlanView) podID(name string, found []string) (string, error) {
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		var all []string
		for _, pod := range p.Snapshot.GetPods() {
			all = append(all, pod.GetId())
		}
		return "", unknown("pod", name, all)
	default:
		return "", fmt.Errorf("explain pod/%s: %d pods have this name; say pod/%s", name, len(found), found[0])
	}
}

func (p *PlanView) planned(claim string) *plannerpb.NodeClaim {
	for _, c := range p.Plan.GetNodeClaims() {
		if claim != "" && c.GetId() == claim {
			return c
		}
	}
	return nil
}

func (p *PlanView) findNode(name string) (answer, error) {
	var node *clusterpb.Node
	var all []string
	for _, n := range p.Snapshot.GetNodes() {
		all = append(all, n.GetName())
		if n.GetName() == name {
			node = n
		}
	}
	if node == nil {
		if c := p.lastOn(name); c != nil {
			return p.withoutNode("node/"+name, c), nil
		}
		if p.planned(name) != nil || slices.ContainsFunc(p.Snapshot.GetClaims(), func(c *clusterpb.Claim) bool { return c.GetId() == name }) {
			return answer{}, fmt.Errorf("explain node/%s: that is a claim; say claim/%s", name, name)
		}
		return answer{}, unknown("node", name, all)
	}
	a := answer{object: "node/" + name, outcome: "stays", node: p.factsOf(node), pods: p.podsOn(name)}
	a.removal = p.removalOf(a.node.claim)
	if a.node.removed != "" || a.removal != nil && a.removal.GetEndTime() == nil {
		a.outcome = "goes already"
	}
	for _, v := range p.Plan.GetNodes() {
		if v.GetNode() == name {
			p.verdict(&a, v)
			return a, nil
		}
	}
	a.reason = &clusterpb.Reason{
		Code: clusterpb.ReasonCode_REASON_CODE_NOT_OWNED, Subject: convert.Subject(a.object),
		Message: "Kerf did not launch it, so it never removes it",
	}
	if node.GetClaim() != "" {
		a.reason = &clusterpb.Reason{
			Code: clusterpb.ReasonCode_REASON_CODE_UNSPECIFIED, Subject: convert.Subject(a.object), Message: "the plan does not speak of it",
		}
	}
	return a, nil
}

// verdict takes what the plan says of the node.
func (p *PlanView) verdict(a *answer, v *plannerpb.NodeVerdict) {
	a.reason = v.GetReason()
	a.node.price, a.node.waste, a.node.estimated = v.GetPriceMicroUsdPerHour(), v.GetWasteMicroUsdPerHour(), v.GetPriceEstimated()
	a.node.claim = cmp.Or(a.node.claim, v.GetClaim())
	if v.GetDisruption() == "" {
		return
	}
	a.outcome = "goes"
	for _, d := range p.Plan.GetDisruptions() {
		if d.GetId() == v.GetDisruption() {
			a.disruption = d
			a.outcome = "goes: " + page.ReasonWord(d.GetDisruptionReason())
			a.reason = cmp.Or(d.GetReason(), a.reason)
		}
	}
}

// podsOn are the pods of a node but for those that come and go with it.
func (p *PlanView) podsOn(node string) []string {
	bound := map[string]bool{}
	for _, c := range p.Snapshot.GetPodClasses() {
		bound[c.GetId()] = c.GetDaemon() || c.GetMirror()
	}
	var out []string
	for _, pod := range p.Snapshot.GetPods() {
		if pod.GetNode() == node && !bound[pod.GetClassId()] {
			out = append(out, pod.GetId())
		}
	}
	return out
}

// factsOf reads a node, and its claim where the snapshot has it.
func (p *PlanView) factsOf(n *clusterpb.Node) *nodeFacts {
	of := map[string]string{}
	for _, l := range n.GetLabels() {
		of[l.GetKey()] = l.GetValue()
	}
	out := &nodeFacts{
		name: n.GetName(), claim: n.GetClaim(), pool: of[labels.NodePool],
		shape: of[labels.InstanceType], zone: of[labels.Zone], capacity: of[labels.CapacityType],
	}
	claims, claim := p.Snapshot.GetClaims(), p.lastOn(out.name) // names come of addresses, and are used again
	if i := slices.IndexFunc(claims, func(c *clusterpb.Claim) bool { return c.GetId() == out.claim }); i >= 0 {
		claim = claims[i]
	}
	if claim != nil {
		out.fill(claim)
	}
	return out
}

// fill takes what a claim says, where it says something.
func (f *nodeFacts) fill(c *clusterpb.Claim) {
	f.claim = c.GetId()
	f.pool = cmp.Or(c.GetNodePool(), f.pool)
	f.shape = cmp.Or(c.GetInstanceType(), f.shape)
	f.zone = cmp.Or(c.GetZone(), f.zone)
	if c.GetCapacityType() != clusterpb.CapacityType_CAPACITY_TYPE_UNSPECIFIED {
		f.capacity = capacityType(c.GetCapacityType())
	}
	f.price = c.GetPriceMicroUsdPerHour()
	f.removed = removalWord(c)
	if c.GetDisruptionReason() == clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED && c.GetDrifted().GetMessage() != "" {
		f.removed += ": " + c.GetDrifted().GetMessage()
	}
	f.state = page.EnumWord(c.GetState().String(), "CLAIM_STATE_")
}

func (p *PlanView) findClaim(name string) (answer, error) {
	if c := p.planned(name); c != nil {
		return answer{
			object: "claim/" + name, outcome: "is asked for", claim: c, reason: c.GetReason(), pods: c.GetPods(),
			disruption: p.disruptionBy(c.GetDisruption()),
		}, nil
	}
	if node := nodesOf(p.Snapshot)[name]; p.hasNode(node) {
		return p.findNode(node)
	}
	var all []string
	for _, c := range p.Plan.GetNodeClaims() {
		all = append(all, c.GetId())
	}
	for _, c := range p.Snapshot.GetClaims() {
		all = append(all, c.GetId())
		if c.GetId() != name {
			continue
		}
		return p.withoutNode("claim/"+name, c), nil
	}
	return answer{}, unknown("claim", name, all)
}

// withoutNode is what a claim says whose node is not in the cluster, not yet or not any more.
func (p *PlanView) withoutNode(object string, c *clusterpb.Claim) answer {
	f := &nodeFacts{name: c.GetNode()}
	f.fill(c)
	a := answer{
		object: object, outcome: "is " + f.state, node: f, reason: c.GetFailure(), disruption: p.disruptionOf(c.GetId()), removal: p.removalOf(c.GetId()),
	}
	if !ended(c) {
		a.outcome, a.pods = a.outcome+", without a node", c.GetPods()
	}
	return a
}

// lastOn is the newest claim that had the node.
func (p *PlanView) lastOn(node string) (last *clusterpb.Claim) {
	for _, c := range p.Snapshot.GetClaims() {
		if c.GetNode() == node && (last == nil || c.GetCreateTime().AsTime().After(last.GetCreateTime().AsTime())) {
			last = c
		}
	}
	return last
}

// removalOf is the newest decision to take a claim's node away that was accepted; nil where none is known, or it was
// given up.
func (p *PlanView) removalOf(claim string) (last *clusterpb.DisruptionRecord) {
	for _, d := range p.Snapshot.GetDisruptions() {
		if !d.GetRolledBack() && slices.Contains(d.GetCandidates(), claim) && (last == nil || d.GetAcceptTime().AsTime().After(last.GetAcceptTime().AsTime())) {
			last = d
		}
	}
	return last
}

func (p *PlanView) hasNode(name string) bool {
	return slices.ContainsFunc(p.Snapshot.GetNodes(), func(n *clusterpb.Node) bool { return n.GetName() == name })
}

func (p *PlanView) disruptionBy(id string) *plannerpb.Disruption {
	for _, d := range p.Plan.GetDisruptions() {
		if id != "" && d.GetId() == id {
			return d
		}
	}
	return nil
}

// disruptionOf is the decision that takes a claim.
func (p *PlanView) disruptionOf(claim string) *plannerpb.Disruption {
	for _, d := range p.Plan.GetDisruptions() {
		if slices.Contains(d.GetCandidates(), claim) {
			return d
		}
	}
	return nil
}

func (p *PlanView) isOn(pod, node string) bool {
	return slices.ContainsFunc(p.Snapshot.GetPods(), func(q *clusterpb.Pod) bool {
		return q.GetId() == pod && q.GetNode() == node
	})
}

// endingOn is how many pods of a node are being deleted.
func (p *PlanView) endingOn(node string) (n int) {
	for _, q := range p.Snapshot.GetPods() {
		if q.GetNode() == node && q.GetTerminationDeadline() != nil {
			n++
		}
	}
	return n
}
