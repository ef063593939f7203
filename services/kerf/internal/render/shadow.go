package render

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
	"github.com/kerf-dev/kerf/services/kerf/internal/shadow"
)

// Shadow writes what has changed since the report before: the cost, decisions that are new, notes. Nothing is written
// where nothing has changed. before is nil for the first one.
func Shadow(w io.Writer, r shadow.Report, before *shadow.Report, s page.Style) error {
	if before != nil && !changed(r, *before) {
		return nil
	}
	p := newPlanPage(PlanView{Plan: r.Run.First, Snapshot: r.Snapshot, Currency: places.Currency(r.Snapshot)}, s)
	p.Line("%s  %s", p.Paint(page.Bold, r.Time.UTC().Format(time.DateTime)), p.comparedSentence(r))
	for _, c := range r.Fresh.Launches {
		p.Item("  "+p.Paint(page.Dim, "buy        "), fmt.Sprintf("%s for %s, %s an hour",
			p.Paint(page.Cyan, first(c.GetOfferings()).GetInstanceType()), p.owners.Sum(c.GetPods()), dollars(c.GetPriceMicroUsdPerHour(), first(c.GetOfferings()).GetPriceEstimated())))
	}
	for _, d := range r.Fresh.Disruptions {
		p.Item("  "+p.Paint(page.Dim, "remove     "), p.disruptionSentence(d))
	}
	if r.Fresh.Gone > 0 {
		p.Item("  "+p.Paint(page.Dim, "no longer  "), page.Count(r.Fresh.Gone, "decision")+" of the plan before")
	}
	if n := len(r.Run.First.GetPending()); n > 0 {
		p.Item("  "+p.Paint(page.Dim, "pending    "), page.Count(n, "pod")+" that nothing was found for")
	}
	for _, n := range r.Notes {
		p.Item("  "+p.Paint(page.Dim, "note       "), n)
	}
	return p.Flush(w)
}

func changed(r, before shadow.Report) bool {
	f := r.Fresh
	return len(f.Launches)+len(f.Disruptions)+f.Gone+len(r.Notes) > 0 ||
		r.Run.CostBefore != before.Run.CostBefore || r.Run.CostAfter != before.Run.CostAfter ||
		len(r.Run.First.GetPending()) != len(before.Run.First.GetPending())
}

func (p *planPage) comparedSentence(r shadow.Report) string {
	owned := 0
	for _, n := range r.Snapshot.GetNodes() {
		if n.GetClaim() != "" {
			owned++
		}
	}
	out := fmt.Sprintf("%s, %s an hour", page.Count(owned, "node"), dollars(r.Run.CostBefore, r.Run.Estimated))
	if r.Run.CostAfter == r.Run.CostBefore {
		return out + "; Kerf would change nothing of that"
	}
	color := page.Green
	if r.Run.CostAfter > r.Run.CostBefore {
		color = page.Yellow
	}
	return out + "; with Kerf " + p.Paint(color, dollars(r.Run.CostAfter, r.Run.Estimated)+percent(r.Run.CostAfter-r.Run.CostBefore, r.Run.CostBefore)) +
		" after " + page.Count(r.Run.Rounds, "round")
}

// percent is a change in parentheses, " (-24.8%)"; "" where there is nothing to compare with.
func percent(by, of int64) string {
	if of <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%+.1f%%)", float64(by)/float64(of)*100)
}

func (p *planPage) disruptionSentence(d *plannerpb.Disruption) string {
	out := fmt.Sprintf("%s, %s: %s", page.Some(p.nodeNames(d.GetCandidates()), page.MostNames), page.ReasonWord(d.GetDisruptionReason()), page.Count(int(d.GetEvictions()), "eviction"))
	if s := d.GetSavingMicroUsdPerHour(); s != 0 {
		out += ", saves " + dollars(s, d.GetSavingEstimated()) + " an hour"
	}
	if d.GetPayback() != nil {
		out += ", pays back in " + payBack(d)
	}
	if n := len(d.GetReplacements()); n > 0 {
		out += ", " + page.Count(n, "node") + " instead"
	}
	return out
}

// ShadowTotal writes what a shadow has come to.
func ShadowTotal(w io.Writer, t shadow.Total, s page.Style) error {
	p := page.Page{Style: s}
	p.Heading("WATCHED", fmt.Sprintf("%s, %s; nothing was changed", page.Span(t.Watched), page.Count(t.Plans, "plan")))
	if t.Cost > 0 {
		p.Item("  "+p.Paint(page.Dim, "cost       "), fmt.Sprintf("$%.2f as it was run, %s as Kerf would have run it%s",
			float64(t.Cost)/1e6, p.Paint(page.Bold, fmt.Sprintf("$%.2f", float64(t.WithKerf)/1e6)), percent(t.WithKerf-t.Cost, t.Cost)))
	}
	removed := page.Count(t.Removed, "node")
	if t.Replaced > 0 {
		removed += fmt.Sprintf(", %d of them for others in their place", t.Replaced)
	}
	p.Item("  "+p.Paint(page.Dim, "remove     "), removed)
	p.Item("  "+p.Paint(page.Dim, "evictions  "), page.Count(t.Evictions, "pod"))
	return p.Flush(w)
}

// shadowJSON is a report for machines; money as in proto JSON.
type shadowJSON struct {
	Time                       time.Time       `json:"time"`
	Revision                   uint64          `json:"revision,string"`
	Nodes                      int             `json:"nodes"`
	CostMicroUSDPerHour        int64           `json:"costMicroUsdPerHour,string"`
	CostAfterMicroUSDPerHour   int64           `json:"costAfterPlanMicroUsdPerHour,string"`
	CostSettledMicroUSDPerHour int64           `json:"costSettledMicroUsdPerHour,string"`
	Rounds                     int             `json:"rounds"`
	Settled                    bool            `json:"settled"`
	Pending                    int             `json:"podsPending"`
	FreshDecisions             int             `json:"freshDecisions"`
	GoneDecisions              int             `json:"goneDecisions"`
	Notes                      []string        `json:"notes,omitempty"`
	Total                      totalJSON       `json:"total"`
	Plan                       json.RawMessage `json:"plan"`
}

type totalJSON struct {
	Plans            int     `json:"plans"`
	Seconds          float64 `json:"seconds"`
	CostMicroUSD     int64   `json:"costMicroUsd,string"`
	WithKerfMicroUSD int64   `json:"costWithKerfMicroUsd,string"`
	Removed          int     `json:"nodesRemoved"`
	Replaced         int     `json:"nodesReplaced"`
	Evictions        int     `json:"evictions"`
}

// ShadowJSON writes a report as one line of JSON, the plan in proto JSON within it.
func ShadowJSON(w io.Writer, r shadow.Report) error {
	plan, err := page.Marshal(r.Run.First)
	if err != nil {
		return err
	}
	out := shadowJSON{
		Time: r.Time.UTC(), Revision: r.Snapshot.GetRevision(), CostMicroUSDPerHour: r.Run.CostBefore,
		CostAfterMicroUSDPerHour:   r.Run.First.GetCostAfterMicroUsdPerHour(),
		CostSettledMicroUSDPerHour: r.Run.CostAfter, Rounds: r.Run.Rounds, Settled: r.Run.Settled,
		Pending: len(r.Run.First.GetPending()), FreshDecisions: len(r.Fresh.Launches) + len(r.Fresh.Disruptions),
		GoneDecisions: r.Fresh.Gone, Notes: r.Notes, Plan: plan,
		Total: totalJSON{
			r.Total.Plans, r.Total.Watched.Seconds(), r.Total.Cost, r.Total.WithKerf, r.Total.Removed, r.Total.Replaced, r.Total.Evictions,
		},
	}
	for _, n := range r.Snapshot.GetNodes() {
		if n.GetClaim() != "" {
			out.Nodes++
		}
	}
	// The encoder takes the white space out of the plan, which protojson varies, and ends the line.
	if err := json.NewEncoder(w).Encode(out); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
