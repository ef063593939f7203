package render

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

type claimsPage struct{ page.Page }

// Claims writes claims as a table, one line each, with their ages at now, and what they cost together.
func Claims(w io.Writer, claims []*clusterpb.Claim, now time.Time, s page.Style) error {
	s.Currency = places.Currency(&clusterpb.Snapshot{Claims: claims})
	p := claimsPage{page.Page{Style: s}}
	if len(claims) == 0 {
		p.Line("no claims")
		return p.Flush(w)
	}
	var total int64
	var running int
	var rows []table.Row
	places := 0
	for _, c := range claims {
		places = max(places, page.Digits(c.GetPriceMicroUsdPerHour()))
	}
	for _, c := range claims {
		rows = append(rows, p.claimRow(c, now, places))
		if c.GetInstanceId() != "" && !ended(c) {
			total += c.GetPriceMicroUsdPerHour()
			running++
		}
	}
	p.Rows(table.Row{"CLAIM", "POOL", "TYPE", "ZONE", "CAPACITY", "NODE", "STATE", "REASON", "AGE", "PODS", "$/HOUR"}, rows, 10, 11)
	for _, c := range claims {
		if m := c.GetFailure().GetMessage(); m != "" {
			p.Gap()
			p.Item("  "+p.Paint(page.Bold, c.GetId())+"  ", p.Paint(page.Yellow, m))
		}
	}
	p.Gap()
	p.Line("  %s, %s with an instance: %s an hour", page.Count(len(claims), "claim"), fmt.Sprint(running), page.Dollars(total))
	return p.Flush(w)
}

func ended(c *clusterpb.Claim) bool {
	return c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED
}

func (p *claimsPage) claimRow(c *clusterpb.Claim, now time.Time, digits int) table.Row {
	cost := "-"
	if c.GetInstanceType() != "" {
		cost = page.Fixed(c.GetPriceMicroUsdPerHour(), digits)
	}
	return table.Row{
		c.GetId(), c.GetNodePool(), orDash(c.GetInstanceType()), orDash(c.GetZone()), capacityType(c.GetCapacityType()),
		orDash(c.GetNode()), p.state(c), orDash(removalWord(c)), age(c, now), len(c.GetPods()), cost,
	}
}

func (p *claimsPage) state(c *clusterpb.Claim) string {
	word := page.EnumWord(c.GetState().String(), "CLAIM_STATE_")
	switch c.GetState() {
	case clusterpb.ClaimState_CLAIM_STATE_INITIALIZED:
		return p.Paint(page.Green, word)
	case clusterpb.ClaimState_CLAIM_STATE_FAILED:
		return p.Paint(page.Red, word)
	case clusterpb.ClaimState_CLAIM_STATE_DRAINING, clusterpb.ClaimState_CLAIM_STATE_TERMINATING:
		return p.Paint(page.Yellow, word)
	case clusterpb.ClaimState_CLAIM_STATE_GONE:
		return p.Paint(page.Dim, word)
	default:
		return word
	}
}

// removalWord is why a claim's node goes or has gone; "" where it stays.
func removalWord(c *clusterpb.Claim) string {
	if c.GetDisruptionReason() == clusterpb.DisruptionReason_DISRUPTION_REASON_UNSPECIFIED {
		return ""
	}
	return page.ReasonWord(c.GetDisruptionReason())
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// age is how long ago a claim was stored, in the two largest units at most.
func age(c *clusterpb.Claim, now time.Time) string {
	if !c.GetCreateTime().IsValid() {
		return "-"
	}
	d := max(now.Sub(c.GetCreateTime().AsTime()), 0)
	return page.Span(d)
}
