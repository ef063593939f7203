package manifests

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/replicas"
	"github.com/kerf-dev/kerf/services/watcher/convert"
)

// Workload is what stands in a manifest, as the objects that its controller would make of it.
type Workload struct {
	Pods   []*corev1.Pod
	Claims []*corev1.PersistentVolumeClaim // from volumeClaimTemplates, not bound
}

// PodsOf makes the pods that a manifest without pods asks for: N pods "<name>-0" and on, unschedulable since `now`. A
// pod's own manifest is taken as it is, and is unschedulable where it says nothing else. The pods of a Rollout, which
// is read as a Deployment, belong to that. Kinds that make no pods, or make them at other times, are an error.
func PodsOf(w runtime.Object, now time.Time) (Workload, error) {
	switch w := w.(type) {
	case *corev1.Pod:
		return Workload{Pods: []*corev1.Pod{manifestPod(w, now)}}, nil
	case *appsv1.Deployment:
		by := convert.Owner{Kind: cmp.Or(w.Kind, "Deployment"), Namespace: w.Namespace, Name: w.Name, RevisionLabel: appsv1.DefaultDeploymentUniqueLabelKey}
		return copies(by, w.Spec.Replicas, w.Spec.Template, now)
	case *appsv1.ReplicaSet:
		by := convert.Owner{Kind: cmp.Or(w.Kind, "ReplicaSet"), Namespace: w.Namespace, Name: w.Name}
		return copies(by, w.Spec.Replicas, w.Spec.Template, now)
	case *appsv1.StatefulSet:
		by := convert.Owner{Kind: "StatefulSet", Namespace: w.Namespace, Name: w.Name, RevisionLabel: appsv1.ControllerRevisionHashLabelKey}
		out, err := copies(by, w.Spec.Replicas, w.Spec.Template, now)
		if err == nil {
			out.number(w)
			out.addClaims(w.Spec.VolumeClaimTemplates)
		}
		return out, err
	case *batchv1.Job:
		by := convert.Owner{Kind: "Job", Namespace: w.Namespace, Name: w.Name}
		out, err := copies(by, atOnce(w), w.Spec.Template, now)
		if err == nil {
			out.label(w)
		}
		return out, err
	default:
		return Workload{}, fmt.Errorf("%T makes no pods: want a Pod, Deployment, ReplicaSet, StatefulSet or Job", w)
	}
}

func copies(by convert.Owner, n *int32, t corev1.PodTemplateSpec, now time.Time) (Workload, error) {
	all, err := count(n)
	if err != nil {
		return Workload{}, fmt.Errorf("%s %s/%s: spec: %w", by.Kind, by.Namespace, by.Name, err)
	}
	var out Workload
	for i := range all {
		p := convert.TemplatePod(t, by)
		p.Name = fmt.Sprintf("%s-%d", by.Name, i)
		out.Pods = append(out.Pods, manifestPod(p, now))
	}
	return out, nil
}

// Check finds a workload that asks for fewer pods than none, or for more than a manifest may; the error names the field.
func Check(o runtime.Object) error {
	field, n := "spec.replicas", (*int32)(nil)
	switch o := o.(type) {
	case *appsv1.Deployment:
		n = o.Spec.Replicas
	case *appsv1.ReplicaSet:
		n = o.Spec.Replicas
	case *appsv1.StatefulSet:
		n = o.Spec.Replicas
	case *batchv1.Job:
		field, n = "spec.parallelism", atOnce(o)
	}
	if _, err := count(n); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// count is how many pods a workload asks for: one where it does not say.
func count(n *int32) (int32, error) {
	if n == nil {
		return 1, nil
	}
	return *n, replicas.Check(int64(*n))
}

// atOnce is how many pods a Job has from now on, as its controller counts: where no number of completions is set, one that
// has succeeded says that no more are needed.
func atOnce(j *batchv1.Job) *int32 {
	most, all := j.Spec.Parallelism, j.Spec.Completions
	switch {
	case all == nil && most == nil:
		return new(max(1-j.Status.Succeeded, 0))
	case all == nil && j.Status.Succeeded > 0:
		return new(int32)
	case all == nil:
		return most
	}
	left := max(*all-j.Status.Succeeded, min(*all, 0)) // a number that is wrong stays so
	if most == nil {
		return new(min(left, 1))
	}
	return new(min(left, *most))
}

// number gives a StatefulSet's pods their ordinals, which need not begin with 0, and the labels that say them.
func (w *Workload) number(s *appsv1.StatefulSet) {
	first := 0
	if o := s.Spec.Ordinals; o != nil {
		first = int(o.Start)
	}
	for i, p := range w.Pods {
		p.Name = fmt.Sprintf("%s-%d", s.Name, first+i)
		setLabel(p, appsv1.StatefulSetPodNameLabel, p.Name)
		setLabel(p, appsv1.PodIndexLabel, strconv.Itoa(first+i))
	}
}

// label sets what the API server puts into a Job's template, and the index of each of its pods. Which indexes of one that
// has run for a while are done, a plan does not depend on.
func (w *Workload) label(j *batchv1.Job) {
	for i, p := range w.Pods {
		setLabel(p, batchv1.JobNameLabel, j.Name)
		setLabel(p, legacyJobName, j.Name)
		if j.UID != "" {
			setLabel(p, batchv1.ControllerUidLabel, string(j.UID))
			setLabel(p, legacyControllerUID, string(j.UID))
		}
		if mode := j.Spec.CompletionMode; mode != nil && *mode == batchv1.IndexedCompletion {
			setLabel(p, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(i))
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(i))
		}
	}
}

// The labels of a Job's pods from before they had a domain; they are set still.
const (
	legacyJobName       = "job-name"
	legacyControllerUID = "controller-uid"
)

func setLabel(p *corev1.Pod, key, value string) {
	metav1.SetMetaDataLabel(&p.ObjectMeta, key, value)
}

// naming is who says what an object's pods are called.
type naming int

const (
	noPods naming = iota
	given         // the object is a pod, and has its name
	fixed         // the pods' numbers: a StatefulSet's claims hang on them
	free          // chance: their controller makes up a name for each
)

func namingOf(o runtime.Object) naming {
	switch o.(type) {
	case *corev1.Pod:
		return given
	case *appsv1.StatefulSet:
		return fixed
	case *appsv1.Deployment, *appsv1.ReplicaSet, *batchv1.Job:
		return free
	default:
		return noPods
	}
}

// rename puts the owner's kind into the pods' names, and a number from the second try on, where one of them is taken: a
// Deployment and a Job may have the same name.
func (w *Workload) rename(isTaken func(*corev1.Pod) bool) {
	for try := 1; slices.ContainsFunc(w.Pods, isTaken); try++ {
		for i, p := range w.Pods {
			owner := metav1.GetControllerOf(p)
			p.Name = fmt.Sprintf("%s-%s-%d", owner.Name, strings.ToLower(owner.Kind), i)
			if try > 1 {
				p.Name = fmt.Sprintf("%s-%s-%d-%d", owner.Name, strings.ToLower(owner.Kind), try, i)
			}
		}
	}
}

// addClaims gives each pod a claim of its own for each template, in the place of a volume of that name, as the StatefulSet
// controller does.
func (w *Workload) addClaims(templates []corev1.PersistentVolumeClaim) {
	for _, p := range w.Pods {
		for _, t := range templates {
			c := t.DeepCopy()
			c.Name, c.Namespace = t.Name+"-"+p.Name, p.Namespace
			w.Claims = append(w.Claims, c)
			p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == t.Name })
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name},
			}})
		}
	}
}

// manifestPod is a pod that no scheduler has seen: unschedulable, unless its status says what it is, or it is bound.
// Then it is ready.
func manifestPod(p *corev1.Pod, now time.Time) *corev1.Pod {
	p = p.DeepCopy()
	convert.SetPodDefaults(&p.Spec)
	if p.CreationTimestamp.IsZero() {
		p.CreationTimestamp = metav1.NewTime(now)
	}
	if p.Spec.NodeName != "" {
		if p.Status.Phase == "" && len(p.Status.Conditions) == 0 {
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		return p
	}
	if len(p.Status.Conditions) == 0 && (p.Status.Phase == "" || p.Status.Phase == corev1.PodPending) {
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: metav1.NewTime(now),
		}}
	}
	return p
}
