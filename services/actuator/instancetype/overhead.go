package instancetype

import (
	"fmt"
	"maps"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/formula"
)

// Byte units.
const (
	mi = 1 << 20
	gi = 1 << 30
	gb = 1_000_000_000
)

const (
	// armReservedMiB is set aside by the kernel of arm64 images for contiguous allocations, and never reported.
	armReservedMiB = 64
	// windowsPods is the pod limit where the network interfaces do not set one.
	windowsPods = 110
)

// capacity is all that a node has, by resource.
func (r resolved) capacity(t catalog.Type) map[string]int64 {
	c := map[string]int64{
		CPU:              t.VCPU * 1000,
		Memory:           r.memoryOf(t),
		EphemeralStorage: r.storage(t),
		Pods:             r.pods(t),
	}
	add := func(name string, count int64) {
		if count > 0 {
			c[name] = count
		}
	}
	if t.TrunkingSupported {
		add("vpc.amazonaws.com/pod-eni", t.BranchENIs)
	}
	if r.family.windowsBuild != "" {
		add("vpc.amazonaws.com/PrivateIPv4Address", t.IPv4PerENI-1)
	}
	add(EFA, r.adapters(t))
	add(string(EBSVolumes), r.volumes(t))
	add("nvidia.com/gpu", devices(t.GPUs, "nvidia"))
	add("amd.com/gpu", devices(t.GPUs, "amd"))
	add("habana.ai/gaudi", devices(t.GPUs, "habana"))
	// The device plugin offers the same chips under two names.
	add("aws.amazon.com/neuron", devices(t.Accelerators, "aws"))
	add("aws.amazon.com/neurondevice", devices(t.Accelerators, "aws"))
	add("aws.amazon.com/neuroncore", t.NeuronCores)
	return c
}

// memoryOf is how much memory nodes have turned out to have, or else will report.
func (r resolved) memoryOf(t catalog.Type) int64 {
	if learned := r.memory[t.Name]; learned > 0 {
		return learned
	}
	return r.memoryMiB(t) * mi
}

// memoryMiB is what the node will report: whole MiB, the hypervisor's share rounded up.
func (r resolved) memoryMiB(t catalog.Type) int64 {
	m := t.MemoryMiB
	if t.Arch == "arm64" {
		m = max(m-armReservedMiB, 0)
	}
	return m - divideUp(m*r.memoryOverheadMillionths, 1_000_000)
}

func (r resolved) storage(t catalog.Type) int64 {
	if r.raid0 && t.LocalNVMeGB > 0 {
		return t.LocalNVMeGB * gb
	}
	return r.storageBytes
}

func (r resolved) pods(t catalog.Type) int64 {
	pods := int64(windowsPods)
	switch {
	case r.maxPods >= 0:
		pods = r.maxPods
	case r.family.podsByENI:
		pods = eniPods(t, r.reservedENIs+efaOnly(r.interfaces, 0))
	}
	if r.podsPerCore > 0 && r.family.podsPerCore {
		pods = min(pods, r.podsPerCore*t.VCPU)
	}
	return pods
}

// maxPodsOf is the formula's value for the type.
func (r resolved) maxPodsOf(t catalog.Type) (int64, error) {
	plain := r
	plain.maxPods = -1
	pods, err := r.formula.Of(formula.Type{
		Name: t.Name, VCPUs: t.VCPU, MemoryMiB: t.MemoryMiB, ENIs: t.DefaultENIs, IPsPerENI: t.IPv4PerENI, MaxPods: plain.pods(t),
	})
	if err != nil {
		return 0, fmt.Errorf("kubelet.maxPods: %w", err)
	}
	if pods > maxPodsAllowed {
		return 0, fmt.Errorf("kubelet.maxPods: %d: want 0 to %d", pods, maxPodsAllowed)
	}
	return pods, nil
}

// eniPods is how many pods get an address: the first address of each interface is its own, and two pods of every node
// use the host's.
func eniPods(t catalog.Type, reserved int64) int64 {
	enis := t.DefaultENIs - reserved
	if enis <= 0 {
		return 0
	}
	return enis*(t.IPv4PerENI-1) + 2
}

// overhead is what pods cannot have of capacity: the kubelet's and the system's share, and what must stay free lest
// the kubelet evicts pods.
func (r resolved) overhead(t catalog.Type, capacity map[string]int64) (kube, system, eviction map[string]int64) {
	pods := capacity[Pods]
	if r.family.memoryByENI {
		pods = eniPods(t, 0) // as the node itself counts, which leaves out no interface for EFA alone
	}
	kube = map[string]int64{
		CPU:              kubeCPU(capacity[CPU]),
		Memory:           (11*pods + 255) * mi,
		EphemeralStorage: gi,
	}
	maps.Copy(kube, r.kubeReserved)
	system = map[string]int64{}
	maps.Copy(system, r.systemReserved)
	eviction = map[string]int64{
		Memory:           100 * mi,
		EphemeralStorage: divideUp(capacity[EphemeralStorage], 10),
	}
	for name, t := range r.evictionHard {
		eviction[name] = t.of(capacity[name])
	}
	return kube, system, eviction
}

// kubeCPU is the kubelet's share of the CPU, in millicores: of the first core much, of each further one less. Each
// tier is rounded down.
func kubeCPU(millicores int64) int64 {
	tiers := []struct{ from, to, perTenThousand int64 }{
		{0, 1000, 600},
		{1000, 2000, 100},
		{2000, 4000, 50},
		{4000, millicores, 25},
	}
	var share int64
	for _, t := range tiers {
		if within := min(millicores, t.to) - t.from; within > 0 {
			share += within * t.perTenThousand / 10_000
		}
	}
	return share
}

func allocatable(capacity map[string]int64, taken ...map[string]int64) map[string]int64 {
	left := make(map[string]int64, len(capacity))
	for name, value := range capacity {
		for _, t := range taken {
			// Stopping at zero each time keeps absurd reservations from overflowing.
			value = max(value-t[name], 0)
		}
		left[name] = value
	}
	return left
}

func devices(list []catalog.GPU, manufacturer string) int64 {
	var count int64
	for _, d := range list {
		if d.Manufacturer == manufacturer {
			count += d.Count
		}
	}
	return count
}

// divideUp is a/b rounded up, for a of zero or more.
func divideUp(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}
