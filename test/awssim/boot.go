package awssim

import (
	"context"
	"fmt"
	"maps"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

// Kubelet is what runs on an instance once it has booted. Implementations are called from the clock's goroutines, for
// one instance never twice at a time.
type Kubelet interface {
	// Join makes the instance a node of the cluster. It is called again, a second later, after an error. A node that is
	// already there counts as joined.
	Join(ctx context.Context, b Boot) error
	// Leave is called once the instance is terminated, and again after an error. A node that is not there is no error.
	Leave(ctx context.Context, nodeName string) error
}

// Boot is all that a kubelet knows of its machine when it starts.
type Boot struct {
	InstanceID, NodeName, PrivateIP, ProviderID string
	Region, Zone, ZoneID                        string
	InstanceType, ImageID                       string
	// Arch is amd64 or arm64, and OS linux or windows.
	Arch, OS string
	// CapacityType is on-demand or spot.
	CapacityType string
	// KubernetesVersion is major.minor.
	KubernetesVersion string
	// UserData is what the boot program read, with its defaults for MaxPods, KubeReserved and EvictionHard filled in.
	UserData userdata.Node
	// Capacity is what the machine has; Allocatable is what it leaves to pods.
	Capacity, Allocatable Resources
}

// Resources are amounts of a node.
type Resources struct {
	CPUMilli, MemoryBytes, EphemeralBytes, Pods int64
	// Devices are extended resources by name.
	Devices map[string]int64
}

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	gb  = int64(1e9)
)

// boot reads the user data and works out what the kubelet will report. An error keeps the instance out of the cluster
// for good, as it would in life.
func (s *Sim) boot(i *instance) (Boot, error) {
	p := s.profiles[i.profile]
	if p == nil || p.role == "" {
		return Boot{}, fmt.Errorf("instance profile %q gives the node no role, so it has no credentials", i.profile)
	}
	n, err := userdata.Parse(i.image.Family, i.data.userData)
	if err != nil {
		return Boot{}, err
	}
	if err := s.sameCluster(n); err != nil {
		return Boot{}, err
	}
	b := Boot{
		InstanceID: i.id, NodeName: i.nodeName, PrivateIP: i.ip, ProviderID: "aws:///" + i.pool.Zone + "/" + i.id,
		Region: s.cfg.Region, Zone: i.pool.Zone, ZoneID: s.zoneIDs[i.pool.Zone], InstanceType: i.pool.InstanceType,
		ImageID: i.image.ID, Arch: i.typ.Arch, OS: osOf(i.image.Family), CapacityType: i.pool.CapacityType,
		KubernetesVersion: s.cfg.KubernetesVersion, UserData: withDefaults(n, i.typ),
	}
	b.Capacity = s.capacity(i, b.UserData)
	b.Allocatable, err = allocatable(b.Capacity, b.UserData)
	return b, err
}

func osOf(f userdata.Family) string {
	if f == userdata.Windows {
		return "windows"
	}
	return "linux"
}

// sameCluster refuses user data that leads to another cluster than this world's.
func (s *Sim) sameCluster(n userdata.Node) error {
	for _, f := range []struct{ field, got, want string }{
		{"cluster name", n.ClusterName, s.cfg.Cluster},
		{"API endpoint", n.Endpoint, s.cfg.Endpoint},
		{"certificate authority", n.CertificateAuthority, s.cfg.CertificateAuthority},
	} {
		if f.want != "" && f.got != "" && f.got != f.want {
			return fmt.Errorf("user data: %s is %s, but the cluster's is %s", f.field, brief(f.got), brief(f.want))
		}
	}
	return nil
}

func brief(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}

// withDefaults fills in what the boot programs of the EKS images set when the user data leaves it open.
func withDefaults(n userdata.Node, t *catalog.Type) userdata.Node {
	eniPods := t.DefaultENIs*(t.IPv4PerENI-1) + 2
	if n.MaxPods == 0 {
		n.MaxPods = eniPods
	}
	reserved := map[string]string{
		"cpu":               fmt.Sprintf("%dm", reservedCPUMilli(t.VCPU)),
		"memory":            fmt.Sprintf("%dMi", 255+11*n.MaxPods),
		"ephemeral-storage": "1Gi",
	}
	evict := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"}
	maps.Copy(reserved, n.KubeReserved)
	maps.Copy(evict, n.EvictionHard)
	n.KubeReserved, n.EvictionHard = reserved, evict
	return n
}

// reservedCPUMilli is 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 % of the rest.
func reservedCPUMilli(cores int64) int64 {
	tenths := int64(0) // of a millicore
	for c := int64(1); c <= cores; c++ {
		switch {
		case c == 1:
			tenths += 600
		case c == 2:
			tenths += 100
		case c <= 4:
			tenths += 50
		default:
			tenths += 25
		}
	}
	return tenths / 10
}

// capacity is what the kernel sees of the machine.
func (s *Sim) capacity(i *instance, n userdata.Node) Resources {
	nominal := i.typ.MemoryMiB
	if i.typ.Arch == "arm64" {
		nominal -= 64 // the crash kernel's share
	}
	lost := int64(math.Ceil(float64(nominal) * s.cfg.MemoryOverheadPercent / 100))
	return Resources{
		CPUMilli: i.typ.VCPU * 1000, MemoryBytes: (nominal - lost) * mib, EphemeralBytes: ephemeral(i, n),
		Pods: n.MaxPods, Devices: deviceResources(i),
	}
}

// ephemeral is the size of the disk that holds pods: the array of local disks when it was asked for, else the volume
// that the image's family keeps them on.
func ephemeral(i *instance, n userdata.Node) int64 {
	if n.LocalStorageRAID0 && i.typ.LocalNVMeGB > 0 {
		return i.typ.LocalNVMeGB * gb
	}
	name := "/dev/xvda"
	switch i.image.Family {
	case userdata.Bottlerocket:
		name = "/dev/xvdb"
	case userdata.Windows:
		name = "/dev/sda1"
	default:
	}
	for _, d := range i.data.devices {
		if d.Name == name && d.SizeGiB > 0 {
			return d.SizeGiB * gib
		}
	}
	return 20 * gib
}

// deviceResources are what device plugins of the image's variant would add.
func deviceResources(i *instance) map[string]int64 {
	out := map[string]int64{}
	if i.image.Variant == "nvidia" {
		for _, g := range i.typ.GPUs {
			if g.Manufacturer == "nvidia" && g.Count > 0 {
				out["nvidia.com/gpu"] += g.Count
			}
		}
	}
	if i.image.Variant == "neuron" && len(i.typ.Accelerators) > 0 {
		for _, a := range i.typ.Accelerators {
			out["aws.amazon.com/neuron"] += a.Count
		}
		out["aws.amazon.com/neurondevice"] = out["aws.amazon.com/neuron"]
		out["aws.amazon.com/neuroncore"] = i.typ.NeuronCores
	}
	if n := adapters(i.data.interfaces); n > 0 {
		out["vpc.amazonaws.com/efa"] = n
	}
	return out
}

// allocatable is capacity without the reserved shares and the hard eviction thresholds, never below zero.
func allocatable(c Resources, n userdata.Node) (Resources, error) {
	out := c
	for _, reserved := range []map[string]string{n.KubeReserved, n.SystemReserved} {
		for _, name := range sortedKeys(reserved) {
			q, err := resource.ParseQuantity(reserved[name])
			if err != nil {
				return Resources{}, fmt.Errorf("reserved %s: %w", name, err)
			}
			switch name {
			case "cpu":
				out.CPUMilli -= q.MilliValue()
			case "memory":
				out.MemoryBytes -= q.Value()
			case "ephemeral-storage":
				out.EphemeralBytes -= q.Value()
			}
		}
	}
	memory, err := userdata.ParseThreshold(n.EvictionHard["memory.available"], c.MemoryBytes)
	if err != nil {
		return Resources{}, fmt.Errorf("evictionHard memory.available: %w", err)
	}
	disk, err := userdata.ParseThreshold(n.EvictionHard["nodefs.available"], c.EphemeralBytes)
	if err != nil {
		return Resources{}, fmt.Errorf("evictionHard nodefs.available: %w", err)
	}
	out.CPUMilli = max(0, out.CPUMilli)
	out.MemoryBytes = max(0, out.MemoryBytes-memory)
	out.EphemeralBytes = max(0, out.EphemeralBytes-disk)
	return out, nil
}
