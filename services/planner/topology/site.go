package topology

import (
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// What stands in a domain's place.
const (
	// absent: the node has no such label.
	absent int32 = -1 - iota
	// open: it is not decided yet which value the label will have.
	open
	// unasked: there may be many nodes, and it is not asked which; the hostname of a segment.
	unasked
)

// Site is where pods may go: a host, a segment or a claim. It belongs to its Tally.
type Site struct {
	name string
	form int32
	// host is the domain of the hostname.
	host int32
	// claim says that it is a claim of this plan, or a host that can be narrowed as they can; pods are those on it.
	claim bool
	pods  []podCount
	// opens is what it would do to pods that rely on what is frozen, if anything.
	opens string
	// probe says that it is a claim which is only thought of.
	probe bool
}

// Like is how rules can tell a site from others: by its form, by its hostname, and by what is on it unless it is
// decided what it is.
func Like(t *Tally, s *Site) (form, host int32, sure bool) {
	return s.form, s.host, len(t.nodes.forms[s.form].shapes) == 1
}

type podCount struct {
	class     *view.Class
	n         int32
	uncertain bool
}

// shape is a node as far as rules can see it: values of some labels, and taints if any rule looks at them.
type shape struct {
	place fit.Place
	// domains are by topology key; those that are open may become one of maybe, or anything where that is empty.
	domains []int32
	maybe   [][]int32
}

// form is a node that may be one of some shapes; mostly there is one.
type form struct {
	shapes  []int32
	domains []int32
	maybe   [][]int32
	// unbounded are the keys on which it may become anything, lacks those that it may not have where it is open.
	unbounded, lacks []bool
	// nodes is how many hosts and claims have it; offered says that more can be bought.
	nodes   int32
	offered bool
	// joined says that some of them have joined, and have what DaemonSets' pods they have.
	joined bool
	// daemons are the pods of DaemonSets that may run there, once daemonsKnown says that they were worked out.
	daemonsKnown bool
	daemons      []daemonPods
}

// nodeForms numbers shapes, forms and domains, in the order in which they turn up.
type nodeForms struct {
	r *podrules.Rules
	// values are the domains of each key by the label's value, names the other way round.
	values     []map[string]int32
	names      [][]string
	shapes     []shape
	shapeIndex map[string]int32
	// seen are the shapes of places that were looked at before; places do not change.
	seen      map[*fit.Place]int32
	forms     []form
	formIndex map[string]int32
	// passes says for each filter and form how the form does: 0 not judged yet.
	passes [][]pass
	// lastPlaces are the places that were asked for last, and lastForm is their form.
	lastPlaces []*fit.Place
	lastForm   int32
	// probe is the hostname of a node that is only thought of.
	probe int32
}

// pass says whether a node is one that a spread constraint looks at.
type pass uint8

const (
	passNo pass = 1 + iota
	passMaybe
	passSure
)

func newNodeForms(r *podrules.Rules) *nodeForms {
	a := &nodeForms{
		r: r, values: make([]map[string]int32, len(r.TopologyKeys)), names: make([][]string, len(r.TopologyKeys)),
		shapeIndex: make(map[string]int32), seen: make(map[*fit.Place]int32), formIndex: make(map[string]int32), passes: make([][]pass, len(r.Filters)),
	}
	for i := range a.values {
		a.values[i] = make(map[string]int32)
	}
	a.probe = a.freshHost()
	return a
}

func (a *nodeForms) domain(key int32, value string) int32 {
	d, ok := a.values[key][value]
	if !ok {
		d = int32(len(a.names[key]))
		a.values[key][value] = d
		a.names[key] = append(a.names[key], value)
	}
	return d
}

// freshHost is the hostname of a node that has no name yet.
func (a *nodeForms) freshHost() int32 {
	a.names[podrules.Hostname] = append(a.names[podrules.Hostname], "")
	return int32(len(a.names[podrules.Hostname]) - 1)
}

// form interns what a node may be.
func (a *nodeForms) form(pin model.Labels, places ...*fit.Place) int32 {
	if len(pin) == 0 && len(places) > 0 && len(places) == len(a.lastPlaces) && &places[0] == &a.lastPlaces[0] {
		return a.lastForm
	}
	ids := make([]int32, 0, len(places))
	for _, p := range places {
		if len(pin) > 0 {
			ids = append(ids, a.shape(pin, p))
		} else {
			ids = append(ids, a.shapeOf(p))
		}
	}
	if len(ids) == 0 {
		ids = append(ids, a.shape(pin, &fit.Place{Fresh: true}))
	}
	f := a.formOf(podrules.SortUnique(ids))
	if len(pin) == 0 {
		a.lastPlaces, a.lastForm = places, f
	}
	return f
}

// shapeOf interns a place, and remembers it.
func (a *nodeForms) shapeOf(at *fit.Place) int32 {
	id, ok := a.seen[at]
	if !ok {
		id = a.shape(nil, at)
		a.seen[at] = id
	}
	return id
}

// formOf interns a node that may be one of some shapes, which are sorted.
func (a *nodeForms) formOf(ids []int32) int32 {
	key := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		key = strconv.AppendInt(append(key, ' '), int64(id), 10)
	}
	i, ok := a.formIndex[string(key)]
	if !ok {
		i = int32(len(a.forms))
		a.formIndex[string(key)] = i
		a.forms = append(a.forms, a.merge(ids))
	}
	return i
}

// merge is what is sure of a node that may be one of some shapes.
func (a *nodeForms) merge(ids []int32) form {
	f := form{shapes: ids, domains: slices.Clone(a.shapes[ids[0]].domains)}
	f.maybe, f.unbounded, f.lacks = make([][]int32, len(f.domains)), make([]bool, len(f.domains)), make([]bool, len(f.domains))
	for k := range f.domains {
		var all []int32
		for _, id := range ids {
			s := &a.shapes[id]
			switch d := s.domains[k]; {
			case d >= 0:
				all = append(all, d)
			case d == open && len(s.maybe[k]) == 0:
				f.unbounded[k] = true
			case d == open:
				all = append(all, s.maybe[k]...)
			case d == absent:
				f.lacks[k] = true
			}
			if s.domains[k] != f.domains[k] {
				f.domains[k] = open
			}
		}
		if f.domains[k] == open {
			f.maybe[k] = podrules.SortUnique(all)
		}
	}
	return f
}

// shape interns a place, with pin before its own labels.
func (a *nodeForms) shape(pin model.Labels, at *fit.Place) int32 {
	if len(pin) > 0 {
		pinned := *at
		pinned.Local = append(slices.Clone(pin), at.Local...)
		at = &pinned
	}
	key := podrules.PlaceKey(a.r, at)
	if i, ok := a.shapeIndex[key]; ok {
		return i
	}
	s := shape{place: *at, domains: make([]int32, len(a.r.TopologyKeys)), maybe: make([][]int32, len(a.r.TopologyKeys))}
	for k := range a.r.TopologyKeys {
		s.domains[k], s.maybe[k] = a.domains(int32(k), at)
	}
	i := int32(len(a.shapes))
	a.shapeIndex[key] = i
	a.shapes = append(a.shapes, s)
	return i
}

// domains are where a place is on a topology key.
func (a *nodeForms) domains(key int32, at *fit.Place) (d int32, maybe []int32) {
	if key == podrules.Hostname {
		return unasked, nil
	}
	name := a.r.TopologyKeys[key]
	if v, ok := at.Label(name); ok {
		return a.domain(key, v), nil
	}
	r, ok := at.Open.Get(name)
	if !ok || r.AllowsAbsent() {
		return absent, nil // a node gets no label that no rule asked for
	}
	values, finite := r.Values()
	switch {
	case !finite:
		return open, nil
	case len(values) == 1:
		return a.domain(key, values[0]), nil
	}
	for _, v := range values {
		maybe = append(maybe, a.domain(key, v))
	}
	return open, maybe
}

// pass says how a form does with a filter.
func (a *nodeForms) pass(filter, form int32) pass {
	row := a.passes[filter]
	if int(form) >= len(row) {
		row = append(row, make([]pass, len(a.forms)-len(row))...)
		a.passes[filter] = row
	}
	if row[form] == 0 {
		row[form] = a.judge(&a.r.Filters[filter], a.forms[form].shapes)
	}
	return row[form]
}

func (a *nodeForms) judge(f *podrules.Filter, shapes []int32) pass {
	some, all := false, true
	for _, id := range shapes {
		p := a.judgeShape(f, &a.shapes[id])
		some = some || p != passNo
		all = all && p == passSure
	}
	switch {
	case all:
		return passSure
	case some:
		return passMaybe
	}
	return passNo
}

func (a *nodeForms) judgeShape(f *podrules.Filter, s *shape) pass {
	for _, k := range f.Keys {
		if s.domains[k] == absent {
			return passNo
		}
	}
	if f.Taints != nil && !fit.Tolerates(f.Taints, &s.place) {
		return passNo
	}
	if f.Affinity == nil {
		return passSure
	}
	sure, may := fit.Selects(f.Affinity, &s.place)
	switch {
	case sure:
		return passSure
	case may:
		return passMaybe
	}
	return passNo
}

// possible are the domains on a key that a form may be in where it passes a filter, and whether it may be in one that
// nothing lists. Of a form that may be one of several shapes those count that pass.
func (a *nodeForms) possible(filter, form, key int32) (domains []int32, unbounded bool) {
	f := &a.forms[form]
	if d := f.domains[key]; d >= 0 {
		return f.domains[key : key+1], false
	}
	if len(f.shapes) == 1 || filter == podrules.None || a.pass(filter, form) == passSure {
		return f.maybe[key], f.unbounded[key]
	}
	for _, id := range f.shapes {
		s := &a.shapes[id]
		if a.judgeShape(&a.r.Filters[filter], s) == passNo {
			continue
		}
		switch d := s.domains[key]; {
		case d >= 0:
			domains = append(domains, d)
		case d == open && len(s.maybe[key]) == 0:
			unbounded = true
		case d == open:
			domains = append(domains, s.maybe[key]...)
		}
	}
	return podrules.SortUnique(domains), unbounded
}

// around are the domains that a site may be in where a counter counts; open stands for any, where nothing lists them.
func (a *nodeForms) around(s *Site, counter int32) []int32 {
	domains, unbounded := a.possible(podrules.None, s.form, a.r.Counters[counter].Key)
	if unbounded {
		return []int32{open}
	}
	return domains
}

// within is a form once it has turned out to be in one of the domains that it may be in.
func (a *nodeForms) within(form, key, d int32) int32 {
	shapes := a.forms[form].shapes
	if len(shapes) == 1 {
		return form
	}
	return a.formOf(slices.DeleteFunc(slices.Clone(shapes), func(id int32) bool {
		s := &a.shapes[id]
		in := s.domains[key] == d || s.domains[key] == open && (len(s.maybe[key]) == 0 || slices.Contains(s.maybe[key], d))
		return !in
	}))
}

// at is the domain of a site on a key.
func (a *nodeForms) at(s *Site, key int32) int32 {
	if key == podrules.Hostname {
		return s.host
	}
	return a.forms[s.form].domains[key]
}

// hostSite makes the site of a host.
func (a *nodeForms) hostSite(h *view.Host) *Site {
	places, taints := make([]*fit.Place, len(h.LabelSets)), h.Taints
	if h.Leaving { // if it does not have it yet
		taints = append(slices.Clone(taints), model.Taint{Key: labels.TaintDisrupted, Effect: model.NoSchedule})
	}
	for i, ls := range h.LabelSets {
		places[i] = &fit.Place{Labels: ls, Open: h.Open, Taints: taints, Fresh: h.Node == nil}
	}
	s := &Site{name: h.Name(), form: a.form(nil, places...)}
	s.host = a.hostOf(h)
	if !h.Leaving { // by the time that pods come it may be gone, and is no domain to spread over
		a.forms[s.form].nodes++
		a.forms[s.form].joined = a.forms[s.form].joined || h.Node != nil
	}
	return s
}

// hostOf is the domain of a host's hostname: its label; none where a node that has joined has no such label; one of its
// own before that.
func (a *nodeForms) hostOf(h *view.Host) int32 {
	if h.Node != nil {
		if v, ok := h.Node.Labels.Get(labels.Hostname); ok {
			return a.domain(podrules.Hostname, v)
		}
		if h.Claim == nil || h.Claim.State >= model.ClaimRegistered {
			return absent
		}
	}
	return a.freshHost()
}
