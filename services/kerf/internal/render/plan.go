// Package render writes what Kerf decided and knows, for people: plans, answers about one object, claims and reports as
// aligned text, and proto messages as JSON that is the same each time.
//
// It decides nothing and computes no prices: it groups, aligns and words what the messages hold. It must never ask
// another service for more; what is not in its arguments is not shown. Start reading at Plan.
package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/advise"
	"github.com/kerf-dev/kerf/services/kerf/internal/owners"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
	"github.com/kerf-dev/kerf/services/kerf/internal/slips"
)

// PlanView is a plan with what it was made from.
type PlanView struct {
	Plan     *plannerpb.Plan
	Snapshot *clusterpb.Snapshot
	// Currency is what prices are in, as an ISO 4217 code; "" for US dollars.
	Currency string
	// Policy is what the plan was made by; nil for the default one.
	Policy *clusterpb.Policy
	// Gated has the pods and workloads, "namespace/name", that are left out until their scheduling gates are gone, and the
	// first of these, as far as the input tells.
	Gated map[string]string
	// Assumed says what the snapshot holds that is unknown, a line each.
	Assumed []string
	// Advice is what would make the plan better.
	Advice []advise.Advice
}

// Plan writes a plan for people: what to launch and why, what to remove, what stays pending, and what it all costs.
func Plan(w io.Writer, v PlanView, s page.Style) error {
	p := newPlanPage(v, s)
	p.launches()
	p.disruptions()
	p.pending()
	p.staying()
	p.problems()
	p.totals()
	return p.Flush(w)
}

// Advice writes what follows a plan: what would make it better.
func Advice(w io.Writer, v PlanView, s page.Style) error {
	p := newPlanPage(v, s)
	p.advice()
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return p.Flush(w)
}

type planPage struct {
	page.Page
	view      PlanView
	owners    owners.Owners
	nodes     map[string]string // by claim
	estimated bool              // some prices in sums are estimates
	slips     *slips.Known      // nil until they are looked for
}

func newPlanPage(v PlanView, s page.Style) *planPage {
	s.Currency = v.Currency
	return &planPage{Page: page.Page{Style: s}, view: v, estimated: v.Plan.GetCostEstimated(), owners: owners.In(v.Snapshot), nodes: nodesOf(v.Snapshot)}
}

func (p *planPage) launches() {
	claims := p.view.Plan.GetNodeClaims()
	if len(claims) == 0 {
		return
	}
	var total int64
	for _, c := range claims {
		total += c.GetPriceMicroUsdPerHour()
	}
	p.Heading("LAUNCH", fmt.Sprintf("%s, %s%s an hour", page.Count(len(claims), "node"), p.mark(), page.Dollars(total)))
	p.claims(claims)
	for _, g := range groups(claims) {
		p.why(g)
	}
}

// mark stands before sums of prices of which some are estimates.
func (p *planPage) mark() string {
	if p.estimated {
		return "~"
	}
	return ""
}

// mostAlike is how many claims that differ only in their names get a row each; more share one.
const mostAlike = 4

// claims writes a table of claims, in the order of their ids.
func (p *planPage) claims(claims []*plannerpb.NodeClaim) {
	rows := p.claimRows(claims)
	places := 0
	for _, r := range rows {
		places = max(places, page.Digits(r.price))
	}
	body := make([]table.Row, len(rows))
	for i, r := range rows {
		name := r.name
		if r.claims > 1 {
			name = fmt.Sprintf("%s and %d more", name, r.claims-1)
		}
		body[i] = table.Row{
			name, p.Paint(page.Cyan, r.shape), r.capacity, r.zones, p.owners.Sum(r.pods), price(r.price, r.estimated, places),
		}
	}
	p.Rows(table.Row{"CLAIM", "TYPE", "CAPACITY", "ZONES", "PODS", "$/HOUR"}, body, 6)
}

// claimRow is one claim, or many that are alike, with the sums of their pods and prices.
type claimRow struct {
	alike
	name   string
	claims int
	pods   []string
	price  int64
}

// alike is what claims that share a row have in common.
type alike struct {
	pool, shape, capacity, zones string
	each                         int64
	estimated                    bool
	sum                          string // of the pods
}

func (p *planPage) alike(c *plannerpb.NodeClaim) alike {
	best := first(c.GetOfferings())
	var in []string
	for _, o := range c.GetOfferings() {
		if o.GetInstanceType() == best.GetInstanceType() && o.GetCapacityType() == best.GetCapacityType() {
			in = append(in, o.GetZone())
		}
	}
	return alike{
		pool: c.GetNodePool(), shape: best.GetInstanceType(), capacity: capacityType(best.GetCapacityType()), zones: zones(in),
		each: c.GetPriceMicroUsdPerHour(), estimated: best.GetPriceEstimated(), sum: p.owners.Sum(c.GetPods()),
	}
}

func (p *planPage) claimRows(claims []*plannerpb.NodeClaim) []claimRow {
	how := map[alike]int{}
	for _, c := range claims {
		how[p.alike(c)]++
	}
	shared := map[alike]int{} // the rows that more than mostAlike claims share
	var out []claimRow
	for _, c := range claims {
		a := p.alike(c)
		i, ok := shared[a]
		if !ok {
			i = len(out)
			out = append(out, claimRow{alike: a, name: c.GetId()})
			if how[a] > mostAlike {
				shared[a] = i
			}
		}
		out[i].claims++
		out[i].pods = append(out[i].pods, c.GetPods()...)
		out[i].price += c.GetPriceMicroUsdPerHour()
	}
	return out
}

func first(offerings []*clusterpb.RankedOffering) *clusterpb.RankedOffering {
	if len(offerings) == 0 {
		return nil
	}
	return offerings[0]
}

// groups puts claims together that have the same pool, type and answers but for the zone, in the order of their first ones.
func groups(claims []*plannerpb.NodeClaim) [][]*plannerpb.NodeClaim {
	index := map[string]int{}
	var out [][]*plannerpb.NodeClaim
	for _, c := range claims {
		best := first(c.GetOfferings())
		parts := []string{c.GetNodePool(), best.GetInstanceType(), inZone(c, "")}
		for _, r := range c.GetRunnersUp() {
			parts = append(parts, r.GetReason().GetMessage())
		}
		key := strings.Join(parts, "\x00")
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// inZone is the reason of a claim with what is given in the place of its zone.
func inZone(c *plannerpb.NodeClaim, zone string) string {
	return strings.Replace(c.GetReason().GetMessage(), ", "+first(c.GetOfferings()).GetZone()+")", ", "+zone+")", 1)
}

// why writes the answers that a group of claims shares.
func (p *planPage) why(group []*plannerpb.NodeClaim) {
	c := group[0]
	title := first(c.GetOfferings()).GetInstanceType()
	if len(group) > 1 {
		title = fmt.Sprintf("%d × %s", len(group), title)
	}
	var in []string
	for _, one := range group {
		in = append(in, first(one.GetOfferings()).GetZone())
	}
	p.Gap()
	p.Line("  %s %s", p.Paint(page.Bold, title), p.Paint(page.Dim, "of pool "+c.GetNodePool()))
	p.Item("    "+p.Paint(page.Dim, "why       "), inZone(c, zones(in)))
	label := "runner-up "
	for _, r := range c.GetRunnersUp() {
		p.Item("    "+p.Paint(page.Dim, label), r.GetReason().GetMessage())
		label = "          "
	}
}

// pendingGroup is pods of one owner that stay pending for the same reasons.
type pendingGroup struct {
	pods []string
	pod  *plannerpb.PendingPod
}

func (p *planPage) pending() {
	list := p.view.Plan.GetPending()
	if len(list) == 0 {
		return
	}
	p.Heading(p.Paint(page.Red, "STAYS PENDING"), page.Count(len(list), "pod"))
	for i, g := range p.pendingGroups() {
		if i > 0 {
			p.Gap()
		}
		title := g.pods[0]
		if len(g.pods) > 1 {
			title = p.owners.Sum(g.pods)
		}
		p.Line("  %s", p.Paint(page.Bold, title))
		p.Pending(g.pod)
		hints(p, g.pod.GetPod())
	}
}

// hints ask what was meant by values that pods ask of nodes and nothing has.
func hints(p *planPage, pod string) {
	if p.slips == nil {
		p.slips = new(slips.In(p.view.Snapshot))
	}
	for _, hint := range p.slips.Of(pod) {
		p.Item("    "+p.Paint(page.Dim, "hint    "), p.Paint(page.Green, hint))
	}
}

func (p *planPage) pendingGroups() []pendingGroup {
	index := map[string]int{}
	var out []pendingGroup
	for _, pod := range p.view.Plan.GetPending() {
		parts := []string{p.owners.Name(pod.GetPod()), pod.GetReason().GetMessage()}
		for _, m := range pod.GetPools() {
			parts = append(parts, m.GetNodePool(), m.GetReason().GetMessage())
		}
		key := strings.Join(parts, "\x00")
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, pendingGroup{pod: pod})
		}
		out[i].pods = append(out[i].pods, pod.GetPod())
	}
	return out
}

// problems tells which of the users' objects have no effect, or one that no one can want.
func (p *planPage) problems() {
	list := p.view.Plan.GetProblems()
	if len(list) == 0 {
		return
	}
	p.Heading(p.Paint(page.Red, "PROBLEMS"), page.Count(len(list), "object"))
	for _, r := range list {
		p.Line("  %s", p.Paint(page.Bold, convert.SubjectText(r.GetSubject())))
		p.Item("    "+p.Paint(page.Dim, "why     "), r.GetMessage())
		if r.GetRemedy() != "" {
			p.Item("    "+p.Paint(page.Dim, "remedy  "), p.Paint(page.Green, r.GetRemedy()))
		}
	}
}
