// Package kubeapi is what Kerf's services share of the Kubernetes API: the kinds
// that users write, with their defaults and validation, and the way from what an
// informer or a file holds to Go types.
//
//	karpenterv1         NodePool and NodeClaim
//	karpenterv1alpha1   NodeOverlay
//	autoscalingv1beta1  CapacityBuffer
//	awsv1               EC2NodeClass
//	validation          what is wrong with an object of these kinds
//	reader              pools and classes as the values that services work with
//	legacy              older forms of pools and classes, and how they become the new
//	manifest            files of Kubernetes objects, read strictly and written clean
//
// It must not know a client, a service or what is decided from the objects. Start
// reading at Validate.
//
// The CustomResourceDefinitions in deploy/crds and the deep copies come from the
// types' markers; `go generate` in this folder makes them, with controller-gen as
// tools/controllergen pins it.
package kubeapi

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/validation"
)

//go:generate env GOWORK=off go build -C ../../../tools/controllergen -o ../../bin/controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen
//go:generate ../../../bin/controller-gen object crd:crdVersions=v1 paths=./karpenterv1;./karpenterv1alpha1;./autoscalingv1beta1;./awsv1 output:crd:dir=../../../deploy/crds

// SetDefaults fills in what an API server with Kerf's CustomResourceDefinitions
// would, for the kinds of Kerf's API. It changes obj, so it is not for objects out of
// an informer's cache; other kinds are left alone.
func SetDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *karpenterv1.NodePool:
		o.SetDefaults()
	case *karpenterv1.NodeClaim:
		o.SetDefaults()
	case *awsv1.EC2NodeClass:
		o.SetDefaults()
	case *autoscalingv1beta1.CapacityBuffer:
		o.SetDefaults()
	}
}

// Validate says everything that is wrong with an object of Kerf's API, as an
// *InvalidError, or nil. Defaults count as set. Other kinds are the API server's
// business and always pass. obj is not changed.
func Validate(obj runtime.Object) error {
	obj = obj.DeepCopyObject()
	SetDefaults(obj)
	switch o := obj.(type) {
	case *karpenterv1.NodePool:
		return invalid(karpenterv1.KindNodePool, o.Name, validation.NodePool(o))
	case *karpenterv1.NodeClaim:
		return invalid(karpenterv1.KindNodeClaim, o.Name, validation.NodeClaim(o))
	case *awsv1.EC2NodeClass:
		return invalid(awsv1.KindEC2NodeClass, o.Name, validation.EC2NodeClass(o))
	case *karpenterv1alpha1.NodeOverlay:
		return invalid(karpenterv1alpha1.KindNodeOverlay, o.Name, validation.NodeOverlay(o))
	case *autoscalingv1beta1.CapacityBuffer:
		return invalid(autoscalingv1beta1.KindCapacityBuffer, o.Name, validation.CapacityBuffer(o))
	default:
		return nil
	}
}

// ValidateNames says what is wrong with the name and the namespace of an object of any kind, as an *InvalidError, or
// nil. It is for files: what an API server holds has passed its rules.
func ValidateNames(obj runtime.Object) error {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil
	}
	kind, name := obj.GetObjectKind().GroupVersionKind().Kind, o.GetName()
	if namespace := o.GetNamespace(); namespace != "" && namespace != metav1.NamespaceDefault {
		name = namespace + "/" + name
	}
	return invalid(kind, name, validation.Names(kind, o))
}

// InvalidError is all that is wrong with one object.
type InvalidError struct {
	Kind, Name string
	// In the order of the object's fields; never empty.
	Problems field.ErrorList
}

// Error implements error: one line per problem, each naming object and field.
func (e *InvalidError) Error() string {
	var text strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			text.WriteString("\n")
		}
		text.WriteString(fmt.Sprintf("%s %s: %s", e.Kind, e.Name, p.Error()))
	}
	return text.String()
}

func invalid(kind, name string, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	return &InvalidError{Kind: kind, Name: name, Problems: problems}
}

// FromUnstructured makes the Go type of an object of Kerf's API out of what a
// dynamic client returns. Unknown fields are dropped: the API server has
// checked them. It shares nothing with u.
func FromUnstructured(u *unstructured.Unstructured) (runtime.Object, error) {
	var obj runtime.Object
	switch gvk := u.GroupVersionKind(); gvk {
	case karpenterv1.NodePoolGVK():
		obj = &karpenterv1.NodePool{}
	case karpenterv1.NodeClaimGVK():
		obj = &karpenterv1.NodeClaim{}
	case awsv1.EC2NodeClassGVK():
		obj = &awsv1.EC2NodeClass{}
	case karpenterv1alpha1.NodeOverlayGVK():
		obj = &karpenterv1alpha1.NodeOverlay{}
	case autoscalingv1beta1.CapacityBufferGVK():
		obj = &autoscalingv1beta1.CapacityBuffer{}
	default:
		return nil, fmt.Errorf("%s %s: not a kind of Kerf's API", gvk, u.GetName())
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
		return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return obj, nil
}

// Transform is FromUnstructured in the shape of client-go's cache.TransformFunc, so
// that a dynamic informer's store, listers and handlers hold Go types:
//
//	informer.SetTransform(kubeapi.Transform)
//
// It also drops metadata.managedFields, which nothing reads. What is not
// unstructured passes as it is.
func Transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	return FromUnstructured(u)
}
