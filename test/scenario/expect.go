package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// expectation is one line of the section expect: what must hold of every right plan, whatever else is in it.
type expectation struct {
	line  string
	holds func(*result) error
}

// judge says in a sentence each which expectations do not hold.
func judge(list []expectation, r *result) []string {
	var out []string
	for _, e := range list {
		if err := e.holds(r); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", e.line, err))
		}
	}
	return out
}

// reader reads the words of one expectation, and keeps the first problem.
type reader struct {
	statement
	in    *model.Input
	words []string
}

func parseExpectations(text string, in *model.Input) ([]expectation, error) {
	var out []expectation
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		where := fmt.Sprintf("%s, line %d", Expect, i+1)
		words, err := split(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		r := &reader{statement: statement{where: where, verb: words[0]}, in: in, words: words[1:]}
		read, ok := r.verbs()[words[0]]
		if !ok {
			known := slices.Sorted(maps.Keys(r.verbs()))
			return nil, fmt.Errorf("%s: %q is not known; want %s", where, words[0], strings.Join(known, ", "))
		}
		e := expectation{line: line, holds: read()}
		if len(r.words) > 0 {
			r.fail("%q is one word too many", r.words[0])
		}
		if r.err != nil {
			return nil, r.err
		}
		out = append(out, e)
	}
	return out, nil
}

// verbs are what can be expected; each reads the rest of its line.
func (r *reader) verbs() map[string]func() func(*result) error {
	return map[string]func() func(*result) error{
		"placed": r.placed, "pending": r.pending, "buys": r.buys, "on": r.on, "not-on": r.notOn, "before": r.before,
		"same": r.same, "apart": r.apart, "spread": r.spreadOver, "where": r.everywhere, "first": r.first,
		"goes": r.goes, "stays": r.stays, "cost": r.cost, "gap": r.gap, "says": r.says,
		"saves":     func() func(*result) error { return r.sum(func(d model.Disruption) int64 { return d.Saving }) },
		"churn":     func() func(*result) error { return r.sum(func(d model.Disruption) int64 { return d.Churn }) },
		"payback":   r.payback,
		"waste":     r.waste,
		"evicts":    r.evicts,
		"decisions": r.decisions,
		"together":  r.together,
		"defers":    r.defers,
		"empties":   r.empties,
		"reachable": r.reachable,
		"resumes":   r.resumes,
		"judged":    r.summary(func(s *model.DisruptionSummary) int { return s.Judged }, "nodes are judged"),
		"may-go":    r.summary(func(s *model.DisruptionSummary) int { return s.Candidates }, "nodes may go"),
	}
}

// next takes a word; what says what it should be.
func (r *reader) next(what string) string {
	if len(r.words) == 0 {
		r.fail("want %s", what)
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

func (r *reader) pods(what string) []model.PodID {
	s := statement{where: r.where, verb: r.verb, args: []arg{{key: "pods", value: r.next(what)}}}
	ids := s.pods()
	if s.err != nil && r.err == nil {
		r.err = s.err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(r.in.Snapshot.Pods, func(p model.Pod) bool { return p.ID == id }) {
			r.fail("there is no pod %s", short(id))
			break
		}
	}
	return ids
}

func (r *reader) nodes() []model.NodeName {
	var out []model.NodeName
	for name := range strings.SplitSeq(r.next("names of nodes"), ",") {
		if !slices.ContainsFunc(r.in.Snapshot.Nodes, func(n model.Node) bool { return string(n.Name) == name }) {
			r.fail("there is no node %s", name)
		}
		out = append(out, model.NodeName(name))
	}
	return out
}

// code takes a reason's code, if one is left.
func (r *reader) code() string {
	if len(r.words) == 0 {
		return ""
	}
	w := r.next("")
	if _, ok := clusterpb.ReasonCode_value["REASON_CODE_"+w]; !ok {
		r.fail("%q is not the code of a reason", w)
	}
	return w
}

// number is the next word where it is a number, else -1 and nothing taken.
func (r *reader) number() int {
	if len(r.words) == 0 {
		return -1
	}
	n, err := atoi(r.words[0])
	if err != nil || n < 0 {
		return -1
	}
	r.words = r.words[1:]
	return n
}

func (r *reader) placed() func(*result) error {
	if n := r.number(); n >= 0 {
		return func(got *result) error { return same(len(got.placed), n, "pods are placed") }
	}
	ids := r.pods("a number or pods")
	return func(got *result) error {
		for _, id := range ids {
			if got.placed[id] == nil {
				return fmt.Errorf("%s is not", short(id))
			}
		}
		return nil
	}
}

func (r *reader) pending() func(*result) error {
	n, ids := r.number(), []model.PodID(nil)
	if n < 0 {
		ids = r.pods("a number or pods")
	}
	want := r.code()
	return func(got *result) error {
		count := 0
		for _, q := range got.plan.Pending {
			if want == "" || code(q.Reason.Code) == want {
				count++
			}
		}
		if n >= 0 {
			return same(count, n, "pods are pending so")
		}
		for _, id := range ids {
			i := slices.IndexFunc(got.plan.Pending, func(q model.PendingPod) bool { return q.Pod == id })
			if i < 0 {
				return fmt.Errorf("%s is not pending", short(id))
			}
			if c := code(got.plan.Pending[i].Reason.Code); want != "" && c != want {
				return fmt.Errorf("%s is pending for %s", short(id), c)
			}
		}
		return nil
	}
}

// buys reads N ["requirement && requirement"]: how many claims are bought, of those that are so whatever is launched.
func (r *reader) buys() func(*result) error {
	n := r.number()
	if n < 0 {
		r.fail("want how many claims")
	}
	if len(r.words) == 0 {
		return func(got *result) error { return same(len(got.plan.NodeClaims), n, "claims are bought") }
	}
	requirements := r.term(r.next("a requirement")).Requirements
	return func(got *result) error {
		count := 0
		for _, at := range got.bought {
			if at.all(requirements) {
				count++
			}
		}
		return same(count, n, "claims are bought so")
	}
}

// spreadOver reads KEY 2/1/1 SELECTOR: how many of the pods are in each domain that has any, most first.
func (r *reader) spreadOver() func(*result) error {
	key, want := r.key(), r.next("counts such as 2/1/1")
	selector := r.selector(r.next("a selector"))
	return func(got *result) error {
		counts := map[string]int{}
		for id, at := range got.at {
			pod := got.pods[id]
			if !pod.Terminating && selector.Matches(got.classes[pod.Class].Labels) {
				counts[at.value(key)]++
			}
		}
		numbers := make([]int, 0, len(counts))
		for _, n := range counts {
			numbers = append(numbers, n)
		}
		slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(b, a) })
		texts := make([]string, len(numbers))
		for i, n := range numbers {
			texts[i] = strconv.Itoa(n)
		}
		if text := strings.Join(texts, "/"); text != want {
			return fmt.Errorf("it is %s: %v", text, counts)
		}
		return nil
	}
}

func (r *reader) key() string {
	if k := r.next("a label's key, or node"); k != "node" {
		return labelKey(k)
	}
	return labels.Hostname
}

// same reads KEY PODS: they are all in one domain.
func (r *reader) same() func(*result) error {
	key, ids := r.key(), r.pods("pods")
	return func(got *result) error {
		first, err := got.value(ids[0], key)
		for _, id := range ids {
			v, bad := got.value(id, key)
			if err = cmp.Or(err, bad); err != nil {
				return err
			}
			if v != first {
				return fmt.Errorf("%s is in %s, %s in %s", short(ids[0]), first, short(id), v)
			}
		}
		return err
	}
}

// apart reads KEY PODS: no two are in one domain.
func (r *reader) apart() func(*result) error {
	key, ids := r.key(), r.pods("pods")
	return func(got *result) error {
		by := map[string]model.PodID{}
		for _, id := range ids {
			v, err := got.value(id, key)
			if err != nil {
				return err
			}
			if other, again := by[v]; again {
				return fmt.Errorf("%s and %s are both in %s", short(other), short(id), v)
			}
			by[v] = id
		}
		return nil
	}
}

// everywhere reads PODS "requirement && requirement": what their nodes are, whichever offering is launched.
func (r *reader) everywhere() func(*result) error {
	return r.labelled(func(at *place) []map[string]string { return at.labels })
}

// first reads the same, of the offering that is best.
func (r *reader) first() func(*result) error {
	return r.labelled(func(at *place) []map[string]string { return at.labels[:1] })
}

func (r *reader) labelled(of func(*place) []map[string]string) func(*result) error {
	ids := r.pods("pods")
	requirements := r.term(r.next("a requirement")).Requirements
	if r.err != nil {
		return nil
	}
	return func(got *result) error {
		for _, id := range ids {
			at := got.at[id]
			if at == nil {
				return fmt.Errorf("%s is nowhere", short(id))
			}
			for _, q := range requirements {
				for _, labels := range of(at) {
					if v, ok := labels[q.Key]; !require.New(q).Matches(v, ok) {
						return fmt.Errorf("%s is on %s with %s=%q", short(id), at.name, q.Key, v)
					}
				}
			}
		}
		return nil
	}
}

func (r *reader) on() func(*result) error {
	name, ids := r.next("a node or a claim"), r.pods("pods")
	return func(got *result) error {
		for _, id := range ids {
			if at := got.at[id]; at == nil || at.name != name {
				return fmt.Errorf("%s is on %s", short(id), at.orNowhere())
			}
		}
		return nil
	}
}

func (r *reader) notOn() func(*result) error {
	name, ids := r.next("a node or a claim"), r.pods("pods")
	return func(got *result) error {
		for _, id := range ids {
			if at := got.at[id]; at != nil && at.name == name {
				return fmt.Errorf("%s is", short(id))
			}
		}
		return nil
	}
}

// goes reads a number, or NODES, and why: the disruption's reason.
func (r *reader) goes() func(*result) error {
	n, names := r.number(), []model.NodeName(nil)
	if n < 0 {
		names = r.nodes()
	}
	why := ""
	if len(r.words) > 0 {
		why = r.next("")
	}
	return func(got *result) error {
		count := 0
		for _, reason := range got.going {
			if why == "" || reason.String() == why {
				count++
			}
		}
		if n >= 0 {
			return same(count, n, "nodes go so")
		}
		for _, name := range names {
			switch reason, ok := got.going[name]; {
			case !ok:
				return fmt.Errorf("%s stays for %s", name, got.keeps(name))
			case why != "" && reason.String() != why:
				return fmt.Errorf("%s goes: %s", name, reason)
			}
		}
		return nil
	}
}

// stays reads NODES and the code of what keeps them.
func (r *reader) stays() func(*result) error {
	names, want := r.nodes(), r.code()
	return func(got *result) error {
		for _, name := range names {
			if reason, ok := got.going[name]; ok {
				return fmt.Errorf("%s goes: %s", name, reason)
			}
			if why := got.keeps(name); want != "" && why != want {
				return fmt.Errorf("%s stays for %s", name, why)
			}
		}
		return nil
	}
}

// amount reads OPERATOR AMOUNT, such as <= $0.2.
func (r *reader) amount() func(int64) error {
	op, text := r.next("an operator"), r.next("an amount")
	limit := r.money(r.verb, text)
	compare := r.operator(op)
	return func(got int64) error {
		if !compare(cmp.Compare(got, limit)) {
			return fmt.Errorf("it is %s", money(got))
		}
		return nil
	}
}

// operator is what a comparison's result must be.
func (r *reader) operator(op string) func(int) bool {
	compare, ok := map[string]func(int) bool{
		"<": func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 }, "=": func(c int) bool { return c == 0 },
		">=": func(c int) bool { return c >= 0 }, ">": func(c int) bool { return c > 0 },
	}[op]
	if !ok {
		r.fail("%q is not an operator: <, <=, =, >=, >", op)
	}
	return compare
}

func (r *reader) cost() func(*result) error {
	check := r.amount()
	return func(got *result) error { return check(got.plan.CostAfter) }
}

// before reads PODS PODS: all of the first have their turn before any of the second.
func (r *reader) before() func(*result) error {
	first, second := r.pods("pods"), r.pods("pods")
	return func(got *result) error {
		for _, id := range slices.Concat(first, second) {
			if _, ok := got.turn[id]; !ok {
				return fmt.Errorf("%s is not placed", short(id))
			}
		}
		for _, a := range first {
			for _, b := range second {
				if got.turn[a] >= got.turn[b] {
					return fmt.Errorf("%s has turn %d, %s turn %d", short(a), got.turn[a], short(b), got.turn[b])
				}
			}
		}
		return nil
	}
}

// gap reads <= 5%: how far the price may be from the lower bound.
func (r *reader) gap() func(*result) error {
	if op := r.next("<="); op != "<=" {
		r.fail("%q is not <=", op)
	}
	most := r.fraction(r.next("a share such as 5%"))
	return func(got *result) error {
		if b := got.plan.LowerBound; b == nil || b.Gap > most {
			return fmt.Errorf("the bound is %+v", b)
		}
		return nil
	}
}

func (r *reader) says() func(*result) error {
	text := r.next("a text")
	return func(got *result) error {
		if !strings.Contains(got.explain, text) {
			return fmt.Errorf("the explanation is\n%s", got.explain)
		}
		return nil
	}
}

func same(got, want int, what string) error {
	if got != want {
		return fmt.Errorf("%d %s", got, what)
	}
	return nil
}
