package consolidate

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
)

const (
	// moreLooks is how often a search for all that are to go is made again, mostLooked of how many candidates: with
	// more of them one search is about as good as another, and each costs as much.
	moreLooks  = 4
	mostLooked = 128
)

// look is one search for all candidates that are to go. What it found is in the draft, until it is taken back to before.
type look struct {
	manner
	before  draft.Mark
	summary model.DisruptionSummary
}

// manner is how a search is made: without keeping some hosts, by host, nil for none; and with all sets of few nodes first.
type manner struct {
	notKept   []bool
	setsFirst bool
}

// look searches as if budgets let all go at once.
func (c *consolidation) look(m manner, rough bool) look {
	dr := c.draft
	l := look{manner: m, before: dr.Mark()}
	dr.NodeBudgets = dr.NodeBudgets.Clone(true)
	all := newTrials(dr, c.appraisal, c.open, m.notKept)
	all.resumeAfter, all.rough, all.target, all.setsFirst = c.resumeAfter, rough, true, m.setsFirst
	all.search(c.open)
	l.summary = all.summary
	return l
}

// lookAgain takes a search back where nodes that it kept waste more than moving their pods weighs, once they are filled
// up, and searches again without keeping them: what was meant to fill them did not come, or is not what they have
// capacity for. Where candidates are few it also searches with all sets of them first. Of all that were made the first
// search that saves most is the one whose decisions are in the draft in the end.
func (c *consolidation) lookAgain(l look, rough bool) look {
	best, most, last := l, saves(c.draft, l.before), true
	again := func(m manner) {
		c.takeBack(l)
		l, last = c.look(m, rough), false
		if v := saves(c.draft, l.before); v > most {
			best, most, last = l, v, true
		}
	}
	for range moreLooks {
		notKept := c.wasteful(l)
		if notKept == nil {
			break
		}
		again(manner{notKept: notKept})
	}
	if len(c.open) > 1 && len(c.open) <= mostFew {
		again(manner{setsFirst: true})
	}
	if !last {
		c.takeBack(l)
		l = c.look(best.manner, rough)
	}
	return l
}

func (c *consolidation) takeBack(l look) {
	c.draft.Revert(l.before)
	for _, h := range c.open {
		c.draft.Verdicts[h] = model.Reason{}
	}
}

// saves is what the decisions since a mark save, less what their evictions weigh and what buffers lose, micro-dollars
// per hour.
func saves(dr *draft.Draft, since draft.Mark) (sum int64) {
	sum = since.BuffersLost().Price - dr.BuffersLost.Price
	for _, d := range dr.Since(since) {
		sum += d.Saving - dr.Churn.Least(dr.Churn.Sum(d.Evicted), byDelete)
	}
	return sum
}

// wasteful are the hosts that a search is not to keep, by host: those that this one did not, and those that it kept and
// that waste so much, with the pods that come to them, that a replacement would be worth it. It is nil where there are
// none of these, or too many candidates to look again.
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
