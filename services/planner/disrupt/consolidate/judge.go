package consolidate

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Factors by which what a disruption saves must make up for its evictions.
const (
	byDelete  = 1
	byReplace = 2
	bySpot    = 3
)

// replaceShare is how much of what the removed nodes cost their replacement must save at least. New nodes run beside
// the old ones for a while, and not all pods come to them.
const replaceShare = 0.10

// bar is what a decision must save at least. byShare says that replaceShare asks for so much, and evictions for less;
// more is what interruptions make of it, unmet what preferences do.
type bar struct {
	least       int64
	byShare     bool
	more, unmet int64
}

// judge says whether a decision is worth it: what it saves must make up for its evictions, spot nodes must stay
// diverse, and preferences that are enforced must be kept. It changes nothing but the decision that it is asked about.
type judge struct {
	draft   *draft.Draft
	v       *view.View
	balance *balance
}

// approve says whether a decision is worth it, and fills in what it saves and why.
func (j *judge) approve(d *draft.Decision) model.Reason {
	price, weighed, list, cost := j.prices(d)
	if saving, bar := min(price-list, weighed-cost), j.bar(d); saving < bar.least {
		return j.notWorth(d.Hosts[0], saving, j.draft.Churn.Sum(d.Evicted), bar)
	}
	if why := j.flexible(d); !why.OK() {
		return why
	}
	if why := j.spotForSpot(d); !why.OK() {
		return why
	}
	if why := j.balance.approve(d.Hosts, weighed-cost); !why.OK() {
		return why
	}
	d.Reason, d.Saving = model.ReasonUnderutilized, price-list
	d.Explanation = j.explain(d, price, list)
	return model.Reason{}
}

// settled says whether a decision that is worth it is so already now, while its pods may have just started.
func (j *judge) settled(d *draft.Decision) model.Reason {
	price, weighed, list, cost := j.prices(d)
	evictions := j.draft.Churn.Now(d.Evicted)
	if saving, bar := min(price-list, weighed-cost), j.barAt(d, evictions); saving < bar.least {
		return j.notWorth(d.Hosts[0], saving, evictions, bar)
	}
	return model.Reason{}
}

// outweigh says that decisions that are worth it would not be so with what buffers lose to them beyond what they have
// lost already.
func (j *judge) outweigh(parts []draft.Decision, lost draft.BuffersLoss) model.Reason {
	was := j.draft.BuffersLost
	spent := lost.Price - was.Price
	for i := range parts {
		_, weighed, _, cost := j.prices(&parts[i])
		spent -= weighed - cost - j.bar(&parts[i]).least
	}
	why := model.Reason{
		Code: model.CodeCapacityBuffer, Subject: j.v.Hosts[parts[0].Hosts[0]].Name(), Remedy: "lower the buffer's replicas, or keep its nodes apart by a taint",
		Message: "the scheduler is likely to put its pods where a capacity buffer has its capacity",
	}
	switch {
	case lost.Without > was.Without:
		why.Message += ", and there would be no node for the buffer"
	case lost.Price > was.Price && spent > 0:
		why.Message += fmt.Sprintf(", whose new node would cost %s an hour, which leaves less of what is saved than the evictions are worth", fit.Money(lost.Price-was.Price))
	default:
		return model.Reason{}
	}
	return why
}

// prices are what the hosts of a decision and its replacements cost, by the list and as they are weighed.
func (j *judge) prices(d *draft.Decision) (price, weighed, list, cost int64) {
	price, weighed = j.draft.Price(d.Hosts)
	for _, b := range d.Replacements {
		list, cost = list+b.Best().Offering.Price, cost+b.Best().Price
	}
	return price, weighed, list, cost
}

// flexible keeps nodes from being exchanged for some that are less flexible than their pool asks for. A policy of best
// effort is for pods that need a node, and nothing needs this one.
func (j *judge) flexible(d *draft.Decision) model.Reason {
	at := slices.IndexFunc(d.Replacements, (*purchase.NewClaim).Relaxed)
	if at < 0 {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeMinValues, Subject: j.v.Hosts[d.Hosts[0]].Name(),
		Message: fmt.Sprintf("%s would cost less, but too few others would do for the pool's minValues", d.Replacements[at].Best().Type.Name),
		Remedy:  "lower minValues in spec.template.spec.requirements, or widen them",
	}
}

// bar is what a decision must save at least to be looked for: pods that have just started weigh less there than now.
func (j *judge) bar(d *draft.Decision) bar { return j.barAt(d, j.draft.Churn.Sum(d.Evicted)) }

// barAt is that where its evictions weigh so much.
func (j *judge) barAt(d *draft.Decision, price int64) bar {
	factor := float64(byDelete)
	if len(d.Replacements) > 0 {
		factor = byReplace
	}
	if j.allSpot(d.Hosts) && slices.ContainsFunc(d.Replacements, maySpot) {
		factor = bySpot
	}
	out := bar{least: j.draft.Churn.Least(price, factor)}
	if len(d.Replacements) > 0 && price > 0 {
		_, weighed := j.draft.Price(d.Hosts)
		if share := int64(float64(weighed) * replaceShare); share > out.least {
			out = bar{least: share, byShare: true}
		}
	}
	if r := j.reclaims(d); r.known {
		out.more = max(0, r.after.InterruptionPrice(r.before, price))
		out.least += out.more
	}
	out.unmet = max(0, j.unmet(d))
	out.least += out.unmet
	return out
}

// unmet is what those preferences of a decision's pods are weighed at that fewer of them have met then, micro-dollars per
// hour: what was bought for them is not to be exchanged for what was not.
func (j *judge) unmet(d *draft.Decision) (sum int64) {
	prefers := func(p int) bool { return !j.v.Pods[p].Class.Profile.Indifferent && !j.v.Pods[p].ID.Virtual() }
	if j.v.Policy.Preferences == model.PreferencesEnforced || !slices.ContainsFunc(d.Evicted, prefers) {
		return 0 // see preferencesKept
	}
	hostOf, bought := j.draft.PodHosts(d.Hosts), purchase.ByPod(d.Replacements)
	change := func(pod int, to *fit.Place) {
		if from, moves := hostOf[pod]; moves && prefers(pod) {
			p := j.v.Pods[pod].Class.Profile
			sum += int64(fit.PreferencePenalty(p, to) - fit.PreferencePenalty(p, j.place(from)))
		}
	}
	for _, a := range d.Destinations {
		change(a.Pod, j.place(a.Host))
	}
	for pod, b := range bought {
		change(pod, &b.Best().Place)
	}
	return sum * market.PreferencePrice(&j.v.Policy)
}

// place is a host as preferences see it.
func (j *judge) place(host int) *fit.Place {
	return &fit.Place{Labels: j.v.Hosts[host].LabelSets[0], Taints: j.v.Hosts[host].Taints}
}

func (j *judge) allSpot(hosts []int) bool {
	return !slices.ContainsFunc(hosts, func(h int) bool { return j.v.Hosts[h].Claim.CapacityType != model.Spot })
}

func maySpot(b *purchase.NewClaim) bool {
	return slices.ContainsFunc(b.Options, func(o *market.Option) bool { return o.Offering.CapacityType == model.Spot })
}

// trim leaves out of what replacements may become what would cost so much that the decision would not be worth it, should
// all of them become the highest that they list; false where too little is left.
func (j *judge) trim(d *draft.Decision) bool {
	if len(d.Replacements) == 0 {
		return true
	}
	price, weighed, list, cost := j.prices(d)
	least := j.bar(d).least
	for _, b := range d.Replacements {
		most := purchase.PriceCeiling{
			Weighed: part(weighed-least, b.Best().Price, cost), List: part(price-least, b.Best().Offering.Price, list),
		}
		if !b.Trim(most) {
			return false
		}
	}
	return true
}

// part is the share of whole that one has of all, rounded down.
func part(whole, one, all int64) int64 {
	if all == 0 {
		return whole
	}
	return int64(float64(whole) * (float64(one) / float64(all)))
}

func (j *judge) explain(d *draft.Decision, price, list int64) model.Reason {
	name, guess := j.v.Hosts[d.Hosts[0]].Name(), d.Estimated(j.v)
	if len(d.Replacements) == 0 {
		return model.Reason{
			Code: model.CodePodsFitElsewhere, Subject: name,
			Message: fmt.Sprintf("its pods (%d) fit on other nodes; removing it saves %s an hour", len(d.Evicted), fit.Price(price, guess)),
		}
	}
	what := fmt.Sprintf("one %s", d.Replacements[0].Best().Type.Name)
	if n := len(d.Replacements); n > 1 {
		what = fit.Count(n, "new node")
	}
	return model.Reason{
		Code: model.CodeCheaperReplacement, Subject: name,
		Message: fmt.Sprintf("%s at %s instead of %s at %s saves %s an hour", what, fit.Price(list, guess),
			fit.Count(len(d.Hosts), "node"), fit.Price(price, guess), fit.Price(price-list, guess)) + inStages(d) + j.reclaims(d).text(),
	}
}

// inStages says that budgets do not let all nodes of a decision go at once.
func inStages(d *draft.Decision) string {
	if d.Staged {
		return "; they are drained as budgets let them"
	}
	return ""
}

// notWorth says that a saving does not make up for its evictions, which cost price.
func (j *judge) notWorth(host int, saving, price int64, bar bar) model.Reason {
	saves, least := fit.Price(max(0, saving), j.v.Estimated(j.v.Hosts[host].Claim)), fit.Money(bar.least)
	r := model.Reason{Code: model.CodePayback, Subject: j.v.Hosts[host].Name()}
	switch {
	case bar.byShare:
		r.Message = fmt.Sprintf("replacing it would save %s an hour: a replacement must save a tenth of what it replaces, here %s, to be worth evictions",
			saves, least)
		r.Remedy = "set policy.eviction_price to 0"
	case price > 0 && bar.least > j.v.Policy.MinSaving:
		r.Message = fmt.Sprintf("removing it would save %s an hour, and the eviction cost of its pods is %s: it must save %s to pay back within %s",
			saves, fit.Money(price), least, j.draft.Churn.Payback)
		r.Remedy = "lower policy.eviction_price, or raise policy.payback"
	default:
		r.Code = model.CodeNoCheaper
		r.Message = fmt.Sprintf("removing it saves %s; the least that is worth it is %s", saves, least)
	}
	if bar.more > 0 {
		r.Message += fmt.Sprintf("; more frequent interruptions are %s of that", fit.Money(bar.more))
	}
	if bar.unmet > 0 {
		if saving >= bar.least-bar.unmet {
			r.Code, r.Remedy = model.CodePayback, "lower policy.preference_price"
		}
		r.Message += fmt.Sprintf("; preferences of its pods that would not be met any more are %s of that", fit.Money(bar.unmet))
	}
	return r
}

// preferencesKept keeps pods whose preferences are enforced from being moved to where fewer of them are met.
func (j *judge) preferencesKept(d *draft.Decision) model.Reason {
	if j.v.Policy.Preferences != model.PreferencesEnforced {
		return model.Reason{}
	}
	hostOf := j.draft.PodHosts(d.Hosts)
	for _, a := range d.Destinations {
		p := j.v.Pods[a.Pod]
		if fit.PreferencePenalty(p.Class.Profile, j.place(a.Host)) > fit.PreferencePenalty(p.Class.Profile, j.place(hostOf[a.Pod])) {
			return model.Reason{
				Code: model.CodeNoDestination, Subject: "pod/" + string(p.ID),
				Message: fmt.Sprintf("pod %s would have fewer of its preferences met elsewhere, and preferences are enforced", p.ID),
				Remedy:  "let policy.preferences be priced",
			}
		}
	}
	return model.Reason{}
}
