package instancetype

import "github.com/kerf-dev/kerf/services/actuator/catalog"

// moreInterfaces is how many network interfaces a node mostly has beside its first by the time that its driver counts.
const moreInterfaces = 1

// volumes is how many volumes of pods a node attaches: what EC2 lets it, less those that it is launched with and, where
// they share their places, further network interfaces. That is what the EBS driver tells of most; of bare metal and of
// what is older than Nitro it leaves out the interfaces, whatever EC2 says. Drivers tell one at least, and 0 is
// unknown.
func (r resolved) volumes(t catalog.Type) int64 {
	if t.EBSVolumes == 0 {
		return 0
	}
	n := t.EBSVolumes - r.blockDevices
	if t.EBSVolumesShared {
		n -= moreInterfaces
	}
	return max(1, n)
}
