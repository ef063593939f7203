package workloads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/settings"
)

// flinkDeployment is the Flink operator's. A job of its own has the TaskManagers that are asked for, or else as many as its
// parallelism needs; without one they come with the jobs that are handed to it, unless it is standalone.
type flinkDeployment struct {
	Spec struct {
		Config map[string]any `json:"flinkConfiguration"`
		Mode   string         `json:"mode"` // native, which is also "", or standalone
		Pod    flinkPod       `json:"podTemplate"`
		Jobs   flinkManager   `json:"jobManager"`
		Tasks  flinkManager   `json:"taskManager"`
		Job    *struct {
			Parallelism *int32 `json:"parallelism"`
			State       string `json:"state"`
		} `json:"job"`
	} `json:"spec"`
}

type flinkManager struct {
	Replicas *int32   `json:"replicas"`
	Pod      flinkPod `json:"podTemplate"`
	Resource struct {
		CPU     *resource.Quantity `json:"cpu"`
		Memory  flinkSize          `json:"memory"`
		Storage *flinkSize         `json:"ephemeralStorage"`
	} `json:"resource"`
	Resources corev1.ResourceRequirements `json:"resources"` // since 1.13 of the operator, before the other
}

func (d *flinkDeployment) scale() (string, **int32) {
	return "spec.taskManager.replicas", &d.Spec.Tasks.Replicas
}

func (d *flinkDeployment) groups(meta metav1.ObjectMeta) []group {
	s, config := &d.Spec, settings.Flat(d.Spec.Config)
	if s.Job != nil && s.Job.State == "suspended" || meta.Labels["flink.apache.org/canary"] == "true" { // which tries the operator, and runs nothing
		return nil
	}
	slots := max(settings.Number(config["taskmanager.numberOfTaskSlots"], 1), 1)
	isNative := s.Mode != "standalone"
	tasks := or(s.Tasks.Replicas, 1)
	switch {
	case s.Job != nil && s.Tasks.Replicas == nil: // where it is said, the operator makes the parallelism of it, native or not
		parallelism := cmp.Or(mostOverridden(config), or(s.Job.Parallelism, settings.Number(config["parallelism.default"], 1)))
		tasks = (parallelism + slots - 1) / slots
	case s.Job == nil && isNative:
		tasks = 0
	}
	form := "flink-native-kubernetes"
	if !isNative {
		form = "flink-standalone-kubernetes"
	}
	part := func(name string, pods, cpu, megabytes int64, m *flinkManager) group {
		return group{
			name: name, pods: pods, template: m.template(&s.Pod, m.requests(name, config, cpu, megabytes)),
			labels: map[string]string{"app": meta.Name, "component": name, "type": form},
		}
	}
	const jobMemory, taskMemory = 1600, 1728 // as in the settings that come with Flink
	return []group{
		part("jobmanager", or(s.Jobs.Replicas, 1), 1, jobMemory, &s.Jobs),
		part("taskmanager", tasks, slots, taskMemory, &s.Tasks),
	}
}

// mostOverridden is the largest parallelism that a job's vertices have of their own, as the operator's autoscaler writes
// them, "vertex:3,vertex:7" or a map; 0 where none has.
func mostOverridden(config map[string]any) (most int64) {
	const key = "pipeline.jobvertex-parallelism-overrides"
	text, _ := config[key].(string)
	for vertex := range strings.SplitSeq(text, ",") {
		_, n, _ := strings.Cut(vertex, ":")
		most = max(most, settings.Number(strings.TrimSpace(n), 0))
	}
	for name, n := range config {
		if strings.HasPrefix(name, key+".") {
			most = max(most, settings.Number(n, 0))
		}
	}
	return most
}

// requests are what a manager's container asks for: what is said of it, then its settings, then so many CPUs and megabytes.
func (m *flinkManager) requests(name string, config map[string]any, cpu, megabytes int64) corev1.ResourceList {
	out := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(megabytes<<20, resource.BinarySI), //nolint:mnd // bytes of a MiB
	}
	for _, key := range []string{"kubernetes." + name + ".cpu", "kubernetes." + name + ".cpu.amount"} {
		if own, err := resource.ParseQuantity(fmt.Sprint(config[key])); err == nil {
			out[corev1.ResourceCPU] = own
		}
	}
	if own, err := parseFlinkSize(fmt.Sprint(config[name+".memory.process.size"])); err == nil {
		out[corev1.ResourceMemory] = own
	}
	if m.Resource.CPU != nil {
		out[corev1.ResourceCPU] = *m.Resource.CPU
	}
	if !m.Resource.Memory.IsZero() {
		out[corev1.ResourceMemory] = m.Resource.Memory.Quantity
	}
	if m.Resource.Storage != nil {
		out[corev1.ResourceEphemeralStorage] = m.Resource.Storage.Quantity
	}
	return over(over(out, m.Resources.Limits), m.Resources.Requests)
}

// template is the pod of a manager, with its own template over that of all.
func (m *flinkManager) template(all *flinkPod, requests corev1.ResourceList) corev1.PodTemplateSpec {
	var t corev1.PodTemplateSpec
	if text, err := json.Marshal(settings.Over(all.raw, m.Pod.raw)); err == nil {
		_ = json.Unmarshal(text, &t) // each by itself was read before
	}
	const container = "flink-main-container"
	main(&t.Spec, container, requests)
	for i := range t.Spec.Containers {
		if c := &t.Spec.Containers[i]; c.Name == container {
			c.Resources.Requests, c.Resources.Limits = over(c.Resources.Requests, requests), over(c.Resources.Limits, requests)
		}
	}
	return t
}

// flinkPod is a template of which a part may be said, kept as it is written.
type flinkPod struct{ raw any }

// UnmarshalJSON reads it as a template too, so that what is wrong in it is found where the object is read.
func (p *flinkPod) UnmarshalJSON(text []byte) error {
	var t corev1.PodTemplateSpec
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	return json.Unmarshal(text, &p.raw)
}

// flinkSize is a number of bytes as Flink writes it, or else as Kubernetes does: 2048m is of MiB, and 2g and 2G of GiB.
type flinkSize struct{ resource.Quantity }

// UnmarshalJSON implements json.Unmarshaler.
func (s *flinkSize) UnmarshalJSON(text []byte) error {
	var word any
	if err := json.Unmarshal(text, &word); err != nil || word == nil {
		return err
	}
	own, err := parseFlinkSize(strings.Trim(string(text), `"`))
	s.Quantity = own
	return err
}

func parseFlinkSize(word string) (resource.Quantity, error) {
	word = strings.ReplaceAll(word, " ", "")
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return *resource.NewQuantity(n, resource.BinarySI), nil
	}
	var bytes size
	quoted, err := json.Marshal(word)
	if err == nil && bytes.UnmarshalJSON(quoted) == nil {
		return *resource.NewQuantity(int64(bytes), resource.BinarySI), nil
	}
	own, err := resource.ParseQuantity(word)
	if err != nil {
		return own, fmt.Errorf("want a size such as 2048m or 4Gi, got %q", word)
	}
	return own, nil
}
