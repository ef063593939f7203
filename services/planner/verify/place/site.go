package place

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// site is a place that pods are on, or come to, as other pods see it: where it lies by each label.
type site struct {
	name string
	// host is its kubernetes.io/hostname where no label says it yet; "" for a node that has joined.
	host string
	// toCome says that there is no node yet.
	toCome bool
	kind   *kind
}

// kind is what the labels and taints of a node are, or may turn out to be. Claims with equal offerings share one.
type kind struct {
	variants []*Variant
	taints   []model.Taint
	// known is what domain has answered.
	known map[string]domain
}

// domain is all that a label may be.
type domain struct {
	// values are those that it may have, each once.
	values []string
	// absent says that it may be missing.
	absent bool
	// unlisted says that it may be there with a value that nothing lists.
	unlisted bool
}

// decided is the value that the label has whatever happens; ok is false when that is not decided, or it is missing.
func (d domain) decided() (value string, ok bool) {
	if len(d.values) != 1 || d.absent || d.unlisted {
		return "", false
	}
	return d.values[0], true
}

// possible says whether the label may be there.
func (d domain) possible() bool { return len(d.values) > 0 || d.unlisted }

// domain is all that a label of the site may be. The key is a normal one.
func (s *site) domain(key string) domain {
	d, known := s.kind.known[key]
	if !known {
		d = s.kind.domain(key, func(*Variant) certainty { return surely })
		s.kind.known[key] = d
	}
	return s.named(key, d)
}

// named puts the site's own name where its kind only says that it will have one.
func (s *site) named(key string, d domain) domain {
	if key == labels.Hostname && s.host != "" && len(d.values) > 0 {
		d.values = []string{s.host}
	}
	return d
}

// domain is all that a label may be on the variants that count; on those that do not, and where the label is missing, the
// answer is absent.
func (k *kind) domain(key string, counts func(*Variant) certainty) domain {
	out := domain{absent: len(k.variants) == 0}
	seen := make(map[string]bool)
	for _, v := range k.variants {
		in := counts(v)
		out.absent = out.absent || in != surely
		if in == never {
			continue
		}
		values, listed, present := v.Values(key)
		out.unlisted = out.unlisted || !listed
		out.absent = out.absent || !present
		for _, value := range values {
			if !seen[value] {
				seen[value] = true
				out.values = append(out.values, value)
			}
		}
	}
	return out
}

// admits is how certain it is that pods of a DaemonSet start on it.
func (k *kind) admits(rules *nodeRules) certainty {
	sure, some := len(k.variants) > 0, false
	for _, v := range k.variants {
		in := rules.start(k.taints, v)
		sure, some = sure && in == surely, some || in != never
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

// sites are everything that is there or comes: nodes, claims in flight, claims of the plan.
type sites struct {
	all     []*site
	byNode  map[model.NodeName]*site
	byClaim map[model.ClaimID]*site // a claim whose node has joined has the node's
	// going are those that leave whatever the plan says, taken those that its disruptions empty.
	going, taken map[*site]bool
}

func newSites(f *facts.Facts, places *Places) *sites {
	c := f.Cluster
	out := &sites{
		byNode: make(map[model.NodeName]*site), byClaim: make(map[model.ClaimID]*site),
		going: make(map[*site]bool), taken: make(map[*site]bool),
	}
	for i := range c.Snapshot.Nodes {
		n := &c.Snapshot.Nodes[i]
		p := places.node(n)
		s := &site{name: p.subject, kind: newKind(p)}
		if claim := c.ClaimOn[n.Name]; claim != nil && claim.State < model.ClaimRegistered {
			label, _ := n.Labels.Get(labels.Hostname)
			s.host = cmp.Or(label, string(n.Name))
		}
		out.byNode[n.Name] = s
		out.all = append(out.all, s)
		if c.NodeGoes(n.Name) {
			out.going[s] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Live)) {
		claim := c.Live[id]
		if n := c.NodeOf[id]; n != nil {
			out.byClaim[id] = out.byNode[n.Name]
		} else {
			out.add(id, newKind(places.claim(claim)))
		}
		if c.Leaving(claim) {
			out.going[out.byClaim[id]] = true
		}
	}
	out.addNew(f, places)
	for id := range f.Decisions.TakenBy {
		if s := out.byClaim[id]; s != nil {
			out.taken[s] = true
		}
	}
	return out
}

func (ss *sites) add(id model.ClaimID, k *kind) {
	s := &site{name: "claim " + string(id), host: "claim/" + string(id), toCome: true, kind: k}
	ss.byClaim[id] = s
	ss.all = append(ss.all, s)
}

// addNew adds the claims of the plan.
func (ss *sites) addNew(f *facts.Facts, places *Places) {
	kinds := make(map[string]*kind)
	for i := range f.Plan.NodeClaims {
		claim := &f.Plan.NodeClaims[i]
		if ss.byClaim[claim.ID] != nil || f.Cluster.Pools[claim.NodePool] == nil {
			continue // another rule is broken
		}
		p := places.New(claim)
		key := []byte(claim.NodePool) // with the same variants it is the same kind
		for _, v := range p.Variants {
			key = binary.AppendUvarint(append(key, ' '), uint64(v.number))
		}
		if kinds[string(key)] == nil {
			kinds[string(key)] = newKind(p)
		}
		ss.add(claim.ID, kinds[string(key)])
	}
}

// of is where a placement sends its pod; nil when that is nowhere.
func (ss *sites) of(pl model.Placement) *site {
	if pl.Node != "" {
		return ss.byNode[pl.Node]
	}
	return ss.byClaim[pl.Claim]
}

func newKind(p *Place) *kind {
	return &kind{variants: p.Variants, taints: p.taints, known: make(map[string]domain)}
}
