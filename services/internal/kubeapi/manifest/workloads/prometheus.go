package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/replicas"
)

// monitor is what the kinds of the Prometheus operator say of their pods. Those of one that is paused stay as they are.
type monitor struct {
	placement  `json:",inline"`
	Replicas   *int32                      `json:"replicas"`
	Resources  corev1.ResourceRequirements `json:"resources"`
	Metadata   podMetadata                 `json:"podMetadata"`
	Inits      []corev1.Container          `json:"initContainers"`
	Containers []corev1.Container          `json:"containers"`
}

// group is their pods, with the container that reads their configuration anew, as the operator's own settings have it.
func (m *monitor) group(what, name string, beside ...corev1.Container) group {
	t := m.pod(what, m.Resources)
	m.Metadata.put(&t)
	reloader := corev1.Container{Name: "config-reloader", Resources: corev1.ResourceRequirements{Requests: amounts("10m", "50Mi"), Limits: amounts("10m", "50Mi")}}
	t.Spec.Containers = merged(t.Spec.Containers, reloader)
	t.Spec.Containers = merged(merged(t.Spec.Containers, beside...), m.Containers...)
	t.Spec.InitContainers = merged(nil, m.Inits...)
	return group{pods: max(or(m.Replicas, 1), 0), template: t, labels: map[string]string{ // the operator takes less than none for none
		"app.kubernetes.io/instance": name, "app.kubernetes.io/managed-by": "prometheus-operator", "app.kubernetes.io/name": what, what: name,
	}}
}

// merged are containers with others, of which those with the name of one say what of it is otherwise.
func merged(list []corev1.Container, more ...corev1.Container) []corev1.Container {
	out := slices.Clone(list)
	for _, c := range more {
		i := slices.IndexFunc(out, func(o corev1.Container) bool { return o.Name == c.Name })
		if i < 0 {
			c.Image = cmp.Or(c.Image, c.Name)
			out = append(out, c)
			continue
		}
		r := &out[i].Resources
		r.Requests, r.Limits = over(r.Requests, c.Resources.Requests), over(r.Limits, c.Resources.Limits)
	}
	return out
}

// over is a list of resources in which those of another one count before its own.
func over(own, other corev1.ResourceList) corev1.ResourceList {
	if len(other) == 0 {
		return own
	}
	out := other.DeepCopy()
	for name, n := range own {
		if _, has := out[name]; !has {
			out[name] = n
		}
	}
	return out
}

type alertmanager struct {
	Spec monitor `json:"spec"`
}

func (a *alertmanager) scale() (string, **int32) { return "spec.replicas", &a.Spec.Replicas }

func (a *alertmanager) groups(meta metav1.ObjectMeta) []group {
	m := a.Spec
	m.Resources.Requests = over(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("200Mi")}, m.Resources.Requests) // as the operator does
	return []group{m.group("alertmanager", meta.Name)}
}

// prometheus is a number of shards, each with all replicas.
type prometheus struct {
	Spec struct {
		monitor `json:",inline"`
		Shards  *int32 `json:"shards"`
		Thanos  *struct {
			Resources corev1.ResourceRequirements `json:"resources"`
		} `json:"thanos"`
		Spread []struct {
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
	var sidecar []corev1.Container
	if p.Spec.Thanos != nil {
		sidecar = append(sidecar, corev1.Container{Name: "thanos-sidecar", Resources: p.Spec.Thanos.Resources})
	}
	one := p.Spec.group("prometheus", meta.Name, sidecar...)
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
