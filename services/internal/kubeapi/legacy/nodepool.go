package legacy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// policyWhenUnderutilized is v1beta1's name, and default, for what is now called
// WhenEmptyOrUnderutilized.
const policyWhenUnderutilized = "WhenUnderutilized"

// NodePool is karpenter.sh/v1beta1 NodePool.
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Template   nodeClaimTemplate   `json:"template"`
		Disruption disruption          `json:"disruption"`
		Limits     corev1.ResourceList `json:"limits,omitempty"`
		Weight     *int32              `json:"weight,omitempty"`
	} `json:"spec"`
	Status struct {
		Resources  corev1.ResourceList `json:"resources,omitempty"`
		Conditions []condition         `json:"conditions,omitempty"`
	} `json:"status"`
}

type nodeClaimTemplate struct {
	Metadata karpenterv1.TemplateMetadata `json:"metadata"`
	Spec     nodeClaimSpec                `json:"spec"`
}

// nodeClaimSpec served both the pool's template and the claim.
type nodeClaimSpec struct {
	Taints        []karpenterv1.Taint              `json:"taints,omitempty"`
	StartupTaints []karpenterv1.Taint              `json:"startupTaints,omitempty"`
	Requirements  []karpenterv1.Requirement        `json:"requirements,omitempty"`
	Resources     karpenterv1.ResourceRequirements `json:"resources"`
	Kubelet       *runtime.RawExtension            `json:"kubelet,omitempty"`
	NodeClassRef  *nodeClassRef                    `json:"nodeClassRef,omitempty"`
}

type nodeClassRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name"`
}

type disruption struct {
	ConsolidateAfter    karpenterv1.NillableDuration `json:"consolidateAfter,omitempty"`
	ConsolidationPolicy string                       `json:"consolidationPolicy,omitempty"`
	ExpireAfter         karpenterv1.NillableDuration `json:"expireAfter,omitempty"`
	Budgets             []karpenterv1.Budget         `json:"budgets,omitzero"`
}

func convertNodePool(old *NodePool) Result {
	var r Result
	pool := &karpenterv1.NodePool{ObjectMeta: copyMeta(old.ObjectMeta)}
	pool.SetGroupVersionKind(karpenterv1.NodePoolGVK())
	template := &old.Spec.Template
	path := field.NewPath("spec", "template", "spec")

	labels, annotations := template.Metadata.Labels, template.Metadata.Annotations
	pool.Spec.Template.Metadata.Labels = labels
	pool.Spec.Template.Metadata.Annotations = r.annotations(annotations, field.NewPath("spec", "template", "metadata", "annotations"))
	pool.Spec.Template.Spec.Taints = template.Spec.Taints
	pool.Spec.Template.Spec.StartupTaints = template.Spec.StartupTaints
	pool.Spec.Template.Spec.Requirements = requirements(template.Spec.Requirements)
	pool.Spec.Template.Spec.NodeClassRef = r.classRef(template.Spec.NodeClassRef, path.Child("nodeClassRef"))
	if template.Spec.Resources.Requests != nil {
		r.note(path.Child("resources"), "never had an effect and is gone: dropped")
	}
	r.Kubelet = template.Spec.Kubelet

	pool.Spec.Limits, pool.Spec.Weight = old.Spec.Limits, old.Spec.Weight
	r.disruption(&old.Spec.Disruption, pool)
	pool.Status.Resources = old.Status.Resources
	pool.Status.Conditions = conditions(old.Status.Conditions)
	r.Object = pool.DeepCopy() // so that it shares nothing with the old form
	return r
}

// disruption writes v1beta1's defaults out where they are not today's.
func (r *Result) disruption(old *disruption, pool *karpenterv1.NodePool) {
	path := field.NewPath("spec", "disruption")
	pool.Spec.Template.Spec.ExpireAfter = old.ExpireAfter
	if old.ExpireAfter == "" {
		pool.Spec.Template.Spec.ExpireAfter = karpenterv1.DefaultExpireAfter
	}
	if old.ExpireAfter != karpenterv1.Never {
		r.note(path.Child("expireAfter"),
			"is now spec.template.spec.expireAfter; expiry no longer waits for disruption budgets")
	}
	d := &pool.Spec.Disruption
	d.ConsolidateAfter = old.ConsolidateAfter
	d.Budgets = old.Budgets
	switch old.ConsolidationPolicy {
	case "", policyWhenUnderutilized:
		d.ConsolidationPolicy = karpenterv1.ConsolidateWhenEmptyOrUnderutilized
		if d.ConsolidateAfter == "" {
			d.ConsolidateAfter = karpenterv1.DefaultConsolidateAfter
		}
	case string(karpenterv1.ConsolidateWhenEmpty):
		d.ConsolidationPolicy = karpenterv1.ConsolidateWhenEmpty
		if d.ConsolidateAfter == "" {
			r.fail(field.Required(path.Child("consolidateAfter"), "WhenEmpty needs it, for example 30s"))
		}
	default:
		r.fail(field.NotSupported(path.Child("consolidationPolicy"), old.ConsolidationPolicy,
			[]string{string(karpenterv1.ConsolidateWhenEmpty), policyWhenUnderutilized}))
	}
}

func (r *Result) classRef(old *nodeClassRef, path *field.Path) karpenterv1.NodeClassReference {
	if old == nil {
		r.gap(field.Required(path, "name the pool's EC2NodeClass, for example {name: default}"), "one of the name default")
		old = &nodeClassRef{Name: "default"}
	}
	ref := karpenterv1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.KindEC2NodeClass, Name: old.Name}
	if old.Kind != "" && old.Kind != awsv1.KindEC2NodeClass {
		r.fail(field.NotSupported(path.Child("kind"), old.Kind, []string{awsv1.KindEC2NodeClass}))
	}
	if old.APIVersion != "" && old.APIVersion != EC2NodeClassVersion && old.APIVersion != awsv1.GroupVersion().String() {
		r.fail(field.NotSupported(path.Child("apiVersion"), old.APIVersion, []string{EC2NodeClassVersion}))
	}
	return ref
}

// requirements is never nil, as the field is required today.
func requirements(old []karpenterv1.Requirement) []karpenterv1.Requirement {
	return append([]karpenterv1.Requirement{}, old...)
}

// NodeClaim is karpenter.sh/v1beta1 NodeClaim.
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   nodeClaimSpec `json:"spec"`
	Status struct {
		NodeName    string              `json:"nodeName,omitempty"`
		ProviderID  string              `json:"providerID,omitempty"`
		ImageID     string              `json:"imageID,omitempty"`
		Capacity    corev1.ResourceList `json:"capacity,omitempty"`
		Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
		Conditions  []condition         `json:"conditions,omitempty"`
	} `json:"status"`
}

func convertNodeClaim(old *NodeClaim) Result {
	var r Result
	path := field.NewPath("spec")
	claim := &karpenterv1.NodeClaim{ObjectMeta: copyMeta(old.ObjectMeta)}
	claim.SetGroupVersionKind(karpenterv1.NodeClaimGVK())
	claim.Spec.Taints = old.Spec.Taints
	claim.Spec.StartupTaints = old.Spec.StartupTaints
	claim.Spec.Requirements = requirements(old.Spec.Requirements)
	claim.Spec.Resources = old.Spec.Resources
	claim.Spec.NodeClassRef = r.classRef(old.Spec.NodeClassRef, path.Child("nodeClassRef"))
	claim.Spec.ExpireAfter = karpenterv1.DefaultExpireAfter
	r.note(nil, "claims had no expiry of their own: spec.expireAfter is set to %s", karpenterv1.DefaultExpireAfter)
	if old.Spec.Kubelet != nil {
		r.note(path.Child("kubelet"), "belongs to the EC2NodeClass now, and comes there from the claim's NodePool: dropped")
	}
	claim.Status.NodeName = old.Status.NodeName
	claim.Status.ProviderID = old.Status.ProviderID
	claim.Status.ImageID = old.Status.ImageID
	claim.Status.Capacity = old.Status.Capacity
	claim.Status.Allocatable = old.Status.Allocatable
	claim.Status.Conditions = conditions(old.Status.Conditions)
	r.Object = claim.DeepCopy()
	return r
}
