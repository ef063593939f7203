package convert

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Once makes objects that stand for the same pods stand for them once. In what was read of a cluster a Deployment, its
// ReplicaSets and their pods may stand beside each other: the pods count, else the Deployment. A CronJob becomes the Job
// of one run, and a Job that has ended, or is suspended, has no pods. Notes say what was left out or assumed, a line each.
func Once(objects []runtime.Object) (out []runtime.Object, notes []string) {
	there := map[string]bool{}
	pods := map[string][]*corev1.Pod{} // with a controller, by namespace
	for _, o := range objects {
		there[TitleOf(o)] = true
		if p, ok := o.(*corev1.Pod); ok && metav1.GetControllerOf(p) != nil {
			pods[namespaceOf(p)] = append(pods[namespaceOf(p)], p)
		}
	}
	var replaced []string
	for _, o := range objects {
		if c, ok := o.(*batchv1.CronJob); ok {
			job, note := oneRun(c, there)
			notes = append(notes, note)
			if job == nil {
				continue
			}
			o = job
		}
		if j, ok := o.(*batchv1.Job); ok {
			if why := over(j); why != "" {
				notes = append(notes, TitleOf(o)+": skipped: "+why)
				continue
			}
		}
		if r := replicasOf(o); r != nil && (madeByOther(o, there) || hasPods(o, pods)) {
			if *r == nil || **r != 0 {
				replaced = append(replaced, TitleOf(o))
			}
			*r = new(int32)
		}
		out = append(out, o)
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

// oneRun is the Job that a CronJob makes when its time has come; nil where none is planned for. note says which.
func oneRun(c *batchv1.CronJob, there map[string]bool) (job *batchv1.Job, note string) {
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		return nil, TitleOf(c) + ": skipped: it is suspended"
	}
	job = &batchv1.Job{ObjectMeta: *c.Spec.JobTemplate.ObjectMeta.DeepCopy(), Spec: *c.Spec.JobTemplate.Spec.DeepCopy()}
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	job.Name, job.Namespace = c.Name, c.Namespace
	if there[TitleOf(job)] {
		job.Name += "-run"
	}
	return job, TitleOf(c) + ": planned for as one run of it, as if that were due now"
}

// over says why a Job has no pods to come; "" where it has.
func over(j *batchv1.Job) string {
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return "it is suspended"
	}
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return "it has ended"
		}
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
	if by == nil {
		return false
	}
	namespace := m.GetNamespace()
	if namespace == metav1.NamespaceDefault {
		namespace = ""
	}
	return there[Title(by.Kind, namespace, by.Name)]
}

// hasPods says that pods of the workload are among the objects.
func hasPods(o runtime.Object, pods map[string][]*corev1.Pod) bool {
	var s *metav1.LabelSelector
	switch o := o.(type) {
	case *appsv1.Deployment:
		s = o.Spec.Selector
	case *appsv1.ReplicaSet:
		s = o.Spec.Selector
	case *appsv1.StatefulSet:
		s = o.Spec.Selector
	case *batchv1.Job:
		s = o.Spec.Selector
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	m, ok := o.(metav1.Object)
	if err != nil || !ok || selector.Empty() {
		return false
	}
	for _, p := range pods[namespaceOf(m)] {
		if selector.Matches(labels.Set(p.Labels)) {
			return true
		}
	}
	return false
}

func namespaceOf(o metav1.Object) string {
	if n := o.GetNamespace(); n != "" {
		return n
	}
	return metav1.NamespaceDefault
}
