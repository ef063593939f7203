package podrules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// term is whom a rule speaks of: pods of some namespaces, by their labels.
type term struct {
	// selector is nil where no pod is selected.
	selector *model.Selector
	// namespaces are sorted; all of them where everywhere is set.
	namespaces []string
	everywhere bool
}

func (t *term) selects(namespace string, labels model.Labels) bool {
	if !t.everywhere {
		if _, ok := slices.BinarySearch(t.namespaces, namespace); !ok {
			return false
		}
	}
	return t.selector.Matches(labels)
}

// PodKind is all that rules can tell pods apart by: the namespace, and the labels that any selector mentions. Pods of a
// StatefulSet, each of a class of its own, are mostly of one kind.
type PodKind struct {
	namespace string
	labels    model.Labels
	// Spread are counters of topology spread that count pods of this kind, pods those of terms of (anti-)affinity.
	Spread, Pods []int32
	// RepelledBy are counters of the owners of required anti-affinity that selects this kind.
	RepelledBy []int32
	// Keys are topology keys of those of the above that are of required rules.
	Keys []int32
}

// selectors collects terms and selections, each once.
type selectors struct {
	terms     []term
	termIndex map[string]int32
	// selections are lists of terms that must all select.
	selections     [][]int32
	selectionIndex map[string]int32

	namespaces map[string]model.Labels
	names      []string
	picked     map[string][]string
	mentioned  map[string]bool
}

func newSelectors(w *view.World) *selectors {
	s := &selectors{
		termIndex: make(map[string]int32), selectionIndex: make(map[string]int32),
		namespaces: w.Snapshot.NamespaceLabels(), picked: make(map[string][]string), mentioned: make(map[string]bool),
	}
	s.names = slices.Sorted(maps.Keys(s.namespaces))
	return s
}

// term interns whom a selector picks in the given namespaces and in those that the namespace selector picks.
func (s *selectors) term(selector *model.Selector, namespaces []string, namespaceSelector *model.Selector) int32 {
	t := term{selector: selector}
	t.everywhere = namespaceSelector != nil && len(namespaceSelector.Requirements) == 0
	if !t.everywhere {
		t.namespaces = s.pick(namespaces, namespaceSelector)
	}
	key := strings.Join(t.namespaces, ",") + "|" + strconv.FormatBool(t.everywhere) + "|" + text(selector)
	if i, ok := s.termIndex[key]; ok {
		return i
	}
	i := int32(len(s.terms))
	s.termIndex[key] = i
	s.terms = append(s.terms, t)
	if selector != nil {
		for _, r := range selector.Requirements {
			s.mentioned[r.Key] = true
		}
	}
	return i
}

func (s *selectors) pick(namespaces []string, by *model.Selector) []string {
	out := slices.Clone(namespaces)
	if by != nil {
		key := text(by)
		picked, ok := s.picked[key]
		if !ok {
			for _, ns := range s.names {
				if by.Matches(s.namespaces[ns]) {
					picked = append(picked, ns)
				}
			}
			s.picked[key] = picked
		}
		out = append(out, picked...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selection interns a list of terms that must all select.
func (s *selectors) selection(terms ...int32) int32 {
	slices.Sort(terms)
	terms = slices.Compact(terms)
	key := make([]byte, 0, 8*len(terms))
	for _, t := range terms {
		key = strconv.AppendInt(append(key, ' '), int64(t), 10)
	}
	if i, ok := s.selectionIndex[string(key)]; ok {
		return i
	}
	i := int32(len(s.selections))
	s.selectionIndex[string(key)] = i
	s.selections = append(s.selections, terms)
	return i
}

// text is equal for selectors that are written alike.
func text(s *model.Selector) string {
	if s == nil {
		return "-"
	}
	var b strings.Builder
	for _, r := range s.Requirements {
		b.WriteString(strconv.Quote(r.Key))
		b.WriteString(r.Operator.String())
		for _, v := range r.Values {
			b.WriteString(strconv.Quote(v))
		}
		b.WriteByte(';')
	}
	return b.String()
}

// sortByKind sorts classes by what selectors can see of them. It returns the kinds and the kind of each class.
func (s *selectors) sortByKind(w *view.World) (kinds []PodKind, of []int32) {
	index := make(map[string]int32)
	of = make([]int32, len(w.Classes))
	var key []byte
	for i, c := range w.Classes {
		key = append(key[:0], c.Namespace...)
		for _, l := range c.Labels {
			if s.mentioned[l.Key] {
				key = append(append(append(append(key, 0), l.Key...), 1), l.Value...)
			}
		}
		k, ok := index[string(key)]
		if !ok {
			k = int32(len(kinds))
			index[string(key)] = k
			kinds = append(kinds, PodKind{namespace: c.Namespace, labels: s.visible(c.Labels)})
		}
		of[i] = k
	}
	return kinds, of
}

func (s *selectors) visible(labels model.Labels) model.Labels {
	var out model.Labels
	for _, l := range labels {
		if s.mentioned[l.Key] {
			out = append(out, l)
		}
	}
	return out
}

// postings finds the kinds that may match a term without looking at all of them.
type postings struct {
	kinds []PodKind
	// values are kinds by namespace, label and value, and by label and value in any namespace; spaces by namespace.
	values, anywhere map[string][]int32
	spaces           map[string][]int32
}

func newPostings(kinds []PodKind) *postings {
	p := &postings{
		kinds: kinds, values: make(map[string][]int32), anywhere: make(map[string][]int32), spaces: make(map[string][]int32),
	}
	for i, k := range kinds {
		p.spaces[k.namespace] = append(p.spaces[k.namespace], int32(i))
		for _, l := range k.labels {
			pair := l.Key + "\x00" + l.Value
			p.anywhere[pair] = append(p.anywhere[pair], int32(i))
			p.values[k.namespace+"\x00"+pair] = append(p.values[k.namespace+"\x00"+pair], int32(i))
		}
	}
	return p
}

// match lists the kinds that a term selects, sorted.
func (p *postings) match(t *term) []int32 {
	if t.selector == nil {
		return nil
	}
	var out []int32
	for _, list := range p.candidates(t) {
		for _, k := range list {
			if t.selects(p.kinds[k].namespace, p.kinds[k].labels) {
				out = append(out, k)
			}
		}
	}
	slices.Sort(out)
	return out
}

// candidates are lists that hold every kind that a term may select, none twice: those of the In requirement with the
// fewest, else all of the namespaces.
func (p *postings) candidates(t *term) [][]int32 {
	var best [][]int32
	least := -1
	for _, r := range t.selector.Requirements {
		if r.Operator != model.In {
			continue
		}
		lists, n := p.having(t, r)
		if least < 0 || n < least {
			best, least = lists, n
		}
	}
	if least >= 0 {
		return best
	}
	if t.everywhere {
		all := make([]int32, len(p.kinds))
		for i := range all {
			all[i] = int32(i)
		}
		return [][]int32{all}
	}
	for _, ns := range t.namespaces {
		best = append(best, p.spaces[ns])
	}
	return best
}

func (p *postings) having(t *term, r model.Requirement) (lists [][]int32, n int) {
	add := func(list []int32) {
		lists = append(lists, list)
		n += len(list)
	}
	for _, v := range r.Values {
		pair := r.Key + "\x00" + v
		if t.everywhere || len(t.namespaces) > 4 {
			add(p.anywhere[pair])
			continue
		}
		for _, ns := range t.namespaces {
			add(p.values[ns+"\x00"+pair])
		}
	}
	return lists, n
}

// common is what two sorted lists have in common.
func common(a, b []int32) []int32 {
	var out []int32
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); ok {
			out = append(out, x)
		}
	}
	return out
}

// SortUnique sorts and leaves out what is there twice.
func SortUnique[T cmp.Ordered](s []T) []T {
	slices.Sort(s)
	return slices.Compact(s)
}

// SelectorText is a selector as people write it.
func SelectorText(s *model.Selector) string {
	if s == nil {
		return "the labels of its labelSelector, which is missing,"
	}
	if len(s.Requirements) == 0 {
		return "any labels"
	}
	parts := make([]string, len(s.Requirements))
	for i, r := range s.Requirements {
		switch {
		case r.Operator == model.In && len(r.Values) == 1:
			parts[i] = r.Key + "=" + r.Values[0]
		case len(r.Values) > 0:
			parts[i] = fmt.Sprintf("%s %s [%s]", r.Key, r.Operator, strings.Join(r.Values, " "))
		default:
			parts[i] = fmt.Sprintf("%s %s", r.Key, r.Operator)
		}
	}
	return strings.Join(parts, ", ")
}
