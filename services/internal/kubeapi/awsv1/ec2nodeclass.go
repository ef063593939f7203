package awsv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// EC2NodeClass says how a pool's instances are made: image, network, identity,
// disks and kubelet.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Role",type="string",JSONPath=".spec.role",priority=1
type EC2NodeClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// What the user wants.
	Spec EC2NodeClassSpec `json:"spec"`
	// What was found for it.
	// +optional
	Status EC2NodeClassStatus `json:"status,omitzero"`
}

// EC2NodeClassList is a list of node classes.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []EC2NodeClass `json:"items"`
}

// EC2NodeClassSpec is what the user wants of a node class.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) != has(self.instanceProfile)",message="set exactly one of role and instanceProfile"
// +kubebuilder:validation:XValidation:rule="has(self.amiFamily) || self.amiSelectorTerms.exists(x, has(x.alias))",message="set amiFamily, or select the image by an alias"
// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(x, !has(x.alias) || x.alias.split('@')[0] == self.amiFamily.lowerAscii())",message="amiFamily must be the alias's family or Custom: remove it, or change it or the alias"
type EC2NodeClassSpec struct {
	// The subnets to launch into: those that any of the terms selects.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms"`
	// The instances' security groups: those that any of the terms selects.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms"`
	// The capacity reservations to use: those that any of the terms selects.
	// +kubebuilder:validation:MaxItems=30
	// +optional
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty"`
	// The placement group to launch into.
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`
	// Whether instances get a public address. Absent leaves it to the subnet.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// How many address prefixes the primary network interface gets.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`
	// The images to start from: those that any of the terms selects. An alias must be
	// the only term.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.size() == 1 || !self.exists(x, has(x.alias))",message="an alias must be the only term"
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms"`
	// The image's family, which decides the form of the user data and the disks'
	// defaults. Absent takes the alias's.
	// +optional
	AMIFamily *AMIFamily `json:"amiFamily,omitempty"`
	// User data to merge with what the family needs; taken as it is by family Custom.
	// +optional
	UserData *string `json:"userData,omitempty"`
	// The IAM role of the instances. Exactly one of role and instanceProfile is set.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Role string `json:"role,omitempty"`
	// The IAM instance profile of the instances.
	// +kubebuilder:validation:MinLength=1
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// Tags for everything that is made in EC2.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="a tag needs a key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['eks:eks-cluster-name', 'karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.k8s.aws/ec2nodeclass']) && !k.startsWith('kubernetes.io/cluster/'))",message="eks:eks-cluster-name, kubernetes.io/cluster/*, karpenter.sh/nodepool, karpenter.sh/nodeclaim and karpenter.k8s.aws/ec2nodeclass are set by the controller: remove them"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The kubelet's configuration, kept as it is written; see Kubelet for the fields
	// that Kerf itself reads.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Kubelet *runtime.RawExtension `json:"kubelet,omitempty"`
	// The instances' disks. Absent takes the family's.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.filter(x, has(x.rootVolume) && x.rootVolume).size() <= 1",message="at most one mapping can be the root volume"
	// +optional
	BlockDeviceMappings []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// What to do with the instances' local disks. Absent leaves them alone.
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`
	// The instances' network interfaces. Absent gives one.
	// +kubebuilder:validation:MaxItems=150
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",message="the interface of card 0 and device 0 is missing, or not of type interface"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.interfaceType != 'efa-only' || self.filter(y, y.interfaceType == 'efa-only' && y.networkCardIndex == x.networkCardIndex).size() == 1)",message="a network card takes at most one interface of type efa-only"
	// +listType=map
	// +listMapKey=networkCardIndex
	// +listMapKey=deviceIndex
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// Whether CloudWatch gets the instances' metrics each minute.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// How pods and programs reach the instance metadata service.
	// +kubebuilder:default={}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// How long security groups remember idle connections. Needs instance types of the
	// nitro hypervisor.
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`
	// Options of the instances' processors.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
	// The Context field of CreateFleet, reserved by EC2.
	// +optional
	Context *string `json:"context,omitempty"`
}

// AMIFamily is a family of images.
//
// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Custom;Windows2019;Windows2022;Windows2025
type AMIFamily string

// The image families.
const (
	FamilyAL2          AMIFamily = "AL2"
	FamilyAL2023       AMIFamily = "AL2023"
	FamilyBottlerocket AMIFamily = "Bottlerocket"
	FamilyCustom       AMIFamily = "Custom"
	FamilyWindows2019  AMIFamily = "Windows2019"
	FamilyWindows2022  AMIFamily = "Windows2022"
	FamilyWindows2025  AMIFamily = "Windows2025"
)

// Families lists the image families, sorted.
func Families() []AMIFamily {
	return []AMIFamily{
		FamilyAL2, FamilyAL2023, FamilyBottlerocket, FamilyCustom,
		FamilyWindows2019, FamilyWindows2022, FamilyWindows2025,
	}
}

// InstanceStorePolicy says what to do with local disks.
//
// +kubebuilder:validation:Enum=RAID0
type InstanceStorePolicy string

// InstanceStoreRAID0 joins the local disks to one for the kubelet and the container runtime.
const InstanceStoreRAID0 InstanceStorePolicy = "RAID0"
