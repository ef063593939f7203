package workloads

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// strimziCluster is the label that says which Kafka a pool belongs to.
const strimziCluster = "strimzi.io/cluster"

// strimziPods are what Strimzi's kinds say of their pods.
type strimziPods struct {
	Replicas  *int32                       `json:"replicas"`
	Resources *corev1.ResourceRequirements `json:"resources"`
	Template  *strimziTemplate             `json:"template"`
}

type strimziTemplate struct {
	Pod struct {
		placement `json:",inline"`
		Metadata  podMetadata `json:"metadata"`
	} `json:"pod"`
}

// group are these pods, of an object with this metadata, as a part of a cluster.
func (p *strimziPods) group(name string, meta metav1.ObjectMeta, cluster, part string) group {
	template := cmp.Or(p.Template, &strimziTemplate{})
	t := template.Pod.pod(part, *cmp.Or(p.Resources, &corev1.ResourceRequirements{}))
	t.Labels = joined(inherited(meta.Labels), map[string]string{
		"app.kubernetes.io/name": part, "app.kubernetes.io/instance": cluster, "app.kubernetes.io/part-of": "strimzi-" + cluster,
		"app.kubernetes.io/managed-by": "strimzi-cluster-operator", "strimzi.io/component-type": part,
	})
	template.Pod.Metadata.put(&t)
	return group{
		name: name, pods: or(p.Replicas, 0), template: t,
		labels: map[string]string{strimziCluster: cluster, "strimzi.io/name": cluster + "-" + part, "strimzi.io/kind": "Kafka"},
	}
}

// inherited are the labels of an object that its pods have, too: all but those that describe the object.
func inherited(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return strings.HasPrefix(key, "app.kubernetes.io/") && key != "app.kubernetes.io/part-of" || strings.HasPrefix(key, "kustomize.toolkit.fluxcd.io")
	})
	return out
}

// kafkaPool is Strimzi's KafkaNodePool.
type kafkaPool struct {
	Spec struct {
		strimziPods `json:",inline"`
		Roles       []string `json:"roles"`
	} `json:"spec"`

	rack *strimziRack // its Kafka's
}

func (p *kafkaPool) cluster(meta metav1.ObjectMeta) string {
	return cmp.Or(meta.Labels[strimziCluster], meta.Name)
}

func (p *kafkaPool) scale() (string, **int32) { return "spec.replicas", &p.Spec.Replicas }

func (p *kafkaPool) groups(meta metav1.ObjectMeta) []group {
	g := p.Spec.group("", meta, p.cluster(meta), "kafka")
	for _, role := range []string{"broker", "controller"} {
		metav1.SetMetaDataLabel(&g.template.ObjectMeta, "strimzi.io/"+role+"-role", strconv.FormatBool(slices.Contains(p.Spec.Roles, role)))
	}
	g.labels["strimzi.io/pool-name"] = meta.Name
	if slices.Contains(p.Spec.Roles, "broker") {
		p.rack.put(&g.template.Spec)
	}
	return []group{g}
}

// kafka is Strimzi's: its brokers are those of its pools, unless it has none, and its own operators are a pod beside them.
type kafka struct {
	Spec struct {
		Kafka struct {
			strimziPods `json:",inline"`
			Rack        *strimziRack `json:"rack"`
		} `json:"kafka"`
		ZooKeeper strimziPods  `json:"zookeeper"`
		Cruise    *strimziPods `json:"cruiseControl"`
		Exporter  *strimziPods `json:"kafkaExporter"`
		Operator  struct {
			Topics   *strimziPods     `json:"topicOperator"`
			Users    *strimziPods     `json:"userOperator"`
			Template *strimziTemplate `json:"template"`
		} `json:"entityOperator"`
	} `json:"spec"`

	hasPools bool
}

func (k *kafka) groups(meta metav1.ObjectMeta) (out []group) {
	pools := meta.Annotations["strimzi.io/node-pools"]
	if pools != "enabled" && (!k.hasPools || pools == "disabled") {
		g := k.Spec.Kafka.group("kafka", meta, meta.Name, "kafka")
		k.Spec.Kafka.Rack.put(&g.template.Spec)
		out = append(out, g)
	}
	if meta.Annotations["strimzi.io/kraft"] != "enabled" {
		out = append(out, k.Spec.ZooKeeper.group("zookeeper", meta, meta.Name, "zookeeper"))
	}
	for _, of := range []struct {
		name string
		pods *strimziPods
	}{{"cruise-control", k.Spec.Cruise}, {"kafka-exporter", k.Spec.Exporter}} {
		if of.pods != nil {
			one := *of.pods
			one.Replicas = new(int32(1))
			out = append(out, one.group(of.name, meta, meta.Name, of.name))
		}
	}
	return append(out, k.operators(meta)...)
}

// operators are a pod with a container for each of the two that there is.
func (k *kafka) operators(meta metav1.ObjectMeta) []group {
	var containers []corev1.Container
	for _, of := range []struct {
		name string
		pods *strimziPods
	}{{"topic-operator", k.Spec.Operator.Topics}, {"user-operator", k.Spec.Operator.Users}} {
		if of.pods != nil {
			containers = append(containers, corev1.Container{Name: of.name, Image: of.name, Resources: *cmp.Or(of.pods.Resources, &corev1.ResourceRequirements{})})
		}
	}
	if len(containers) == 0 {
		return nil
	}
	pod := strimziPods{Replicas: new(int32(1)), Template: k.Spec.Operator.Template}
	g := pod.group("entity-operator", meta, meta.Name, "entity-operator")
	g.template.Spec.Containers = containers
	return []group{g}
}

// kafkaClient is Strimzi's Connect, MirrorMaker or bridge, which runs beside a Kafka.
type kafkaClient struct {
	kind, name, part string
	pods             int64 // where nothing is said

	Spec struct {
		strimziPods `json:",inline"`
		Rack        *strimziRack `json:"rack"`
	} `json:"spec"`
}

func (c *kafkaClient) scale() (string, **int32) { return "spec.replicas", &c.Spec.Replicas }

func (c *kafkaClient) groups(meta metav1.ObjectMeta) []group {
	g := c.Spec.group("", meta, meta.Name, c.part)
	g.pods = or(c.Spec.Replicas, c.pods)
	g.labels["strimzi.io/name"], g.labels["strimzi.io/kind"] = meta.Name+"-"+c.name, c.kind
	c.Spec.Rack.put(&g.template.Spec)
	return []group{g}
}

// strimziRack is the label that says which rack a node is in.
type strimziRack struct {
	TopologyKey string `json:"topologyKey"`
}

// put keeps a pod to nodes that say their rack: with no other rule, wherever that is.
func (r *strimziRack) put(spec *corev1.PodSpec) {
	if r == nil || r.TopologyKey == "" {
		return
	}
	affinity := cmp.Or(spec.Affinity.DeepCopy(), &corev1.Affinity{})
	affinity.NodeAffinity = cmp.Or(affinity.NodeAffinity, &corev1.NodeAffinity{})
	required := cmp.Or(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, &corev1.NodeSelector{})
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range required.NodeSelectorTerms {
		t := &required.NodeSelectorTerms[i]
		t.MatchExpressions = append(t.MatchExpressions, corev1.NodeSelectorRequirement{Key: r.TopologyKey, Operator: corev1.NodeSelectorOpExists})
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, spec.Affinity = required, affinity
}

// joinPools gives pools of brokers what they do not say themselves and their Kafka does.
func joinPools(all []*Maker) {
	clusters := map[string][]*kafka{}
	for _, m := range all {
		if k, ok := m.Form.(*kafka); ok {
			clusters[m.owner()] = append(clusters[m.owner()], k)
		}
	}
	for _, m := range all {
		pool, ok := m.Form.(*kafkaPool)
		if !ok {
			continue
		}
		name, own := pool.cluster(m.Meta), &pool.Spec.strimziPods
		of := clusters[ownerOf(m.Kind.Group, "Kafka", m.Meta.Namespace, name)]
		for _, k := range of {
			k.hasPools, pool.rack = true, k.Spec.Kafka.Rack
			own.Resources, own.Template = cmp.Or(own.Resources, k.Spec.Kafka.Resources), cmp.Or(own.Template, k.Spec.Kafka.Template)
		}
		if len(of) == 0 && own.Resources == nil {
			m.Notes = append(m.Notes, Note{"spec.resources", "is missing, and Kafka " + name + ", which may say it for its pools, is not among the files; assumed: none"})
		}
	}
}
