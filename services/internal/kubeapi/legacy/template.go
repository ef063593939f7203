package legacy

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// maxTerms is how many selector terms today's form takes.
const maxTerms = 30

// AWSNodeTemplate is karpenter.k8s.aws/v1alpha1 AWSNodeTemplate.
type AWSNodeTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   AWSNodeTemplateSpec `json:"spec"`
	Status struct {
		Subnets        []awsv1.Subnet        `json:"subnets,omitempty"`
		SecurityGroups []awsv1.SecurityGroup `json:"securityGroups,omitempty"`
		AMIs           []awsv1.AMI           `json:"amis,omitempty"`
	} `json:"status"`
}

// AWSNodeTemplateSpec is an AWSNodeTemplate's settings, which a Provisioner could
// also hold itself. Selectors are tags, with "aws-ids" and the like among them.
type AWSNodeTemplateSpec struct {
	APIVersion            string                     `json:"apiVersion,omitempty"`
	Kind                  string                     `json:"kind,omitempty"`
	UserData              *string                    `json:"userData,omitempty"`
	AMISelector           map[string]string          `json:"amiSelector,omitempty"`
	AMIFamily             *string                    `json:"amiFamily,omitempty"`
	Context               *string                    `json:"context,omitempty"`
	InstanceProfile       *string                    `json:"instanceProfile,omitempty"`
	SubnetSelector        map[string]string          `json:"subnetSelector,omitempty"`
	SecurityGroupSelector map[string]string          `json:"securityGroupSelector,omitempty"`
	Tags                  map[string]string          `json:"tags,omitempty"`
	LaunchTemplate        *string                    `json:"launchTemplate,omitempty"`
	MetadataOptions       *awsv1.MetadataOptions     `json:"metadataOptions,omitempty"`
	BlockDeviceMappings   []awsv1.BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	DetailedMonitoring    *bool                      `json:"detailedMonitoring,omitempty"`
}

func convertAWSNodeTemplate(old *AWSNodeTemplate, profile string) Result {
	var r Result
	path := field.NewPath("spec")
	class := &awsv1.EC2NodeClass{ObjectMeta: copyMeta(old.ObjectMeta)}
	class.SetGroupVersionKind(awsv1.EC2NodeClassGVK())
	s := &class.Spec
	for _, t := range r.selected(old.Spec.SubnetSelector, path.Child("subnetSelector"), "subnets in all zones") {
		s.SubnetSelectorTerms = append(s.SubnetSelectorTerms, awsv1.SubnetSelectorTerm{ID: t.id, Tags: t.tags})
	}
	if len(old.Spec.SecurityGroupSelector) > 0 || old.Spec.LaunchTemplate == nil {
		for _, t := range r.selected(old.Spec.SecurityGroupSelector, path.Child("securityGroupSelector"), "groups that nodes can join with") {
			s.SecurityGroupSelectorTerms = append(s.SecurityGroupSelectorTerms, awsv1.SecurityGroupSelectorTerm{ID: t.id, Tags: t.tags})
		}
	}
	if len(old.Spec.AMISelector) > 0 {
		for _, t := range r.terms(old.Spec.AMISelector, path.Child("amiSelector")) {
			s.AMISelectorTerms = append(s.AMISelectorTerms, awsv1.AMISelectorTerm{ID: t.id, Name: t.name, Owner: t.owner, Tags: t.tags})
		}
	}
	family := string(awsv1.FamilyAL2)
	if old.Spec.AMIFamily != nil {
		family = *old.Spec.AMIFamily
	}
	s.BlockDeviceMappings = old.Spec.BlockDeviceMappings
	r.image(s, family, path)
	if old.Spec.LaunchTemplate != nil {
		r.gap(field.Forbidden(path.Child("launchTemplate"), "launch templates of one's own are no longer taken: write its content as "+
			"amiSelectorTerms, userData, blockDeviceMappings, metadataOptions and securityGroupSelectorTerms"), "the images and disks of family "+family)
		if len(s.SecurityGroupSelectorTerms) == 0 {
			s.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{Name: *old.Spec.LaunchTemplate}}
		}
	}
	s.InstanceProfile = old.Spec.InstanceProfile
	if s.InstanceProfile == nil && profile != "" {
		s.InstanceProfile = &profile
	}
	if s.InstanceProfile == nil {
		s.InstanceProfile = new("assumed")
		r.gap(field.Required(path.Child("instanceProfile"), "it came from the setting aws.defaultInstanceProfile, which is gone: write it here, or name it with kerf convert --default-instance-profile"),
			"a profile that nodes can join with")
	}
	s.UserData, s.Tags, s.Context = old.Spec.UserData, old.Spec.Tags, old.Spec.Context
	s.DetailedMonitoring = old.Spec.DetailedMonitoring
	r.metadataOptions(s, old.Spec.MetadataOptions, path.Child("metadataOptions"))
	r.Object = class.DeepCopy()
	return r
}

// term is one alternative of a selector.
type term struct {
	id, name, owner string
	tags            map[string]string
}

// selected are the terms of a selector, which had a default once: tags of the cluster's name, which is not known here.
func (r *Result) selected(selector map[string]string, path *field.Path, assumed string) []term {
	if len(selector) == 0 {
		r.gap(field.Required(path, "select by at least one tag"), assumed)
		return []term{{tags: map[string]string{labels.TagDiscovery: "assumed"}}}
	}
	return r.terms(selector, path)
}

// terms turns a map of tags whose values can list alternatives into terms, one for
// each combination.
func (r *Result) terms(selector map[string]string, path *field.Path) []term {
	if len(selector) > 1 && (selector["aws-ids"] != "" || selector["aws::ids"] != "") {
		r.fail(field.Forbidden(path, "ids can't be combined with tags any more: select by either"))
		return nil
	}
	out := []term{{}}
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		var next []term
		for value := range strings.SplitSeq(selector[key], ",") {
			for _, t := range out {
				next = append(next, t.with(key, strings.TrimSpace(value)))
			}
			if len(next) > maxTerms {
				r.fail(field.TooMany(path, len(next), maxTerms))
				return nil
			}
		}
		out = next
	}
	if len(out) > 1 {
		r.note(path, "lists alternatives, which become %d terms", len(out))
	}
	return out
}

func (t term) with(key, value string) term {
	switch key {
	case "aws-ids", "aws::ids":
		t.id = value
	case "aws::name":
		t.name = value
	case "aws::owners":
		t.owner = value
	default:
		tags := maps.Clone(t.tags)
		if tags == nil {
			tags = map[string]string{}
		}
		tags[key] = value
		t.tags = tags
	}
	return t
}
