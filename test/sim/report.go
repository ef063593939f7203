package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// Day is what came of a run.
type Day struct {
	Config Config
	// What no plan may do, and how often it was done. SecondOpinion counts what the planner's own verifier found, the
	// others what was seen from outside; Broken are the first few in words.
	Budgets, Protected, PodBudgets, NoDestination, MovedTwice, SecondOpinion, Unjudged int
	Broken                                                                             []string
	// Cost is what the nodes cost over the day, dollars; Bound what all pods would have cost at least, packed anew at every
	// moment by somebody who knows the future and moves pods for nothing. 0 without samples.
	Cost, Bound float64
	Plans       int
	RollOuts    int
	// Decisions are disruptions by reason, Evictions pods by cause.
	Decisions map[string]int
	Evictions [causes]int
	Samples   []Sample
	Marks     []Mark

	// Parts is what the cost is made of beyond the bound.
	Parts Parts
	// Waste is what nodes that stay cost beyond what their pods are worth, by what keeps them: dollars over the day, as the
	// planner's verdicts have it.
	Waste map[string]float64

	launched, failed, soldOut, rolledBack, reclaims int
	saved                                           int64
	waits, displacedWaits, drains                   []time.Duration
	slow                                            []string
	bins                                            [][causes]int
	meter                                           meter
}

// Sample is a minute of the day. Money is dollars an hour; Bound is 0 where it was not worked out.
type Sample struct {
	At          time.Time
	Cost, Bound float64
	// Starting and Leaving are parts of Cost; Fresh is what the planner would buy for all pods where Bound is there.
	Starting, Leaving, Fresh float64
	Nodes                    int
	Pods, Pending            int
	Spot, Disrupted          int
}

// Parts are dollars over the day.
type Parts struct {
	// Starting are instances that are no nodes yet, Leaving those that are being replaced or drained.
	Starting, Leaving float64
	// Packing is what the same pods cost on new nodes, as the planner would buy them, over the bound.
	Packing float64
}

// Mark is something that happened.
type Mark struct {
	At   time.Time
	What string
}

func newDay(cfg Config) *Day {
	return &Day{Config: cfg, Decisions: map[string]int{}, Waste: map[string]float64{}}
}

// Violations is how often a rule was broken, by anybody's count.
func (d *Day) Violations() int {
	return d.Budgets + d.Protected + d.PodBudgets + d.NoDestination + d.MovedTwice + d.SecondOpinion + d.Unjudged
}

// Over is the cost over the bound, less one.
func (d *Day) Over() float64 {
	if d.Bound == 0 {
		return 0
	}
	return d.Cost/d.Bound - 1
}

const mostBroken = 20

func (d *Day) broken(count *int, text string) {
	*count++
	if len(d.Broken) < mostBroken {
		d.Broken = append(d.Broken, text)
	}
}

func (d *Day) mark(at time.Time, what string) { d.Marks = append(d.Marks, Mark{at, what}) }

func (d *Day) accepted(at time.Time, x *model.Disruption) {
	if at.Before(midnight()) {
		return
	}
	d.Decisions[x.Reason.String()]++
	d.saved += x.Saving
}

// drained notes how long a drain took, and which took long.
func (d *Day) drained(c *cluster, cl *claim, since time.Time) {
	const long, most = 10 * time.Minute, 5
	took := c.now.Sub(since)
	d.drains = append(d.drains, took)
	if took > long && len(d.slow) < most {
		d.slow = append(d.slow, fmt.Sprintf("the drain of %s for %s began at %s and took %s", cl.ID, cl.why, clock(since), took))
	}
}

// bins of evictions are as long as a ninety-sixth of the run.
const bins = 96

func (d *Day) evicted(at time.Time, why cause) {
	if at.Before(midnight()) {
		return
	}
	d.Evictions[why]++
	if d.bins == nil {
		d.bins = make([][causes]int, bins)
	}
	d.bins[min(bins-1, int(at.Sub(midnight())*bins/d.Config.whole()))][why]++
}

// meter sums up what nodes cost an hour at several moments of a minute.
type meter struct{ all, starting, leaving float64 }

// meterReads is how often a minute the meter is read.
const meterReads = 6

// running says whether the cloud charges for a claim.
func (cl *claim) running() bool {
	return cl.State >= model.ClaimLaunched && cl.State < model.ClaimTerminating
}

func (c *cluster) leaving(cl *claim) bool {
	return cl.Disruption != "" || cl.State == model.ClaimDraining || c.notices[string(cl.ID)] != nil
}

// read adds what nodes cost now.
func (d *Day) read(c *cluster) {
	for _, cl := range ordered(c.claims) {
		if !cl.running() {
			continue
		}
		price := float64(c.market.offers[offerID(cl.InstanceType, cl.Zone, cl.CapacityType)].Price) / 1e6
		d.meter.all += price
		switch {
		case c.leaving(cl):
			d.meter.leaving += price
		case cl.State < model.ClaimInitialized:
			d.meter.starting += price
		}
	}
}

// sample writes down the minute that has passed.
func (d *Day) sample(c *cluster) {
	s := Sample{At: c.now, Pending: len(c.pending), Cost: d.meter.all / meterReads, Starting: d.meter.starting / meterReads, Leaving: d.meter.leaving / meterReads}
	d.meter = meter{}
	for _, cl := range c.claims {
		if cl.running() {
			s.Nodes++
			if cl.CapacityType == model.Spot {
				s.Spot++
			}
			if c.leaving(cl) {
				s.Disrupted++
			}
		}
	}
	for _, p := range c.pods {
		if p.load != nil && !p.Terminating {
			s.Pods++
		}
	}
	if every := d.Config.BoundEvery; every > 0 && c.now.Sub(midnight())%every == 0 {
		if err := c.bound(&s); err != nil {
			c.err = err
		}
	}
	d.Samples = append(d.Samples, s)
}

// boundWork is how much the optimiser may do to prove a bound, in steps of about a microsecond: no one waits for it.
const boundWork = 300_000

// bound is what all pods that want to run would cost at least, on new nodes, with everything for sale.
func (c *cluster) bound(out *Sample) error {
	if err := c.hear(); err != nil {
		return err
	}
	s := c.session.Snapshot()
	s.Nodes, s.Claims, s.Notices, s.Disruptions, s.PodDisruptionBudgets = nil, nil, nil, nil, nil
	s.Offerings = slices.Clone(s.Offerings)
	for i := range s.Offerings {
		s.Offerings[i].UnavailableUntil = time.Time{}
	}
	var pods []model.Pod
	for _, p := range s.Pods {
		if c.pods[string(p.ID)].load == nil || p.Terminating {
			continue
		}
		p.Node, p.Phase, p.Ready, p.BindTime, p.UnschedulableTime = "", model.PodUnschedulable, false, time.Time{}, c.now
		pods = append(pods, p)
	}
	s.Pods = pods
	policy := c.cfg.Policy
	policy.Work = new(int64(boundWork))
	p, err := plan.Decide(model.Input{Snapshot: s, Policy: policy, Kinds: []model.DecisionKind{model.KindProvision}, Now: c.now})
	if err != nil {
		return err
	}
	if p.LowerBound == nil || len(p.Pending) > 0 {
		return fmt.Errorf("no bound of %d pods: %d stay pending: %v", len(pods), len(p.Pending), p.Pending[:min(1, len(p.Pending))])
	}
	out.Bound, out.Fresh = float64(p.LowerBound.Price)/1e6, float64(p.CostAfter)/1e6
	return nil
}

// finish sums the day up. Between two samples with a bound the lower one counts.
func (d *Day) finish() {
	var before int
	for i := range d.Samples {
		if d.Samples[i].Bound == 0 {
			continue
		}
		if i > 0 {
			lower := min(d.Samples[before].Bound, d.Samples[i].Bound)
			for k := before + 1; k <= i; k++ { // each is the minute that ends then
				x := &d.Samples[k]
				d.Bound += lower / 60
				d.Cost += x.Cost / 60
				d.Parts.Starting += x.Starting / 60
				d.Parts.Leaving += x.Leaving / 60
				d.Parts.Packing += (d.Samples[before].Fresh - d.Samples[before].Bound) / 60
			}
		}
		before = i
	}
}

// title says how long the run is.
func (cfg *Config) title() string {
	switch {
	case cfg.Days <= 1:
		return "A day of " + cfg.Length.String()
	case cfg.Days == 7 && cfg.Length == 24*time.Hour:
		return "A week"
	}
	return fmt.Sprintf("%d days of %s", cfg.Days, cfg.Length)
}

// perPodDay is how often something happened to a pod in 24 hours, on average.
func (d *Day) perPodDay(times int) float64 {
	minutes := 0
	for _, s := range d.Samples {
		minutes += s.Pods
	}
	return float64(times) / max(1, float64(minutes)) * 24 * 60
}

// quantile of durations; 0 of none.
func quantile(list []time.Duration, part float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

// Print tells the day in a table.
func (d *Day) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	high, low, podsHigh, podsLow := 0, 1<<30, 0, 1<<30
	for _, s := range d.Samples {
		high, low, podsHigh, podsLow = max(high, s.Nodes), min(low, s.Nodes), max(podsHigh, s.Pods), min(podsLow, s.Pods)
	}
	price := model.Or(d.Config.Policy.EvictionPrice, model.DefaultEvictionPrice)
	fmt.Fprintf(t, "%s, seed %d; moving a pod weighs $%.4f\n", d.Config.title(), d.Config.Seed, float64(price)/1e6)
	row("nodes, pods", "%d to %d, %d to %d", low, high, podsLow, podsHigh)
	if d.Bound > 0 {
		row("cost", "$%.2f; clairvoyant bound $%.2f; over it %.2f %%", d.Cost, d.Bound, d.Over()*100)
	}
	if d.Bound > 0 {
		row("of the cost", "$%.2f for nodes that start, $%.2f for nodes that leave; packing anew is $%.2f over the bound", d.Parts.Starting,
			d.Parts.Leaving, d.Parts.Packing)
	}
	row("waste of what stays", "%s", d.waste())
	row("plans", "%d, each checked; launches %d, without capacity %d, offerings found sold out %d, rolled back %d", d.Plans, d.launched, d.failed,
		d.soldOut, d.rolledBack)
	var parts []string
	for _, r := range []string{"Unhealthy", "Surplus", "Empty", "Expired", "Drifted", "Underutilized"} {
		parts = append(parts, fmt.Sprintf("%s %d", r, d.Decisions[r]))
	}
	row("decisions", "%s", strings.Join(parts, ", "))
	parts = nil
	all := 0
	for w := range causes {
		parts = append(parts, fmt.Sprintf("%s %d", w, d.Evictions[w]))
		all += d.Evictions[w]
	}
	row("evictions", "%d: %s", all, strings.Join(parts, ", "))
	chosen := d.Evictions[forMoney] + d.Evictions[forDrift] + d.Evictions[forAge]
	row("for each pod and 24 h", "%.2f, by choice %.2f, for money %.2f", d.perPodDay(all), d.perPodDay(chosen), d.perPodDay(d.Evictions[forMoney]))
	row("rollouts, reclaims", "%d, %d", d.RollOuts, d.reclaims)
	row("pods wait for a node", "half %s, 95 %% %s, all %s", quantile(d.waits, 0.5), quantile(d.waits, 0.95), quantile(d.waits, 1))
	row("those moved by choice", "half %s, 95 %% %s, all %s", quantile(d.displacedWaits, 0.5), quantile(d.displacedWaits, 0.95),
		quantile(d.displacedWaits, 1))
	row("drains take", "half %s, 95 %% %s, all %s", quantile(d.drains, 0.5), quantile(d.drains, 0.95), quantile(d.drains, 1))
	for _, text := range d.slow {
		row("", "%s", text)
	}
	fmt.Fprintf(t, "Rules broken\n")
	for _, r := range d.rules() {
		row(r.name, "%d", r.count)
	}
	for _, b := range d.Broken {
		fmt.Fprintf(t, "  %s\n", b)
	}
	return t.Flush()
}

// waste lists what keeps wasteful nodes, the most expensive first.
func (d *Day) waste() string {
	codes := slices.SortedFunc(maps.Keys(d.Waste), func(a, b string) int {
		return cmp.Or(cmp.Compare(d.Waste[b], d.Waste[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, code := range codes[:min(len(codes), 8)] {
		parts = append(parts, fmt.Sprintf("%s $%.2f", code, d.Waste[code]))
	}
	return strings.Join(parts, ", ")
}

// verdicts adds up what a plan says of nodes that stay, for a minute.
func (d *Day) verdicts(p *model.Plan) {
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Disruption == "" && n.Waste > 0 && !p.Now.Before(midnight()) {
			code := strings.TrimPrefix(clusterpb.ReasonCode(n.Reason.Code).String(), "REASON_CODE_")
			d.Waste[strings.ToLower(code)] += float64(n.Waste) / 60e6
		}
	}
}

type rule struct {
	name  string
	count int
}

func (d *Day) rules() []rule {
	return []rule{
		{"pool budgets", d.Budgets},
		{"do-not-disrupt", d.Protected},
		{"pod disruption budgets", d.PodBudgets},
		{"displaced pods without a place", d.NoDestination},
		{"pods moved twice in 30 minutes", d.MovedTwice},
		{"the second opinion's", d.SecondOpinion},
		{"plans with unjudged candidates", d.Unjudged},
	}
}
