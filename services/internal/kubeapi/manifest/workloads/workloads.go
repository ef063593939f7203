// Package workloads reads kinds of other projects for the pods that their controllers make, where their text alone says
// how many of these there are and what they are like.
//
// Each becomes workloads of Kubernetes' own that make the same pods, with the labels that their controller gives them.
// What of such an object says other things is not looked at, and a field that is not known is no mistake here: its
// project knows. The package must never know a file. Start reading at New, then Form.
package workloads

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Form is what is read of an object: decode its JSON into one. It makes groups of pods, or is a workload.
type Form any

type (
	grouped interface{ groups(name string) []group }
	whole   interface {
		object() (o runtime.Object, said string)
	}
)

// New is the form of a kind; nil for one of which the pods are not known.
func New(of schema.GroupKind) Form {
	switch of.Group {
	case "leaderworkerset.x-k8s.io":
		return only(of.Kind == "LeaderWorkerSet", &leaderWorkerSet{})
	case "jobset.x-k8s.io":
		return only(of.Kind == "JobSet", &jobSet{})
	case "batch.volcano.sh":
		return only(of.Kind == "Job", &volcanoJob{})
	case "kubeflow.org":
		return only(strings.HasSuffix(of.Kind, "Job"), &trainingJob{})
	case "serving.knative.dev":
		return only(of.Kind == "Service", &knativeService{})
	case "keda.sh":
		return only(of.Kind == "ScaledJob", &scaledJob{})
	case "ray.io":
		return ray(of.Kind)
	case "sparkoperator.k8s.io":
		return spark(of.Kind)
	case "apps.kruise.io":
		return kruise(of.Kind)
	default:
		return nil
	}
}

func only(is bool, form Form) Form {
	if !is {
		return nil
	}
	return form
}

// group are pods of one template.
type group struct {
	// What is said of them: "workers"; the name of the workload that stands for them ends in it, unless it is "".
	name     string
	pods     int32
	template corev1.PodTemplateSpec
	// labels are those that the controller gives the pods.
	labels map[string]string
	// ends says that the pods run to their end.
	ends bool
}

// Objects are the workloads that make the pods of an object with this metadata, which has a name, of its kind, and how
// many of which there are, in words: "1 head, 3 workers".
func Objects(f Form, meta metav1.ObjectMeta, kind schema.GroupVersionKind) (objects []runtime.Object, said string) {
	if w, ok := f.(whole); ok {
		o, said := w.object()
		o.GetObjectKind().SetGroupVersionKind(kind)
		return []runtime.Object{o}, said
	}
	g, ok := f.(grouped)
	if !ok {
		return nil, ""
	}
	meta.GenerateName = ""
	var words []string
	for _, g := range g.groups(meta.Name) {
		if g.pods == 0 {
			continue
		}
		own := *meta.DeepCopy()
		if g.name != "" {
			own.Name += "-" + g.name
		}
		o := g.workload(own)
		o.GetObjectKind().SetGroupVersionKind(kind)
		objects = append(objects, o)
		words = append(words, strings.TrimSpace(fmt.Sprintf("%d %s", g.pods, g.name)))
	}
	if len(words) == 0 {
		return nil, "none"
	}
	return objects, strings.Join(words, ", ") + ignored(meta.Annotations)
}

// ignored says what of an object's annotations would place its pods otherwise.
func ignored(annotations map[string]string) string {
	for _, key := range []string{"leaderworkerset.sigs.k8s.io/exclusive-topology", "alpha.jobset.sigs.k8s.io/exclusive-topology"} {
		if annotations[key] != "" {
			return "; " + key + " is not looked at"
		}
	}
	return ""
}

func (g *group) workload(meta metav1.ObjectMeta) runtime.Object {
	t := *g.template.DeepCopy()
	for key, value := range g.labels {
		metav1.SetMetaDataLabel(&t.ObjectMeta, key, value)
	}
	if g.ends {
		if t.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
			t.Spec.RestartPolicy = corev1.RestartPolicyNever
		}
		return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &g.pods, Template: t}}
	}
	t.Spec.RestartPolicy = corev1.RestartPolicyAlways // whatever else they say is their own controller's matter
	return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
		Replicas: &g.pods, Selector: &metav1.LabelSelector{MatchLabels: g.labels}, Template: t,
	}}
}

// or is a number that has a default.
func or(n *int32, otherwise int32) int32 {
	if n == nil {
		return otherwise
	}
	return *n
}
