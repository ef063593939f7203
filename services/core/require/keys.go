package require

import "strings"

// Labels that the planner itself has to name.
const (
	KeyInstanceType = "node.kubernetes.io/instance-type"
	KeyZone         = "topology.kubernetes.io/zone"
	KeyRegion       = "topology.kubernetes.io/region"
	KeyArch         = "kubernetes.io/arch"
	KeyOS           = "kubernetes.io/os"
	KeyHostname     = "kubernetes.io/hostname"
	KeyCapacityType = "karpenter.sh/capacity-type"
	KeyNodePool     = "karpenter.sh/nodepool"
	KeyNodeClass    = "karpenter.k8s.aws/ec2nodeclass"
	KeyRegistered   = "karpenter.sh/registered"
	KeyReservation  = "karpenter.k8s.aws/capacity-reservation-id"
	KeyInitialized  = "karpenter.sh/initialized"
)

// NormalKey maps the older names of a label to its present one, and the EBS driver's zone to the zone.
func NormalKey(key string) string {
	switch key {
	case "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone":
		return KeyZone
	case "failure-domain.beta.kubernetes.io/region":
		return KeyRegion
	case "beta.kubernetes.io/arch":
		return KeyArch
	case "beta.kubernetes.io/os":
		return KeyOS
	case "beta.kubernetes.io/instance-type":
		return KeyInstanceType
	}
	return key
}

// WellKnown says whether a label follows from the instance type, its place or its pool, so that a pod may ask for it
// although the pool does not name it.
func WellKnown(key string) bool {
	switch key {
	case KeyInstanceType, KeyZone, KeyRegion, KeyArch, KeyOS, KeyCapacityType, KeyNodePool, KeyRegistered,
		KeyInitialized, "node.kubernetes.io/windows-build":
		return true
	}
	return strings.HasPrefix(key, "karpenter.k8s.aws/") || strings.HasPrefix(key, "topology.k8s.aws/")
}

// Region is the part of a zone's name that names its region: "us-east-1" of "us-east-1a" and of "us-east-1-bos-1a".
func Region(zone string) string {
	parts := strings.Split(zone, "-")
	for i, p := range parts {
		if p != "" && p[0] >= '0' && p[0] <= '9' {
			parts[i] = strings.TrimRight(p, "abcdefghijklmnopqrstuvwxyz")
			return strings.Join(parts[:i+1], "-")
		}
	}
	return zone
}
