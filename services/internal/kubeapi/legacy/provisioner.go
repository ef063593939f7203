package legacy

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

const kindAWSNodeTemplate = "AWSNodeTemplate"

// Provisioner is karpenter.sh/v1alpha5 Provisioner.
type Provisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Annotations          map[string]string                 `json:"annotations,omitempty"`
		Labels               map[string]karpenterv1.LabelValue `json:"labels,omitempty"`
		Taints               []karpenterv1.Taint               `json:"taints,omitempty"`
		StartupTaints        []karpenterv1.Taint               `json:"startupTaints,omitempty"`
		Requirements         []karpenterv1.Requirement         `json:"requirements,omitempty"`
		KubeletConfiguration *runtime.RawExtension             `json:"kubeletConfiguration,omitempty"`
		// Provider is an AWSNodeTemplate's settings written inside; ProviderRef names one.
		Provider               *AWSNodeTemplateSpec `json:"provider,omitempty"`
		ProviderRef            *nodeClassRef        `json:"providerRef,omitempty"`
		TTLSecondsAfterEmpty   *int64               `json:"ttlSecondsAfterEmpty,omitempty"`
		TTLSecondsUntilExpired *int64               `json:"ttlSecondsUntilExpired,omitempty"`
		Limits                 struct {
			Resources corev1.ResourceList `json:"resources,omitempty"`
		} `json:"limits"`
		Weight        *int32 `json:"weight,omitempty"`
		Consolidation struct {
			Enabled *bool `json:"enabled,omitempty"`
		} `json:"consolidation"`
	} `json:"spec"`
	Status struct {
		LastScaleTime *metav1.Time        `json:"lastScaleTime,omitempty"`
		Conditions    []condition         `json:"conditions,omitempty"`
		Resources     corev1.ResourceList `json:"resources,omitempty"`
	} `json:"status"`
}

func convertProvisioner(old *Provisioner, profile string) Result {
	var r Result
	path := field.NewPath("spec")
	pool := &karpenterv1.NodePool{ObjectMeta: copyMeta(old.ObjectMeta)}
	pool.SetGroupVersionKind(karpenterv1.NodePoolGVK())
	pool.Spec.Template.Metadata.Labels = old.Spec.Labels
	pool.Spec.Template.Metadata.Annotations = r.annotations(old.Spec.Annotations, path.Child("annotations"))
	t := &pool.Spec.Template.Spec
	t.Taints, t.StartupTaints = old.Spec.Taints, old.Spec.StartupTaints
	t.Requirements = r.impliedRequirements(old, path.Child("requirements"))
	t.NodeClassRef = r.provider(old, profile, path)
	pool.Spec.Limits, pool.Spec.Weight = old.Spec.Limits.Resources, old.Spec.Weight
	r.timesToLive(old, pool, path)
	r.Kubelet = r.withoutContainerRuntime(old.Spec.KubeletConfiguration, path.Child("kubeletConfiguration"))
	pool.Status.Resources = old.Status.Resources
	r.Object = pool.DeepCopy()
	return r
}

// impliedRequirements writes out what a Provisioner meant where it said nothing.
func (r *Result) impliedRequirements(old *Provisioner, path *field.Path) []karpenterv1.Requirement {
	out := requirements(old.Spec.Requirements)
	said := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			if _, ok := old.Spec.Labels[key]; ok {
				return true
			}
			return slices.ContainsFunc(old.Spec.Requirements, func(q karpenterv1.Requirement) bool {
				return labels.Normal(q.Key) == key
			})
		})
	}
	imply := func(key string, op karpenterv1.Operator, values ...string) {
		out = append(out, karpenterv1.Requirement{Key: key, Operator: op, Values: values})
		r.note(path, "a Provisioner without %s meant %s %v, which is written out", key, op, values)
	}
	if !said(labels.OS) {
		imply(labels.OS, karpenterv1.OpIn, "linux")
	}
	if !said(labels.Arch) {
		imply(labels.Arch, karpenterv1.OpIn, "amd64")
	}
	if !said(labels.CapacityType) {
		imply(labels.CapacityType, karpenterv1.OpIn, karpenterv1.CapacityTypeOnDemand)
	}
	if !said(labels.InstanceType, labels.InstanceFamily, labels.InstanceCategory, labels.InstanceGeneration) {
		imply(labels.InstanceCategory, karpenterv1.OpIn, "c", "m", "r")
		imply(labels.InstanceGeneration, karpenterv1.OpGt, "2")
	}
	return out
}

// provider names the node class: the one that the AWSNodeTemplate becomes, or one
// made from the settings inside the Provisioner, under its name.
func (r *Result) provider(old *Provisioner, profile string, path *field.Path) karpenterv1.NodeClassReference {
	ref := karpenterv1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.KindEC2NodeClass}
	switch {
	case old.Spec.Provider != nil && old.Spec.ProviderRef != nil:
		r.fail(field.Forbidden(path.Child("provider"), "set either provider or providerRef"))
	case old.Spec.Provider != nil:
		template := &AWSNodeTemplate{Spec: *old.Spec.Provider}
		template.Name = cmp.Or(old.Name, "unnamed") // one that has no name is told of where objects get theirs
		inner := convertAWSNodeTemplate(template, profile)
		ref.Name = template.Name
		r.Class, _ = inner.Object.(*awsv1.EC2NodeClass)
		r.note(path.Child("provider"), "becomes the EC2NodeClass %s", ref.Name)
		for _, n := range inner.Notes {
			r.Notes = append(r.Notes, Note{Field: innerField(path, n.Field), Message: n.Message})
		}
		for _, g := range inner.Gaps {
			g.Problem.Field = innerField(path, g.Problem.Field)
			r.Gaps = append(r.Gaps, g)
		}
		for _, p := range inner.Problems {
			p.Field = innerField(path, p.Field)
			r.fail(p)
		}
	case old.Spec.ProviderRef != nil:
		at := path.Child("providerRef")
		ref.Name = old.Spec.ProviderRef.Name
		if kind := old.Spec.ProviderRef.Kind; kind != "" && kind != kindAWSNodeTemplate {
			r.fail(field.NotSupported(at.Child("kind"), kind, []string{kindAWSNodeTemplate}))
		}
		r.note(at, "is now spec.template.spec.nodeClassRef, the EC2NodeClass %s", ref.Name)
	case old.Name == "": // what comes to be assumed of its name is not known here
		return karpenterv1.NodeClassReference{}
	default:
		ref.Name = old.Name
		r.gap(field.Required(path.Child("providerRef"), "name the AWSNodeTemplate, for example {name: default}"), "one of the Provisioner's name")
	}
	return ref
}

// innerField turns a template's "spec.x" into the provisioner's "spec.provider.x".
func innerField(path *field.Path, inner string) string {
	const prefix = "spec"
	if len(inner) < len(prefix) {
		return path.Child("provider").String()
	}
	return path.Child("provider").String() + inner[len(prefix):]
}

// timesToLive turns the two times and the consolidation switch into a policy. A
// Provisioner that set none of them kept its nodes for ever.
func (r *Result) timesToLive(old *Provisioner, pool *karpenterv1.NodePool, path *field.Path) {
	t, d := &pool.Spec.Template.Spec, &pool.Spec.Disruption
	t.ExpireAfter = karpenterv1.Never
	if seconds := old.Spec.TTLSecondsUntilExpired; seconds != nil {
		t.ExpireAfter = karpenterv1.NillableDuration(fmt.Sprintf("%ds", *seconds))
	}
	consolidate := old.Spec.Consolidation.Enabled != nil && *old.Spec.Consolidation.Enabled
	switch {
	case consolidate && old.Spec.TTLSecondsAfterEmpty != nil:
		r.fail(field.Forbidden(path.Child("ttlSecondsAfterEmpty"), "it can't be combined with consolidation.enabled: remove one"))
	case consolidate:
		d.ConsolidationPolicy = karpenterv1.ConsolidateWhenEmptyOrUnderutilized
		d.ConsolidateAfter = karpenterv1.DefaultConsolidateAfter
	case old.Spec.TTLSecondsAfterEmpty != nil:
		d.ConsolidationPolicy = karpenterv1.ConsolidateWhenEmpty
		d.ConsolidateAfter = karpenterv1.NillableDuration(fmt.Sprintf("%ds", *old.Spec.TTLSecondsAfterEmpty))
	default:
		d.ConsolidationPolicy = karpenterv1.ConsolidateWhenEmpty
		d.ConsolidateAfter = karpenterv1.Never
		r.note(path.Child("consolidation"), "was off, also for empty nodes, which is now consolidateAfter: Never")
	}
	r.note(path, "disruption budgets did not exist: the default of one budget of %s applies", karpenterv1.DefaultBudgetNodes)
}
