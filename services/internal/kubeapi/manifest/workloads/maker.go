package workloads

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Maker is an object of another project that makes pods.
type Maker struct {
	Kind schema.GroupVersionKind
	Meta metav1.ObjectMeta // with a name when Objects is asked
	Form Form
	// Notes are what the user should know of it; Join adds them.
	Notes []Note
}

// Note is what the user should know of a field.
type Note struct{ Field, Message string }

// Join tells objects of those beside them, of which they take things over: all have names, and none has been asked for its
// Objects yet.
func Join(all []*Maker) { joinPools(all) }

// Queued says that Kueue holds an object back, which is suspended, until its queue has room: as it is applied now it will
// run. One that is read of a cluster waits there.
func Queued(o metav1.Object) bool {
	return o.GetLabels()["kueue.x-k8s.io/queue-name"] != "" && o.GetUID() == ""
}

// waits says that an object which may be suspended makes no pods.
func waits(meta metav1.ObjectMeta, suspended bool) bool { return suspended && !Queued(&meta) }

func (m *Maker) owner() string {
	return ownerOf(m.Kind.Group, m.Kind.Kind, m.Meta.Namespace, m.Meta.Name)
}

// Scale is the number of it that autoscalers set, as the scale of its kind has it, and its field; nil where it has none
// that is known. A workload as a whole has that of its form, and is not its own.
func (m *Maker) Scale() (field string, n **int32, isOwn bool) {
	if s, ok := m.Form.(scaled); ok {
		field, n = s.scale()
	}
	_, isWhole := m.Form.(whole)
	return field, n, !isWhole
}

// ownerOf names an object that others may belong to, in the namespace of one of them.
func ownerOf(group, kind, namespace, name string) string {
	return group + " " + kind + " " + space(namespace) + "/" + name
}

// space is the namespace that one which is not said means.
func space(namespace string) string {
	return cmp.Or(namespace, metav1.NamespaceDefault)
}
