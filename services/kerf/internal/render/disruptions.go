package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// Bounds of what is listed one by one in a plan; --explain and -o json have the rest.
const (
	mostDisruptions  = 25
	mostDestinations = 2
)

// nodesOf maps claims to the names of their nodes.
func nodesOf(s *clusterpb.Snapshot) map[string]string {
	out := make(map[string]string, len(s.GetNodes()))
	for _, n := range s.GetNodes() {
		if n.GetClaim() != "" {
			out[n.GetClaim()] = n.GetName()
		}
	}
	for _, c := range s.GetClaims() {
		if c.GetNode() != "" && out[c.GetId()] == "" {
			out[c.GetId()] = c.GetNode()
		}
	}
	return out
}

// nodeNames are the nodes of claims; a claim that has none yet is called by its own id.
func (p *planPage) nodeNames(claims []string) []string {
	out := make([]string, len(claims))
	for i, c := range claims {
		out[i] = cmp.Or(p.nodes[c], c)
	}
	return out
}

// disruptions tells what is removed: those for which money is no reason first, then what saves most.
func (p *planPage) disruptions() {
	list := slices.Clone(p.view.Plan.GetDisruptions())
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b *plannerpb.Disruption) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(b.GetSavingMicroUsdPerHour(), a.GetSavingMicroUsdPerHour()))
	})
	var saving int64
	var taken, evictions int
	for _, d := range list {
		saving += d.GetSavingMicroUsdPerHour()
		taken += len(d.GetCandidates())
		evictions += int(d.GetEvictions())
	}
	p.Heading("REMOVE", fmt.Sprintf("%s, %s, saves %s%s an hour", page.Count(taken, "node"), page.Count(evictions, "eviction"), guess(list), page.Dollars(saving)))
	shown := list[:min(len(list), mostDisruptions)]
	p.disruptionTable(shown)
	p.explanations(shown)
	if rest := list[len(shown):]; len(rest) > 0 {
		var more int64
		for _, d := range rest {
			more += d.GetSavingMicroUsdPerHour()
		}
		p.Line("  %s", p.Paint(page.Dim, fmt.Sprintf("and %s more, which save %s%s an hour; -o json has them all", page.Count(len(rest), "decision"), guess(rest), page.Dollars(more))))
	}
}

// guess marks a sum of savings of which some follow from estimated prices.
func guess(list []*plannerpb.Disruption) string {
	if slices.ContainsFunc(list, (*plannerpb.Disruption).GetSavingEstimated) {
		return "~"
	}
	return ""
}

// rank puts decisions in the planner's order of reasons.
func rank(d *plannerpb.Disruption) int {
	order := []clusterpb.DisruptionReason{
		clusterpb.DisruptionReason_DISRUPTION_REASON_INTERRUPTED, clusterpb.DisruptionReason_DISRUPTION_REASON_UNHEALTHY,
		clusterpb.DisruptionReason_DISRUPTION_REASON_SURPLUS, clusterpb.DisruptionReason_DISRUPTION_REASON_EMPTY,
		clusterpb.DisruptionReason_DISRUPTION_REASON_EXPIRED, clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED,
	}
	if i := slices.Index(order, d.GetDisruptionReason()); i >= 0 {
		return i
	}
	return len(order)
}

func (p *planPage) disruptionTable(list []*plannerpb.Disruption) {
	savings, churn := 0, 0
	for _, d := range list {
		savings = max(savings, page.Digits(d.GetSavingMicroUsdPerHour()))
		churn = max(churn, page.Digits(d.GetChurnMicroUsd()))
	}
	rows := make([]table.Row, len(list))
	for i, d := range list {
		saves := "-"
		if d.GetSavingMicroUsdPerHour() != 0 {
			saves = price(d.GetSavingMicroUsdPerHour(), d.GetSavingEstimated(), savings)
		}
		rows[i] = table.Row{
			page.Some(p.nodeNames(d.GetCandidates()), page.MostNames), page.ReasonWord(d.GetDisruptionReason()), d.GetEvictions(),
			orDash(page.Some(d.GetReplacements(), page.MostNames)), saves,
			page.Fixed(d.GetChurnMicroUsd(), churn), payBack(d), orDash(p.destinationsInShort(d)),
		}
	}
	p.Rows(table.Row{
		"NODE", "REASON", "EVICTIONS", "REPLACED BY", "SAVES $/HOUR", "CHURN $", "PAYS BACK IN", "PODS GO",
	}, rows, 3, 5, 6, 7)
}

// payBack is how soon a saving makes up for the evictions; a dash where money is not the reason.
func payBack(d *plannerpb.Disruption) string {
	if d.GetPayback() == nil {
		return "-"
	}
	return page.Span(d.GetPayback().AsDuration())
}

// explanations writes why nodes go, once for all decisions that have the same reason.
func (p *planPage) explanations(list []*plannerpb.Disruption) {
	nodes := map[string][]string{}
	var messages []string
	for _, d := range list {
		m := d.GetReason().GetMessage()
		if nodes[m] == nil {
			messages = append(messages, m)
		}
		nodes[m] = append(nodes[m], p.nodeNames(d.GetCandidates())...)
	}
	for _, m := range messages {
		if m != "" {
			p.Item("    "+p.Paint(page.Dim, page.Some(nodes[m], page.MostNames))+"  ", m)
		}
	}
}

// destination is a node or a claim and the pods that go there.
type destination struct {
	name string
	pods []string
}

// destinationsOf groups where displaced pods go, most pods first.
func (p *planPage) destinationsOf(d *plannerpb.Disruption) []destination {
	pods := map[string][]string{}
	for _, pl := range d.GetDestinations() {
		name := pl.GetNode()
		if name == "" {
			name = p.claimWord(pl.GetClaim())
		}
		pods[name] = append(pods[name], pl.GetPod())
	}
	var out []destination
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		out = append(out, destination{name, pods[name]})
	}
	slices.SortStableFunc(out, func(a, b destination) int { return len(b.pods) - len(a.pods) })
	return out
}

// claimWord names a claim as a destination: a new one with its type.
func (p *planPage) claimWord(id string) string {
	for _, c := range p.view.Plan.GetNodeClaims() {
		if c.GetId() == id {
			return fmt.Sprintf("%s (new %s)", id, first(c.GetOfferings()).GetInstanceType())
		}
	}
	return id + " (on its way)"
}

func (p *planPage) destinationsInShort(d *plannerpb.Disruption) string {
	var parts []string
	for _, to := range p.destinationsOf(d) {
		parts = append(parts, fmt.Sprintf("%d to %s", len(to.pods), to.name))
	}
	return page.Some(parts, mostDestinations)
}
