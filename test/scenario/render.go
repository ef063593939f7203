package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// renderer writes a plan as text. Ids that are hashes get short names, so that a golden changes only when a decision does.
type renderer struct {
	in    *model.Input
	p     *model.Plan
	names *strings.Replacer
	// reasons are those that explain has written, by code.
	reasons map[string][]string
	// claims are in the order of their first pods.
	claims      []model.NodeClaim
	disruptions []model.Disruption
}

func newRenderer(in *model.Input, p *model.Plan) *renderer {
	r := &renderer{in: in, p: p, claims: slices.Clone(p.NodeClaims), disruptions: slices.Clone(p.Disruptions)}
	slices.SortFunc(r.claims, func(a, b model.NodeClaim) int {
		return cmp.Or(cmp.Compare(a.NodePool, b.NodePool), comparePods(first(a.Pods), first(b.Pods)),
			cmp.Compare(a.Reason.Code, b.Reason.Code), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(r.disruptions, func(a, b model.Disruption) int { return cmp.Compare(a.Candidates[0], b.Candidates[0]) })
	var pairs []string
	for i, c := range r.claims {
		pairs = append(pairs, string(c.ID), fmt.Sprintf("new-%d", i+1))
	}
	for i, d := range r.disruptions {
		pairs = append(pairs, string(d.ID), fmt.Sprintf("d-%d", i+1))
	}
	for _, c := range in.Snapshot.PodClasses {
		pairs = append(pairs, string(c.ID), "c-…")
	}
	r.names, r.reasons = strings.NewReplacer(pairs...), map[string][]string{}
	return r
}

// plan writes what is decided.
func (r *renderer) plan() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintln(&b, r.names.Replace(fmt.Sprintf(format, args...))) }
	for _, c := range r.claims {
		o := c.Offerings[0]
		more := ""
		if n := len(c.Offerings) - 1; n > 0 {
			more = fmt.Sprintf(" or %d more", n)
		}
		line("buy %s: %s/%s/%s at %s%s, pool %s%s", c.ID, o.InstanceType, o.Zone, capacityOf(o), price(o), more, c.NodePool, forWhom(c))
	}
	for _, t := range targets(r.p.Placements) {
		if !slices.ContainsFunc(r.claims, func(c model.NodeClaim) bool { return "claim "+string(c.ID) == t.name }) {
			line("place %s on %s", pods(t.pods), t.name)
		}
	}
	for _, d := range r.disruptions {
		r.disruption(line, d)
	}
	for _, q := range r.p.Pending {
		line("pending %s: %s", short(q.Pod), code(q.Reason.Code))
	}
	if s := r.p.Summary; s != nil && s.ResumeAfter != "" {
		line("the search goes on after %s", r.nodeOf(s.ResumeAfter))
	}
	line("cost %s -> %s%s", money(r.p.CostBefore), money(r.p.CostAfter), r.bound())
	return b.String()
}

func capacityOf(o model.RankedOffering) string {
	if o.ReservationID != "" {
		return o.CapacityType.String() + " " + o.ReservationID
	}
	return o.CapacityType.String()
}

func forWhom(c model.NodeClaim) string {
	text := ""
	if len(c.Pods) > 0 {
		text = ", for " + pods(c.Pods)
	}
	for _, a := range c.Annotations {
		text += fmt.Sprintf(", %s=%s", a.Key, a.Value)
	}
	return text
}

// first is the pod that comes first, "" where there is none.
func first(ids []model.PodID) model.PodID {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

func (r *renderer) disruption(line func(string, ...any), d model.Disruption) {
	verb := "remove"
	if len(d.Replacements) > 0 {
		verb = "replace"
	}
	var nodes, by []string
	for _, id := range d.Candidates {
		nodes = append(nodes, r.nodeOf(id))
	}
	for _, id := range d.Replacements {
		by = append(by, string(id))
	}
	text := fmt.Sprintf("%s %s", verb, strings.Join(nodes, ", "))
	if len(by) > 0 {
		text += " by " + strings.Join(by, ", ")
	}
	if d.Staged {
		text += " in stages"
	}
	text = fmt.Sprintf("%s: %s, saves %s, evicts %d", text, d.Reason, money(d.Saving), d.Evictions)
	if d.Churn != 0 {
		text += " (weighed as " + money(d.Churn) + ")"
	}
	if d.PayBack != 0 {
		text += ", pays back in " + d.PayBack.Round(time.Second).String()
	}
	line("%s", text)
	for _, t := range targets(d.Destinations) {
		line("  move %s to %s", pods(t.pods), t.name)
	}
}

func (r *renderer) nodeOf(id model.ClaimID) string {
	for _, n := range r.in.Snapshot.Nodes {
		if n.Claim == id {
			return string(n.Name)
		}
	}
	return string(id)
}

func (r *renderer) bound() string {
	if b := r.p.LowerBound; b != nil {
		return fmt.Sprintf(", the new claims can't cost below %s (gap %.1f%%)", money(b.Price), b.Gap*100)
	}
	return ""
}

// explain writes why.
func (r *renderer) explain() string {
	var b strings.Builder
	line := func(indent, what string, why model.Reason) {
		text := fmt.Sprintf("%s%s: %s: %s", indent, what, code(why.Code), why.Message)
		if why.Remedy != "" {
			text += " (" + why.Remedy + ")"
		}
		fmt.Fprintln(&b, r.names.Replace(text))
		message, c := r.names.Replace(why.Message), code(why.Code)
		if !slices.Contains(r.reasons[c], message) {
			r.reasons[c] = append(r.reasons[c], message)
		}
	}
	for _, c := range r.claims {
		line("", string(c.ID), c.Reason)
		for _, u := range c.RunnersUp {
			line("  ", fmt.Sprintf("not %s", u.Offering.InstanceType), u.Reason)
		}
	}
	for _, d := range r.disruptions {
		line("", string(d.ID), d.Explanation)
	}
	for _, v := range r.p.Nodes {
		if v.Disruption == "" {
			line("", "node "+string(v.Node), v.Reason)
		}
	}
	for _, why := range r.p.Problems {
		line("", why.Subject, why)
	}
	for _, q := range r.p.Pending {
		line("", short(q.Pod), q.Reason)
		for _, m := range q.Pools {
			what := "pool " + string(m.NodePool)
			if m.InstanceType != "" {
				what += ", " + string(m.InstanceType)
			}
			line("  ", what, m.Reason)
		}
	}
	return b.String()
}

// target is a node or a claim, and the pods that go there.
type target struct {
	name string
	pods []model.PodID
}

func targets(placements []model.Placement) []target {
	by := map[string][]model.PodID{}
	for _, pl := range placements {
		name := "node " + string(pl.Node)
		switch {
		case pl.Claim != "":
			name = "claim " + string(pl.Claim)
		case !pl.WaitUntil.IsZero():
			name += " once others have left it, by " + pl.WaitUntil.Format(time.TimeOnly)
		}
		by[name] = append(by[name], pl.Pod)
	}
	var out []target
	for name, ids := range by {
		slices.SortFunc(ids, comparePods)
		out = append(out, target{name, ids})
	}
	slices.SortFunc(out, func(a, b target) int { return comparePods(a.pods[0], b.pods[0]) })
	return out
}

func comparePods(a, b model.PodID) int {
	return cmp.Or(cmp.Compare(stem(a), stem(b)), cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

// short leaves the default namespace out.
func short(id model.PodID) string { return strings.TrimPrefix(string(id), "default/") }

func stem(id model.PodID) string {
	s := short(id)
	if i := strings.LastIndexByte(s, '-'); i >= 0 && number(id) >= 0 {
		return s[:i]
	}
	return s
}

// number is the last part of a copy's name, or -1.
func number(id model.PodID) int {
	s := short(id)
	n, err := strconv.Atoi(s[strings.LastIndexByte(s, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}

// pods writes ids with runs of copies drawn together: web-0..4.
func pods(ids []model.PodID) string {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, comparePods)
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && number(ids[j]) >= 0 && stem(ids[j+1]) == stem(ids[i]) && number(ids[j+1]) == number(ids[j])+1 {
			j++
		}
		text := short(ids[i])
		if j > i {
			text += ".." + strconv.Itoa(number(ids[j]))
		}
		parts = append(parts, text)
		i = j + 1
	}
	return strings.Join(parts, " ")
}

func money(micro int64) string {
	if micro < 0 {
		return "-" + money(-micro)
	}
	s := strconv.FormatFloat(float64(micro)/1e6, 'f', 6, 64)
	for strings.HasSuffix(s, "0") && len(s)-strings.IndexByte(s, '.') > 4 {
		s = s[:len(s)-1]
	}
	return "$" + s
}

func price(o model.RankedOffering) string {
	if o.Overlaid {
		return fmt.Sprintf("%s (weighed as %s)", money(o.Price), money(o.OverlaidPrice))
	}
	if o.PriceEstimated {
		return "about " + money(o.Price)
	}
	return money(o.Price)
}
