package labels

import "strings"

// Normal maps the older names of a label to its present one, and the EBS driver's zone to the zone. Any other key is
// returned as it is.
func Normal(key string) string {
	switch key {
	case oldZone, EBSZone:
		return Zone
	case oldRegion:
		return Region
	case oldArch:
		return Arch
	case oldOS:
		return OS
	case oldInstanceType:
		return InstanceType
	}
	return key
}

// autoModeInstance begins the labels by which EKS Auto Mode tells instance types apart; only its own nodes carry them.
const autoModeInstance = "eks.amazonaws.com/instance-"

// OfAutoMode is the label that says here what a label of EKS Auto Mode's nodes says of their instance types; false if
// it is none.
func OfAutoMode(key string) (here string, ok bool) {
	name, ok := strings.CutPrefix(key, autoModeInstance)
	return KarpenterAWS + "/instance-" + name, ok
}

// WellKnown says whether a label follows from the instance type, its place or its pool, so that a pod may ask for it
// although the pool does not name it. Keys of AWS's domains count by their domain, because each release of AWS's provider
// adds some.
func WellKnown(key string) bool {
	switch key {
	case InstanceType, Zone, Region, Arch, OS, CapacityType, NodePool, Registered, Initialized, WindowsBuild:
		return true
	}
	return OfInstance(key)
}

// OfPlace says whether a label follows from an offering's zone, capacity type and reservation, whatever the instance type.
func OfPlace(key string) bool {
	switch key {
	case Zone, ZoneID, Region, CapacityType:
		return true
	}
	return OfReservation(key)
}

// OfReservation says whether a label is one of a node in a capacity reservation.
func OfReservation(key string) bool {
	switch key {
	case CapacityReservationID, CapacityReservationType, CapacityReservationInterruptible:
		return true
	}
	return false
}

// OfInstance says whether a label is in one of the domains that describe instances in AWS's words.
func OfInstance(key string) bool {
	return strings.HasPrefix(key, KarpenterAWS+"/") || strings.HasPrefix(key, "topology.k8s.aws/")
}

// Ephemeral says whether a taint is one that a node has only while it starts: pods need not tolerate it to be planned for
// the node.
func Ephemeral(taintKey string) bool {
	switch taintKey {
	case TaintNotReady, TaintUnreachable, TaintUninitialized, TaintUnregistered:
		return true
	}
	return strings.HasPrefix(taintKey, TaintReadinessPrefix)
}

// RegionOf is the part of a zone's name that names its region: "us-east-1" of "us-east-1a" and of "us-east-1-bos-1a".
func RegionOf(zone string) string {
	parts := strings.Split(zone, "-")
	for i, p := range parts {
		if p != "" && p[0] >= '0' && p[0] <= '9' {
			parts[i] = strings.TrimRight(p, "abcdefghijklmnopqrstuvwxyz")
			return strings.Join(parts[:i+1], "-")
		}
	}
	return zone
}

// Reservation are the keys of a node in a capacity reservation, sorted.
func Reservation() []string {
	return []string{CapacityReservationID, CapacityReservationInterruptible, CapacityReservationType}
}
