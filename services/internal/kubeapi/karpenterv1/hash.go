package karpenterv1

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/canonical"
)

// hashed is what makes a pool's nodes drift when it changes: the template without
// its requirements, which are compared with each node instead.
type hashed struct {
	Labels                 map[string]LabelValue `json:"labels,omitempty"`
	Annotations            map[string]string     `json:"annotations,omitempty"`
	Taints                 []Taint               `json:"taints,omitempty"`
	StartupTaints          []Taint               `json:"startupTaints,omitempty"`
	NodeClassRef           NodeClassReference    `json:"nodeClassRef"`
	TerminationGracePeriod string                `json:"terminationGracePeriod,omitempty"`
	ExpireAfter            string                `json:"expireAfter,omitempty"`
}

// HashNodePool is the hash of the part of a pool's template that its nodes can
// drift from; see labels.NodePoolHash. Defaults and other ways to write the
// same duration or the same set of taints don't change it. p is not changed.
//
// A change by which the same object gets another hash must let hashes begin with
// "kerf2-", and so on: rules.SameVersion then compares them with no older one, and
// no node drifts by an upgrade.
func HashNodePool(p *NodePool) (string, error) {
	p = p.DeepCopy()
	p.SetDefaults()
	spec := p.Spec.Template.Spec
	h := hashed{
		Labels:        p.Spec.Template.Metadata.Labels,
		Annotations:   p.Spec.Template.Metadata.Annotations,
		Taints:        withoutTimes(spec.Taints),
		StartupTaints: withoutTimes(spec.StartupTaints),
		NodeClassRef:  spec.NodeClassRef,
		ExpireAfter:   spec.ExpireAfter.canonical(),
	}
	if spec.TerminationGracePeriod != nil {
		h.TerminationGracePeriod = NillableDuration(*spec.TerminationGracePeriod).canonical()
	}
	sum, err := canonical.Sum(h)
	if err != nil {
		return "", fmt.Errorf("node pool %s: %w", p.Name, err)
	}
	return sum, nil
}

func withoutTimes(taints []Taint) []Taint {
	for i := range taints {
		taints[i].TimeAdded = nil
	}
	return taints
}

// canonical is one way to write a duration; text that is no duration stays as it
// is, so that the hash of an invalid pool is still a hash.
func (d NillableDuration) canonical() string {
	value, never, err := d.Parse()
	if never || err != nil {
		return string(d)
	}
	return value.String()
}
