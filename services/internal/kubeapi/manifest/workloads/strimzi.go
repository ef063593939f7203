package workloads

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
