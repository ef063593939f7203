package workloads

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Made is a workload that stands for pods of another project's object.
type Made struct {
	Object runtime.Object
	// The object, as owner references name it.
	owner string
	// The labels that its controller alone gives these pods; none where all of theirs are the user's.
	labels labels.Set
}

// Live is what is there already of a cluster: pods, what makes them, and whose they are.
type Live struct {
	owners   map[string]bool
	pods     map[string]bool        // the namespaces in which a pod belongs to something
	labelled map[label][]labels.Set // the labels of pods, by each of them
}

// NewLive is a cluster with nothing in it.
func NewLive() *Live {
	return &Live{owners: map[string]bool{}, pods: map[string]bool{}, labelled: map[label][]labels.Set{}}
}

// label is one of a pod's.
type label struct{ namespace, key, value string }

// Add takes an object. One that stands for the pods of another says nothing but whose that other is.
func (l *Live) Add(o runtime.Object, stands bool) {
	m, ok := o.(metav1.Object)
	if !ok {
		return
	}
	pod, isPod := o.(*corev1.Pod)
	ended := isPod && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	if by := metav1.GetControllerOf(m); by != nil && !ended {
		gv, _ := schema.ParseGroupVersion(by.APIVersion) // the zero value owns nothing here
		l.owners[ownerOf(gv.Group, by.Kind, m.GetNamespace(), by.Name)] = true
		if isPod {
			l.pods[space(m.GetNamespace())] = true
		}
	}
	if stands || ended {
		return
	}
	set := podLabels(o)
	for key, value := range set {
		at := label{space(m.GetNamespace()), key, value}
		l.labelled[at] = append(l.labelled[at], set)
	}
}

// podLabels are those of the pods that an object makes, or is; nil for one that makes none.
func podLabels(o runtime.Object) labels.Set {
	switch o := o.(type) {
	case *corev1.Pod:
		return o.Labels
	case *appsv1.Deployment:
		return o.Spec.Template.Labels
	case *appsv1.ReplicaSet:
		return o.Spec.Template.Labels
	case *appsv1.StatefulSet:
		return o.Spec.Template.Labels
	case *batchv1.Job:
		return o.Spec.Template.Labels
	default:
		return nil
	}
}

// Has says that the pods that a workload stands for, or what makes them, are there: as their owners say, or the labels
// that they have from their controller, or as its object is of a cluster whose pods of this namespace are there. A
// DaemonSet makes pods on new nodes still.
func (l *Live) Has(m *Made) bool {
	if _, daemons := m.Object.(*appsv1.DaemonSet); daemons {
		return false
	}
	own, ok := m.Object.(metav1.Object)
	return ok && (l.owners[m.owner] || l.pods[space(own.GetNamespace())] && own.GetUID() != "" || l.hasLabelled(space(own.GetNamespace()), m.labels))
}

// hasLabelled says that pods with all of these labels are there; no labels tell nothing.
func (l *Live) hasLabelled(namespace string, all labels.Set) bool {
	var fewest []labels.Set
	for key, value := range all {
		have := l.labelled[label{namespace, key, value}]
		if len(have) == 0 {
			return false
		}
		if fewest == nil || len(have) < len(fewest) {
			fewest = have
		}
	}
	selector := labels.SelectorFromValidatedSet(all)
	return slices.ContainsFunc(fewest, func(have labels.Set) bool { return selector.Matches(have) })
}
