package instancetype_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	mi = int64(1) << 20
	gi = int64(1) << 30
)

func typeNamed(t *testing.T, name string) catalog.Type {
	t.Helper()
	c, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	ty, ok := c.Type(name)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	return ty
}

func resolve(t *testing.T, ty catalog.Type, s instancetype.Settings) instancetype.Shape {
	t.Helper()
	shape, err := instancetype.Resolve(ty, s)
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

// figures are what matters most of a node: millicores and MiB, all and allocatable, and pods.
type figures struct{ CPU, MemoryMiB, Pods, AllocatableCPU, AllocatableMiB int64 }

func figuresOf(s instancetype.Shape) figures {
	return figures{
		CPU: s.Capacity.Value("cpu"), MemoryMiB: s.Capacity.Value("memory") / mi,
		Pods:           s.Capacity.Value("pods"),
		AllocatableCPU: s.Allocatable.Value("cpu"), AllocatableMiB: s.Allocatable.Value("memory") / mi,
	}
}

func TestAdaptersCountOnlyWhereTheyAreAskedFor(t *testing.T) {
	has := model.Amounts{{Resource: instancetype.EBSVolumes, Value: 25}, {Resource: "cpu", Value: 4000}, {Resource: instancetype.EFA, Value: 4}}
	if got := instancetype.Attached(has, model.Amounts{{Resource: instancetype.EFA, Value: 1}}); len(got) != 2 {
		t.Errorf("%v, want all that nodes report", got)
	}
	if got := instancetype.Attached(has, nil); len(got) != 1 || len(has) != 3 || got.Value(instancetype.EFA) != 0 {
		t.Errorf("%v, want no adapters; and the type's own list as it was: %v", got, has)
	}
}

func TestResolveMatchesReferenceFigures(t *testing.T) {
	t.Parallel()
	// Computed independently of this package from the published formulas.
	tests := map[string]figures{
		"c5.large":         {2000, 3788, 29, 1930, 3114},
		"c5.24xlarge":      {96000, 181862, 737, 95690, 173400},
		"m5.large":         {2000, 7577, 29, 1930, 6903},
		"m5.xlarge":        {4000, 15155, 58, 3920, 14162},
		"m5.24xlarge":      {96000, 363724, 737, 95690, 355262},
		"r5.large":         {2000, 15155, 29, 1930, 14481},
		"r5.24xlarge":      {96000, 727449, 737, 95690, 718987},
		"t3.micro":         {2000, 947, 4, 1930, 548},
		"t4g.nano":         {2000, 414, 4, 1930, 15},
		"m7g.medium":       {1000, 3729, 8, 940, 3286},
		"m7g.large":        {2000, 7518, 29, 1930, 6844},
		"c6g.16xlarge":     {64000, 121182, 737, 63770, 112720},
		"c7i.48xlarge":     {192000, 363724, 737, 191450, 355262},
		"i3.large":         {2000, 14444, 29, 1930, 13770},
		"i4i.32xlarge":     {128000, 969932, 737, 127610, 961470},
		"g5.xlarge":        {4000, 15155, 58, 3920, 14162},
		"g5.48xlarge":      {192000, 727449, 345, 191450, 723299},
		"r7iz.32xlarge":    {128000, 969932, 737, 127610, 961470},
		"m7i-flex.8xlarge": {32000, 121241, 234, 31850, 118312},
		"c7a.medium":       {1000, 1894, 8, 940, 1451},
		"r8g.48xlarge":     {192000, 1454840, 737, 191450, 1446378},
		"m6idn.32xlarge":   {128000, 484966, 394, 127610, 480277},
	}
	c, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty, ok := c.Type(name)
			if !ok {
				t.Fatal("no such type")
			}
			if diff := cmp.Diff(want, figuresOf(resolve(t, ty, instancetype.Settings{AMIFamily: "AL2023"}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveGivesTheWholeShape(t *testing.T) {
	t.Parallel()
	got := resolve(t, typeNamed(t, "m5.large"), instancetype.Settings{})
	const p = "karpenter.k8s.aws/"
	want := instancetype.Shape{
		Name: "m5.large",
		Labels: model.Labels{
			{Key: p + "instance-capability-flex", Value: "false"},
			{Key: p + "instance-category", Value: "m"},
			{Key: p + "instance-cpu", Value: "2"},
			{Key: p + "instance-cpu-manufacturer", Value: "intel"},
			{Key: p + "instance-cpu-sustained-clock-speed-mhz", Value: "3100"},
			{Key: p + "instance-ebs-bandwidth", Value: "4750"},
			{Key: p + "instance-encryption-in-transit-supported", Value: "false"},
			{Key: p + "instance-family", Value: "m5"},
			{Key: p + "instance-generation", Value: "5"},
			{Key: p + "instance-hypervisor", Value: "nitro"},
			{Key: p + "instance-memory", Value: "8192"},
			{Key: p + "instance-network-bandwidth", Value: "750"},
			{Key: p + "instance-size", Value: "large"},
			{Key: p + "instance-tenancy", Value: "default"},
			{Key: p + "nitro-sandbox", Value: "false"},
			{Key: "kubernetes.io/arch", Value: "amd64"},
			{Key: "kubernetes.io/os", Value: "linux"},
			{Key: "node.kubernetes.io/instance-type", Value: "m5.large"},
		},
		Capacity: model.Amounts{
			{Resource: instancetype.EBSVolumes, Value: 25},
			{Resource: "cpu", Value: 2000},
			{Resource: "ephemeral-storage", Value: 20 * gi},
			{Resource: "memory", Value: 7577 * mi},
			{Resource: "pods", Value: 29},
			{Resource: "vpc.amazonaws.com/pod-eni", Value: 9},
		},
		Allocatable: model.Amounts{
			{Resource: instancetype.EBSVolumes, Value: 25},
			{Resource: "cpu", Value: 1930},
			{Resource: "ephemeral-storage", Value: 17 * gi},
			{Resource: "memory", Value: 6903 * mi},
			{Resource: "pods", Value: 29},
			{Resource: "vpc.amazonaws.com/pod-eni", Value: 9},
		},
		KubeReserved: model.Amounts{
			{Resource: "cpu", Value: 70}, {Resource: "ephemeral-storage", Value: gi}, {Resource: "memory", Value: 574 * mi},
		},
		SystemReserved: model.Amounts{},
		EvictionHard:   model.Amounts{{Resource: "ephemeral-storage", Value: 2 * gi}, {Resource: "memory", Value: 100 * mi}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSettingsChangeTheShape(t *testing.T) {
	t.Parallel()
	p := func(n int64) *int64 { return &n }
	type settings = instancetype.Settings
	tests := map[string]struct {
		typeName string
		settings settings
		want     map[string]int64 // capacity under "+name", allocatable under "name"
	}{
		"maxPods counts, but memory is kept for what the interfaces could serve": {
			"m5.large", settings{MaxPods: p(110)}, map[string]int64{"pods": 110, "memory": 6903 * mi},
		},
		"on Bottlerocket memory is kept for maxPods": {
			"m5.large",
			settings{AMIFamily: "Bottlerocket", MaxPods: p(10)},
			map[string]int64{"pods": 10, "memory": (7577 - 255 - 110 - 100) * mi},
		},
		"podsPerCore is a further limit": {
			"m5.large", settings{PodsPerCore: p(4)}, map[string]int64{"pods": 8, "memory": 6903 * mi},
		},
		"podsPerCore does not raise the limit": {"m5.large", settings{PodsPerCore: p(40)}, map[string]int64{"pods": 29}},
		"podsPerCore of zero is none":          {"m5.large", settings{PodsPerCore: p(0)}, map[string]int64{"pods": 29}},
		"Bottlerocket ignores podsPerCore": {
			"m5.large", settings{AMIFamily: "Bottlerocket", PodsPerCore: p(4)}, map[string]int64{"pods": 29},
		},
		"maxPods of zero is a limit": {"m5.large", settings{MaxPods: p(0)}, map[string]int64{"+pods": 0, "pods": 0}},
		"a reserved interface carries no pods, but memory is kept for them": {
			"m5.large", settings{ReservedENIs: 1}, map[string]int64{"pods": 20, "memory": 6903 * mi},
		},
		"all interfaces reserved leaves no pods": {"m5.large", settings{ReservedENIs: 3}, map[string]int64{"pods": 0}},
		"Windows has a limit of its own and addresses as a resource": {
			"m5.large",
			settings{AMIFamily: "Windows2022"},
			map[string]int64{"pods": 110, "vpc.amazonaws.com/PrivateIPv4Address": 9, "memory": (7577 - 255 - 1210 - 100) * mi},
		},
		"kubeReserved replaces only what it names": {
			"m5.large",
			settings{KubeReserved: map[string]string{"cpu": "0.2", "pid": "100"}},
			map[string]int64{"cpu": 1800, "memory": 6903 * mi},
		},
		"systemReserved comes on top": {
			"m5.large",
			settings{SystemReserved: map[string]string{"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"}},
			map[string]int64{"cpu": 1830, "memory": 6803 * mi, "ephemeral-storage": 16 * gi},
		},
		"an eviction threshold in bytes": {
			"m5.large",
			settings{EvictionHard: map[string]string{"memory.available": "200Mi", "nodefs.inodesFree": "5%"}},
			map[string]int64{"memory": 6803 * mi, "ephemeral-storage": 17 * gi},
		},
		"an eviction threshold in percent is rounded up": {
			"m5.large",
			settings{EvictionHard: map[string]string{"memory.available": "5%", "nodefs.available": "15%"}},
			// 5 % of 7577 Mi is 397253017.6 bytes.
			map[string]int64{"memory": (7577-574)*mi - 397_253_018, "ephemeral-storage": 16 * gi},
		},
		"a threshold of all turns it off": {
			"m5.large",
			settings{EvictionHard: map[string]string{"memory.available": "100%"}},
			map[string]int64{"memory": (7577 - 574) * mi},
		},
		"a reservation of more than there is leaves nothing": {
			"m5.large",
			settings{SystemReserved: map[string]string{"memory": "7Ei", "cpu": "3"}, KubeReserved: map[string]string{"memory": "7Ei"}},
			map[string]int64{"memory": 0, "cpu": 0},
		},
		"another memory overhead": {
			"m5.large", settings{VMMemoryOverheadPercent: 0.1}, map[string]int64{"+memory": (8192 - 820) * mi},
		},
		"a larger volume": {
			"m5.large", settings{EphemeralStorageBytes: 100 * gi}, map[string]int64{"+ephemeral-storage": 100 * gi, "ephemeral-storage": 89 * gi},
		},
		"local disks as ephemeral storage": {
			"m5d.large", settings{RAID0: true}, map[string]int64{"+ephemeral-storage": 75_000_000_000},
		},
		"local disks wanted where there are none": {
			"m5.large", settings{RAID0: true}, map[string]int64{"+ephemeral-storage": 20 * gi},
		},
		"GPUs":                     {"g5.12xlarge", settings{}, map[string]int64{"nvidia.com/gpu": 4, "vpc.amazonaws.com/efa": 1}},
		"a share of a GPU is none": {"g6f.large", settings{}, map[string]int64{"nvidia.com/gpu": 0}},
		"Inferentia": {
			"inf2.48xlarge",
			settings{},
			map[string]int64{"aws.amazon.com/neuron": 12, "aws.amazon.com/neurondevice": 12, "aws.amazon.com/neuroncore": 24},
		},
		"Trainium": {"trn1.32xlarge", settings{}, map[string]int64{"aws.amazon.com/neuron": 16, "aws.amazon.com/neuroncore": 32}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shape := resolve(t, typeNamed(t, tt.typeName), tt.settings)
			got := map[string]int64{}
			for key := range tt.want {
				if name, all := strings.CutPrefix(key, "+"); all {
					got[key] = shape.Capacity.Value(model.Resource(name))
				} else {
					got[key] = shape.Allocatable.Value(model.Resource(name))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveRefusesBadSettingsAndNamesTheField(t *testing.T) {
	t.Parallel()
	p := func(n int64) *int64 { return &n }
	type settings = instancetype.Settings
	one := func(k, v string) map[string]string { return map[string]string{k: v} }
	tests := map[string]struct {
		settings settings
		want     []string
	}{
		"a family no one knows":      {settings{AMIFamily: "Ubuntu"}, []string{"amiFamily", "Ubuntu", "AL2023"}},
		"negative pods":              {settings{MaxPods: p(-1)}, []string{"maxPods", "-1"}},
		"absurdly many pods":         {settings{MaxPods: p(math.MaxInt64)}, []string{"maxPods"}},
		"negative pods per core":     {settings{PodsPerCore: p(-1)}, []string{"podsPerCore"}},
		"negative interfaces":        {settings{ReservedENIs: -1}, []string{"reservedENIs"}},
		"a negative volume":          {settings{EphemeralStorageBytes: -1}, []string{"ephemeral storage"}},
		"negative overhead":          {settings{VMMemoryOverheadPercent: -0.1}, []string{"vmMemoryOverheadPercent"}},
		"overhead meant as percent":  {settings{VMMemoryOverheadPercent: 7.5}, []string{"vmMemoryOverheadPercent", "7.5", "fraction"}},
		"overhead that is no number": {settings{VMMemoryOverheadPercent: math.NaN()}, []string{"vmMemoryOverheadPercent"}},
		"a resource no one reserves": {settings{KubeReserved: one("gpu", "1")}, []string{"kubelet.kubeReserved", "gpu", "memory"}},
		"a quantity without sense":   {settings{SystemReserved: one("memory", "lots")}, []string{"kubelet.systemReserved[memory]", "lots"}},
		"a negative quantity":        {settings{KubeReserved: one("cpu", "-1")}, []string{"kubelet.kubeReserved[cpu]", "-1"}},
		"a unit no one knows":        {settings{KubeReserved: one("memory", "1GB")}, []string{"kubelet.kubeReserved[memory]", `unit "GB"`}},
		"a quantity too large":       {settings{KubeReserved: one("memory", "8Ei")}, []string{"kubelet.kubeReserved[memory]", "too large"}},
		"an exponent too large":      {settings{KubeReserved: one("memory", "1e999999999")}, []string{"kubelet.kubeReserved[memory]", "exponent"}},
		"a quantity too long":        {settings{KubeReserved: one("memory", strings.Repeat("9", 999))}, []string{"kubelet.kubeReserved[memory]"}},
		"an empty quantity":          {settings{KubeReserved: one("memory", "")}, []string{"kubelet.kubeReserved[memory]"}},
		"a signal no one knows":      {settings{EvictionHard: one("memory.free", "1Gi")}, []string{"kubelet.evictionHard", "memory.free", "memory.available"}},
		"a percentage above all":     {settings{EvictionHard: one("nodefs.available", "101%")}, []string{"kubelet.evictionHard[nodefs.available]", "101%"}},
		"a percentage without sense": {settings{EvictionHard: one("pid.available", "x%")}, []string{"kubelet.evictionHard[pid.available]", "x%"}},
		"a negative percentage":      {settings{EvictionHard: one("memory.available", "-5%")}, []string{"kubelet.evictionHard[memory.available]", "-5%"}},
	}
	ty := typeNamed(t, "m5.large")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := instancetype.Resolve(ty, tt.settings)
			if err == nil {
				t.Fatal("no error")
			}
			if errors.Is(err, instancetype.ErrIncompatible) {
				t.Error("told as a fault of the type")
			}
			for _, part := range append(tt.want, "m5.large") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if len(err.Error()) > 300 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestQuantitiesAreReadAsTheKubeletDoes(t *testing.T) {
	t.Parallel()
	// What is reserved of each; 64 GiB leave capacity for it.
	tests := map[string]struct {
		resource, text string
		want           int64
	}{
		"millicores":                    {"cpu", "250m", 250},
		"cores":                         {"cpu", "2", 2000},
		"a fraction of a core":          {"cpu", "1.5", 1500},
		"a leading point":               {"cpu", ".5", 500},
		"a trailing point":              {"cpu", "1.", 1000},
		"a sign":                        {"cpu", "+1", 1000},
		"less than a millicore":         {"cpu", "1u", 1},
		"bytes":                         {"memory", "1048577", 1_048_577},
		"binary units":                  {"memory", "1.5Gi", 3 * gi / 2},
		"decimal units":                 {"memory", "1G", 1_000_000_000},
		"an exponent":                   {"memory", "12e6", 12_000_000},
		"an exponent with a sign":       {"memory", "5E+8", 500_000_000},
		"a negative exponent":           {"memory", "15e-1", 2},
		"thousandths of bytes":          {"memory", "1500m", 2},
		"zero":                          {"memory", "0", 0},
		"a large unit in small":         {"memory", "0.000001Ti", 1_099_512},
		"storage":                       {"ephemeral-storage", "2Gi", 2 * gi},
		"exactly whole is not one more": {"memory", "0.1k", 100},
	}
	ty := typeNamed(t, "m5.4xlarge")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := resolve(t, ty, instancetype.Settings{SystemReserved: map[string]string{tt.resource: tt.text}})
			if got := s.SystemReserved.Value(model.Resource(tt.resource)); got != tt.want {
				t.Errorf("%s is %d, want %d", tt.text, got, tt.want)
			}
			taken := s.Capacity.Value(model.Resource(tt.resource)) - s.KubeReserved.Value(model.Resource(tt.resource)) -
				s.EvictionHard.Value(model.Resource(tt.resource)) - tt.want
			if got := s.Allocatable.Value(model.Resource(tt.resource)); got != taken {
				t.Errorf("allocatable %d, want %d", got, taken)
			}
		})
	}
}

func TestTypesThatCannotRunTheFamilyAreTold(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		typeName, family string
		incompatible     bool
	}{
		"Windows on arm64":            {"m7g.large", "Windows2022", true},
		"Windows on amd64":            {"m5.large", "Windows2022", false},
		"AL2023 on the oldest arm64":  {"a1.large", "AL2023", true},
		"the default family likewise": {"a1.large", "", true},
		"AL2 on the oldest arm64":     {"a1.large", "AL2", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := instancetype.Resolve(typeNamed(t, tt.typeName), instancetype.Settings{AMIFamily: tt.family})
			if errors.Is(err, instancetype.ErrIncompatible) != tt.incompatible || (err != nil) != tt.incompatible {
				t.Errorf("error %v, want incompatible %v", err, tt.incompatible)
			}
		})
	}
}

func TestNoBundledTypeOffersMoreThanItHas(t *testing.T) {
	t.Parallel()
	c, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	byName := func(a, b model.Amount) int { return strings.Compare(string(a.Resource), string(b.Resource)) }
	for _, ty := range c.Types {
		s := resolve(t, ty, instancetype.Settings{AMIFamily: "AL2"})
		if !slices.IsSortedFunc(s.Capacity, byName) || !slices.IsSortedFunc(s.Allocatable, byName) {
			t.Errorf("%s: not sorted", ty.Name)
		}
		for _, a := range s.Allocatable {
			if all := s.Capacity.Value(a.Resource); a.Value <= 0 || a.Value > all {
				t.Errorf("%s: %s: %d of %d allocatable", ty.Name, a.Resource, a.Value, all)
			}
		}
	}
}

func BenchmarkResolveAll(b *testing.B) {
	c, err := catalog.Bundled()
	if err != nil {
		b.Fatal(err)
	}
	s := instancetype.Settings{KubeReserved: map[string]string{"cpu": "100m"}, EvictionHard: map[string]string{"memory.available": "5%"}}
	s.AMIFamily = "AL2"
	for b.Loop() {
		for _, t := range c.Types {
			if _, err := instancetype.Resolve(t, s); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func TestMaxPodsMayBeAnExpression(t *testing.T) {
	for text, want := range map[string]map[string]int64{
		"min(250, (default_enis * (ips_per_eni - 1)) * 16 + 2)": {"m5.large": 250, "t3.nano": 34},
		"vcpus * 8":    {"m5.large": 16, "t3.nano": 16},
		"max_pods - 1": {"m5.large": 28, "t3.nano": 3},
	} {
		for name, pods := range want {
			shape, err := instancetype.Resolve(typeNamed(t, name), instancetype.Settings{MaxPodsFormula: text})
			if err != nil || shape.Capacity.Value(model.Pods) != pods {
				t.Errorf("%s of %s: %d pods, %v; want %d", text, name, shape.Capacity.Value(model.Pods), err, pods)
			}
		}
	}
	for _, text := range []string{"vcpus *", "1 / (vcpus - 2)", "-1", "9999999"} {
		if _, err := instancetype.Resolve(typeNamed(t, "m5.large"), instancetype.Settings{MaxPodsFormula: text}); err == nil || !strings.Contains(err.Error(), "kubelet.maxPods") {
			t.Errorf("%s: error %v, want one that names the field", text, err)
		}
	}
}
