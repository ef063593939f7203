package instancetype_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

// absent stands in tables for a label that must not be there.
const absent = "(absent)"

func TestLabelsFollowFromTheType(t *testing.T) {
	t.Parallel()
	p := func(ty *catalog.Type, change func(*catalog.Type)) catalog.Type { change(ty); return *ty }
	plain := func() *catalog.Type {
		return &catalog.Type{
			Name: "m5.large", Arch: "amd64", Hypervisor: "nitro", VCPU: 2, MemoryMiB: 8192, DefaultENIs: 3, IPv4PerENI: 10,
			CPUManufacturer: "intel",
		}
	}
	named := func(name string) catalog.Type { return p(plain(), func(t *catalog.Type) { t.Name = name }) }
	gpu := catalog.GPU{Name: "RTX PRO Server 6000", Manufacturer: "nvidia", Count: 2, MemoryMiB: 10}
	tests := map[string]struct {
		from catalog.Type
		want map[string]string // keys without their prefix
	}{
		"a flexible family": {
			named("c7i-flex.2xlarge"),
			map[string]string{"category": "c", "generation": "7", "family": "c7i-flex", "size": "2xlarge", "capability-flex": "true"},
		},
		"a size in the family's name": {
			named("u7i-12tb.224xlarge"), map[string]string{"category": "u", "generation": "7", "family": "u7i-12tb"},
		},
		"a size before the generation":    {named("u-6tb1.metal"), map[string]string{"category": "u", "generation": "1", "family": "u-6tb1", "size": "metal"}},
		"letters after the generation":    {named("x2iedn.32xlarge"), map[string]string{"category": "x", "generation": "2"}},
		"a category of several letters":   {named("inf2.xlarge"), map[string]string{"category": "inf", "generation": "2"}},
		"a family without a generation":   {named("weird.large"), map[string]string{"category": absent, "generation": absent, "family": "weird"}},
		"what is unknown or none is left": {*plain(), map[string]string{"network-bandwidth": absent, "ebs-bandwidth": absent, "local-nvme": absent, "cpu-sustained-clock-speed-mhz": absent, "gpu-count": absent, "accelerator-count": absent}},
		"bare metal has an empty hypervisor": {
			p(plain(), func(t *catalog.Type) { t.Hypervisor, t.BareMetal = "", true }), map[string]string{"hypervisor": ""},
		},
		"local disks": {p(plain(), func(t *catalog.Type) { t.LocalNVMeGB = 75 }), map[string]string{"local-nvme": "75"}},
		"a GPU's name is made fit for a label": {
			p(plain(), func(t *catalog.Type) { t.GPUs = []catalog.GPU{gpu} }),
			map[string]string{"gpu-name": "rtx-pro-server-6000", "gpu-manufacturer": "nvidia", "gpu-count": "2", "gpu-memory": "10"},
		},
		"a share of a GPU counts as zero": {
			p(plain(), func(t *catalog.Type) { t.GPUs = []catalog.GPU{{Name: "L4", Manufacturer: "nvidia", MemoryMiB: 2861}} }),
			map[string]string{"gpu-name": "l4", "gpu-count": "0", "gpu-memory": "2861"},
		},
		"two kinds of GPU have no labels": {
			p(plain(), func(t *catalog.Type) { t.GPUs = []catalog.GPU{gpu, gpu} }), map[string]string{"gpu-name": absent, "gpu-count": absent},
		},
		"an accelerator": {
			p(plain(), func(t *catalog.Type) {
				t.Accelerators = []catalog.GPU{{Name: "Inferentia2", Manufacturer: "aws", Count: 6}}
			}),
			map[string]string{"accelerator-name": "inferentia2", "accelerator-manufacturer": "aws", "accelerator-count": "6"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shape := resolve(t, tt.from, instancetype.Settings{})
			got := map[string]string{}
			for key := range tt.want {
				got[key] = label(shape, "karpenter.k8s.aws/instance-"+key)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelsTellTheOperatingSystem(t *testing.T) {
	t.Parallel()
	ty := typeNamed(t, "m5.large")
	tests := map[string]struct{ os, build string }{
		"":             {"linux", absent},
		"AL2":          {"linux", absent},
		"Custom":       {"linux", absent},
		"Bottlerocket": {"linux", absent},
		"Windows2019":  {"windows", "10.0.17763"},
		"Windows2022":  {"windows", "10.0.20348"},
		"Windows2025":  {"windows", "10.0.26100"},
	}
	for family, want := range tests {
		t.Run("family "+family, func(t *testing.T) {
			t.Parallel()
			shape := resolve(t, ty, instancetype.Settings{AMIFamily: family})
			if got := label(shape, "kubernetes.io/os"); got != want.os {
				t.Errorf("os %q, want %q", got, want.os)
			}
			if got := label(shape, "node.kubernetes.io/windows-build"); got != want.build {
				t.Errorf("build %q, want %q", got, want.build)
			}
		})
	}
}

func TestEveryBundledTypeHasValidSortedLabels(t *testing.T) {
	t.Parallel()
	c, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	for _, ty := range c.Types {
		shape := resolve(t, ty, instancetype.Settings{AMIFamily: "Bottlerocket"})
		byKey := func(a, b model.Label) int { return strings.Compare(a.Key, b.Key) }
		if !slices.IsSortedFunc(shape.Labels, byKey) {
			t.Fatalf("%s: labels not sorted: %v", ty.Name, shape.Labels)
		}
		for _, l := range shape.Labels {
			if len(l.Value) > 63 || strings.Trim(l.Value, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
				t.Errorf("%s: %s: %q is no label value", ty.Name, l.Key, l.Value)
			}
		}
		for _, key := range []string{"category", "generation"} {
			if got := label(shape, "karpenter.k8s.aws/instance-"+key); got == absent {
				t.Errorf("%s has no %s", ty.Name, key)
			}
		}
	}
}

func label(s instancetype.Shape, key string) string {
	for _, l := range s.Labels {
		if l.Key == key {
			return l.Value
		}
	}
	return absent
}
