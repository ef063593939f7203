package consolidate

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
)

const (
	// moreLooks is how often a search for all that are to go is made again, mostLooked of how many candidates: with more of them
	// one search is about as good as another, and each costs as much.
	moreLooks  = 4
	mostLooked = 128
)

// look is one search for all candidates that are to go. What it found is in the draft, until it is taken back to before.
type look struct {
	before  draft.Mark
	notKept []bool
	summary model.DisruptionSummary
}

// look searches as if budgets let all go at once, without keeping some hosts.
func (c *consolidation) look(notKept []bool, rough bool) look {
	dr := c.draft
	l := look{before: dr.Mark(), notKept: notKept}
	dr.NodeBudgets = dr.NodeBudgets.Clone(true)
	all := newTrials(dr, c.appraisal, c.open, notKept)
	all.resumeAfter, all.rough, all.target = c.resumeAfter, rough, true
	all.search(c.open)
	l.summary = all.summary
	return l
}

// lookAgain takes a search back where nodes that it kept waste more than moving their pods weighs, once they are filled up, and
// searches again without keeping them: what was meant to fill them did not come, or is not what they have capacity for. Of all
// that were made the search that saves most is the one whose decisions are in the draft in the end.
func (c *consolidation) lookAgain(l look, rough bool) look {
	best, most := l, c.saves(l)
	for range moreLooks {
		notKept := c.wasteful(l)
		if notKept == nil {
			break
		}
		c.takeBack(l)
		l = c.look(notKept, rough)
		if saves := c.saves(l); saves > most {
			best, most = l, saves
		}
	}
	if !slices.Equal(l.notKept, best.notKept) {
		c.takeBack(l)
		l = c.look(best.notKept, rough)
	}
	return l
}

func (c *consolidation) takeBack(l look) {
	c.draft.Revert(l.before)
	for _, h := range c.open {
		c.draft.Verdicts[h] = model.Reason{}
	}
}

// saves is what the decisions of a search save, less what their evictions weigh, micro-dollars per hour.
func (c *consolidation) saves(l look) int64 {
	var sum int64
	for _, d := range c.draft.Since(l.before) {
		sum += d.Saving - c.draft.Churn.Least(c.draft.Churn.Sum(d.Evicted), byDelete)
	}
	return sum
}

// wasteful are the hosts that a search is not to keep, by host: those that this one did not, and those that it kept and that waste
// so much, with the pods that come to them, that a replacement would be worth it. It is nil where there are none of these, or
// too many candidates to look again.
func (c *consolidation) wasteful(l look) []bool {
	dr := c.draft
	if len(c.open) > mostLooked || l.summary.ResumeAfter != "" {
		return nil
	}
	value := slices.Clone(c.appraisal.value)
	for _, d := range dr.Since(l.before) {
		for _, a := range d.Destinations {
			value[a.Host] += c.appraisal.worth.Of(dr.View.Pods[a.Pod].Class)
		}
	}
	out, some := make([]bool, len(dr.View.Hosts)), false
	copy(out, l.notKept)
	for _, h := range c.open {
		cost := float64(c.appraisal.cost(h))
		least := max(float64(dr.Churn.Least(dr.Churn.Sum(dr.Moving[h]), byReplace)), replaceShare*cost)
		if !dr.View.Removed(h) && !out[h] && cost-value[h] > least {
			out[h], some = true, true
		}
	}
	if !some {
		return nil
	}
	return out
}
