package instancetype

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// tenancy is that of every instance: launches ask for no hardware of one's own, which has another price.
const tenancy = "default"

// nodeLabels are those that follow from the type, the operating system and the placement group, sorted by key. What a
// type does not have or is not known has no label, so that selectors for existence and size work; only the hypervisor
// of bare metal is a label with an empty value.
func nodeLabels(t catalog.Type, f family, group string) model.Labels {
	family, size, _ := strings.Cut(t.Name, ".")
	ls := model.Labels{
		{Key: labels.InstanceType, Value: t.Name},
		{Key: labels.Arch, Value: t.Arch},
		{Key: labels.OS, Value: f.os()},
		{Key: labels.InstanceFamily, Value: family},
		{Key: labels.InstanceSize, Value: size},
		{Key: labels.InstanceCapabilityFlex, Value: strconv.FormatBool(strings.Contains(family, "-flex"))},
		{Key: labels.InstanceCPU, Value: number(t.VCPU)},
		{Key: labels.InstanceMemory, Value: number(t.MemoryMiB)},
		{Key: labels.InstanceHypervisor, Value: t.Hypervisor},
		{Key: labels.InstanceEncryptionInTransit, Value: strconv.FormatBool(t.EncryptionInTransit)},
		{Key: labels.InstanceTenancy, Value: tenancy},
		{Key: labels.NitroSandbox, Value: strconv.FormatBool(t.NitroEnclaves)},
	}
	known := func(key, value string) {
		if value != "" {
			ls = append(ls, model.Label{Key: key, Value: value})
		}
	}
	category, generation := categoryAndGeneration(family)
	known(labels.InstanceCategory, category)
	known(labels.InstanceGeneration, generation)
	known(labels.WindowsBuild, f.windowsBuild)
	known(labels.PlacementGroupID, group)
	known(labels.InstanceCPUManufacturer, kebab(t.CPUManufacturer))
	known(labels.InstanceCPUClockSpeed, positive(t.ClockMHz))
	known(labels.InstanceEBSBandwidth, positive(t.EBSMbps))
	known(labels.InstanceNetworkBandwidth, positive(t.NetworkMbps))
	known(labels.InstanceLocalNVMe, positive(t.LocalNVMeGB))
	// Types with several kinds of device have no labels for them: one label cannot tell which it means.
	if len(t.GPUs) == 1 {
		gpu := t.GPUs[0]
		known(labels.InstanceGPUName, kebab(gpu.Name))
		known(labels.InstanceGPUManufacturer, kebab(gpu.Manufacturer))
		// A share of a GPU counts as zero of them, which is a value: the label is there.
		known(labels.InstanceGPUCount, number(gpu.Count))
		known(labels.InstanceGPUMemory, positive(gpu.MemoryMiB))
	}
	if len(t.Accelerators) == 1 {
		chip := t.Accelerators[0]
		known(labels.InstanceAcceleratorName, kebab(chip.Name))
		known(labels.InstanceAcceleratorMaker, kebab(chip.Manufacturer))
		known(labels.InstanceAcceleratorCount, number(chip.Count))
	}
	slices.SortFunc(ls, func(a, b model.Label) int { return strings.Compare(a.Key, b.Key) })
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
