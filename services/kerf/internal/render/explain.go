package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// Explain writes what a plan says about one object: "node/NAME", "claim/NAME", or "pod/NAME", where the name may leave
// out its namespace if one pod alone has it. It is an error when there is no such object; the error has names that are
// near.
func Explain(w io.Writer, v PlanView, object string, s page.Style) error {
	p := newPlanPage(v, s)
	a, err := p.view.find(object)
	if err != nil {
		return err
	}
	p.answer(a)
	return p.Flush(w)
}

// ExplainJSON is Explain for machines.
func ExplainJSON(w io.Writer, v PlanView, object string) error {
	p := newPlanPage(v, page.Style{})
	a, err := p.view.find(object)
	if err != nil {
		return err
	}
	return p.answerJSON(w, a)
}

// answer writes an answer for people.
func (p *planPage) answer(a answer) {
	outcome := a.outcome
	if a.outcome == "moves" {
		outcome += ": " + a.reason.GetMessage()
	}
	p.Heading(a.object, outcome)
	switch {
	case a.pending != nil:
		p.Pending(a.pending)
		hints(p, a.pending.GetPod())
	case strings.HasPrefix(a.object, "pod/"):
		p.placement(a.placement)
		if a.disruption == nil {
			because(p, a.reason)
		}
	case a.claim != nil:
		p.claims([]*plannerpb.NodeClaim{a.claim})
		p.why([]*plannerpb.NodeClaim{a.claim})
		p.whole(a)
	default:
		p.nodeAnswer(a)
	}
}

func (p *planPage) field(name, sentence string) {
	p.Item("    "+p.Paint(page.Dim, fmt.Sprintf("%-9s", name)), sentence)
}

func (p *planPage) nodeAnswer(a answer) {
	f := a.node
	if what := strings.TrimSpace(strings.Join([]string{f.shape, f.capacity, f.zone}, " ")); what != "" {
		p.field("type", what)
	}
	if f.price > 0 {
		p.field("price", dollars(f.price, f.estimated)+" an hour")
	}
	if f.pool != "" {
		p.field("pool", f.pool)
	}
	if f.claim != "" && f.claim != f.name {
		p.field("claim", f.claim)
	}
	if f.name != "" && strings.HasPrefix(a.object, "claim/") {
		p.field("node", f.name)
	}
	if f.state != stateGone && f.state != stateFailed {
		p.field("pods", p.podsAndWorth(a))
	}
	p.removal(a)
	because(p, a.reason)
	p.whole(a)
}

func because(p *planPage, why *clusterpb.Reason) {
	if m := why.GetMessage(); m != "" {
		p.field("why", m)
	}
	if r := why.GetRemedy(); r != "" {
		p.field("remedy", p.Paint(page.Green, r))
	}
}

// Claims' states that have ended, as nodeFacts has them.
const (
	stateGone   = "gone"
	stateFailed = "failed"
)

// removal writes why a node goes that the actuator takes away, or has taken away, and since when.
func (p *planPage) removal(a answer) {
	if a.node.removed == "" {
		return
	}
	p.field("removal", a.node.removed)
	d := a.removal
	if d == nil {
		return
	}
	when := "decided at " + d.GetAcceptTime().AsTime().UTC().Format(time.DateTime)
	if ago := p.view.Plan.GetNow().AsTime().Sub(d.GetAcceptTime().AsTime()); ago >= 0 {
		when += ", " + page.Span(ago) + " ago"
	}
	if d.GetEndTime() != nil {
		when += "; done " + page.Span(d.GetEndTime().AsTime().Sub(d.GetAcceptTime().AsTime())) + " later"
	}
	p.field("when", when)
	if len(d.GetReplacements()) > 0 {
		p.field("instead", strings.Join(p.nodeNames(d.GetReplacements()), ", "))
	}
}

// podsAndWorth counts the pods, and says what they would cost at the lowest prices where that is known.
func (p *planPage) podsAndWorth(a answer) string {
	if len(a.pods) == 0 {
		return "none but DaemonSets'"
	}
	out := p.owners.Sum(a.pods)
	switch {
	case a.node.waste == 0 || a.node.price <= 0:
	case a.node.waste >= a.node.price:
		out += "; they cost nothing beside others, so that all of its price is waste"
	default:
		out += fmt.Sprintf("; at the lowest prices they cost $%s an hour, $%s less than the node",
			roughly(a.node.price-a.node.waste), roughly(a.node.waste))
	}
	return out
}

// whole writes the decision that an object is part of, with each destination.
func (p *planPage) whole(a answer) {
	d := a.disruption
	if d == nil {
		return
	}
	var others []string
	for _, name := range p.nodeNames(d.GetCandidates()) {
		if a.node == nil || (name != a.node.name && name != a.node.claim) {
			others = append(others, name)
		}
	}
	label := "together"
	if a.node == nil {
		label = "replaces"
	}
	if len(others) > 0 {
		p.field(label, strings.Join(others, ", "))
	}
	if d.GetSavingMicroUsdPerHour() != 0 {
		saves := dollars(d.GetSavingMicroUsdPerHour(), d.GetSavingEstimated()) + " an hour"
		if len(d.GetCandidates()) > 1 {
			saves += " by all of them"
		}
		p.field("saves", saves)
	}
	churn := page.Count(int(d.GetEvictions()), "eviction")
	if d.GetChurnMicroUsd() != 0 {
		churn += ", weighed at " + page.Dollars(d.GetChurnMicroUsd())
	}
	if d.GetPayback() != nil {
		churn += ", paid back in " + payBack(d)
	}
	p.field("evicts", churn)
	for _, r := range d.GetReplacements() {
		if a.claim.GetId() != r {
			p.field("instead", p.claimWord(r))
		}
	}
	label = "pods go"
	for _, to := range p.destinationsOf(d) {
		p.field(label, "to "+to.name+": "+strings.Join(to.pods, ", "))
		label = ""
	}
}

// placement writes where a pod goes or stays.
func (p *planPage) placement(pl *plannerpb.Placement) {
	c := p.view.planned(pl.GetClaim())
	switch {
	case pl == nil:
	case pl.GetNode() != "" && p.view.isOn(pl.GetPod(), pl.GetNode()):
		p.field("node", pl.GetNode())
	case pl.GetWaitUntil() != nil:
		what := "pods that are being deleted have left"
		if n := p.view.endingOn(pl.GetNode()); n > 0 {
			what = fmt.Sprintf("what is being deleted there has left (%s)", page.Count(n, "pod"))
		}
		p.field("node", pl.GetNode()+", once "+what)
		p.field("waits", page.Span(pl.GetWaitUntil().AsTime().Sub(p.view.Plan.GetNow().AsTime()))+" at the most; then it is planned for anew")
		p.field("why", "room that is about to be free comes before a new node, which would come no sooner (policy.room_wait)")
	case pl.GetNode() != "":
		p.field("node", pl.GetNode()+", which has capacity for it")
	case c != nil:
		p.claims([]*plannerpb.NodeClaim{c})
		p.why([]*plannerpb.NodeClaim{c})
	default:
		p.field("claim", pl.GetClaim()+", which is on its way")
	}
}
