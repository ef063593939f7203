package workloads

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type rayCluster struct {
	Spec rayClusterSpec `json:"spec"`
}

type rayService struct {
	Spec struct {
		Cluster rayClusterSpec `json:"rayClusterConfig"`
	} `json:"spec"`
}

// rayJob has a cluster of its own, unless it selects one, and a pod that hands the job to it.
type rayJob struct {
	Spec struct {
		Suspend   bool                    `json:"suspend"`
		Mode      string                  `json:"submissionMode"`
		Cluster   *rayClusterSpec         `json:"rayClusterSpec"`
		Submitter *corev1.PodTemplateSpec `json:"submitterPodTemplate"`
	} `json:"spec"`
}

type rayClusterSpec struct {
	Suspend     bool `json:"suspend"`
	Autoscaling bool `json:"enableInTreeAutoscaling"`
	Autoscaler  struct {
		Resources *corev1.ResourceRequirements `json:"resources"`
	} `json:"autoscalerOptions"`
	Head struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"headGroupSpec"`
	Workers []struct {
		Name     string                 `json:"groupName"`
		Suspend  bool                   `json:"suspend"`
		Replicas *int32                 `json:"replicas"`
		Least    int32                  `json:"minReplicas"`
		Most     *int32                 `json:"maxReplicas"`
		Hosts    int32                  `json:"numOfHosts"`
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"workerGroupSpecs"`
}

func (c *rayCluster) groups(meta metav1.ObjectMeta) []group { return c.Spec.groups(meta, "spec") }
func (s *rayService) groups(meta metav1.ObjectMeta) []group {
	return s.Spec.Cluster.groups(meta, "spec.rayClusterConfig")
}

func (j *rayJob) groups(meta metav1.ObjectMeta) (out []group) {
	if waits(meta, j.Spec.Suspend) {
		return nil
	}
	if j.Spec.Cluster != nil {
		out = j.Spec.Cluster.groups(meta, "spec.rayClusterSpec")
	}
	if mode := cmp.Or(j.Spec.Mode, "K8sJobMode"); mode != "K8sJobMode" {
		return out
	}
	submitter := group{name: "submitter", pods: 1, ends: true}
	if j.Spec.Submitter != nil {
		submitter.template = *j.Spec.Submitter
	} else {
		submitter.template.Spec.Containers = []corev1.Container{{Name: "ray-job-submitter", Image: "ray", Resources: corev1.ResourceRequirements{
			Requests: amounts("500m", "200Mi"), Limits: amounts("1", "1Gi"),
		}}}
	}
	return append(out, submitter)
}

func (c *rayClusterSpec) groups(meta metav1.ObjectMeta, at string) []group {
	if waits(meta, c.Suspend) {
		return nil
	}
	head := group{name: "head", pods: 1, template: c.Head.Template, labels: rayLabels(meta.Name, "head", "headgroup")}
	if c.Autoscaling {
		own := corev1.ResourceRequirements{Requests: amounts("500m", "512Mi"), Limits: amounts("500m", "512Mi")}
		if c.Autoscaler.Resources != nil {
			own = *c.Autoscaler.Resources
		}
		head.template.Spec.Containers = append(head.template.Spec.Containers, corev1.Container{Name: "autoscaler", Image: "ray", Resources: own})
	}
	out := []group{head}
	for i, w := range c.Workers {
		if w.Suspend {
			continue
		}
		n := max(or(w.Replicas, int64(w.Least)), int64(w.Least))
		if w.Most != nil {
			n = min(n, int64(*w.Most))
		}
		out = append(out, group{
			name: cmp.Or(w.Name, "worker"), field: fmt.Sprintf("%s.workerGroupSpecs[%d].replicas", at, i), pods: times(n, int64(max(w.Hosts, 1))),
			template: w.Template, labels: rayLabels(meta.Name, "worker", w.Name),
		})
	}
	return out
}

func rayLabels(cluster, kind, group string) map[string]string {
	return map[string]string{"ray.io/cluster": cluster, "ray.io/node-type": kind, "ray.io/group": group, "ray.io/is-ray-node": "yes"}
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}
