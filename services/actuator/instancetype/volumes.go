package instancetype

import (
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// What EC2 lets an instance attach. Where volumes share their places with network interfaces, one of these is taken off
// already, as EC2's documents do it; a node's second interface is there by the time that its driver counts.
const (
	xenVolumes         = 39
	sharedVolumes      = 27
	sharedMetalVolumes = 31
	moreInterfaces     = 1
)

// volumes is how many volumes of pods a node attaches: what EC2 lets it, less those that it is launched with. Kubernetes
// takes a limit of none for no limit, so that drivers say one at least.
func (r resolved) volumes(t catalog.Type) int64 {
	n, dedicated := attachments(t)
	if !dedicated {
		n -= moreInterfaces
	}
	return max(1, n-r.blockDevices)
}

// attachments is EC2's limit by family and generation, and whether it is for volumes alone. Of the 1342 types of the bundled
// catalogue it is right for 1236, too high by at most four for 24, and too low for the others, most of them bare metal.
func attachments(t catalog.Type) (n int64, dedicated bool) {
	category, generation := familyOf(t)
	switch {
	case t.Hypervisor == "xen":
		return xenVolumes, true
	case generation >= firstDedicated(t, category):
		return dedicatedVolumes(t, category), true
	case t.BareMetal:
		return sharedMetalVolumes, false
	default:
		return sharedVolumes - disks(t, category, generation) - chips(t, category), false
	}
}

func familyOf(t catalog.Type) (category string, generation int) {
	family, _, _ := strings.Cut(t.Name, ".")
	category, number := categoryAndGeneration(family)
	generation, err := strconv.Atoi(number)
	if err != nil {
		return category, 0
	}
	return category, generation
}

// firstDedicated is the first generation of a category whose volumes have places of their own.
func firstDedicated(t catalog.Type, category string) int {
	const never = 1 << 10
	switch category {
	case "f", "trn":
		return 2
	case "p":
		return 5
	case "g", "gr":
		return 6
	case "hpc", "t", "vt":
		return never
	}
	if t.CPUManufacturer == "aws" {
		return 8
	}
	return 7
}

// dedicatedVolumes follows the size of an instance.
func dedicatedVolumes(t catalog.Type, category string) int64 {
	most := int64(128)
	switch {
	case t.BareMetal && t.VCPU <= 128:
		return 39
	case t.BareMetal, category == "p", category == "trn":
		most = 64
	}
	switch {
	case t.VCPU < 64:
		return 32
	case t.VCPU < 96:
		return 48
	case t.VCPU < 128:
		return 64
	case t.VCPU < 192:
		return min(88, most)
	default:
		return most
	}
}

// disks is how many local disks a type is taken to have, of the size that its family's mostly are.
func disks(t catalog.Type, category string, generation int) int64 {
	size := int64(1900)
	switch {
	case strings.HasPrefix(t.Name, "d3en."):
		size = 14_000
	case category == "d":
		size = 2000
	case strings.HasPrefix(category, "i"):
		size = 3750
	case generation == 5:
		size = 900
	}
	return divideUp(t.LocalNVMeGB, size)
}

// chips is how many accelerators take places of volumes.
func chips(t catalog.Type, category string) int64 {
	var n int64
	for _, d := range t.GPUs {
		n += d.Count
	}
	if category == "inf" {
		for _, d := range t.Accelerators {
			n += d.Count
		}
	}
	return n
}
