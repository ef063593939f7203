package workloads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type sparkApplication struct {
	Spec sparkSpec `json:"spec"`
}

// scheduledSpark is read as one of its runs.
type scheduledSpark struct {
	Spec struct {
		Suspend  bool      `json:"suspend"`
		Template sparkSpec `json:"template"`
	} `json:"spec"`
}

type sparkSpec struct {
	Suspend        bool              `json:"suspend"`
	Type           string            `json:"type"`
	Scheduler      string            `json:"batchScheduler"`
	OverheadFactor string            `json:"memoryOverheadFactor"`
	NodeSelector   map[string]string `json:"nodeSelector"`
	Volumes        []corev1.Volume   `json:"volumes"`
	Dynamic        struct {
		Enabled bool  `json:"enabled"`
		Initial int32 `json:"initialExecutors"`
		Least   int32 `json:"minExecutors"`
	} `json:"dynamicAllocation"`
	Driver   sparkPod `json:"driver"`
	Executor struct {
		sparkPod  `json:",inline"`
		Instances *int32 `json:"instances"`
	} `json:"executor"`
}

type sparkPod struct {
	Template       *corev1.PodTemplateSpec `json:"template"`
	Cores          *resource.Quantity      `json:"cores"` // whole since v1beta2
	CoreRequest    *resource.Quantity      `json:"coreRequest"`
	Memory         size                    `json:"memory"`
	MemoryOverhead size                    `json:"memoryOverhead"`
	GPU            *struct {
		Name     corev1.ResourceName `json:"name"`
		Quantity int64               `json:"quantity"`
	} `json:"gpu"`
	Labels            map[string]string   `json:"labels"`
	Annotations       map[string]string   `json:"annotations"`
	NodeSelector      map[string]string   `json:"nodeSelector"`
	Affinity          *corev1.Affinity    `json:"affinity"`
	Tolerations       []corev1.Toleration `json:"tolerations"`
	SchedulerName     string              `json:"schedulerName"`
	PriorityClassName string              `json:"priorityClassName"`
	HostNetwork       bool                `json:"hostNetwork"`
	Sidecars          []corev1.Container  `json:"sidecars"`
	InitContainers    []corev1.Container  `json:"initContainers"`
}

// sparkExecutors are as many as Spark has where it is told no number.
const sparkExecutors = 2

func (a *sparkApplication) groups(meta metav1.ObjectMeta) []group { return a.Spec.groups(meta) }

func (s *scheduledSpark) groups(meta metav1.ObjectMeta) []group {
	if s.Spec.Suspend {
		return nil
	}
	return s.Spec.Template.groups(meta)
}

func (s *sparkSpec) groups(meta metav1.ObjectMeta) []group {
	if s.Suspend {
		return nil
	}
	executors := or(s.Executor.Instances, sparkExecutors)
	if s.Dynamic.Enabled {
		executors = max(int64(s.Dynamic.Initial), int64(s.Dynamic.Least), or(s.Executor.Instances, 0))
	}
	return []group{
		{name: "driver", pods: 1, template: s.pod(s.Driver), labels: sparkLabels(meta.Name, "driver"), ends: true},
		{name: "executor", pods: executors, template: s.pod(s.Executor.sparkPod), labels: sparkLabels(meta.Name, "executor"), ends: true},
	}
}

func sparkLabels(name, role string) map[string]string {
	return map[string]string{"sparkoperator.k8s.io/app-name": name, "spark-role": role}
}

// pod is what Spark makes of the settings of a driver or an executor.
func (s *sparkSpec) pod(p sparkPod) corev1.PodTemplateSpec {
	var t corev1.PodTemplateSpec
	if p.Template != nil {
		t = *p.Template.DeepCopy()
	}
	t.Labels, t.Annotations = joined(t.Labels, p.Labels), joined(t.Annotations, p.Annotations)
	spec := &t.Spec
	spec.NodeSelector = joined(spec.NodeSelector, s.NodeSelector, p.NodeSelector)
	spec.Tolerations = append(spec.Tolerations, p.Tolerations...)
	if p.Affinity != nil {
		spec.Affinity = p.Affinity
	}
	spec.SchedulerName = cmp.Or(p.SchedulerName, schedulerOf(s.Scheduler), spec.SchedulerName)
	spec.PriorityClassName = cmp.Or(p.PriorityClassName, spec.PriorityClassName)
	spec.HostNetwork = spec.HostNetwork || p.HostNetwork
	spec.Volumes = append(spec.Volumes, s.Volumes...)
	spec.InitContainers = append(spec.InitContainers, p.InitContainers...)
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{Name: "spark"}}
	}
	first := &spec.Containers[0]
	first.Image = cmp.Or(first.Image, "spark")
	first.Resources = s.resources(p)
	spec.Containers = append(spec.Containers, p.Sidecars...)
	return t
}

// schedulerOf is the scheduler that places the pods for a scheduler of whole applications.
func schedulerOf(batch string) string {
	if batch == "volcano" || batch == "yunikorn" {
		return batch
	}
	return ""
}

// resources are what Spark asks for: its memory, and what the system needs beside that.
func (s *sparkSpec) resources(p sparkPod) corev1.ResourceRequirements {
	const (
		least        = 384 << 20
		percent      = 10
		percentOther = 40 // of what is not written for the JVM
		all          = 100
	)
	memory := cmp.Or(int64(p.Memory), 1<<30)
	share := percent
	if s.Type == "Python" || s.Type == "R" {
		share = percentOther
	}
	overhead := max(memory/all*int64(share), least)
	if factor, err := strconv.ParseFloat(s.OverheadFactor, 64); err == nil {
		overhead = max(int64(factor*float64(memory)), least)
	}
	overhead = cmp.Or(int64(p.MemoryOverhead), overhead)
	cpu := cmp.Or(p.CoreRequest, p.Cores, resource.NewQuantity(1, resource.DecimalSI))
	bytes := *resource.NewQuantity(memory+overhead, resource.BinarySI)
	out := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *cpu, corev1.ResourceMemory: bytes},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: bytes},
	}
	if p.GPU != nil && p.GPU.Name != "" {
		out.Limits[p.GPU.Name] = *resource.NewQuantity(p.GPU.Quantity, resource.DecimalSI)
	}
	return out
}

// size is a number of bytes as Spark writes it: 512m, 4g; a number alone is of MiB.
type size int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *size) UnmarshalJSON(text []byte) error {
	var word string
	if string(text) == "null" {
		return nil // as a field that is not there
	}
	if json.Unmarshal(text, &word) != nil {
		word = string(text)
	}
	units := map[string]int64{"": 1 << 20, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
	digits := strings.TrimRight(strings.ToLower(word), "kmgtpib")
	unit := strings.ToLower(word)[len(digits):]
	if len(unit) > 1 {
		unit = strings.TrimRight(unit, "ib") // kb, kib
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	each, known := units[unit]
	if err != nil || !known || n < 0 || n > math.MaxInt64/each/2 {
		return fmt.Errorf("want a size such as 512m or 4g, got %q", word)
	}
	*s = size(n * each)
	return nil
}

func joined(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
