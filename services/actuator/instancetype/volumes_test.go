package instancetype_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/instancetype"
)

func TestNodesAttachAsManyVolumesAsEC2Lets(t *testing.T) {
	t.Parallel()
	bottlerocket := instancetype.Settings{AMIFamily: instancetype.Bottlerocket}
	for name, tc := range map[string]struct {
		typ      string
		settings instancetype.Settings
		want     int64
	}{
		"shared with two interfaces":            {"m5.large", instancetype.Settings{}, 25},
		"local disks take places":               {"m5d.24xlarge", instancetype.Settings{}, 21},
		"large local disks are fewer":           {"i4i.16xlarge", instancetype.Settings{}, 21},
		"hard disks are many":                   {"d3.4xlarge", instancetype.Settings{}, 13},
		"as many as places":                     {"d3.8xlarge", instancetype.Settings{}, 1},
		"GPUs take places":                      {"g5g.16xlarge", instancetype.Settings{}, 23},
		"Inferentia does":                       {"inf1.6xlarge", instancetype.Settings{}, 21},
		"bare metal shares more":                {"m5.metal", instancetype.Settings{}, 29},
		"older than Nitro":                      {"m4.large", instancetype.Settings{}, 38},
		"Graviton of the seventh generation":    {"m7g.4xlarge", instancetype.Settings{}, 25},
		"places of their own":                   {"m7i.4xlarge", instancetype.Settings{}, 31},
		"more on larger sizes":                  {"m7i.24xlarge", instancetype.Settings{}, 63},
		"most on the largest":                   {"m8g.48xlarge", instancetype.Settings{}, 127},
		"newer bare metal":                      {"m7i.metal-24xl", instancetype.Settings{}, 38},
		"Bottlerocket boots from two volumes":   {"m5.large", bottlerocket, 24},
		"volumes that the class attaches count": {"m5.large", instancetype.Settings{BlockDevices: 4}, 22},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := resolve(t, typeNamed(t, tc.typ), tc.settings).Allocatable.Value(instancetype.EBSVolumes)
			if got != tc.want {
				t.Errorf("%s attaches %d volumes, want %d", tc.typ, got, tc.want)
			}
		})
	}
}
