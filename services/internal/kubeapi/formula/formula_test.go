package formula_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/formula"
)

func TestFormulas(t *testing.T) {
	m5large := formula.Type{Name: "m5.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPsPerENI: 10, MaxPods: 29}
	for text, want := range map[string]int64{ // -1: it can't be read, -2: it has no value for the type
		"110": 110,
		"min(250, (default_enis * (ips_per_eni - 1)) * 16 + 2)": 250,
		"max(vcpus * 10, 30)":                        30,
		"max_pods - 1":                               28,
		"memory_mib / 1024 * 4":                      32,
		"instance_type.startsWith('m5.') ? 20 : 110": 20,
		"min(1.5, double(vcpus))":                    1,
		"vcpus - 10":                                 -2,
		"100 / (vcpus - 2)":                          -2,
		"9223372036854775807 * vcpus":                -2,
		"vcpus *":                                    -1,
		"cores * 10":                                 -1,
		"'many'":                                     -1,
		"min(1, 2.0)":                                -1,
		"[1, 2].map(x, x).size()":                    -1,
		strings.Repeat("1+", 600) + "1":              -1,
	} {
		f, err := formula.Parse(text)
		if (err != nil) != (want == -1) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			continue
		}
		got, err := f.Of(m5large)
		if (err != nil) != (want == -2) || err == nil && got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
}
