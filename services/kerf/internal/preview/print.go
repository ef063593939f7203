package preview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// Print writes what changes would do: which nodes would drift and why, what becomes of the cluster with and without
// the changes, side by side, and which nodes have a different outcome.
func Print(w io.Writer, c Comparison, s page.Style) error {
	p := previewPage{Page: page.Page{Style: s}, Comparison: c, price: pricesOf(c)}
	p.changes()
	p.drifts()
	p.sides()
	p.outcomes()
	p.pending()
	p.rounds()
	return p.Flush(w)
}

type previewPage struct {
	page.Page
	Comparison
	price map[string]int64 // by node
}

func pricesOf(c Comparison) map[string]int64 {
	out := map[string]int64{}
	for _, played := range []Run{c.Without, c.With} {
		for _, v := range played.First.GetNodes() {
			out[v.GetNode()] = v.GetPriceMicroUsdPerHour()
		}
	}
	return out
}

func (p *previewPage) changes() {
	p.Heading("CHANGES", "a preview; nothing is applied")
	for _, c := range p.Changes {
		word := string(c.Effect)
		if c.Effect == Same {
			word = p.Paint(page.Dim, "says what the cluster has already")
		}
		p.Item("  ", p.Paint(page.Bold, c.Object)+": "+word)
	}
	if p.Policy {
		p.Item("  ", p.Paint(page.Bold, "policy")+": from the file")
	}
	label := "assumed"
	for _, a := range p.Assumed {
		p.Item("    "+p.Paint(page.Dim, fmt.Sprintf("%-9s", label)), a)
		label = ""
	}
}

// driftGroup is nodes of a pool that drift for the same reason.
type driftGroup struct {
	pool, why string
	nodes     []string
	price     int64
}

func (p *previewPage) drifts() {
	if len(p.Drifts) == 0 {
		p.Heading("DRIFT", "no node would drift by the changes")
	} else {
		p.Heading("DRIFT", fmt.Sprintf("%s would drift", page.Count(len(p.Drifts), "node")))
		p.driftTable(p.Drifts)
	}
	if len(p.NoLongerDrifted) > 0 {
		p.Heading("MENDED", fmt.Sprintf("%s would not be drifted any more", page.Count(len(p.NoLongerDrifted), "node")))
		p.driftTable(p.NoLongerDrifted)
	}
}

func (p *previewPage) driftTable(list []Drift) {
	index := map[[2]string]*driftGroup{}
	var groups []*driftGroup
	for _, d := range list {
		key := [2]string{d.Pool, d.Why.GetMessage()}
		g := index[key]
		if g == nil {
			g = &driftGroup{pool: d.Pool, why: d.Why.GetMessage()}
			index[key] = g
			groups = append(groups, g)
		}
		g.nodes = append(g.nodes, d.Node)
		g.price += p.price[d.Node]
	}
	places := 0
	for _, g := range groups {
		places = max(places, page.Digits(g.price))
	}
	rows := make([]table.Row, len(groups))
	for i, g := range groups {
		rows[i] = table.Row{g.pool, len(g.nodes), page.Fixed(g.price, places), page.Some(g.nodes, page.MostNames)}
	}
	p.Rows(table.Row{"POOL", "NODES", "$/HOUR", "NODE"}, rows, 2, 3)
	for _, g := range groups {
		p.Item("    "+p.Paint(page.Dim, g.pool)+"  ", g.why)
	}
}

// sides puts the two runs beside each other.
func (p *previewPage) sides() {
	p.Heading("COMPARED", "plans carried out one after the other until nothing is left to do")
	a, b := p.Without, p.With
	var rows []table.Row
	amount := func(what string, a, b int64) {
		places := page.Digits(a, b, b-a)
		rows = append(rows, table.Row{what, mark(p.Without) + page.Fixed(a, places), mark(p.With) + page.Fixed(b, places), p.change(b-a, signed(b-a, places))})
	}
	number := func(what string, a, b int) {
		rows = append(rows, table.Row{what, a, b, p.change(0, plus(b-a))})
	}
	amount("$ an hour now", a.CostBefore, b.CostBefore)
	amount("$ an hour after the first plan", a.First.GetCostAfterMicroUsdPerHour(), b.First.GetCostAfterMicroUsdPerHour())
	amount("$ an hour in the end", a.CostAfter, b.CostAfter)
	number("nodes removed", a.Gone, b.Gone)
	number("  of them for drift", a.Drifted, b.Drifted)
	number("nodes bought", a.Bought, b.Bought)
	number("evictions", a.Evictions, b.Evictions)
	number("pods that stay pending", len(a.Pending), len(b.Pending))
	number("rounds", a.Rounds, b.Rounds)
	p.Rows(table.Row{"", "WITHOUT", "WITH", "DIFFERENCE"}, rows, 2, 3, 4)
}

// mark stands before costs of which some follow from estimated prices.
func mark(r Run) string {
	if r.Estimated {
		return "~"
	}
	return ""
}

func (p *previewPage) change(by int64, text string) string {
	switch {
	case by < 0:
		return p.Paint(page.Green, text)
	case by > 0:
		return p.Paint(page.Yellow, text)
	}
	return text
}

func signed(micro int64, places int) string {
	if micro > 0 {
		return "+" + page.Fixed(micro, places)
	}
	if micro == 0 {
		return "-"
	}
	return page.Fixed(micro, places)
}

func plus(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%+d", n)
}

// outcomeGroup is nodes with the same outcome, without and with the changes.
type outcomeGroup struct {
	without, with string
	nodes         []string
	price         int64
	first, last   int // rounds, with the changes
	why           string
}

func outcomeWord(f Outcome) string {
	switch {
	case f.Round == 0:
		return "stays"
	case f.Replaced:
		return "replaced, " + page.ReasonWord(f.Reason)
	default:
		return "removed, " + page.ReasonWord(f.Reason)
	}
}

// otherwise groups the nodes whose outcome differs with and without the changes, the most expensive first.
func (p *previewPage) otherwise() []*outcomeGroup {
	index := map[[2]string]*outcomeGroup{}
	var groups []*outcomeGroup
	for _, node := range slices.Sorted(maps.Keys(p.With.Outcomes)) {
		with, without := p.With.Outcomes[node], p.Without.Outcomes[node]
		key := [2]string{outcomeWord(without), outcomeWord(with)}
		drifts := slices.ContainsFunc(p.Drifts, func(d Drift) bool { return d.Node == node })
		if key[0] == key[1] && !(drifts && with.Round == 0) {
			continue
		}
		if drifts && with.Round == 0 {
			key[1] = "stays, drifted: " + page.CodeWord(with.Why.GetCode())
		}
		g := index[key]
		if g == nil {
			g = &outcomeGroup{without: key[0], with: key[1], first: with.Round, why: whyOf(with)}
			index[key] = g
			groups = append(groups, g)
		}
		g.nodes = append(g.nodes, node)
		g.price += p.price[node]
		g.first, g.last = min(g.first, with.Round), max(g.last, with.Round)
	}
	slices.SortStableFunc(groups, func(a, b *outcomeGroup) int {
		return cmp.Or(cmp.Compare(b.price, a.price), len(b.nodes)-len(a.nodes))
	})
	return groups
}

// whyOf is what keeps a node, and what would free it.
func whyOf(f Outcome) string {
	out := f.Why.GetMessage()
	if r := f.Why.GetRemedy(); r != "" && f.Round == 0 {
		out += "; " + r
	}
	return out
}

func (p *previewPage) outcomes() {
	groups := p.otherwise()
	if len(groups) == 0 {
		return
	}
	var nodes int
	places := 0
	for _, g := range groups {
		nodes += len(g.nodes)
		places = max(places, page.Digits(g.price))
	}
	p.Heading("NODES", fmt.Sprintf("%d of %d have a different outcome", nodes, len(p.With.Outcomes)))
	rows := make([]table.Row, len(groups))
	for i, g := range groups {
		rows[i] = table.Row{len(g.nodes), page.Fixed(g.price, places), g.without, g.with, roundsWord(g), page.Some(g.nodes, page.MostNames)}
	}
	p.Rows(table.Row{"NODES", "$/HOUR", "WITHOUT", "WITH", "IN ROUND", "NODE"}, rows, 1, 2)
	for _, g := range groups {
		if g.why != "" && g.last == 0 { // of those that go, the word says enough
			p.Item("    "+p.Paint(page.Dim, "such as "+g.nodes[0]+"  "), g.why)
		}
	}
}

func roundsWord(g *outcomeGroup) string {
	switch {
	case g.last == 0:
		return "-"
	case g.first == g.last:
		return fmt.Sprint(g.last)
	}
	return fmt.Sprintf("%d to %d", g.first, g.last)
}

// pending tells which pods the changes leave without a place.
func (p *previewPage) pending() {
	before := map[string]bool{}
	for _, q := range p.Without.Pending {
		before[q.GetPod()] = true
	}
	fresh := slices.DeleteFunc(slices.Clone(p.With.Pending), func(q *plannerpb.PendingPod) bool { return before[q.GetPod()] })
	if len(fresh) == 0 {
		return
	}
	p.Heading(p.Paint(page.Red, "STAYS PENDING"), page.Count(len(fresh), "pod")+" that would have a place without the changes")
	for _, q := range fresh[:min(len(fresh), page.MostNames)] {
		p.Line("  %s", p.Paint(page.Bold, q.GetPod()))
		p.Pending(q)
	}
	if more := len(fresh) - page.MostNames; more > 0 {
		p.Line("  and %d more", more)
	}
}

// rounds says how long it takes.
func (p *previewPage) rounds() {
	p.Gap()
	left := 0
	for _, d := range p.Drifts {
		if p.With.Outcomes[d.Node].Round == 0 {
			left++
		}
	}
	text := "A round is one plan and all that it starts: new nodes come first, then pods move. "
	switch {
	case !p.With.Settled:
		text += fmt.Sprintf("After %d rounds there is more to do", p.With.Rounds)
		if left > 0 {
			text += fmt.Sprintf(", and %s are still there that drift", page.Count(left, "node"))
		}
		text += "; --rounds plays more."
	case p.With.DriftRounds > 0:
		text += fmt.Sprintf("By the pools' disruption budgets, nodes that drift are gone after %s.", page.Count(p.With.DriftRounds, "round"))
		if left > 0 {
			text += fmt.Sprintf(" %s that drift stay.", page.Count(left, "node"))
		}
	default:
		text += fmt.Sprintf("Nothing is left to do after %s.", page.Count(p.With.Rounds, "round"))
	}
	p.Item("", p.Paint(page.Dim, text))
}

// previewJSON is a comparison for machines.
type previewJSON struct {
	Changes         []Change      `json:"changes"`
	Policy          bool          `json:"policy,omitempty"`
	Assumed         []string      `json:"assumed,omitempty"`
	Drifts          []driftJSON   `json:"drifts,omitempty"`
	NoLongerDrifted []driftJSON   `json:"noLongerDrifted,omitempty"`
	Without         runJSON       `json:"without"`
	With            runJSON       `json:"with"`
	Nodes           []outcomeJSON `json:"nodes,omitempty"`
}

type driftJSON struct {
	Node     string `json:"node"`
	Claim    string `json:"claim"`
	NodePool string `json:"nodePool"`
	Why      string `json:"why"`
}

type runJSON struct {
	CostBeforeMicroUSDPerHour int64           `json:"costBeforeMicroUsdPerHour,string"`
	CostAfterMicroUSDPerHour  int64           `json:"costAfterMicroUsdPerHour,string"`
	CostEstimated             bool            `json:"costEstimated,omitempty"`
	Removed                   int             `json:"nodesRemoved"`
	Drifted                   int             `json:"nodesRemovedForDrift"`
	Bought                    int             `json:"nodesBought"`
	Evictions                 int             `json:"evictions"`
	Rounds                    int             `json:"rounds"`
	DriftRounds               int             `json:"driftRounds"`
	Settled                   bool            `json:"settled"`
	Pending                   []string        `json:"pending,omitempty"`
	FirstPlan                 json.RawMessage `json:"firstPlan"`
}

type outcomeJSON struct {
	Node                 string `json:"node"`
	PriceMicroUSDPerHour int64  `json:"priceMicroUsdPerHour,omitempty,string"`
	Without              string `json:"without"`
	WithoutRound         int    `json:"withoutRound,omitempty"`
	With                 string `json:"with"`
	WithRound            int    `json:"withRound,omitempty"`
	Code                 string `json:"code,omitempty"`
	Why                  string `json:"why,omitempty"`
}

// PrintJSON is Print for machines: every node, and the first plan of each side in proto JSON.
func PrintJSON(w io.Writer, c Comparison) error {
	out := previewJSON{Changes: c.Changes, Policy: c.Policy, Assumed: c.Assumed, Drifts: driftsJSON(c.Drifts), NoLongerDrifted: driftsJSON(c.NoLongerDrifted)}
	if out.Changes == nil {
		out.Changes = []Change{}
	}
	for _, side := range []struct {
		to   *runJSON
		from Run
	}{{&out.Without, c.Without}, {&out.With, c.With}} {
		var err error
		if *side.to, err = newRunJSON(side.from); err != nil {
			return err
		}
	}
	price := pricesOf(c)
	for _, node := range slices.Sorted(maps.Keys(c.With.Outcomes)) {
		without, with := c.Without.Outcomes[node], c.With.Outcomes[node]
		out.Nodes = append(out.Nodes, outcomeJSON{
			Node: node, PriceMicroUSDPerHour: price[node], Without: outcomeWord(without), WithoutRound: without.Round,
			With: outcomeWord(with), WithRound: with.Round, Code: codeName(with.Why), Why: with.Why.GetMessage(),
		})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the preview: %w", err)
	}
	return page.Indent(w, data)
}

func codeName(r *clusterpb.Reason) string {
	if r == nil {
		return ""
	}
	return convert.CodeText(r.GetCode())
}

func driftsJSON(list []Drift) []driftJSON {
	var out []driftJSON
	for _, d := range list {
		out = append(out, driftJSON{d.Node, d.Claim, d.Pool, d.Why.GetMessage()})
	}
	return out
}

func newRunJSON(c Run) (runJSON, error) {
	first, err := page.Marshal(c.First)
	out := runJSON{
		CostBeforeMicroUSDPerHour: c.CostBefore, CostAfterMicroUSDPerHour: c.CostAfter, CostEstimated: c.Estimated, Removed: c.Gone, Drifted: c.Drifted,
		Bought: c.Bought, Evictions: c.Evictions, Rounds: c.Rounds, DriftRounds: c.DriftRounds, Settled: c.Settled, FirstPlan: first,
	}
	for _, q := range c.Pending {
		out.Pending = append(out.Pending, q.GetPod())
	}
	return out, err
}
