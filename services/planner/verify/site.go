package verify

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

const hostname = "kubernetes.io/hostname"

// ownName stands for the hostname of a node that is not there yet: it will have one, and it is none that anybody knows.
const ownName = "(its own)"

// site is a place that pods are on, or come to, as other pods see it: where it lies by each label.
type site struct {
	name string
	// host is its kubernetes.io/hostname where no label says it yet; "" for a node that has joined.
	host string
	// toCome says that there is no node yet.
	toCome bool
	form   *form
}

// form is what the labels and taints of a node are, or may turn out to be. Claims with equal offerings share one.
type form struct {
	shapes []*shape
	taints []model.Taint
	known  map[string]reach
}

// reach is all that a label may be.
type reach struct {
	values []string
	// absent says that it may be missing.
	absent bool
	// endless says that it may be there with a value that nobody can list.
	endless bool
}

// sure is the value that the label has whatever happens; ok is false when that is not decided, or it is missing.
func (r reach) sure() (value string, ok bool) {
	if len(r.values) != 1 || r.absent || r.endless {
		return "", false
	}
	return r.values[0], true
}

// somewhere says whether the label may be there.
func (r reach) somewhere() bool { return len(r.values) > 0 || r.endless }

// reach is all that a label of the site may be.
func (s *site) reach(key string) reach {
	key = normalKey(key)
	r, known := s.form.known[key]
	if !known {
		r = s.form.reach(key, func(*shape) fate { return surely })
		s.form.known[key] = r
	}
	return s.own(key, r)
}

// own puts the site's own name where the form only says that it will have one.
func (s *site) own(key string, r reach) reach {
	if key == hostname && s.host != "" && len(r.values) > 0 {
		r.values = []string{s.host}
	}
	return r
}

// fate is whether something is true of a node that is not decided yet.
type fate int

const (
	never fate = iota
	maybe
	surely
)

// reach is all that a label may be on the shapes that count; on those that do not, and where the label is missing, the
// answer is absent.
func (f *form) reach(key string, counts func(*shape) fate) reach {
	var out reach
	seen := make(map[string]bool)
	for _, s := range f.shapes {
		in := counts(s)
		out.absent = out.absent || in != surely
		if in == never {
			continue
		}
		all, listed := s.states(key)
		out.endless = out.endless || !listed
		for _, st := range all {
			out.absent = out.absent || !st.present
			if st.present && !seen[st.value] {
				seen[st.value] = true
				out.values = append(out.values, st.value)
			}
		}
	}
	out.absent = out.absent || len(f.shapes) == 0
	return out
}

// admits says whether pods of a DaemonSet start on it.
func (f *form) admits(class *model.PodClass) fate {
	if _, bad := untolerated(class, f.taints); bad || len(f.shapes) == 0 {
		return never
	}
	sure, some := true, false
	for _, s := range f.shapes {
		sure = sure && asks(class, s.surely)
		some = some || asks(class, s.maybe)
	}
	switch {
	case sure:
		return surely
	case some:
		return maybe
	default:
		return never
	}
}

// has says whether the shape has a label.
func (s *shape) has(key string) fate {
	all, listed := s.states(normalKey(key))
	if !listed {
		return surely // whatever it will be, it will be there
	}
	there := 0
	for _, st := range all {
		if st.present {
			there++
		}
	}
	switch there {
	case 0:
		return never
	case len(all):
		return surely
	default:
		return maybe
	}
}

// addSites makes the sites of everything that is there or comes: nodes, claims in flight, claims of the plan.
func (c *checker) addSites() {
	c.nodeSites, c.claimSites = make(map[model.NodeName]*site), make(map[model.ClaimID]*site)
	forms := make(map[string]*form)
	for i := range c.snap.Nodes {
		n := &c.snap.Nodes[i]
		p := c.nodePlace(n)
		s := &site{name: p.subject, form: newForm(p)}
		if claim := c.claimOn[n.Name]; claim != nil && claim.State < model.ClaimRegistered {
			label, _ := n.Labels.Get(hostname)
			s.host = cmp.Or(label, string(n.Name))
		}
		c.nodeSites[n.Name] = s
		c.sites = append(c.sites, s)
	}
	add := func(id model.ClaimID, f *form) {
		s := &site{name: "claim " + string(id), host: "claim/" + string(id), toCome: true, form: f}
		c.claimSites[id] = s
		c.sites = append(c.sites, s)
	}
	for _, id := range slices.Sorted(maps.Keys(c.live)) {
		if n := c.nodeOf[id]; n != nil {
			c.claimSites[id] = c.nodeSites[n.Name]
			continue
		}
		add(id, newForm(c.claimPlace(c.live[id])))
	}
	for i := range c.plan.NodeClaims {
		claim := &c.plan.NodeClaims[i]
		if c.claimSites[claim.ID] != nil || c.pools[claim.NodePool] == nil {
			continue // claims tells
		}
		p := c.freshPlace(claim)
		key := formKey(claim.NodePool, p.shapes)
		if forms[key] == nil {
			forms[key] = newForm(p)
		}
		add(claim.ID, forms[key])
	}
}

func newForm(p place) *form {
	return &form{shapes: p.shapes, taints: p.taints, known: make(map[string]reach)}
}

// formKey is equal for new claims of one pool that list the same shapes.
func formKey(pool model.PoolName, shapes []*shape) string {
	key := []byte(pool)
	for _, s := range shapes {
		key = binary.AppendUvarint(append(key, ' '), uint64(s.number))
	}
	return string(key)
}
