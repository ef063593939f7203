package legacy

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// oldHopLimit is the hop limit of the metadata service where an old form gave none.
// Today's default is smaller, so it has to be written out.
const oldHopLimit int64 = 2

// familyUbuntu is a family of the old forms that no longer exists.
const familyUbuntu = "Ubuntu"

// EC2NodeClass is karpenter.k8s.aws/v1beta1 EC2NodeClass.
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		SubnetSelectorTerms        []awsv1.SubnetSelectorTerm        `json:"subnetSelectorTerms,omitempty"`
		SecurityGroupSelectorTerms []awsv1.SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms,omitempty"`
		AMISelectorTerms           []amiSelectorTerm                 `json:"amiSelectorTerms,omitempty"`
		AMIFamily                  *string                           `json:"amiFamily,omitempty"`
		AssociatePublicIPAddress   *bool                             `json:"associatePublicIPAddress,omitempty"`
		UserData                   *string                           `json:"userData,omitempty"`
		Role                       string                            `json:"role,omitempty"`
		InstanceProfile            *string                           `json:"instanceProfile,omitempty"`
		Tags                       map[string]string                 `json:"tags,omitempty"`
		BlockDeviceMappings        []awsv1.BlockDeviceMapping        `json:"blockDeviceMappings,omitempty"`
		InstanceStorePolicy        *awsv1.InstanceStorePolicy        `json:"instanceStorePolicy,omitempty"`
		DetailedMonitoring         *bool                             `json:"detailedMonitoring,omitempty"`
		MetadataOptions            *awsv1.MetadataOptions            `json:"metadataOptions,omitempty"`
		Context                    *string                           `json:"context,omitempty"`
	} `json:"spec"`
	Status struct {
		Subnets         []awsv1.Subnet        `json:"subnets,omitempty"`
		SecurityGroups  []awsv1.SecurityGroup `json:"securityGroups,omitempty"`
		AMIs            []awsv1.AMI           `json:"amis,omitempty"`
		InstanceProfile string                `json:"instanceProfile,omitempty"`
		Conditions      []condition           `json:"conditions,omitempty"`
	} `json:"status"`
}

type amiSelectorTerm struct {
	Tags  map[string]string `json:"tags,omitempty"`
	ID    string            `json:"id,omitempty"`
	Name  string            `json:"name,omitempty"`
	Owner string            `json:"owner,omitempty"`
}

func convertEC2NodeClass(old *EC2NodeClass) Result {
	var r Result
	path := field.NewPath("spec")
	class := &awsv1.EC2NodeClass{ObjectMeta: copyMeta(old.ObjectMeta)}
	class.SetGroupVersionKind(awsv1.EC2NodeClassGVK())
	s := &class.Spec
	s.SubnetSelectorTerms = old.Spec.SubnetSelectorTerms
	s.SecurityGroupSelectorTerms = old.Spec.SecurityGroupSelectorTerms
	for _, t := range old.Spec.AMISelectorTerms {
		s.AMISelectorTerms = append(s.AMISelectorTerms, awsv1.AMISelectorTerm{Tags: t.Tags, ID: t.ID, Name: t.Name, Owner: t.Owner})
	}
	s.BlockDeviceMappings = old.Spec.BlockDeviceMappings
	if old.Spec.AMIFamily == nil {
		r.fail(field.Required(path.Child("amiFamily"), "name the images' family, for example AL2023"))
	} else {
		r.image(s, *old.Spec.AMIFamily, path)
	}
	s.AssociatePublicIPAddress = old.Spec.AssociatePublicIPAddress
	s.UserData = old.Spec.UserData
	s.Role, s.InstanceProfile = old.Spec.Role, old.Spec.InstanceProfile
	s.Tags = old.Spec.Tags
	s.InstanceStorePolicy = old.Spec.InstanceStorePolicy
	s.DetailedMonitoring = old.Spec.DetailedMonitoring
	s.Context = old.Spec.Context
	r.metadataOptions(s, old.Spec.MetadataOptions, path.Child("metadataOptions"))

	class.Status.Subnets = old.Status.Subnets
	class.Status.SecurityGroups = old.Status.SecurityGroups
	class.Status.AMIs = old.Status.AMIs
	class.Status.InstanceProfile = old.Status.InstanceProfile
	class.Status.Conditions = conditions(old.Status.Conditions)
	r.Object = class.DeepCopy()
	return r
}

// image says the family as today's form does: by an alias where the old form took
// the family's newest image, else by amiFamily.
func (r *Result) image(s *awsv1.EC2NodeClassSpec, family string, path *field.Path) {
	at := path.Child("amiFamily")
	if family == familyUbuntu {
		r.ubuntu(s, at)
		return
	}
	if len(s.AMISelectorTerms) > 0 {
		known := awsv1.AMIFamily(family)
		s.AMIFamily = &known
		return
	}
	if family == string(awsv1.FamilyCustom) {
		r.fail(field.Required(path.Child("amiSelectorTerms"), "family Custom has no images of its own: select them"))
		return
	}
	alias, err := awsv1.ParseAlias(strings.ToLower(family) + "@" + awsv1.VersionLatest)
	if err != nil {
		r.fail(field.NotSupported(at, family, awsv1.Families()))
		return
	}
	s.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: alias.String()}}
	r.note(at, "without amiSelectorTerms it meant the newest image, which is now amiSelectorTerms: [{alias: %s}]", alias)
}

// ubuntu writes the family Ubuntu out, which today's form does not have: images by their name, user data as AL2 takes it,
// and the root disk, which is another device than AL2's.
func (r *Result) ubuntu(s *awsv1.EC2NodeClassSpec, at *field.Path) {
	s.AMIFamily = new(awsv1.FamilyAL2)
	if len(s.AMISelectorTerms) == 0 {
		s.AMISelectorTerms = []awsv1.AMISelectorTerm{{Name: "ubuntu-eks/k8s_*", Owner: "099720109477"}}
	}
	r.note(at, "Ubuntu is no family any more: it is read as amiFamily AL2, whose user data Ubuntu's images take; put the version "+
		"of Kubernetes into amiSelectorTerms[0].name, as in ubuntu-eks/k8s_1.29/images/*")
	if len(s.BlockDeviceMappings) == 0 {
		s.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{
			DeviceName: new("/dev/sda1"), RootVolume: true, EBS: &awsv1.BlockDevice{
				VolumeSize: new(awsv1.VolumeSize("20Gi")), VolumeType: new("gp3"), Encrypted: new(true),
			},
		}}
	}
}

// metadataOptions writes the old default of the hop limit out.
func (r *Result) metadataOptions(s *awsv1.EC2NodeClassSpec, old *awsv1.MetadataOptions, path *field.Path) {
	s.MetadataOptions = &awsv1.MetadataOptions{}
	if old != nil {
		s.MetadataOptions = old.DeepCopy()
	}
	if s.MetadataOptions.HTTPPutResponseHopLimit != nil {
		return
	}
	limit := oldHopLimit
	s.MetadataOptions.HTTPPutResponseHopLimit = &limit
	r.note(path.Child("httpPutResponseHopLimit"), "was %d by default and is %d now: %d is written out, so that pods reach what they reached",
		oldHopLimit, awsv1.DefaultHTTPPutResponseHopLimit, oldHopLimit)
}
