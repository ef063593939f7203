package render

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// Claims writes claims as a table, one line each, with their ages at now, and what they cost together.
func Claims(w io.Writer, claims []*clusterpb.Claim, now time.Time, s Style) error {
	p := page{Style: s}
	if len(claims) == 0 {
		p.line("no claims")
		return p.writeTo(w)
	}
	var total int64
	var running int
	var rows []table.Row
	places := 0
	for _, c := range claims {
		places = max(places, digits(c.GetPriceMicroUsdPerHour()))
	}
	for _, c := range claims {
		rows = append(rows, p.claimRow(c, now, places))
		if c.GetInstanceId() != "" && !ended(c) {
			total += c.GetPriceMicroUsdPerHour()
			running++
		}
	}
	p.rows(table.Row{"CLAIM", "POOL", "TYPE", "ZONE", "CAPACITY", "NODE", "STATE", "AGE", "PODS", "$/HOUR"}, rows, 9, 10)
	for _, c := range claims {
		if m := c.GetFailure().GetMessage(); m != "" {
			p.gap()
			p.item("  "+p.paint(bold, c.GetId())+"  ", p.paint(yellow, m))
		}
	}
	p.gap()
	p.line("  %s, %s with an instance: %s an hour", count(len(claims), "claim"), fmt.Sprint(running), dollars(total))
	return p.writeTo(w)
}

func ended(c *clusterpb.Claim) bool {
	return c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED
}

func (p *page) claimRow(c *clusterpb.Claim, now time.Time, digits int) table.Row {
	cost := "-"
	if c.GetInstanceType() != "" {
		cost = fixed(c.GetPriceMicroUsdPerHour(), digits)
	}
	return table.Row{
		c.GetId(), c.GetNodePool(), orDash(c.GetInstanceType()), orDash(c.GetZone()), capacityType(c.GetCapacityType()),
		orDash(c.GetNode()), p.state(c), age(c, now), len(c.GetPods()), cost,
	}
}

func (p *page) state(c *clusterpb.Claim) string {
	word := enumWord(c.GetState().String(), "CLAIM_STATE_")
	switch c.GetState() {
	case clusterpb.ClaimState_CLAIM_STATE_INITIALIZED:
		return p.paint(green, word)
	case clusterpb.ClaimState_CLAIM_STATE_FAILED:
		return p.paint(red, word)
	case clusterpb.ClaimState_CLAIM_STATE_DRAINING, clusterpb.ClaimState_CLAIM_STATE_TERMINATING:
		return p.paint(yellow, word)
	case clusterpb.ClaimState_CLAIM_STATE_GONE:
		return p.paint(dim, word)
	default:
		return word
	}
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
	return span(d)
}
