package story

import (
	"fmt"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/test/demo/show"
)

// narrator tells what changed from one look at the world to the next, in Kerf's own words where it has some: what it
// decided and why, and how far each claim is.
type narrator struct {
	line    *show.Timeline
	plan    string
	states  map[string]clusterpb.ClaimState
	names   map[string]string // short names of claims
	pending map[string]string // why pods stay pending, as printed last
	drifted map[string]bool   // claims
}

func newNarrator(line *show.Timeline) *narrator {
	return &narrator{
		line: line, states: map[string]clusterpb.ClaimState{}, names: map[string]string{}, pending: map[string]string{}, drifted: map[string]bool{},
	}
}

func (n *narrator) tell(w World) {
	if p := w.Plan; p.GetId() != "" && p.GetId() != n.plan {
		n.plan = p.GetId()
		n.tellPlan(p)
	}
	var drifted []remark
	for _, c := range w.Claims {
		if old, known := n.states[c.GetId()]; !known || old != c.GetState() {
			n.states[c.GetId()] = c.GetState()
			n.tellClaim(c)
		}
		if why := c.GetDrifted().GetMessage(); why != "" && !n.drifted[c.GetId()] {
			n.drifted[c.GetId()] = true
			drifted = append(drifted, remark{claims: []string{n.name(c.GetId())}, one: " has drifted: " + why, each: " have drifted: " + why})
		}
	}
	n.remark(show.Gone, drifted)
}

// remark is a line about claims: "verb claim …ab1c2 text", with why below it. Of several that say the same, one is printed.
type remark struct {
	verb   string
	claims []string // names
	one    string   // what follows the claims
	each   string   // what follows where the remark stands for several; "" where it must stand alone
	why    []string
}

func (n *narrator) remark(mark show.Mark, all []remark) {
	var printed []remark
	for _, r := range all {
		same := func(o remark) bool {
			return r.each != "" && r.verb == o.verb && r.each == o.each && slices.Equal(r.why, o.why)
		}
		if i := slices.IndexFunc(printed, same); i >= 0 {
			printed[i].claims = append(slices.Clip(printed[i].claims), r.claims...)
			printed[i].one = r.each
		} else {
			printed = append(printed, r)
		}
	}
	for _, r := range printed {
		n.line.Line(mark, strings.TrimSpace(r.verb+" "+claims(r.claims))+r.one)
		for _, why := range r.why {
			n.line.Line(show.Why, why)
		}
	}
}

// claims are "claim …ab1c2", or "claims …ab1c2, …34d5e and …f6789".
func claims(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return "claim " + strings.Join(names, "")
	}
	return "claims " + strings.Join(names[:last], ", ") + " and " + names[last]
}

func (n *narrator) tellPlan(p *plannerpb.Plan) {
	var buys, ends []remark
	for _, c := range p.GetNodeClaims() {
		o := first(c.GetOfferings())
		whom := " for " + pods(c.GetPods())
		what := fmt.Sprintf(": %s %s %s at %s", o.GetInstanceType(), o.GetZone(), capacity(o.GetCapacityType()), show.Dollars(c.GetPriceMicroUsdPerHour()))
		r := remark{verb: "buy", claims: []string{n.name(c.GetId())}, one: whom + what, each: whom + " each" + what, why: words(c.GetReason())}
		if len(c.GetRunnersUp()) > 0 {
			u := c.GetRunnersUp()[0]
			r.why = append(r.why, fmt.Sprintf("not %s: %s", u.GetOffering().GetInstanceType(), u.GetReason().GetMessage()))
		}
		buys = append(buys, r)
	}
	for _, d := range p.GetDisruptions() {
		r := remark{verb: "remove", why: words(d.GetReason())}
		for _, c := range d.GetCandidates() {
			r.claims = append(r.claims, n.name(c))
		}
		if saving := d.GetSavingMicroUsdPerHour(); saving > 0 {
			r.one = ", which saves " + show.Dollars(saving)
		}
		switch {
		case len(r.claims) > 1: // a set stands or falls as one
		case r.one == "":
			r.each = ", each by itself"
		default:
			r.each = r.one + " each"
		}
		ends = append(ends, r)
	}
	n.remark(show.Plan, buys)
	n.remark(show.Plan, ends)
	for _, pod := range p.GetPending() {
		if message := pod.GetReason().GetMessage(); n.pending[pod.GetPod()] != message {
			n.pending[pod.GetPod()] = message
			n.line.Line(show.Plan, fmt.Sprintf("leave %s pending", pod.GetPod()))
			for _, why := range words(pod.GetReason()) {
				n.line.Line(show.Why, why)
			}
		}
	}
}

// words are what a reason says: what it is, and what to do.
func words(r *clusterpb.Reason) []string {
	return slices.DeleteFunc([]string{r.GetMessage(), r.GetRemedy()}, func(text string) bool { return text == "" })
}

func (n *narrator) tellClaim(c *clusterpb.Claim) {
	name := "claim " + n.name(c.GetId())
	what := strings.Join([]string{c.GetInstanceType(), c.GetZone(), capacity(c.GetCapacityType())}, " ")
	switch c.GetState() {
	case clusterpb.ClaimState_CLAIM_STATE_LAUNCHED:
		n.line.Line(show.Claim, fmt.Sprintf("%s launched: %s, a %s at %s", name, c.GetInstanceId(), what, show.Dollars(c.GetPriceMicroUsdPerHour())))
	case clusterpb.ClaimState_CLAIM_STATE_REGISTERED:
		n.line.Line(show.Claim, fmt.Sprintf("%s registered: node %s", name, c.GetNode()))
	case clusterpb.ClaimState_CLAIM_STATE_INITIALIZED:
		n.line.Line(show.Claim, name+" initialized: its node can be relied on")
	case clusterpb.ClaimState_CLAIM_STATE_DRAINING:
		n.line.Line(show.Gone, fmt.Sprintf("%s draining: the pods of its %s move", name, c.GetInstanceType()))
	case clusterpb.ClaimState_CLAIM_STATE_TERMINATING:
		n.line.Line(show.Gone, fmt.Sprintf("%s terminating: %s", name, c.GetInstanceId()))
	case clusterpb.ClaimState_CLAIM_STATE_GONE:
		n.line.Line(show.Gone, name+" gone")
	case clusterpb.ClaimState_CLAIM_STATE_FAILED:
		n.line.Line(show.Bad, fmt.Sprintf("%s failed: %s", name, c.GetFailure().GetMessage()))
	default: // planned and launching last an instant, and the plan has shown them
	}
}

// name is a claim's name that is short enough to read: its last five characters.
func (n *narrator) name(id string) string {
	if name, ok := n.names[id]; ok {
		return name
	}
	name := "…" + id[max(0, len(id)-5):]
	n.names[id] = name
	return name
}

func first(o []*clusterpb.RankedOffering) *clusterpb.RankedOffering {
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

func capacity(c clusterpb.CapacityType) string {
	switch c {
	case clusterpb.CapacityType_CAPACITY_TYPE_SPOT:
		return "spot"
	case clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND:
		return "on-demand"
	default:
		return ""
	}
}
