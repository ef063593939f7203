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
}

func (m *Maker) owner() string {
	return ownerOf(m.Kind.Group, m.Kind.Kind, m.Meta.Namespace, m.Meta.Name)
}

// ownerOf names an object that others may belong to, in the namespace of one of them.
func ownerOf(group, kind, namespace, name string) string {
	return group + " " + kind + " " + space(namespace) + "/" + name
}

// space is the namespace that one which is not said means.
func space(namespace string) string {
	return cmp.Or(namespace, metav1.NamespaceDefault)
}
