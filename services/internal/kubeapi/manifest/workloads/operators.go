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
	return []group{{pods: or(c.Spec.Instances, 1), template: p.pod("postgres", c.Spec.Resources), labels: labels}}
}

// elasticsearch is Elastic's; its sets of nodes have templates of their own, with memory where they ask for none.
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
		labels := map[string]string{"elasticsearch.k8s.elastic.co/cluster-name": meta.Name}
		t := *s.Pod.DeepCopy()
		main(&t.Spec, "elasticsearch", "2Gi")
		if t.Spec.Affinity == nil {
			t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: apart(labels, corev1.LabelHostname, false)}
		}
		out = append(out, group{name: s.Name, pods: int64(s.Count), template: t, labels: labels})
	}
	return out
}

// kibana is Elastic's.
type kibana struct {
	Spec struct {
		Count int32                  `json:"count"`
		Pod   corev1.PodTemplateSpec `json:"podTemplate"`
	} `json:"spec"`
}

func (k *kibana) groups(meta metav1.ObjectMeta) []group {
	t := *k.Spec.Pod.DeepCopy()
	main(&t.Spec, "kibana", "1Gi")
	return []group{{pods: int64(k.Spec.Count), template: t, labels: map[string]string{"kibana.k8s.elastic.co/name": meta.Name}}}
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

// strimziPods are what Strimzi's kinds say of their pods.
type strimziPods struct {
	Replicas  int32                       `json:"replicas"`
	Resources corev1.ResourceRequirements `json:"resources"`
	Template  struct {
		Pod placement `json:"pod"`
	} `json:"template"`
}

func (p *strimziPods) group(name, cluster, part string) group {
	return group{
		name: name, pods: int64(p.Replicas), template: p.Template.Pod.pod(part, p.Resources),
		labels: map[string]string{"strimzi.io/cluster": cluster, "strimzi.io/name": cluster + "-" + part, "strimzi.io/kind": "Kafka"},
	}
}

// kafkaPool is Strimzi's KafkaNodePool.
type kafkaPool struct {
	Spec strimziPods `json:"spec"`
}

func (p *kafkaPool) groups(meta metav1.ObjectMeta) []group {
	g := p.Spec.group("", cmp.Or(meta.Labels["strimzi.io/cluster"], meta.Name), "kafka")
	g.labels["strimzi.io/pool-name"] = meta.Name
	return []group{g}
}

// kafka is Strimzi's: its brokers are those of its pools, unless it has none, and its own operator is a pod beside them.
type kafka struct {
	Spec struct {
		Kafka     strimziPods `json:"kafka"`
		ZooKeeper strimziPods `json:"zookeeper"`
		Operator  *struct{}   `json:"entityOperator"`
	} `json:"spec"`
}

func (k *kafka) groups(meta metav1.ObjectMeta) (out []group) {
	if meta.Annotations["strimzi.io/node-pools"] != "enabled" {
		out = append(out, k.Spec.Kafka.group("kafka", meta.Name, "kafka"))
	}
	out = append(out, k.Spec.ZooKeeper.group("zookeeper", meta.Name, "zookeeper"))
	if k.Spec.Operator != nil {
		operator := strimziPods{Replicas: 1}
		out = append(out, operator.group("entity-operator", meta.Name, "entity-operator"))
	}
	return out
}

// prometheus is the Prometheus operator's; its Alertmanager says the same, but for shards.
type prometheus struct {
	Spec struct {
		placement `json:",inline"`
		Replicas  *int32                      `json:"replicas"`
		Shards    *int32                      `json:"shards"`
		Paused    bool                        `json:"paused"`
		Resources corev1.ResourceRequirements `json:"resources"`
	} `json:"spec"`
}

func (p *prometheus) groups(meta metav1.ObjectMeta) []group {
	return []group{{
		pods: times(or(p.Spec.Replicas, 1), or(p.Spec.Shards, 1)), template: p.Spec.pod("prometheus", p.Spec.Resources),
		labels: map[string]string{"app.kubernetes.io/instance": meta.Name, "app.kubernetes.io/managed-by": "prometheus-operator"},
	}}
}
