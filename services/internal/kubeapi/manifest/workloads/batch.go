package workloads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// jobSet is JobSet's: Jobs that belong together, each some times.
type jobSet struct {
	Spec struct {
		Suspend bool `json:"suspend"`
		Jobs    []struct {
			Name     string                  `json:"name"`
			Replicas *int32                  `json:"replicas"`
			Template batchv1.JobTemplateSpec `json:"template"`
		} `json:"replicatedJobs"`
	} `json:"spec"`
}

func (s *jobSet) groups(meta metav1.ObjectMeta) (out []group) {
	if waits(meta, s.Spec.Suspend) {
		return nil
	}
	for i, j := range s.Spec.Jobs {
		atOnce := or(j.Template.Spec.Parallelism, 1)
		if all := j.Template.Spec.Completions; all != nil {
			atOnce = min(atOnce, int64(*all))
		}
		g := group{
			name: j.Name, field: fmt.Sprintf("spec.replicatedJobs[%d].replicas", i), template: j.Template.Spec.Template, ends: true,
			labels: map[string]string{"jobset.sigs.k8s.io/jobset-name": meta.Name, "jobset.sigs.k8s.io/replicatedjob-name": j.Name},
		}
		topology := cmp.Or(j.Template.Annotations[jobSets().topology], meta.Annotations[jobSets().topology])
		if meta.Annotations[nodeSelectorStrategy] != "" || j.Template.Annotations[nodeSelectorStrategy] != "" {
			topology = ""
		}
		out = append(out, jobSets().apart(g, space(meta.Namespace)+"/"+meta.Name+"/"+j.Name, topology, or(j.Replicas, 1), atOnce)...)
	}
	return out
}

// scaledJob is KEDA's, which makes a Job for each piece of work.
type scaledJob struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Job batchv1.JobSpec `json:"jobTargetRef"`
	} `json:"spec"`
}

func (j *scaledJob) object() (runtime.Object, string) {
	return &batchv1.Job{ObjectMeta: j.Metadata, Spec: j.Spec.Job}, "those of one of its Jobs"
}

// volcanoJob is Volcano's Job, whose pods its own scheduler places unless it says another.
type volcanoJob struct {
	Spec struct {
		Scheduler string `json:"schedulerName"`
		Tasks     []struct {
			Name     string                 `json:"name"`
			Replicas *int32                 `json:"replicas"`
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"tasks"`
	} `json:"spec"`
}

func (j *volcanoJob) groups(meta metav1.ObjectMeta) (out []group) {
	scheduler := j.Spec.Scheduler
	if scheduler == "" {
		scheduler = "volcano"
	}
	for i, t := range j.Spec.Tasks {
		t.Name = cmp.Or(t.Name, fmt.Sprintf("default%d", i)) // as Volcano calls it
		if t.Template.Spec.SchedulerName == "" {
			t.Template.Spec.SchedulerName = scheduler
		}
		out = append(out, group{
			name: t.Name, field: fmt.Sprintf("spec.tasks[%d].replicas", i), pods: or(t.Replicas, 1), template: t.Template, ends: true,
			labels: map[string]string{"volcano.sh/job-name": meta.Name, "volcano.sh/task-spec": t.Name},
		})
	}
	return out
}

// trainingJob is a PyTorchJob, MPIJob and the like of Kubeflow, which have their replicas in fields of their own names.
type trainingJob struct {
	field     string // which of them has the replicas
	replicas  map[string]replicaSpec
	suspended bool
}

type replicaSpec struct {
	Replicas *int32                 `json:"replicas"`
	Template corev1.PodTemplateSpec `json:"template"`
}

// UnmarshalJSON finds the field with the replicas, so that what is wrong in it is found where the object is read.
func (j *trainingJob) UnmarshalJSON(text []byte) error {
	var raw struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	for field, value := range raw.Spec {
		if !strings.HasSuffix(field, "ReplicaSpecs") {
			continue
		}
		if err := json.Unmarshal(value, &j.replicas); err != nil {
			return err
		}
		j.field = field
	}
	var policy struct {
		Suspend bool `json:"suspend"`
	}
	if own := raw.Spec["runPolicy"]; own != nil && json.Unmarshal(own, &policy) == nil {
		j.suspended = policy.Suspend
	}
	return nil
}

func (j *trainingJob) groups(meta metav1.ObjectMeta) (out []group) {
	if waits(meta, j.suspended) {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(j.replicas)) {
		r := j.replicas[kind]
		lower := strings.ToLower(kind)
		out = append(out, group{
			name: lower, field: "spec." + j.field + "." + kind + ".replicas", pods: or(r.Replicas, 1), template: r.Template, ends: true,
			labels: map[string]string{"training.kubeflow.org/job-name": meta.Name, "training.kubeflow.org/replica-type": lower},
		})
	}
	return out
}
