package karpenterv1

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/canonical"
)

// HashVersion goes with every hash of HashNodePool. Hashes of other versions, also
// those that another controller left, are not comparable: claims that carry one
// are given the new hash instead of being called drifted. Raise it whenever the
// same pool would get another hash, and let hashes begin with it and "-" from
// then on: so a hash tells its version, and one without is of the first.
const HashVersion = "kerf1"

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
// drift from; see AnnotationNodePoolHash. Defaults and other ways to write the
// same duration or the same set of taints don't change it. p is not changed.
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
