package instancetype

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// prefix is that of all labels that describe an instance type.
const prefix = "karpenter.k8s.aws/"

// labels are those that follow from the type and the operating system, sorted by key. What a type does not have or is
// not known has no label, so that selectors for existence and size work; only the hypervisor of bare metal is a label
// with an empty value.
func labels(t catalog.Type, f family) []Label {
	family, size, _ := strings.Cut(t.Name, ".")
	ls := []Label{
		{"node.kubernetes.io/instance-type", t.Name},
		{"kubernetes.io/arch", t.Arch},
		{"kubernetes.io/os", f.os()},
		{prefix + "instance-family", family},
		{prefix + "instance-size", size},
		{prefix + "instance-capability-flex", strconv.FormatBool(strings.Contains(family, "-flex"))},
		{prefix + "instance-cpu", number(t.VCPU)},
		{prefix + "instance-memory", number(t.MemoryMiB)},
		{prefix + "instance-hypervisor", t.Hypervisor},
		{prefix + "instance-encryption-in-transit-supported", strconv.FormatBool(t.EncryptionInTransit)},
	}
	known := func(key, value string) {
		if value != "" {
			ls = append(ls, Label{key, value})
		}
	}
	category, generation := categoryAndGeneration(family)
	known(prefix+"instance-category", category)
	known(prefix+"instance-generation", generation)
	known("node.kubernetes.io/windows-build", f.windowsBuild)
	known(prefix+"instance-cpu-manufacturer", kebab(t.CPUManufacturer))
	known(prefix+"instance-cpu-sustained-clock-speed-mhz", positive(t.ClockMHz))
	known(prefix+"instance-ebs-bandwidth", positive(t.EBSMbps))
	known(prefix+"instance-network-bandwidth", positive(t.NetworkMbps))
	known(prefix+"instance-local-nvme", positive(t.LocalNVMeGB))
	// Types with several kinds of device have no labels for them: one label cannot tell which it means.
	if len(t.GPUs) == 1 {
		gpu := t.GPUs[0]
		known(prefix+"instance-gpu-name", kebab(gpu.Name))
		known(prefix+"instance-gpu-manufacturer", kebab(gpu.Manufacturer))
		// A share of a GPU counts as zero of them, which is a value: the label is there.
		known(prefix+"instance-gpu-count", number(gpu.Count))
		known(prefix+"instance-gpu-memory", positive(gpu.MemoryMiB))
	}
	if len(t.Accelerators) == 1 {
		chip := t.Accelerators[0]
		known(prefix+"instance-accelerator-name", kebab(chip.Name))
		known(prefix+"instance-accelerator-manufacturer", kebab(chip.Manufacturer))
		known(prefix+"instance-accelerator-count", number(chip.Count))
	}
	slices.SortFunc(ls, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return ls
}

// categoryAndGeneration splits a family such as m5dn into m and 5, and u-6tb1 into u and 1: letters, perhaps a size in
// terabytes, then the generation. Both are empty for a family that is written otherwise.
func categoryAndGeneration(family string) (category, generation string) {
	rest := strings.TrimLeft(family, "abcdefghijklmnopqrstuvwxyz")
	category = family[:len(family)-len(rest)]
	if _, afterSize, found := strings.Cut(rest, "tb"); found && strings.HasPrefix(rest, "-") {
		rest = afterSize
	}
	generation = rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if category == "" || generation == "" {
		return "", ""
	}
	return category, generation
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// positive is number, but empty for what is zero, that is none or unknown.
func positive(n int64) string {
	if n <= 0 {
		return ""
	}
	return number(n)
}

// kebab makes a product's name fit for a label: lower case, hyphens for spaces.
func kebab(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "-")) }
