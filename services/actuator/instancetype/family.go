package instancetype

import (
	"fmt"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// family is how nodes of one AMI family differ from others.
type family struct {
	name string
	// windowsBuild is the value of the label windows-build; empty for Linux.
	windowsBuild string
	// podsByENI: without maxPods the network interfaces limit pods; else 110 does.
	podsByENI bool
	// memoryByENI: the kubelet's share of memory follows what the interfaces could serve, even when maxPods or
	// reserved interfaces allow fewer or more pods.
	memoryByENI bool
	// podsPerCore: the family heeds the setting of that name.
	podsPerCore bool
}

func familyNamed(name string) (family, error) {
	linux := family{name: name, podsByENI: true, memoryByENI: true, podsPerCore: true}
	windows := func(build string) (family, error) {
		return family{name: name, windowsBuild: build, podsPerCore: true}, nil
	}
	switch name {
	case "":
		linux.name = AL2023
		return linux, nil
	case AL2, AL2023, Custom:
		return linux, nil
	case Bottlerocket:
		return family{name: name, podsByENI: true}, nil
	case Windows2019:
		return windows("10.0.17763")
	case Windows2022:
		return windows("10.0.20348")
	case Windows2025:
		return windows("10.0.26100")
	}
	all := []string{AL2, AL2023, Bottlerocket, Windows2019, Windows2022, Windows2025, Custom}
	return family{}, fmt.Errorf("amiFamily: %q: want one of %s", name, strings.Join(all, ", "))
}

func (f family) os() string {
	if f.windowsBuild != "" {
		return "windows"
	}
	return "linux"
}

// blockDevices is how many volumes the family's images boot with: Bottlerocket has one for its own and one for pods.
func (f family) blockDevices() int64 {
	if f.name == Bottlerocket {
		return 2
	}
	return 1
}

// runsOn refuses the pairs for which no image exists.
func (f family) runsOn(t catalog.Type) error {
	if f.windowsBuild != "" && t.Arch != "amd64" {
		return fmt.Errorf("%w: %s has no image for %s", ErrIncompatible, f.name, t.Arch)
	}
	// AL2023 needs a newer processor than the first Graviton.
	if f.name == AL2023 && strings.HasPrefix(t.Name, "a1.") {
		return fmt.Errorf("%w: %s does not start on the a1 family", ErrIncompatible, f.name)
	}
	return nil
}
