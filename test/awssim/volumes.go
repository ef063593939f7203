package awssim

import (
	"slices"
	"strings"
)

type blockDevice struct {
	Name    string `xml:"deviceName"`
	SizeGiB int64  `xml:"ebs>volumeSize"`
	Type    string `xml:"ebs>volumeType,omitempty"`
}

// volumeKind is what EBS allows of a kind of volume. A range of zeros allows nothing to be said.
type volumeKind struct {
	name                   string
	size, iops, throughput [2]int64
	needsIOPS              bool
}

func volumeKinds() []volumeKind {
	return []volumeKind{
		{name: "gp3", size: [2]int64{1, 65536}, iops: [2]int64{3000, 80000}, throughput: [2]int64{125, 2000}},
		{name: "gp2", size: [2]int64{1, 16384}},
		{name: "io1", size: [2]int64{4, 16384}, iops: [2]int64{100, 64000}, needsIOPS: true},
		{name: "io2", size: [2]int64{4, 65536}, iops: [2]int64{100, 256000}, needsIOPS: true},
		{name: "st1", size: [2]int64{125, 16384}},
		{name: "sc1", size: [2]int64{125, 16384}},
		{name: "standard", size: [2]int64{1, 1024}},
	}
}

// readDevices reads the block device mappings, and refuses what EBS would.
func readDevices(f *form, key string) []blockDevice {
	var out []blockDevice
	for _, b := range f.items(key) {
		f.ignore(b + ".Ebs")
		d := blockDevice{
			Name: f.str(b + ".DeviceName"), SizeGiB: f.int(b+".Ebs.VolumeSize", 0), Type: f.str(b + ".Ebs.VolumeType"),
		}
		if err := checkVolume(d, f.int(b+".Ebs.Iops", 0), f.int(b+".Ebs.Throughput", 0)); err != nil && f.bad == nil {
			f.bad = err
		}
		if slices.ContainsFunc(out, func(o blockDevice) bool { return o.Name == d.Name }) && f.bad == nil {
			f.bad = fail("InvalidBlockDeviceMapping", "The device '%s' is used in more than one block-device mapping", d.Name)
		}
		out = append(out, d)
	}
	return out
}

func checkVolume(d blockDevice, iops, throughput int64) error {
	kinds := volumeKinds()
	name := d.Type
	if name == "" {
		name = "gp2"
	}
	i := slices.IndexFunc(kinds, func(k volumeKind) bool { return k.name == name })
	if i < 0 {
		return fail("InvalidParameterValue", "Value (%s) for parameter volumeType is invalid.", name)
	}
	k := kinds[i]
	if k.needsIOPS && iops == 0 {
		return fail("MissingParameter", "The parameter iops must be specified for %s volumes.", name)
	}
	for _, p := range []struct {
		what  string
		value int64
		in    [2]int64
	}{{"volumeSize", d.SizeGiB, k.size}, {"iops", iops, k.iops}, {"throughput", throughput, k.throughput}} {
		switch {
		case p.value == 0:
		case p.in[1] == 0:
			return fail("InvalidParameterCombination", "The parameter %s is not supported for %s volumes.", p.what, name)
		case p.value < p.in[0] || p.value > p.in[1]:
			return fail("InvalidParameterValue", "%s volume %s must be between %d and %d, not %d.",
				strings.ToUpper(name), p.what, p.in[0], p.in[1], p.value)
		}
	}
	return nil
}
