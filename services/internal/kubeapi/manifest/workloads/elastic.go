package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/settings"
)

// elasticsearch is Elastic's; its sets of nodes have templates of their own, with memory where they ask for none. Its pods
// keep apart as those of one cluster, and are spread as those of a set, by the name of its StatefulSet.
type elasticsearch struct {
	Spec struct {
		Sets []struct {
			Name   string                 `json:"name"`
			Count  int32                  `json:"count"`
			Config map[string]any         `json:"config"`
			Pod    corev1.PodTemplateSpec `json:"podTemplate"`
		} `json:"nodeSets"`
	} `json:"spec"`
}

func (e *elasticsearch) groups(meta metav1.ObjectMeta) (out []group) {
	for i, s := range e.Spec.Sets {
		cluster := map[string]string{"elasticsearch.k8s.elastic.co/cluster-name": meta.Name}
		t := *s.Pod.DeepCopy()
		main(&t.Spec, "elasticsearch", elasticDefaults("2Gi", ""))
		if t.Spec.Affinity == nil {
			t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: apart(cluster, corev1.LabelHostname, false)}
		}
		t.Labels = joined(t.Labels, roles(settings.Flat(s.Config)))
		labels := joined(cluster, map[string]string{
			"common.k8s.elastic.co/type": "elasticsearch", "elasticsearch.k8s.elastic.co/statefulset-name": meta.Name + "-es-" + s.Name,
		})
		out = append(out, group{name: s.Name, field: fmt.Sprintf("spec.nodeSets[%d].count", i), pods: int64(s.Count), template: t, labels: labels})
	}
	return out
}

// roles are the labels that say what the nodes of a set are for, by its settings: all but to vote only, unless they say it.
func roles(config map[string]any) map[string]string {
	out := map[string]string{}
	list, listed := config["node.roles"].([]any)
	for _, role := range []string{
		"data", "data_cold", "data_content", "data_frozen", "data_hot", "data_warm", "ingest", "master", "ml", "remote_cluster_client", "transform", "voting_only",
	} {
		has := role != "voting_only"
		if strings.HasPrefix(role, "data") || role == "transform" {
			has = settings.Is(config["node.data"], has)
		}
		if has = settings.Is(config["node."+role], has); listed {
			has = slices.Contains(list, any(role))
		}
		out["elasticsearch.k8s.elastic.co/node-"+role] = strconv.FormatBool(has)
	}
	return out
}

// elasticPods are those of Elastic's kinds that run a number of like pods.
type elasticPods struct {
	name, label, memory, cpu string // of their container, and what it asks for where nothing is said

	Spec struct {
		Count *int32                 `json:"count"`
		Pod   corev1.PodTemplateSpec `json:"podTemplate"`
	} `json:"spec"`
}

func (p *elasticPods) scale() (string, **int32) { return "spec.count", &p.Spec.Count }

func (p *elasticPods) groups(meta metav1.ObjectMeta) []group {
	t := *p.Spec.Pod.DeepCopy()
	main(&t.Spec, p.name, elasticDefaults(p.memory, p.cpu))
	return []group{{pods: or(p.Spec.Count, 0), template: t, labels: map[string]string{
		"common.k8s.elastic.co/type": p.name, p.label + ".k8s.elastic.co/name": meta.Name,
	}}}
}

// elasticRun is Elastic's Agent or Beat, whose pods are those of a Deployment or a StatefulSet, or one on each node.
type elasticRun struct {
	name, memory, cpu string

	Spec struct {
		Type        string         `json:"type"` // of a Beat, which names its container
		DaemonSet   *elasticRunner `json:"daemonSet"`
		Deployment  *elasticRunner `json:"deployment"`
		StatefulSet *elasticRunner `json:"statefulSet"`
	} `json:"spec"`
}

type elasticRunner struct {
	Replicas *int32                 `json:"replicas"`
	Pod      corev1.PodTemplateSpec `json:"podTemplate"`
}

func (r *elasticRun) groups(meta metav1.ObjectMeta) (out []group) {
	for _, by := range []*elasticRunner{r.Spec.DaemonSet, r.Spec.Deployment, r.Spec.StatefulSet} {
		if by == nil {
			continue
		}
		t := *by.Pod.DeepCopy()
		main(&t.Spec, cmp.Or(r.Spec.Type, r.name), elasticDefaults(r.memory, r.cpu))
		out = append(out, group{pods: or(by.Replicas, 1), daemons: by == r.Spec.DaemonSet, template: t, labels: map[string]string{
			"common.k8s.elastic.co/type": r.name, r.name + ".k8s.elastic.co/name": meta.Name,
		}})
	}
	return out
}

// elasticDefaults are what a container of Elastic's has where nothing is said.
func elasticDefaults(memory, cpu string) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	if cpu != "" {
		out[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	return out
}

// main gives a pod the container that its operator runs, with these resources where nothing else is said of it.
func main(spec *corev1.PodSpec, name string, otherwise corev1.ResourceList) {
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
		c.Resources.Requests, c.Resources.Limits = otherwise, otherwise.DeepCopy()
	}
}
