package convert

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/workloads"
)

// Once makes objects that stand for the same pods stand for them once. In what was read of a cluster a Deployment, its
// ReplicaSets and their pods may stand beside each other: the pods count, else the Deployment. A CronJob becomes the Job
// of one run, and what has no pods to come is left out. Notes say what was left out or assumed, a line each.
func Once(objects []runtime.Object) (out []runtime.Object, notes []string) {
	there := map[string]bool{}
	for _, o := range objects {
		there[TitleOf(o)] = true
	}
	pods := podsByMaker(objects)
	var replaced, hooked, queued []string
	for _, o := range objects {
		why := over(o)
		if c, ok := o.(*batchv1.CronJob); ok && why == "" {
			notes = append(notes, TitleOf(c)+": planned for as one run of it, as if that were due now")
			o = oneRun(c, there)
			why = over(o)
		}
		if why != "" {
			notes = append(notes, TitleOf(o)+": skipped: "+why)
			continue
		}
		if r := replicasOf(o); r != nil && (madeByOther(o, there) || hasPods(o, pods)) {
			if *r == nil || **r != 0 {
				replaced = append(replaced, TitleOf(o))
			}
			*r = new(int32)
		}
		if hooks(o) != nil && podsIn(o) != nil {
			hooked = append(hooked, TitleOf(o))
		}
		if j, ok := o.(*batchv1.Job); ok && j.Spec.Suspend != nil && *j.Spec.Suspend {
			queued, j.Spec.Suspend = append(queued, TitleOf(j)), nil
		}
		out = append(out, o)
	}
	if len(queued) > 0 {
		notes = append(notes, few(queued)+": planned for though suspended, as if Kueue's queue had room for it now")
	}
	if len(hooked) > 0 {
		notes = append(notes, few(hooked)+": planned for beside the rest, as if Helm ran its hooks now")
	}
	return out, append(notes, countedOnce(replaced)...)
}

// countedOnce says in a line whose pods count as they are among the files.
func countedOnce(workloads []string) []string {
	if len(workloads) == 0 {
		return nil
	}
	return []string{few(workloads) + ": its pods, or what makes them, are among the files too, and count once: as they are there"}
}

// oneRun is the Job that a CronJob makes when its time has come.
func oneRun(c *batchv1.CronJob, there map[string]bool) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: *c.Spec.JobTemplate.ObjectMeta.DeepCopy(), Spec: *c.Spec.JobTemplate.Spec.DeepCopy()}
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	job.Name, job.Namespace = c.Name, c.Namespace
	if there[TitleOf(job)] {
		job.Name += "-run"
	}
	return job
}

// hooks are the events at which Helm makes an object; nil for one that is there as long as its release.
func hooks(o runtime.Object) []string {
	m, ok := o.(metav1.Object)
	if !ok || m.GetAnnotations()["helm.sh/hook"] == "" {
		return nil
	}
	return strings.FieldsFunc(m.GetAnnotations()["helm.sh/hook"], func(r rune) bool { return r == ',' || r == ' ' })
}

// installs says that Helm makes a hook while a release comes up, and not for a test, or when it goes.
func installs(hook string) bool {
	return strings.HasSuffix(hook, "-install") || strings.HasSuffix(hook, "-upgrade")
}

// over says why an object is not there, or makes no pods any more, or not yet; "" for nothing.
func over(o runtime.Object) string {
	if at := hooks(o); at != nil && !slices.ContainsFunc(at, installs) {
		return "Helm makes it only for " + strings.Join(at, " and ")
	}
	switch o := o.(type) {
	case *batchv1.CronJob:
		if o.Spec.Suspend != nil && *o.Spec.Suspend {
			return "it is suspended"
		}
	case *batchv1.Job:
		if by := o.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
			return "its pods are made by " + *by + ", not by Kubernetes"
		}
		if o.Spec.Suspend != nil && *o.Spec.Suspend && !workloads.Queued(o) {
			return "it is suspended"
		}
		for _, c := range o.Status.Conditions {
			if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
				return "it has ended"
			}
		}
	default:
		if replicasOf(o) == nil {
			return ""
		}
	}
	if m, ok := o.(metav1.Object); ok && m.GetDeletionTimestamp() != nil {
		return "it is being deleted"
	}
	return ""
}

// replicasOf is how many pods a workload asks for; nil for what is none.
func replicasOf(o runtime.Object) **int32 {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return &o.Spec.Replicas
	case *appsv1.StatefulSet:
		return &o.Spec.Replicas
	case *batchv1.Job:
		return &o.Spec.Parallelism
	default:
		return nil
	}
}

// madeByOther says that the workload's own controller is among the objects.
func madeByOther(o runtime.Object, there map[string]bool) bool {
	m, ok := o.(metav1.Object)
	if !ok {
		return false
	}
	by := metav1.GetControllerOf(m)
	return by != nil && there[makerOf(m, by)]
}

// makerOf is the Title of an object's controller, as TitleOf has it.
func makerOf(o metav1.Object, by *metav1.OwnerReference) string {
	namespace := o.GetNamespace()
	if namespace == metav1.NamespaceDefault {
		namespace = ""
	}
	return Title(by.Kind, namespace, by.Name)
}

// podsByMaker are the pods that have not ended, by the Titles of what makes them: their controller, and of a ReplicaSet
// what made that. Where the ReplicaSet is not among the objects, its name says so: that of a Deployment, and a hash.
func podsByMaker(objects []runtime.Object) map[string][]*corev1.Pod {
	sets := map[string]*appsv1.ReplicaSet{}
	for _, o := range objects {
		if s, ok := o.(*appsv1.ReplicaSet); ok {
			sets[TitleOf(s)] = s
		}
	}
	pods := map[string][]*corev1.Pod{}
	for _, o := range objects {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		by := metav1.GetControllerOf(p)
		if by == nil {
			continue
		}
		title := makerOf(p, by)
		pods[title] = append(pods[title], p)
		if by.Kind != "ReplicaSet" {
			continue
		}
		if set := sets[title]; set != nil {
			by = metav1.GetControllerOf(set)
		} else if at := strings.LastIndexByte(by.Name, '-'); at > 0 {
			kind := "Deployment"
			if p.Labels[rolloutHash] != "" {
				kind = "Rollout"
			}
			by = &metav1.OwnerReference{Kind: kind, Name: by.Name[:at]}
		}
		if by != nil {
			pods[makerOf(p, by)] = append(pods[makerOf(p, by)], p)
		}
	}
	return pods
}

// rolloutHash is the label of the pods of Argo Rollouts.
const rolloutHash = "rollouts-pod-template-hash"

// hasPods says that pods of the workload are among the objects. A Deployment may be guessed from a name, so that its
// selector has to agree.
func hasPods(o runtime.Object, pods map[string][]*corev1.Pod) bool {
	own := pods[TitleOf(o)]
	d, ok := o.(*appsv1.Deployment)
	if !ok {
		return len(own) > 0
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	return err == nil && slices.ContainsFunc(own, func(p *corev1.Pod) bool { return selector.Matches(labels.Set(p.Labels)) })
}

func namespaceOf(o metav1.Object) string {
	if n := o.GetNamespace(); n != "" {
		return n
	}
	return metav1.NamespaceDefault
}
