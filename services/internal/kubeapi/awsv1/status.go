package awsv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// EC2NodeClassStatus is what was found for a node class.
type EC2NodeClassStatus struct {
	// The subnets, most free addresses first.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// The security groups.
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// The capacity reservations.
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
	// The images, newest first.
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// The instance profile in use.
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// The class's conditions; see the Condition constants.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet is a subnet that was found.
type Subnet struct {
	// The subnet's id.
	ID string `json:"id"`
	// The zone's name.
	Zone string `json:"zone"`
	// The zone's id, which is the same in all accounts.
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup is a security group that was found.
type SecurityGroup struct {
	// The group's id.
	ID string `json:"id"`
	// The group's name.
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI is an image that was found.
type AMI struct {
	// The image's id.
	ID string `json:"id"`
	// The image's name.
	// +optional
	Name string `json:"name,omitempty"`
	// The image is deprecated.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// The instance types that the image is for.
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// CapacityReservation is a capacity reservation that was found.
type CapacityReservation struct {
	// The reservation's id.
	ID string `json:"id"`
	// The zone that it is in.
	AvailabilityZone string `json:"availabilityZone"`
	// The instance type that it holds.
	InstanceType string `json:"instanceType"`
	// Which launches it accepts.
	// +kubebuilder:validation:Enum=open;targeted
	InstanceMatchCriteria string `json:"instanceMatchCriteria"`
	// The account that owns it.
	OwnerID string `json:"ownerID"`
	// When it ends. Absent means that it does not.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// An ordinary reservation, or a block of capacity with an end.
	// +kubebuilder:validation:Enum=default;capacity-block
	// +kubebuilder:default="default"
	// +optional
	ReservationType string `json:"reservationType,omitempty"`
	// EC2 may take its instances back before it ends.
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
	// Whether EC2 is about to take its instances back.
	// +kubebuilder:validation:Enum=active;expiring
	// +kubebuilder:default="active"
	// +optional
	State string `json:"state,omitempty"`
}

// Conditions of an EC2NodeClass. ConditionReady is the conjunction of the others.
const (
	ConditionReady                     = karpenterv1.ConditionReady
	ConditionSubnetsReady              = "SubnetsReady"
	ConditionSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionAMIsReady                 = "AMIsReady"
	ConditionInstanceProfileReady      = "InstanceProfileReady"
	ConditionPlacementGroupReady       = "PlacementGroupReady"
	ConditionCapacityReservationsReady = "CapacityReservationsReady"
	ConditionValidationSucceeded       = karpenterv1.ConditionValidationSucceeded
)

// Dependencies are the conditions that ConditionReady is the conjunction of.
func Dependencies() []string {
	return []string{
		ConditionValidationSucceeded, ConditionSubnetsReady, ConditionSecurityGroupsReady, ConditionAMIsReady,
		ConditionInstanceProfileReady, ConditionPlacementGroupReady, ConditionCapacityReservationsReady,
	}
}

// Reasons of conditions that are not true.
const (
	ReasonSubnetsNotFound                = "SubnetsNotFound"
	ReasonSecurityGroupsNotFound         = "SecurityGroupsNotFound"
	ReasonAMINotFound                    = "AMINotFound"
	ReasonUnsupportedAlias               = "UnsupportedAlias"
	ReasonInstanceProfileNotFound        = "InstanceProfileNotFound"
	ReasonPlacementGroupNotFound         = "PlacementGroupNotFound"
	ReasonPlacementGroupResolutionFailed = "PlacementGroupResolutionFailed"

	ReasonDependenciesNotReady            = "DependenciesNotReady"
	ReasonCreateLaunchTemplateAuthFailed  = "CreateLaunchTemplateAuthCheckFailed"
	ReasonCreateFleetAuthFailed           = "CreateFleetAuthCheckFailed"
	ReasonRunInstancesAuthFailed          = "RunInstancesAuthCheckFailed"
	ReasonTagValidationFailed             = "TagValidationFailed"
	ReasonInvalidKubeletConfiguration     = "InvalidKubeletConfiguration"
	ReasonUnsupportedKubeletConfiguration = "UnsupportedKubeletConfiguration"
	ReasonKubeletExpressionInvalid        = "KubeletExpressionInvalid"
	ReasonUserDataSizeLimitExceeded       = "UserDataSizeLimitExceeded"
	ReasonUserDataInvalid                 = "UserDataInvalid"
	ReasonInvalidSpec                     = "InvalidSpec"
)
