package workloads

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// placement is what operators take over into their pods as it stands.
type placement struct {
	NodeSelector      map[string]string                 `json:"nodeSelector"`
	Affinity          *corev1.Affinity                  `json:"affinity"`
	Tolerations       []corev1.Toleration               `json:"tolerations"`
	Spread            []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
	PriorityClassName string                            `json:"priorityClassName"`
	SchedulerName     string                            `json:"schedulerName"`
}

// pod is one with a container of this name and these resources.
func (p *placement) pod(name string, r corev1.ResourceRequirements) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: p.NodeSelector, Affinity: p.Affinity, Tolerations: p.Tolerations, TopologySpreadConstraints: p.Spread,
		PriorityClassName: p.PriorityClassName, SchedulerName: p.SchedulerName,
		Containers: []corev1.Container{{Name: name, Image: name, Resources: r}},
	}}
}

// podMetadata is what users want of the metadata of pods that an operator makes.
type podMetadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// put gives a pod this metadata, beside what it has.
func (m *podMetadata) put(t *corev1.PodTemplateSpec) {
	t.Labels, t.Annotations = joined(t.Labels, m.Labels), joined(t.Annotations, m.Annotations)
}

// apart keeps pods with these labels in domains of their own, where that is possible or in any case.
func apart(labels map[string]string, key string, required bool) *corev1.PodAntiAffinity {
	term := corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: key}
	if required {
		return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
	}
	const heaviest = 100
	return &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: heaviest, PodAffinityTerm: term}}}
}

// postgres is CloudNativePG's Cluster.
type postgres struct {
	Spec struct {
		Instances         *int32                            `json:"instances"`
		Resources         corev1.ResourceRequirements       `json:"resources"`
		PriorityClassName string                            `json:"priorityClassName"`
		SchedulerName     string                            `json:"schedulerName"`
		Spread            []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
		Inherited         podMetadata                       `json:"inheritedMetadata"`
		Affinity          struct {
			NodeSelector map[string]string       `json:"nodeSelector"`
			NodeAffinity *corev1.NodeAffinity    `json:"nodeAffinity"`
			Tolerations  []corev1.Toleration     `json:"tolerations"`
			Apart        *bool                   `json:"enablePodAntiAffinity"`
			ApartType    string                  `json:"podAntiAffinityType"`
			TopologyKey  string                  `json:"topologyKey"`
			Near         *corev1.PodAffinity     `json:"additionalPodAffinity"`
			MoreApart    *corev1.PodAntiAffinity `json:"additionalPodAntiAffinity"`
		} `json:"affinity"`
	} `json:"spec"`
}

func (c *postgres) scale() (string, **int32) { return "spec.instances", &c.Spec.Instances }

func (c *postgres) groups(meta metav1.ObjectMeta) []group {
	a := c.Spec.Affinity
	labels := map[string]string{"cnpg.io/cluster": meta.Name, "cnpg.io/podRole": "instance"}
	affinity := &corev1.Affinity{NodeAffinity: a.NodeAffinity, PodAffinity: a.Near, PodAntiAffinity: &corev1.PodAntiAffinity{}}
	if a.Apart == nil || *a.Apart {
		affinity.PodAntiAffinity = apart(labels, cmp.Or(a.TopologyKey, corev1.LabelHostname), a.ApartType == "required")
	}
	if more := a.MoreApart; more != nil {
		own := affinity.PodAntiAffinity
		own.RequiredDuringSchedulingIgnoredDuringExecution = append(own.RequiredDuringSchedulingIgnoredDuringExecution, more.RequiredDuringSchedulingIgnoredDuringExecution...)
		own.PreferredDuringSchedulingIgnoredDuringExecution = append(own.PreferredDuringSchedulingIgnoredDuringExecution, more.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	p := placement{
		NodeSelector: a.NodeSelector, Affinity: affinity, Tolerations: a.Tolerations, Spread: c.Spec.Spread,
		PriorityClassName: c.Spec.PriorityClassName, SchedulerName: c.Spec.SchedulerName,
	}
	t := p.pod("postgres", c.Spec.Resources)
	c.Spec.Inherited.put(&t)
	return []group{{pods: or(c.Spec.Instances, 1), template: t, labels: labels}}
}

// pooler is CloudNativePG's, which keeps connections to a Cluster's instances open.
type pooler struct {
	Spec struct {
		Instances *int32                 `json:"instances"`
		Pod       corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

func (p *pooler) scale() (string, **int32) { return "spec.instances", &p.Spec.Instances }

func (p *pooler) groups(meta metav1.ObjectMeta) []group {
	t := *p.Spec.Pod.DeepCopy()
	main(&t.Spec, "pgbouncer", nil)
	return []group{{pods: or(p.Spec.Instances, 1), template: t, labels: map[string]string{"cnpg.io/poolerName": meta.Name, "cnpg.io/podRole": "pooler"}}}
}
