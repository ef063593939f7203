package kwok

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/test/awssim"
)

// Node is the object that the instance's kubelet registers, together with what the cloud provider adds to it: the
// kubelet's own labels, those of --node-labels, the taints of the user data, and the machine's resources.
func Node(b awssim.Boot, now time.Time) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        b.NodeName,
			Labels:      labels(b),
			Annotations: map[string]string{Annotation: "fake"},
		},
		Spec: corev1.NodeSpec{ProviderID: b.ProviderID, Taints: taints(b)},
		Status: corev1.NodeStatus{
			Capacity:    resources(b.Capacity),
			Allocatable: resources(b.Allocatable),
			Phase:       corev1.NodeRunning,
			Conditions:  conditions(metav1.NewTime(now)),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: b.PrivateIP},
				{Type: corev1.NodeInternalDNS, Address: b.NodeName},
				{Type: corev1.NodeHostName, Address: b.NodeName},
			},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: b.Arch, OperatingSystem: b.OS, KubeletVersion: "v" + b.KubernetesVersion + ".0-eks-awssim",
				OSImage: b.ImageID, ContainerRuntimeVersion: "containerd://2.1.0", KernelVersion: "6.12.0", SystemUUID: b.InstanceID,
			},
		},
	}
}

func labels(b awssim.Boot) map[string]string {
	out := maps.Clone(b.UserData.Labels)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, map[string]string{
		corev1.LabelHostname:                b.NodeName,
		corev1.LabelArchStable:              b.Arch,
		corev1.LabelOSStable:                b.OS,
		corev1.LabelInstanceTypeStable:      b.InstanceType,
		corev1.LabelTopologyZone:            b.Zone,
		corev1.LabelTopologyRegion:          b.Region,
		"beta.kubernetes.io/arch":           b.Arch,
		"beta.kubernetes.io/os":             b.OS,
		corev1.LabelInstanceType:            b.InstanceType,
		corev1.LabelFailureDomainBetaZone:   b.Zone,
		corev1.LabelFailureDomainBetaRegion: b.Region,
	})
	if b.ZoneID != "" {
		out["topology.k8s.aws/zone-id"] = b.ZoneID
	}
	return out
}

func taints(b awssim.Boot) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range b.UserData.Taints {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

func resources(r awssim.Resources) corev1.ResourceList {
	out := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(r.CPUMilli, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(r.MemoryBytes, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(r.EphemeralBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(r.Pods, resource.DecimalSI),
	}
	for name, n := range r.Devices {
		out[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	return out
}
