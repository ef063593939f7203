package optimise_test

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// check says what is wrong with a solution; it shares no code with the package.
func check(p *problem.Problem, s optimise.Solution) string {
	packed := make([]int, len(p.Items))
	used := make([]int, len(p.Bins))
	cost := int64(0)
	for n, x := range s.Patterns {
		if x.Copies <= 0 || len(x.Counts) == 0 {
			return fmt.Sprintf("pattern %d is empty", n)
		}
		if bad := checkBin(p, x); bad != "" {
			return fmt.Sprintf("pattern %d: %s", n, bad)
		}
		used[x.Bin] += x.Copies
		one := p.Bins[x.Bin].Price
		for _, c := range x.Counts {
			packed[c.Item] += c.Pods * x.Copies
			for _, y := range p.Penalties {
				if y.Item == c.Item && y.Bin == x.Bin {
					one += y.Price * int64(c.Pods)
				}
			}
		}
		cost += one * int64(x.Copies)
	}
	left := 0
	for i, it := range p.Items {
		if packed[i]+s.Left[i] != it.Count {
			return fmt.Sprintf("item %d: %d packed and %d left of %d", i, packed[i], s.Left[i], it.Count)
		}
		left += s.Left[i]
	}
	for b, n := range used {
		if most := p.Bins[b].Most; most >= 0 && n > most {
			return fmt.Sprintf("bin %d is used %d times, which is more than %d", b, n, most)
		}
	}
	for l, lim := range p.Limits {
		sum := int64(0)
		for b, n := range used {
			sum += lim.Amount[b] * int64(n)
		}
		if sum > lim.Most {
			return fmt.Sprintf("limit %d: %d is more than %d", l, sum, lim.Most)
		}
	}
	switch {
	case cost != s.Cost:
		return fmt.Sprintf("the cost is %d, not %d", cost, s.Cost)
	case s.Bound > s.Cost:
		return fmt.Sprintf("the bound %d is above the cost %d", s.Bound, s.Cost)
	case left > 0 && s.Bound != 0:
		return "a bound is reported though pods are left"
	}
	return ""
}

func checkBin(p *problem.Problem, x optimise.Pattern) string {
	b := p.Bins[x.Bin]
	used := make([]int64, len(b.Free))
	for n, c := range x.Counts {
		if c.Pods <= 0 || n > 0 && x.Counts[n-1].Item >= c.Item {
			return "counts are not sorted and positive"
		}
		if !b.Takes.Has(c.Item) {
			return fmt.Sprintf("bin %d does not take item %d", x.Bin, c.Item)
		}
		for r, q := range p.Items[c.Item].Request {
			used[r] += q * int64(c.Pods)
		}
	}
	for r, q := range used {
		if q > 0 && q > b.Free[r] {
			return fmt.Sprintf("resource %d: %d is more than %d", r, q, b.Free[r])
		}
	}
	for r, rule := range p.Rules {
		triggered, counted, touched := false, 0, false
		for _, y := range b.Before {
			if y.Rule == r {
				triggered = triggered || y.Triggers
				counted += y.Counted
			}
		}
		for _, c := range x.Counts {
			triggered = triggered || rule.Trigger.Has(c.Item)
			touched = touched || rule.Trigger.Has(c.Item) || rule.Counted.Has(c.Item)
			if rule.Counted.Has(c.Item) {
				counted += c.Pods
			}
		}
		// What breaks a rule without any new pod of its is not the solver's doing.
		if touched && triggered && counted > rule.Most {
			return fmt.Sprintf("rule %d: %d pods are more than %d", r, counted, rule.Most)
		}
	}
	return ""
}
