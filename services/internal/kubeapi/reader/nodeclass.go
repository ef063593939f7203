package reader

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// Class is an EC2NodeClass as users write it. What it selects in AWS is the actuator's to find out.
type Class struct {
	// Object has its defaults. Of a class that could not be decoded it holds the name alone.
	Object *awsv1.EC2NodeClass
	Hash   string
	// NotReady is why the class can't be used; OK when nothing speaks against it.
	NotReady model.Reason
	// Why is NotReady as the reason of a condition.
	Why string
}

// NodeClass reads a class. problem is what was wrong when the object was decoded; nil when nothing was. The object is not
// changed.
func NodeClass(c *awsv1.EC2NodeClass, problem error) Class {
	c = c.DeepCopy()
	c.SetDefaults()
	out := Class{Object: c}
	if problem == nil {
		problem = kubeapi.Validate(c)
	}
	if problem == nil {
		out.Hash, problem = awsv1.HashEC2NodeClass(c)
	}
	if problem != nil {
		out.NotReady, out.Why = InvalidClass(c.Name, problem), classReason(problem)
	}
	return out
}

// InvalidClass is the reason of a class that can't be used for what its spec says.
func InvalidClass(name string, problem error) model.Reason {
	return invalid(model.CodeNodeClassNotReady, "ec2nodeclass/"+name, problem)
}

// classReason is the reason of the condition that says what is wrong with a spec: of the first problem.
func classReason(problem error) string {
	invalid, ok := errors.AsType[*kubeapi.InvalidError](problem)
	if !ok {
		return awsv1.ReasonInvalidSpec
	}
	switch p := invalid.Problems[0]; {
	case strings.HasPrefix(p.Field, "spec.tags"):
		return awsv1.ReasonTagValidationFailed
	case !strings.HasPrefix(p.Field, "spec.kubelet"):
		return awsv1.ReasonInvalidSpec
	case p.Type == field.ErrorTypeForbidden || p.Type == field.ErrorTypeTooMany: // the family's user data can't carry it
		return awsv1.ReasonUnsupportedKubeletConfiguration
	case p.Field == "spec.kubelet.maxPods" && strings.Contains(p.Detail, "expression"):
		return awsv1.ReasonKubeletExpressionInvalid
	default:
		return awsv1.ReasonInvalidKubeletConfiguration
	}
}

// UnstructuredNodeClass reads a class as a dynamic client returns it.
func UnstructuredNodeClass(u *unstructured.Unstructured) Class {
	o, problem := kubeapi.FromUnstructured(u)
	c, ok := o.(*awsv1.EC2NodeClass)
	if !ok {
		c = &awsv1.EC2NodeClass{}
		c.Name, c.UID, c.Generation = u.GetName(), u.GetUID(), u.GetGeneration()
	}
	return NodeClass(c, problem)
}
