// Package legacy knows the older forms of Kerf's kinds, and turns them into the
// forms of today:
//
//	karpenter.sh/v1beta1       NodePool, NodeClaim
//	karpenter.sh/v1alpha5      Provisioner
//	karpenter.k8s.aws/v1beta1  EC2NodeClass
//	karpenter.k8s.aws/v1alpha1 AWSNodeTemplate
//
// Workloads are brought along too: names of labels, annotations and taints that
// changed between the forms are replaced.
//
// A conversion keeps what the old form meant, also where defaults differ; what is
// worth knowing becomes a Note, and what can't be carried over an error that says
// what to write instead. The package must not read files or decide what becomes
// of a note. Start reading at Convert.
package legacy

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// API versions of the old forms.
const (
	NodePoolVersion        = karpenterv1.Group + "/v1beta1"
	ProvisionerVersion     = karpenterv1.Group + "/v1alpha5"
	EC2NodeClassVersion    = awsv1.Group + "/v1beta1"
	AWSNodeTemplateVersion = awsv1.Group + "/v1alpha1"
)

// New gives a pointer to the Go type of an old form, for example of
// karpenter.sh/v1beta1 NodePool; nil when there is none.
func New(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case NodePoolVersion + " NodePool":
		return &NodePool{}
	case NodePoolVersion + " NodeClaim":
		return &NodeClaim{}
	case ProvisionerVersion + " Provisioner":
		return &Provisioner{}
	case EC2NodeClassVersion + " EC2NodeClass":
		return &EC2NodeClass{}
	case AWSNodeTemplateVersion + " AWSNodeTemplate":
		return &AWSNodeTemplate{}
	default:
		return nil
	}
}

// Note is something worth knowing about a conversion.
type Note struct {
	// The old form's field; "" for the whole object.
	Field   string
	Message string
}

// Result is what one old object becomes.
type Result struct {
	// The object in today's form.
	Object runtime.Object
	// A node class that was written inside the object; nil when there was none.
	Class *awsv1.EC2NodeClass
	// Kubelet settings that belong to the node class that the pool names: the caller
	// merges them with MoveKubelet once it has read all objects. nil when there are none.
	Kubelet *runtime.RawExtension
	// What the user should know, in the order of the fields.
	Notes []Note
	// What is missing, or gone, and of which the Object holds an assumption in its place.
	Gaps []Gap
	// What can't be carried over.
	Problems field.ErrorList
}

// Gap is something that today's form needs and the old one does not say. It is a problem for those who want the object
// itself, and none for those who plan with it.
type Gap struct {
	Problem *field.Error
	// Assumed is what the Object says instead, in words.
	Assumed string
}

// Convert turns an old object, of a type that New makes, into today's form. Old
// objects are not changed. Problems beside an Object mean that the object is
// incomplete and must not be used. profile is what the old setting
// aws.defaultInstanceProfile was, "" where that is not known.
func Convert(old any, profile string) (Result, error) {
	switch o := old.(type) {
	case *NodePool:
		return convertNodePool(o), nil
	case *NodeClaim:
		return convertNodeClaim(o), nil
	case *Provisioner:
		return convertProvisioner(o, profile), nil
	case *EC2NodeClass:
		return convertEC2NodeClass(o), nil
	case *AWSNodeTemplate:
		return convertAWSNodeTemplate(o, profile), nil
	default:
		return Result{}, fmt.Errorf("convert %T: not an old form", old)
	}
}

func (r *Result) note(path *field.Path, format string, args ...any) {
	at := ""
	if path != nil {
		at = path.String()
	}
	r.Notes = append(r.Notes, Note{Field: at, Message: fmt.Sprintf(format, args...)})
}

func (r *Result) gap(err *field.Error, assumed string) {
	r.Gaps = append(r.Gaps, Gap{Problem: err, Assumed: assumed})
}

func (r *Result) fail(err *field.Error) {
	r.Problems = append(r.Problems, err)
}

// condition is a status condition as the old forms wrote it.
type condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Severity           string                 `json:"severity,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty"`
}

// conditions gives each condition a reason, which is required today.
func conditions(old []condition) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range old {
		reason := c.Reason
		if reason == "" {
			reason = c.Type
		}
		out = append(out, metav1.Condition{
			Type: c.Type, Status: c.Status, Reason: reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}

func copyMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return *m.DeepCopy()
}
