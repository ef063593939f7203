package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// block is what keeps some nodes, and what that costs.
type block struct {
	code         clusterpb.ReasonCode
	nodes        int
	price, waste int64
	estimated    bool // some of the prices
	// worst is the verdict of the most wasteful of the nodes; same says that all have its message, and freed that all have
	// its remedy.
	worst       *plannerpb.NodeVerdict
	same, freed bool
}

// blocks groups the nodes that stay by what keeps them, the most wasteful first.
func blocks(verdicts []*plannerpb.NodeVerdict) []*block {
	byCode := map[clusterpb.ReasonCode]*block{}
	var out []*block
	for _, n := range verdicts {
		if n.GetDisruption() != "" {
			continue
		}
		b := byCode[n.GetReason().GetCode()]
		if b == nil {
			b = &block{code: n.GetReason().GetCode(), worst: n, same: true, freed: true}
			byCode[b.code] = b
			out = append(out, b)
		}
		b.nodes++
		b.price += n.GetPriceMicroUsdPerHour()
		b.estimated = b.estimated || n.GetPriceEstimated()
		b.waste += n.GetWasteMicroUsdPerHour()
		b.same = b.same && n.GetReason().GetMessage() == b.worst.GetReason().GetMessage()
		b.freed = b.freed && n.GetReason().GetRemedy() == b.worst.GetReason().GetRemedy()
		if n.GetWasteMicroUsdPerHour() > b.worst.GetWasteMicroUsdPerHour() {
			b.worst = n
		}
	}
	slices.SortStableFunc(out, func(a, b *block) int {
		return cmp.Or(cmp.Compare(b.waste, a.waste), cmp.Compare(b.price, a.price), b.nodes-a.nodes, int(a.code)-int(b.code))
	})
	return out
}

// staying sums up the nodes that stay, by what keeps them: what they cost, how much of that is wasted, and what would
// free them.
func (p *planPage) staying() {
	list := blocks(p.view.Plan.GetNodes())
	if len(list) == 0 {
		return
	}
	var nodes int
	var waste int64
	places := 0
	for _, b := range list {
		nodes += b.nodes
		waste += b.waste
		places = max(places, page.Digits(b.price))
	}
	detail := page.Count(nodes, "node")
	if waste > 0 {
		detail += fmt.Sprintf(", $%s an hour wasted", roughly(waste))
	}
	p.Heading("STAYS", detail)
	rows := make([]table.Row, len(list))
	for i, b := range list {
		wasted := "-"
		if b.waste != 0 {
			wasted = roughly(b.waste)
		}
		rows[i] = table.Row{page.CodeWord(b.code), b.nodes, price(b.price, b.estimated, places), wasted}
	}
	p.Rows(table.Row{"BLOCKED BY", "NODES", "$/HOUR", "WASTE $/HOUR"}, rows, 2, 3, 4)
	for _, b := range list {
		p.block(b)
	}
	if waste > 0 {
		p.Item("  ", p.Paint(page.Dim, "waste is about what freeing nodes would save: what they cost beyond what their pods would at the lowest prices"))
	}
	p.Line("  %s", p.Paint(page.Dim, "--explain node/NAME tells why one of them stays"))
}

// block writes what keeps nodes, and what would free them: for all, or as the most wasteful of them has it.
func (p *planPage) block(b *block) {
	message, remedy := b.worst.GetReason().GetMessage(), b.worst.GetReason().GetRemedy()
	if !b.same && message != "" {
		message = "such as " + b.worst.GetNode() + ": " + message
	}
	if message != "" {
		p.Item("    "+p.Paint(page.Dim, page.CodeWord(b.code))+"  ", message)
	}
	if remedy == "" {
		return
	}
	label := "      " + p.Paint(page.Dim, "remedy  ")
	if !b.freed {
		label = "      " + p.Paint(page.Dim, "remedy of that one  ")
	}
	p.Item(label, p.Paint(page.Green, remedy))
}

// roughly writes money that is reckoned, and no price: to a tenth of a cent.
func roughly(micro int64) string {
	const places = 3
	return page.Fixed(micro, places)
}

// reachable says how much of the cost could go if nothing kept pods where they are; "" where that is not proven. The floor
// has the policy's overhead for each node in it, as the bound has, and knows only pods that run.
func (p *planPage) reachable() string {
	floor, now := p.view.Plan.GetDisruptionSummary().GetFloorMicroUsdPerHour(), p.view.Plan.GetCostBeforeMicroUsdPerHour()
	if floor <= 0 || now <= 0 {
		return ""
	}
	out := fmt.Sprintf("$%s an hour with the overhead per node, even if nothing kept the pods that run where they are", roughly(floor))
	if n := len(placed(p.view.Plan)); n > 0 {
		out += fmt.Sprintf("; what %s for costs is not in it", page.Count(n, "pod")+verb(n, " that is planned", " that are planned"))
	}
	if gone := saving(p.view.Plan); gone > 0 && now > floor {
		out += fmt.Sprintf("; removing what this plan does goes %.0f%% of the way", min(float64(gone)/float64(now-floor), 1)*100)
	}
	return out
}

func saving(p *plannerpb.Plan) (sum int64) {
	for _, d := range p.GetDisruptions() {
		sum += d.GetSavingMicroUsdPerHour()
	}
	return sum
}

// searched says how far the search for nodes to remove got; "" where there was
// none, or nothing to look at.
func (p *planPage) searched() string {
	s := p.view.Plan.GetDisruptionSummary()
	if s == nil || len(p.view.Plan.GetNodes()) == 0 {
		return ""
	}
	if s.GetCandidates() == 0 {
		return "no node may be removed to save money"
	}
	all := "all " + page.Count(int(s.GetCandidates()), "node")
	switch {
	case s.GetJudged() < s.GetCandidates():
		all = fmt.Sprintf("%d of %s", s.GetJudged(), page.Count(int(s.GetCandidates()), "node"))
	case s.GetCandidates() == 1:
		all = "the one node"
	}
	out := fmt.Sprintf("%s that may be removed to save money %s judged, and %s tried",
		all, verb(int(s.GetCandidates()), "was", "were"), page.Count(int(s.GetTried()), "set"))
	if s.GetResumeAfter() != "" {
		out += "; the search ended at " + s.GetResumeAfter() + ", and the next plan goes on there"
	}
	return out
}
