package ec2

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

// described are some of EC2's own descriptions of instance types.
func described(t *testing.T) []types.InstanceTypeInfo {
	t.Helper()
	text, err := os.ReadFile("testdata/instance_types.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []types.InstanceTypeInfo
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	device := func(maker, name string, count int32) *types.GpuInfo {
		return &types.GpuInfo{Gpus: []types.GpuDeviceInfo{{Name: aws.String(name), Manufacturer: aws.String(maker), Count: aws.Int32(count)}}}
	}
	return append(
		out,
		types.InstanceTypeInfo{InstanceType: "g4ad.16xlarge", GpuInfo: device("AMD", "Radeon Pro V520", 4)},
		types.InstanceTypeInfo{InstanceType: "dl1.24xlarge", GpuInfo: device("Habana", "Gaudi HL-205", 8)},
	)
}

func TestDevicesOfTypesAreOfferedToPods(t *testing.T) {
	want := map[string]map[model.Resource]int64{
		"g5.12xlarge":   {"nvidia.com/gpu": 4},
		"g6e.48xlarge":  {"nvidia.com/gpu": 8},
		"p5.48xlarge":   {"nvidia.com/gpu": 8},
		"g6f.large":     {}, // a share of a GPU counts as none
		"g4ad.16xlarge": {"amd.com/gpu": 4},
		"dl1.24xlarge":  {"habana.ai/gaudi": 8},
		"inf1.6xlarge":  {"aws.amazon.com/neuron": 4, "aws.amazon.com/neurondevice": 4, "aws.amazon.com/neuroncore": 16},
		"inf2.24xlarge": {"aws.amazon.com/neuron": 6, "aws.amazon.com/neurondevice": 6, "aws.amazon.com/neuroncore": 12},
		"trn1.32xlarge": {"aws.amazon.com/neuron": 16, "aws.amazon.com/neurondevice": 16, "aws.amazon.com/neuroncore": 32},
	}
	devices := []model.Resource{
		"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "aws.amazon.com/neuroncore",
	}
	for _, d := range described(t) {
		shape, err := instancetype.Resolve(instanceType(&d), instancetype.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[model.Resource]int64{}
		for _, r := range devices {
			if n, ok := shape.Capacity.Get(r); ok {
				got[r] = n
			}
		}
		w := want[string(d.InstanceType)]
		if w == nil {
			w = map[model.Resource]int64{}
		}
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("%s: %s", d.InstanceType, diff)
		}
	}
}

// A type's makers are words of the catalogue, however EC2 spells them.
func TestMakersAreWrittenAsTheCatalogueWritesThem(t *testing.T) {
	want := map[string][]catalog.GPU{
		"g5.12xlarge":   {{Name: "A10G", Manufacturer: "nvidia", Count: 4, MemoryMiB: 22_888}},
		"dl2q.24xlarge": {{Name: "Qualcomm AI100", Manufacturer: "qualcomm", Count: 8, MemoryMiB: 16_000}},
		"inf2.24xlarge": {{Name: "Inferentia2", Manufacturer: "aws", Count: 6, MemoryMiB: 32_768}},
		"trn1.32xlarge": {{Name: "Trainium", Manufacturer: "aws", Count: 16, MemoryMiB: 32_768}},
	}
	got := map[string][]catalog.GPU{}
	for _, d := range described(t) {
		if c := instanceType(&d); want[c.Name] != nil {
			got[c.Name] = append(c.GPUs, c.Accelerators...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
