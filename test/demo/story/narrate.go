package story

import (
	"fmt"
	"slices"
	"strings"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	plannerv1 "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1"
	"github.com/kerf-dev/kerf/test/demo/show"
)

// narrator tells what changed from one look at the world to the next, in Kerf's own words where it has some: what it
// decided and why, and how far each claim is.
type narrator struct {
	line    *show.Timeline
	plan    string
	states  map[string]clusterv1.ClaimState
	names   map[string]string // short names of claims
	pending map[string]string // why pods stay pending, as told last
	drifted map[string]bool   // claims
}

func newNarrator(line *show.Timeline) *narrator {
	return &narrator{
		line: line, states: map[string]clusterv1.ClaimState{}, names: map[string]string{}, pending: map[string]string{}, drifted: map[string]bool{},
	}
}

func (n *narrator) tell(w World) {
	if p := w.Plan; p.GetId() != "" && p.GetId() != n.plan {
		n.plan = p.GetId()
		n.tellPlan(p)
	}
	for _, c := range w.Claims {
		if old, known := n.states[c.GetId()]; !known || old != c.GetState() {
			n.states[c.GetId()] = c.GetState()
			n.tellClaim(c)
		}
		if why := c.GetDrifted().GetMessage(); why != "" && !n.drifted[c.GetId()] {
			n.drifted[c.GetId()] = true
			n.line.Line(show.Gone, n.name(c.GetId())+" has drifted: "+why)
		}
	}
}

func (n *narrator) tellPlan(p *plannerv1.Plan) {
	for _, c := range p.GetNodeClaims() {
		o := first(c.GetOfferings())
		n.line.Line(show.Plan, fmt.Sprintf("buy %s for %s: %s %s %s at %s", n.name(c.GetId()), pods(c.GetPods()),
			o.GetInstanceType(), o.GetZone(), capacity(o.GetCapacityType()), show.Dollars(c.GetPriceMicroUsdPerHour())))
		n.why(c.GetReason())
		if len(c.GetRunnersUp()) > 0 {
			r := c.GetRunnersUp()[0]
			n.line.Line(show.Why, fmt.Sprintf("not %s: %s", r.GetOffering().GetInstanceType(), r.GetReason().GetMessage()))
		}
	}
	for _, d := range p.GetDisruptions() {
		var names []string
		for _, c := range d.GetCandidates() {
			names = append(names, n.name(c))
		}
		text := "give back " + strings.Join(names, ", ")
		if saving := d.GetSavingMicroUsdPerHour(); saving > 0 {
			text += ", which saves " + show.Dollars(saving)
		}
		n.line.Line(show.Plan, text)
		n.why(d.GetExplanation())
	}
	for _, pod := range p.GetPending() {
		if message := pod.GetReason().GetMessage(); n.pending[pod.GetPod()] != message {
			n.pending[pod.GetPod()] = message
			n.line.Line(show.Plan, fmt.Sprintf("leave %s pending", pod.GetPod()))
			n.why(pod.GetReason())
		}
	}
}

func (n *narrator) why(r *clusterv1.Reason) {
	if r.GetMessage() != "" {
		n.line.Line(show.Why, r.GetMessage())
	}
	if r.GetRemedy() != "" {
		n.line.Line(show.Why, r.GetRemedy())
	}
}

func (n *narrator) tellClaim(c *clusterv1.Claim) {
	name := n.name(c.GetId())
	what := strings.Join([]string{c.GetInstanceType(), c.GetZone(), capacity(c.GetCapacityType())}, " ")
	switch c.GetState() {
	case clusterv1.ClaimState_CLAIM_STATE_LAUNCHED:
		n.line.Line(show.Claim, fmt.Sprintf("%s launched: %s, a %s at %s", name, c.GetInstanceId(), what, show.Dollars(c.GetPriceMicroUsdPerHour())))
	case clusterv1.ClaimState_CLAIM_STATE_REGISTERED:
		n.line.Line(show.Claim, fmt.Sprintf("%s registered: node %s", name, c.GetNode()))
	case clusterv1.ClaimState_CLAIM_STATE_INITIALIZED:
		n.line.Line(show.Claim, name+" initialized: its node can be relied on")
	case clusterv1.ClaimState_CLAIM_STATE_DRAINING:
		n.line.Line(show.Gone, fmt.Sprintf("%s draining: the pods of its %s move", name, c.GetInstanceType()))
	case clusterv1.ClaimState_CLAIM_STATE_TERMINATING:
		n.line.Line(show.Gone, fmt.Sprintf("%s terminating: %s", name, c.GetInstanceId()))
	case clusterv1.ClaimState_CLAIM_STATE_GONE:
		n.line.Line(show.Gone, name+" gone")
	case clusterv1.ClaimState_CLAIM_STATE_FAILED:
		n.line.Line(show.Bad, fmt.Sprintf("%s failed: %s", name, c.GetFailure().GetMessage()))
	default: // planned and launching last an instant, and the plan has told of them
	}
}

// name is a claim's name that is short enough to be told apart by eye: its last five characters.
func (n *narrator) name(id string) string {
	if name, ok := n.names[id]; ok {
		return name
	}
	name := "claim …" + id[max(0, len(id)-5):]
	n.names[id] = name
	return name
}

func first(o []*clusterv1.RankedOffering) *clusterv1.RankedOffering {
	if len(o) == 0 {
		return nil
	}
	return o[0]
}

// pods names pods by their workload and number.
func pods(ids []string) string {
	if len(ids) == 0 {
		return "no pod"
	}
	var names []string
	count := map[string]int{}
	for _, id := range ids {
		_, name, _ := strings.Cut(id, "/")
		if parts := strings.Split(name, "-"); len(parts) > 2 {
			name = strings.Join(parts[:len(parts)-2], "-")
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", count[name], name)
	}
	return strings.Join(names, ", ")
}

func capacity(c clusterv1.CapacityType) string {
	switch c {
	case clusterv1.CapacityType_CAPACITY_TYPE_SPOT:
		return "spot"
	case clusterv1.CapacityType_CAPACITY_TYPE_ON_DEMAND:
		return "on-demand"
	default:
		return ""
	}
}
