package place

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// kind is what the labels and taints of a node are, or may turn out to be. New claims with the same variants share one.
type kind struct {
	// variants are all that the node may turn out to be; pods must be right on each. None where its pool is not known.
	variants []*Variant
	taints   []model.Taint
	// known is what Place.domain has found, but for names of places.
	known map[string]domain
}

func newKind(taints []model.Taint, variants ...*Variant) *kind {
	return &kind{variants: variants, taints: taints, known: make(map[string]domain)}
}

// domain is the values that a node's label may turn out to have, or that it may be missing.
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

// domain is what a label of the place may turn out to be. The key is a normal one.
func (p *Place) domain(key string) domain {
	d, known := p.kind.known[key]
	if !known {
		d = p.kind.domain(key, func(*Variant) certainty { return surely })
		p.kind.known[key] = d
	}
	return p.named(key, d)
}

// named puts the place's own name where its kind only says that it will have one.
func (p *Place) named(key string, d domain) domain {
	if key == labels.Hostname && p.host != "" && len(d.values) > 0 {
		d.values = []string{p.host}
	}
	return d
}

// domain is what a label may turn out to be on the variants that count; on those that do not, and where the label is
// missing, the answer is absent.
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

// where is where a place lies for a count if it becomes something that pods of a DaemonSet start on, and that counts.
func (p *Place) where(daemon *nodeRules, c *counts) domain {
	on := p.named(c.key, p.kind.domain(c.key, func(v *Variant) certainty {
		return min(daemon.start(p.kind.taints, v), c.counted(p.kind, v))
	}))
	d := c.where(p)
	d.values = slices.DeleteFunc(slices.Clone(d.values), func(v string) bool { return !slices.Contains(on.values, v) && !on.unlisted })
	d.unlisted = d.unlisted && on.unlisted
	d.absent = d.absent && slices.ContainsFunc(p.kind.variants, func(v *Variant) bool {
		_, _, present := v.Values(c.key)
		return !present && daemon.start(p.kind.taints, v) != never
	})
	return d
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
