package workloads

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// elasticsearch is Elastic's; its sets of nodes have templates of their own, with memory where they ask for none. Its pods
// keep apart as those of one cluster, and are spread as those of a set, by the name of its StatefulSet.
type elasticsearch struct {
	Spec struct {
		Sets []struct {
			Name  string                 `json:"name"`
			Count int32                  `json:"count"`
			Pod   corev1.PodTemplateSpec `json:"podTemplate"`
		} `json:"nodeSets"`
	} `json:"spec"`
}

func (e *elasticsearch) groups(meta metav1.ObjectMeta) (out []group) {
	for _, s := range e.Spec.Sets {
		cluster := map[string]string{"elasticsearch.k8s.elastic.co/cluster-name": meta.Name}
		t := *s.Pod.DeepCopy()
		main(&t.Spec, "elasticsearch", "2Gi")
		if t.Spec.Affinity == nil {
			t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: apart(cluster, corev1.LabelHostname, false)}
		}
		labels := joined(cluster, map[string]string{
			"common.k8s.elastic.co/type": "elasticsearch", "elasticsearch.k8s.elastic.co/statefulset-name": meta.Name + "-es-" + s.Name,
		})
		out = append(out, group{name: s.Name, pods: int64(s.Count), template: t, labels: labels})
	}
	return out
}

// kibana is Elastic's.
type kibana struct {
	Spec struct {
		Count *int32                 `json:"count"`
		Pod   corev1.PodTemplateSpec `json:"podTemplate"`
	} `json:"spec"`
}

func (k *kibana) scale() (string, **int32) { return "spec.count", &k.Spec.Count }

func (k *kibana) groups(meta metav1.ObjectMeta) []group {
	t := *k.Spec.Pod.DeepCopy()
	main(&t.Spec, "kibana", "1Gi")
	return []group{{pods: or(k.Spec.Count, 0), template: t, labels: map[string]string{
		"common.k8s.elastic.co/type": "kibana", "kibana.k8s.elastic.co/name": meta.Name,
	}}}
}

// main gives a pod the container that its operator runs, with this memory where nothing else is said of it.
func main(spec *corev1.PodSpec, name, memory string) {
	at := -1
	for i, c := range spec.Containers {
		if c.Name == name {
			at = i
		}
	}
	if at < 0 {
		spec.Containers = append(spec.Containers, corev1.Container{Name: name})
		at = len(spec.Containers) - 1
	}
	c := &spec.Containers[at]
	c.Image = cmp.Or(c.Image, name)
	if len(c.Resources.Requests) == 0 && len(c.Resources.Limits) == 0 {
		bytes := resource.MustParse(memory)
		c.Resources.Requests, c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: bytes}, corev1.ResourceList{corev1.ResourceMemory: bytes}
	}
}
