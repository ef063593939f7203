package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// sum checks what all disruptions come to.
func (r *reader) sum(of func(model.Disruption) int64) func(*result) error {
	check := r.amount()
	return func(got *result) error {
		var sum int64
		for _, d := range got.plan.Disruptions {
			sum += of(d)
		}
		return check(sum)
	}
}

// payback reads OPERATOR DURATION: how soon every disruption for money pays back.
func (r *reader) payback() func(*result) error {
	op, text := r.next("an operator"), r.next("a duration")
	limit, err := time.ParseDuration(text)
	if err != nil {
		r.fail("%q is not a duration such as 30m", text)
	}
	compare := r.operator(op)
	return func(got *result) error {
		count := 0
		for _, d := range got.plan.Disruptions {
			if d.Saving == 0 {
				continue
			}
			if count++; !compare(cmp.Compare(d.PayBack, limit)) {
				return fmt.Errorf("it is %s", d.PayBack)
			}
		}
		if count == 0 {
			return fmt.Errorf("nothing goes for money")
		}
		return nil
	}
}

// waste reads NODE OPERATOR AMOUNT: what the node costs beyond what its pods would at the lowest prices.
func (r *reader) waste() func(*result) error {
	names, check := r.nodes(), r.amount()
	return func(got *result) error {
		for _, name := range names {
			i := slices.IndexFunc(got.plan.Nodes, func(v model.NodeVerdict) bool { return v.Node == name })
			if i < 0 {
				return fmt.Errorf("nothing is said of %s", name)
			}
			if err := check(got.plan.Nodes[i].Waste); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
}

// evicts reads N: how many pods are evicted by all disruptions.
func (r *reader) evicts() func(*result) error {
	n := r.count("how many pods are evicted")
	return func(got *result) error {
		sum := 0
		for _, d := range got.plan.Disruptions {
			sum += d.Evictions
		}
		return same(sum, n, "pods are evicted")
	}
}

// count takes a number that must be there.
func (r *reader) count(what string) int {
	n := r.number()
	if n < 0 {
		r.fail("want %s", what)
	}
	return n
}

// decisions reads N: in how many disruptions the nodes go.
func (r *reader) decisions() func(*result) error {
	n := r.count("how many disruptions there are")
	return func(got *result) error { return same(len(got.plan.Disruptions), n, "disruptions are decided") }
}

// together reads NODES: they go in one disruption, all or none.
func (r *reader) together() func(*result) error {
	names := r.nodes()
	return func(got *result) error {
		first := got.decision[names[0]]
		for _, name := range names {
			if d := got.decision[name]; d == "" || d != first {
				return fmt.Errorf("%s does not", name)
			}
		}
		return nil
	}
}

// defers reads NODES: exactly those are to be removed by later plans.
func (r *reader) defers() func(*result) error {
	names := r.nodes()
	return func(got *result) error {
		var deferred []model.NodeName
		for _, v := range got.plan.Nodes {
			if v.Deferred == nil {
				return fmt.Errorf("the plan does not say it of node %s", v.Node)
			}
			if *v.Deferred {
				deferred = append(deferred, v.Node)
			}
		}
		if !slices.Equal(names, deferred) {
			return fmt.Errorf("%v are", deferred)
		}
		return nil
	}
}

// empties reads NODES: those lose their pods first when workloads are scaled down, in this order, and all others later.
func (r *reader) empties() func(*result) error {
	names := r.nodes()
	return func(got *result) error {
		nodes := slices.Clone(got.plan.Nodes)
		slices.SortStableFunc(nodes, func(a, b model.NodeVerdict) int { return cmp.Compare(a.PodDeletionCost, b.PodDeletionCost) })
		var said []string
		for i, v := range nodes {
			said = append(said, fmt.Sprintf("%s %d", v.Node, v.PodDeletionCost))
			later := i == len(names) && v.PodDeletionCost > nodes[i-1].PodDeletionCost
			if i < len(names) && v.Node != names[i] || i == len(names) && !later {
				return fmt.Errorf("pods have these deletion costs: %v", said)
			}
		}
		return nil
	}
}

// summary checks a figure of how far the search got.
func (r *reader) summary(of func(*model.DisruptionSummary) int, what string) func() func(*result) error {
	return func() func(*result) error {
		n := r.count("how many nodes")
		return func(got *result) error {
			if got.plan.Summary == nil {
				return fmt.Errorf("the plan says nothing of nodes to remove")
			}
			return same(of(got.plan.Summary), n, what)
		}
	}
}

// reachable reads OPERATOR AMOUNT: what the pods of all nodes would cost if nothing kept them where they are.
func (r *reader) reachable() func(*result) error {
	check := r.amount()
	return func(got *result) error {
		if got.plan.Summary == nil || got.plan.Summary.Floor == 0 {
			return fmt.Errorf("nothing is proven")
		}
		return check(got.plan.Summary.Floor)
	}
}

// resumes reads after NODES, one of which is where the search ended, or nowhere.
func (r *reader) resumes() func(*result) error {
	switch word := r.next("after or nowhere"); word {
	case "nowhere":
		return func(got *result) error {
			if s := got.plan.Summary; s != nil && s.ResumeAfter != "" {
				return fmt.Errorf("after %s", s.ResumeAfter)
			}
			return nil
		}
	case "after":
	default:
		r.fail("%q is not after or nowhere", word)
	}
	names := r.nodes()
	return func(got *result) error {
		if s := got.plan.Summary; s == nil || !slices.ContainsFunc(names, func(n model.NodeName) bool { return got.claim[n] == s.ResumeAfter }) {
			return fmt.Errorf("the search got to its end, or to another node: %+v", s)
		}
		return nil
	}
}
