package legacy

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Names of the old forms.
const (
	labelProvisioner           = karpenterv1.Group + "/provisioner-name"
	annotationDoNotEvict       = karpenterv1.Group + "/do-not-evict"
	annotationDoNotConsolidate = karpenterv1.Group + "/do-not-consolidate"
	taintDisruption            = karpenterv1.Group + "/disruption"
)

// Workload replaces the old forms' names in a workload: the provisioner's label in
// node selectors and affinities, the annotations that forbid disruption, and the
// taint of disrupted nodes in tolerations. It changes obj. Kinds without pods are
// left alone.
func Workload(obj runtime.Object) []Note {
	var r Result
	switch o := obj.(type) {
	case *corev1.Pod:
		r.pod(&o.ObjectMeta, &o.Spec, nil)
	case *corev1.Node:
		o.Annotations = r.annotations(o.Annotations, field.NewPath("metadata", "annotations"))
	case *appsv1.Deployment:
		r.template(&o.Spec.Template, field.NewPath("spec", "template"))
	case *appsv1.ReplicaSet:
		r.template(&o.Spec.Template, field.NewPath("spec", "template"))
	case *appsv1.StatefulSet:
		r.template(&o.Spec.Template, field.NewPath("spec", "template"))
	case *appsv1.DaemonSet:
		r.template(&o.Spec.Template, field.NewPath("spec", "template"))
	case *batchv1.Job:
		r.template(&o.Spec.Template, field.NewPath("spec", "template"))
	case *batchv1.CronJob:
		r.template(&o.Spec.JobTemplate.Spec.Template, field.NewPath("spec", "jobTemplate", "spec", "template"))
	}
	return r.Notes
}

func (r *Result) template(t *corev1.PodTemplateSpec, path *field.Path) {
	r.pod(&t.ObjectMeta, &t.Spec, path)
}

func (r *Result) pod(meta *metav1.ObjectMeta, spec *corev1.PodSpec, path *field.Path) {
	meta.Annotations = r.annotations(meta.Annotations, path.Child("metadata", "annotations"))
	at := path.Child("spec")
	if value, ok := spec.NodeSelector[labelProvisioner]; ok {
		delete(spec.NodeSelector, labelProvisioner)
		spec.NodeSelector[labels.NodePool] = value
		r.note(at.Child("nodeSelector"), "%s is read as %s: write that", labelProvisioner, labels.NodePool)
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		r.affinity(spec.Affinity.NodeAffinity, at.Child("affinity", "nodeAffinity"))
	}
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		if t.Key != taintDisruption {
			continue
		}
		*t = corev1.Toleration{Key: labels.TaintDisrupted, Operator: corev1.TolerationOpExists, Effect: t.Effect}
		r.note(at.Child("tolerations").Index(i), "%s is read as %s: write that", taintDisruption, labels.TaintDisrupted)
	}
}

func (r *Result) affinity(a *corev1.NodeAffinity, path *field.Path) {
	if a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		for i := range terms {
			r.expressions(terms[i].MatchExpressions,
				path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Index(i))
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		r.expressions(a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference.MatchExpressions,
			path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"))
	}
}

func (r *Result) expressions(list []corev1.NodeSelectorRequirement, path *field.Path) {
	for i := range list {
		if list[i].Key == labelProvisioner {
			list[i].Key = labels.NodePool
			r.note(path.Child("matchExpressions").Index(i), "%s is read as %s: write that", labelProvisioner, labels.NodePool)
		}
	}
}

// annotations gives the annotations with today's names; old is not changed.
func (r *Result) annotations(old map[string]string, path *field.Path) map[string]string {
	out := maps.Clone(old)
	for _, name := range []string{annotationDoNotConsolidate, annotationDoNotEvict} {
		value, ok := old[name]
		if !ok {
			continue
		}
		delete(out, name)
		out[labels.DoNotDisrupt] = value
		r.note(path.Key(name), "is read as %s: write that", labels.DoNotDisrupt)
	}
	return out
}
