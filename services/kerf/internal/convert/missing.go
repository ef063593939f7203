package convert

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-dev/kerf/services/watcher/convert"
)

// assumedClass is the storage class of claims that name none, where no class is the default.
const assumedClass = "assumed"

// Missing are objects that pods refer to and that users seldom have in files, because the cluster has them: storage
// classes, volume claims, priority and runtime classes. Each is assumed to be plain, and a note says so.
func Missing(objects []runtime.Object) (assumed []runtime.Object, notes []string) {
	m := missing{there: map[string]bool{}, used: map[string]bool{}}
	var classes []*storagev1.StorageClass
	for _, o := range objects {
		m.there[TitleOf(o)] = true
		if c, ok := o.(*storagev1.StorageClass); ok {
			classes = append(classes, c)
			m.defaultClass = m.defaultClass || convert.IsDefaultStorageClass(c)
		}
	}
	m.bind(objects)
	for _, o := range objects {
		if p := podsIn(o); p != nil {
			m.pod(p.namespace, *p.spec)
		}
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			for _, t := range o.Spec.VolumeClaimTemplates {
				m.claim(t.ObjectMeta, t.Spec)
			}
		case *corev1.PersistentVolumeClaim:
			m.claim(o.ObjectMeta, o.Spec)
		}
	}
	for _, c := range classes {
		m.late(c)
	}
	return m.assumed, m.notes
}

// missing collects what is assumed.
type missing struct {
	there        map[string]bool // by TitleOf
	used         map[string]bool // storage classes of claims without a volume
	defaultClass bool            // whether there is one for claims that name none
	usedDefault  bool            // whether a claim without a volume names none
	assumed      []runtime.Object
	notes        []string
}

// add takes an object unless there is one of its kind and name.
func (m *missing) add(o runtime.Object, what string) {
	title := TitleOf(o)
	if m.there[title] {
		return
	}
	m.there[title] = true
	m.assumed = append(m.assumed, o)
	m.notes = append(m.notes, fmt.Sprintf("%s is not among the files; assumed: %s", title, what))
}

func (m *missing) pod(namespace string, spec corev1.PodSpec) {
	if name := spec.RuntimeClassName; name != nil && *name != "" {
		m.add(&nodev1.RuntimeClass{
			TypeMeta: metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"}, ObjectMeta: metav1.ObjectMeta{Name: *name}, Handler: *name,
		}, "one without overhead, that runs on each node")
	}
	if name := spec.PriorityClassName; name != "" && spec.Priority == nil && !strings.HasPrefix(name, "system-") {
		m.add(&schedulingv1.PriorityClass{
			TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		}, "priority 0, which is that of pods without a class")
	}
	for _, v := range spec.Volumes {
		switch {
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			m.claim(v.Ephemeral.VolumeClaimTemplate.ObjectMeta, v.Ephemeral.VolumeClaimTemplate.Spec)
		case v.PersistentVolumeClaim != nil:
			c := &corev1.PersistentVolumeClaim{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v.PersistentVolumeClaim.ClaimName},
				Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
			}
			if !m.there[TitleOf(c)] {
				m.claim(c.ObjectMeta, c.Spec)
			}
			m.add(c, "a new volume, where its pod runs")
		}
	}
}

// claim sees to the storage class of a volume claim that no volume is bound to.
func (m *missing) claim(own metav1.ObjectMeta, spec corev1.PersistentVolumeClaimSpec) {
	name := volume.GetPersistentVolumeClaimClass(&corev1.PersistentVolumeClaim{ObjectMeta: own, Spec: spec})
	named := name != ""
	switch {
	case spec.VolumeName != "" || spec.StorageClassName != nil && !named:
		return
	case named:
		m.used[name] = true
	case m.defaultClass:
		m.usedDefault = true
		return
	default:
		name = assumedClass
	}
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &mode,
	}
	if named {
		m.add(class, "EBS volumes, made where the pod runs")
		return
	}
	m.defaultClass = true
	class.Annotations = map[string]string{convert.AnnotationDefaultClass: "true"}
	m.assumed = append(m.assumed, class)
	m.notes = append(m.notes, "no default StorageClass is among the files; assumed: EBS volumes, made where the pod runs")
}
