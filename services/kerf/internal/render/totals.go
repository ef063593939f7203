package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/advise"
	"github.com/kerf-dev/kerf/services/kerf/internal/limits"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
	"github.com/kerf-dev/kerf/services/kerf/internal/unplanned"
)

// hoursPerMonth is what AWS multiplies by: 365 days over twelve months.
const hoursPerMonth = 730

func (p *planPage) totals() {
	p.Heading("SUMMARY", "")
	p.Item(p.label("pods"), p.podsSentence())
	if s := unplanned.Others(p.view.input()); s != "" {
		p.Item(p.label("not planned"), s)
	}
	if s := p.bufferSentence(); s != "" {
		p.Item(p.label("buffers"), s)
	}
	p.Item(p.label("cost"), p.costSentence())
	if r := p.reachable(); r != "" {
		p.Item(p.label("reachable"), r)
	}
	if f := p.searched(); f != "" {
		p.Item(p.label("searched"), f)
	}
	if b := p.view.Plan.GetLowerBound(); b != nil {
		p.Item(p.label("lower bound"), p.boundSentence(b))
		p.Item(p.label("gap"), p.gapSentence(b))
	}
	label := "assumed"
	for _, a := range p.view.Assumed {
		p.Item(p.label(label), a)
		label = ""
	}
	if p.estimated {
		p.Item(p.label("~"), "reckoned with estimated prices: current ones are not known")
	}
}

func (p *planPage) label(s string) string {
	return "  " + p.Paint(page.Dim, fmt.Sprintf("%-13s", s))
}

// bufferSentence says for how many pods of capacity buffers there is capacity; "" where there are no buffers.
func (p *planPage) bufferSentence() string {
	var there, missing int
	for _, pl := range p.view.Plan.GetPlacements() {
		if _, ok := convert.Buffer(pl.GetPod()); ok {
			there++
		}
	}
	for _, q := range p.view.Plan.GetPending() {
		if _, ok := convert.Buffer(q.GetPod()); ok {
			missing++
		}
	}
	if there+missing == 0 {
		return ""
	}
	return fmt.Sprintf("capacity for %d of %d pods of capacity buffers", there, there+missing)
}

// placed are the places of pods; those of buffers are not among them.
func placed(plan *plannerpb.Plan) []*plannerpb.Placement {
	return slices.DeleteFunc(slices.Clone(plan.GetPlacements()), func(pl *plannerpb.Placement) bool {
		_, buffer := convert.Buffer(pl.GetPod())
		return buffer
	})
}

func (p *planPage) podsSentence() string {
	placed := placed(p.view.Plan)
	left := 0
	for _, q := range p.view.Plan.GetPending() {
		if _, buffer := convert.Buffer(q.GetPod()); !buffer {
			left++
		}
	}
	if len(placed)+left == 0 {
		return "none is waiting for a node"
	}
	claims := map[string]bool{}
	for _, c := range p.view.Plan.GetNodeClaims() {
		claims[c.GetId()] = true
	}
	var fresh, existing, inFlight, waiting int
	for _, pl := range placed {
		switch {
		case pl.GetWaitUntil() != nil:
			waiting++
		case pl.GetNode() != "":
			existing++
		case claims[pl.GetClaim()]:
			fresh++
		default:
			inFlight++
		}
	}
	var where []string
	for _, part := range []struct {
		n    int
		what string
	}{{fresh, "on new nodes"}, {inFlight, "on nodes in flight"}, {existing, "on nodes that exist"}, {waiting, "on nodes that exist, once other pods have left them"}} {
		if part.n > 0 {
			where = append(where, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	out := fmt.Sprintf("%d of %d planned for", len(placed), len(placed)+left)
	if len(where) > 0 {
		out += ": " + strings.Join(where, ", ")
	}
	if left > 0 {
		out += "; " + p.Paint(page.Red, fmt.Sprintf("%d %s pending", left, verb(left, "stays", "stay")))
	}
	return out
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (p *planPage) costSentence() string {
	before, after := p.view.Plan.GetCostBeforeMicroUsdPerHour(), p.view.Plan.GetCostAfterMicroUsdPerHour()
	if before == after {
		return fmt.Sprintf("%s%s an hour, unchanged", p.mark(), page.Dollars(after))
	}
	change, color := "+"+page.Dollars(after-before), page.Yellow
	if after < before {
		change, color = page.Dollars(after-before), page.Green
	}
	month := float64(after) * hoursPerMonth / 1e6
	mark := ""
	if before > 0 {
		mark = p.mark()
	}
	return fmt.Sprintf("%s%s an hour now, %s after (%s), about $%.0f a month",
		mark, page.Dollars(before), p.Paint(page.Bold, p.mark()+page.Dollars(after)), p.Paint(color, change), month)
}

// boundSentence tells the bound beside what it bounds: prices and the policy's overhead for each node.
func (p *planPage) boundSentence(b *plannerpb.LowerBound) string {
	bound := b.GetMicroUsdPerHour()
	this := int64(math.Round(float64(bound) * (1 + b.GetGap()))) // the gap is between the two
	return fmt.Sprintf("no plan for %s costs less than %s%s an hour with the overhead per node; this one costs %s%s so",
		p.bounded(), p.mark(), page.Dollars(bound), p.mark(), page.Dollars(this))
}

// bounded is what the bound is about: it says nothing of pods that stay pending, and not that other pods might use the
// capacity that is there.
func (p *planPage) bounded() string {
	if someGetNone(p.view.Plan) {
		return "the pods that get new nodes"
	}
	return "these pods"
}

// someGetNone says that new nodes are not for all pods that a plan is about.
func someGetNone(plan *plannerpb.Plan) bool {
	bought := map[string]bool{}
	for _, c := range plan.GetNodeClaims() {
		bought[c.GetId()] = true
	}
	return len(plan.GetPending()) > 0 ||
		slices.ContainsFunc(plan.GetPlacements(), func(pl *plannerpb.Placement) bool { return !bought[pl.GetClaim()] })
}

func (p *planPage) gapSentence(b *plannerpb.LowerBound) string {
	about := ""
	if someGetNone(p.view.Plan) {
		about = " for them"
	}
	if b.GetGap() <= 0 {
		return "none: this plan is the cheapest there is" + about
	}
	out := fmt.Sprintf("%.1f%%: this plan is at most that much more expensive than the cheapest%s", b.GetGap()*100, about)
	if reached := limits.Reached(p.view.Snapshot, p.view.Plan); len(reached) > 0 {
		out += fmt.Sprintf("; the bound leaves out limits of pools, and %s %s reached one", page.Some(reached, page.MostNames), verb(len(reached), "has", "have"))
	}
	if limits.Weighed(p.view.Snapshot, p.view.Plan) {
		out += "; pools of higher weight go first, which the bound does not know"
	}
	return out
}

// advice lists changes that would make the plan better, with what each would do.
func (p *planPage) advice() {
	if len(p.view.Advice) == 0 {
		return
	}
	p.Heading("ADVICE", "each by itself; the planner has tried it")
	for _, a := range p.view.Advice {
		p.Item("  ", a.Change+": "+p.Paint(page.Green, p.effect(a)))
		if a.Note != "" {
			p.Item("    ", p.Paint(page.Dim, a.Note))
		}
	}
}

// effect is what a change does: "saves $0.034 an hour (18.2%)", "places 3 more pods for $0.10 an hour".
func (p *planPage) effect(a advise.Advice) string {
	mark := ""
	if a.Estimated {
		mark = "~"
	}
	saves := "saves " + mark + page.Dollars(a.Saving) + " an hour"
	if now := p.view.Plan.GetCostAfterMicroUsdPerHour(); now > 0 {
		saves += fmt.Sprintf(" (%.1f%%)", float64(a.Saving)/float64(now)*100)
	}
	if a.MorePods <= 0 {
		return saves
	}
	places := fmt.Sprintf("places %s", page.Count(a.MorePods, "more pod"))
	switch {
	case a.Saving > 0:
		return places + " and " + saves
	case a.Saving < 0:
		return places + " for " + mark + page.Dollars(-a.Saving) + " an hour"
	}
	return places + " at no cost"
}
