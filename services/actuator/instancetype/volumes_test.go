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
		"and with local disks":                  {"m5d.24xlarge", instancetype.Settings{}, 21},
		"and with GPUs":                         {"g5.12xlarge", instancetype.Settings{}, 20},
		"one at least":                          {"d3.8xlarge", instancetype.Settings{}, 1},
		"places of their own":                   {"m7i.4xlarge", instancetype.Settings{}, 31},
		"more on larger sizes":                  {"m8g.48xlarge", instancetype.Settings{}, 127},
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

func TestWhereTheCatalogueTellsNoVolumesThereIsNoLimit(t *testing.T) {
	t.Parallel()
	typ := typeNamed(t, "m5.large")
	typ.EBSVolumes = 0
	if n, ok := resolve(t, typ, instancetype.Settings{}).Allocatable.Get(instancetype.EBSVolumes); ok {
		t.Errorf("%d volumes, want none to be told", n)
	}
}
