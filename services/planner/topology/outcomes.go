package topology

import (
	"encoding/binary"

	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostOutcomes is how many ways in which nodes may turn out together are looked at one by one.
const mostOutcomes = 256

// openSite is a node of which something is open that matters to a class, and the forms that it may turn out to have.
type openSite struct {
	site  *Site
	forms []int32
}

// outcomesKey is what the forms depend on that a node of some form may turn out to have.
type outcomesKey struct {
	class *view.Class
	form  int32
}

// Open are the nodes of which something is open that matters to a class: hosts in flight, and some claims of this plan.
// It is empty where there are so many that nothing is judged in each of their outcomes.
func Open(t *Tally, c *view.Class, claims []*Site) (open []*Site) {
	ways := 1
	for _, list := range [][]*Site{claims, t.inFlight} {
		for _, x := range list {
			if n := len(outcomesOf(t, c, x.form)); n > 1 {
				open = append(open, x)
				ways *= n
			}
			if ways > mostOutcomes {
				return nil
			}
		}
	}
	return open
}

// AllowsInEach is AllowsReal in each of the ways in which the site and some open nodes may turn out together: where several
// are open that matter to a class, AllowsEither takes each for the worst, though they can't all be that. It is false where
// there are too many ways, and for a class that needs no such care.
func AllowsInEach(t *Tally, c *view.Class, s *Site, over podrules.Keys, nodes []*Site) bool {
	if !t.nodes.r.CanRefuse(c) {
		return false
	}
	mark := t.Mark()
	defer t.Revert(mark)
	if s.probe {
		s = t.claim(s.form, s.host)
	}
	var open []openSite
	ways := 1
	for i := -1; i < len(nodes); i++ {
		x := s
		if i >= 0 {
			x = nodes[i]
		}
		forms := outcomesOf(t, c, x.form)
		if len(forms) < 2 || (i >= 0 && x == s) {
			continue
		}
		if ways *= len(forms); ways > mostOutcomes || !x.claim {
			return false
		}
		open = append(open, openSite{x, forms})
	}
	return len(open) > 0 && allowsInEach(t, c, s, over, open)
}

// allowsInEach goes through the outcomes. One in which it is right whatever becomes of the others is not split up further.
func allowsInEach(t *Tally, c *view.Class, s *Site, over podrules.Keys, open []openSite) bool {
	if t.AllowsReal(c, s, over) {
		return true
	}
	if len(open) == 0 {
		return false
	}
	for _, f := range open[0].forms {
		mark := t.Mark()
		become(t, open[0].site, f)
		ok := allowsInEach(t, c, s, over, open[1:])
		t.Revert(mark)
		if !ok {
			return false
		}
	}
	return true
}

// outcomesOf are the forms that a node of a form may turn out to have, as far as a class's rules can tell them apart.
func outcomesOf(t *Tally, c *view.Class, form int32) []int32 {
	shapes := t.nodes.forms[form].shapes
	if len(shapes) < 2 {
		return nil
	}
	key := outcomesKey{c, form}
	out, known := t.outcomes[key]
	if known {
		return out
	}
	x := &t.nodes.r.Classes[c.Index]
	var names []string
	by := make(map[string][]int32)
	for _, id := range shapes {
		var b []byte
		for _, k := range x.Keys {
			b = binary.AppendVarint(b, int64(t.nodes.shapes[id].domains[k]))
		}
		for _, r := range x.Spread {
			u := t.nodes.r.Counters[r.Counter].Universe
			b = append(b, byte(t.nodes.judgeShape(&t.nodes.r.Filters[t.nodes.r.Universes[u].Filter], &t.nodes.shapes[id])))
		}
		if len(t.nodes.r.Daemons) > 0 {
			b = binary.AppendVarint(b, int64(id)) // other DaemonSets' pods may be there
		}
		if by[string(b)] == nil {
			names = append(names, string(b))
		}
		by[string(b)] = append(by[string(b)], id)
	}
	for _, name := range names {
		out = append(out, t.nodes.formOf(podrules.SortUnique(by[name])))
	}
	t.outcomes[key] = out
	return out
}
