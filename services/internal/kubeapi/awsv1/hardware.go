package awsv1

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// BlockDeviceMapping is one disk of an instance.
type BlockDeviceMapping struct {
	// The device's name, for example /dev/xvda.
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// The volume behind it.
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
	// The kubelet's data are on this disk, so it decides the node's ephemeral storage.
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
}

// BlockDevice is an EBS volume.
//
// +kubebuilder:validation:XValidation:rule="has(self.snapshotID) || has(self.volumeSize)",message="set snapshotID or volumeSize"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeInitializationRate) || has(self.snapshotID)",message="volumeInitializationRate needs snapshotID"
type BlockDevice struct {
	// Whether the volume ends with its instance.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// Whether the volume is encrypted.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`
	// Provisioned operations per second; for io1, io2 and gp3.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// The key that encrypts the volume: id, alias or ARN.
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// The snapshot that the volume is made from.
	// +kubebuilder:validation:MinLength=1
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// Provisioned throughput in MiB per second; for gp3.
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// How fast the snapshot is loaded, in MiB per second.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
	// The volume's size.
	// +optional
	VolumeSize *VolumeSize `json:"volumeSize,omitempty"`
	// The volume's type.
	// +kubebuilder:validation:Enum=standard;io1;io2;gp2;sc1;st1;gp3
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}

// VolumeSize is the size of a volume as the user wrote it: 1Gi to 59000Gi, 1G to
// 64000G, 1Ti to 58Ti or 1T to 64T.
//
// +kubebuilder:validation:Pattern=`^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$`
type VolumeSize string

var volumeSizeForm = regexp.MustCompile(`^[1-9][0-9]*(Gi|G|Ti|T)$`)

// GiB is the size in GiB, rounded up, as EC2 wants it.
func (s VolumeSize) GiB() (int32, error) {
	q, err := resource.ParseQuantity(string(s))
	if err != nil || !volumeSizeForm.MatchString(string(s)) {
		return 0, fmt.Errorf("volume size %q: want a whole number of Gi, G, Ti or T such as 20Gi", string(s))
	}
	limit := map[string]string{"Gi": "59000Gi", "G": "64000G", "Ti": "58Ti", "T": "64T"}
	most := limit[volumeSizeForm.FindStringSubmatch(string(s))[1]]
	if q.Cmp(resource.MustParse(most)) > 0 {
		return 0, fmt.Errorf("volume size %q: too large, the most is %s", string(s), most)
	}
	const gib = 1 << 30
	return int32((q.Value() + gib - 1) / gib), nil
}

// NetworkInterface is one network interface of an instance.
type NetworkInterface struct {
	// The network card that the interface is on.
	// +kubebuilder:validation:Minimum=0
	NetworkCardIndex int32 `json:"networkCardIndex"`
	// The interface's place on the instance.
	// +kubebuilder:validation:Minimum=0
	DeviceIndex int32 `json:"deviceIndex"`
	// An ordinary interface, or one for EFA traffic alone.
	// +kubebuilder:validation:Enum=interface;efa-only
	InterfaceType string `json:"interfaceType"`
}

// The types of network interfaces.
const (
	InterfaceOrdinary = "interface"
	InterfaceEFAOnly  = "efa-only"
)

// MetadataOptions says how pods and programs reach the instance metadata service.
type MetadataOptions struct {
	// Whether the service answers at all.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +kubebuilder:default="enabled"
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// Whether the service answers over IPv6.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +kubebuilder:default="disabled"
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// How many hops an answer may take; 1 keeps it from pods with a network of their own.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default=1
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// Whether requests need a session token.
	// +kubebuilder:validation:Enum=required;optional
	// +kubebuilder:default="required"
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// ConnectionTracking says how long security groups remember idle connections, in
// seconds.
//
// +kubebuilder:validation:XValidation:rule="has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",message="set at least one timeout, or remove connectionTracking"
type ConnectionTracking struct {
	// Idle TCP connections that are established, in seconds.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=432000
	// +optional
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	// Idle UDP flows that saw more than one request and answer, in seconds.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=180
	// +optional
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`
	// Other idle UDP flows, in seconds.
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=60
	// +optional
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// CPUOptions are options of an instance's processors.
type CPUOptions struct {
	// Whether the instance can run virtual machines itself; enabled leaves only the
	// instance types that can.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}
