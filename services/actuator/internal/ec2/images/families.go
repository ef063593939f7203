package images

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// UnsupportedError says that AWS publishes no images under an alias for the cluster's version of Kubernetes.
type UnsupportedError struct{ Alias, Kubernetes, Instead string }

// Error says what to do instead.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("AWS publishes no images of %s for Kubernetes %s: %s", e.Alias, e.Kubernetes, e.Instead)
}

// build is one build of an image family: where its id is published, and which instance types it boots on.
type build struct {
	parameter    string
	requirements []model.Requirement
}

// The versions of Kubernetes, minor alone, that families have images for.
const (
	lastAL2          = 32
	firstWindows2025 = 35
)

// buildsOf lists where AWS publishes the builds of an alias ("al2023@latest", "bottlerocket@v1.30.0").
func buildsOf(text, kubernetes string) ([]build, error) {
	alias, err := awsv1.ParseAlias(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cloud.ErrInvalid, err)
	}
	minor, err := minorOf(kubernetes)
	if err != nil {
		return nil, err
	}
	unsupported := func(instead string) error {
		return &UnsupportedError{Alias: text, Kubernetes: kubernetes, Instead: instead}
	}
	switch alias.Family {
	case awsv1.FamilyAL2:
		if minor > lastAL2 {
			return nil, unsupported("use al2023, or select images of your own by id, name or tags with amiFamily AL2")
		}
		return al2(alias, kubernetes), nil
	case awsv1.FamilyBottlerocket:
		return bottlerocket(alias, kubernetes), nil
	case awsv1.FamilyWindows2019, awsv1.FamilyWindows2022:
		return windows(alias, kubernetes), nil
	case awsv1.FamilyWindows2025:
		if minor < firstWindows2025 {
			return nil, unsupported("use windows2022")
		}
		return windows(alias, kubernetes), nil
	default:
		return al2023(alias, kubernetes), nil
	}
}

func minorOf(kubernetes string) (int, error) {
	_, text, _ := strings.Cut(kubernetes, ".")
	minor, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New("the cluster's version " + kubernetes + " is not major.minor")
	}
	return minor, nil
}

func al2(a awsv1.Alias, kubernetes string) []build {
	path := func(kind string) string {
		base := "/aws/service/eks/optimized-ami/" + kubernetes + "/amazon-linux-2" + kind + "/"
		if a.Version == awsv1.VersionLatest {
			return base + "recommended/image_id"
		}
		return base + "amazon-eks" + kind + "-node-" + kubernetes + "-" + a.Version + "/image_id"
	}
	return []build{
		{path(""), plain("amd64")},
		{path("-arm64"), plain("arm64")},
		{path("-gpu"), withGPUs("amd64")},
		{path("-gpu"), withAccelerators("amd64")},
	}
}

func al2023(a awsv1.Alias, kubernetes string) []build {
	path := func(machine, kind string) string {
		base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", kubernetes, machine, kind)
		if a.Version == awsv1.VersionLatest {
			return base + "recommended/image_id"
		}
		return base + fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s/image_id", machine, kind, kubernetes, a.Version)
	}
	return []build{
		{path("x86_64", "standard"), plain("amd64")},
		{path("arm64", "standard"), plain("arm64")},
		{path("x86_64", "nvidia"), withGPUs("amd64")},
		{path("arm64", "nvidia"), withGPUs("arm64")},
		{path("x86_64", "neuron"), withAccelerators("amd64")},
	}
}

// bottlerocket's ordinary image has the drivers of accelerators.
func bottlerocket(a awsv1.Alias, kubernetes string) []build {
	path := func(kind, machine string) string {
		return fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id", kubernetes, kind, machine, strings.TrimPrefix(a.Version, "v"))
	}
	return []build{
		{path("", "x86_64"), append(arch("amd64"), lacks(labels.InstanceGPUCount))},
		{path("", "arm64"), append(arch("arm64"), lacks(labels.InstanceGPUCount))},
		{path("-nvidia", "x86_64"), withGPUs("amd64")},
		{path("-nvidia", "arm64"), withGPUs("arm64")},
	}
}

func windows(a awsv1.Alias, kubernetes string) []build {
	year := strings.TrimPrefix(string(a.Family), "Windows")
	return []build{{
		parameter:    fmt.Sprintf("/aws/service/ami-windows-latest/Windows_Server-%s-English-Core-EKS_Optimized-%s/image_id", year, kubernetes),
		requirements: arch("amd64"),
	}}
}

func plain(a string) []model.Requirement {
	return append(arch(a), lacks(labels.InstanceGPUCount), lacks(labels.InstanceAcceleratorCount))
}

func withGPUs(a string) []model.Requirement {
	return append(arch(a), model.Requirement{Key: labels.InstanceGPUCount, Operator: model.Exists})
}

func withAccelerators(a string) []model.Requirement {
	return append(arch(a), model.Requirement{Key: labels.InstanceAcceleratorCount, Operator: model.Exists})
}

func lacks(key string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.DoesNotExist}
}

func arch(value string) []model.Requirement {
	return slices.Clip([]model.Requirement{{Key: labels.Arch, Operator: model.In, Values: []string{value}}})
}
