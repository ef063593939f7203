package workloads

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/replicas"
)

// monitor is what the kinds of the Prometheus operator say of their pods. Those of one that is paused stay as they are.
type monitor struct {
	placement `json:",inline"`
	Replicas  *int32                      `json:"replicas"`
	Resources corev1.ResourceRequirements `json:"resources"`
	Metadata  podMetadata                 `json:"podMetadata"`
}

func (m *monitor) group(what, name string) group {
	t := m.pod(what, m.Resources)
	m.Metadata.put(&t)
	return group{pods: max(or(m.Replicas, 1), 0), template: t, labels: map[string]string{ // the operator takes less than none for none
		"app.kubernetes.io/instance": name, "app.kubernetes.io/managed-by": "prometheus-operator", "app.kubernetes.io/name": what, what: name,
	}}
}

type alertmanager struct {
	Spec monitor `json:"spec"`
}

func (a *alertmanager) scale() (string, **int32) { return "spec.replicas", &a.Spec.Replicas }

func (a *alertmanager) groups(meta metav1.ObjectMeta) []group {
	return []group{a.Spec.group("alertmanager", meta.Name)}
}

// prometheus is a number of shards, each with all replicas.
type prometheus struct {
	Spec struct {
		monitor `json:",inline"`
		Shards  *int32 `json:"shards"`
		Spread  []struct {
			corev1.TopologySpreadConstraint `json:",inline"`

			Of string `json:"additionalLabelSelectors"`
		} `json:"topologySpreadConstraints"`
	} `json:"spec"`
}

// shardLabel is the label of a shard's pods.
const shardLabel = "operator.prometheus.io/shard"

func (p *prometheus) scale() (string, **int32) { return "spec.shards", &p.Spec.Shards }

func (p *prometheus) groups(meta metav1.ObjectMeta) (out []group) {
	shards := max(or(p.Spec.Shards, 1), 1) // as the operator takes numbers below that
	one := p.Spec.group("prometheus", meta.Name)
	one.labels["operator.prometheus.io/name"] = meta.Name
	if all := times(shards, one.pods); all == 0 || replicas.Check(all) != nil {
		one.pods = all
		return []group{one}
	}
	for i := range shards {
		g := one
		if shards > 1 {
			g.name = fmt.Sprintf("shard-%d", i)
		}
		g.labels = joined(one.labels, map[string]string{shardLabel: strconv.FormatInt(i, 10)})
		g.template.Spec.TopologySpreadConstraints = p.spread(g.labels)
		out = append(out, g)
	}
	return out
}

// spread are the rules of the pods with these labels: some are to be those of one shard or of all, which the operator
// knows.
func (p *prometheus) spread(labels map[string]string) (out []corev1.TopologySpreadConstraint) {
	for _, s := range p.Spec.Spread {
		rule := *s.TopologySpreadConstraint.DeepCopy()
		if s.Of != "" {
			if rule.LabelSelector == nil {
				rule.LabelSelector = &metav1.LabelSelector{}
			}
			own := joined(labels, nil)
			if s.Of == "OnResource" {
				delete(own, shardLabel)
			}
			rule.LabelSelector.MatchLabels = joined(rule.LabelSelector.MatchLabels, own)
		}
		out = append(out, rule)
	}
	return out
}
