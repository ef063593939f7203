package labels_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// Keys are on users' objects: what they are called is part of the contract.
func TestKeysKeepTheirNames(t *testing.T) {
	for key, want := range map[string]string{
		labels.Claim: "kerf.dev/claim", labels.TagCluster: "kerf.dev/cluster", labels.NodePool: "karpenter.sh/nodepool",
		labels.NodeClass: "karpenter.k8s.aws/ec2nodeclass", labels.CapacityType: "karpenter.sh/capacity-type",
		labels.DoNotDisrupt: "karpenter.sh/do-not-disrupt", labels.TaintUnregistered: "karpenter.sh/unregistered",
		labels.TaintDisrupted: "karpenter.sh/disrupted", labels.FinalizerTermination: "karpenter.sh/termination",
		labels.ZoneID: "topology.k8s.aws/zone-id", labels.Devices: "kerf.dev/devices",
	} {
		if key != want {
			t.Errorf("key %q, want %q", key, want)
		}
	}
}

func TestNormalKnowsOlderNames(t *testing.T) {
	for key, want := range map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   labels.Zone,
		"failure-domain.beta.kubernetes.io/region": labels.Region,
		"topology.ebs.csi.aws.com/zone":            labels.Zone,
		"beta.kubernetes.io/arch":                  labels.Arch,
		"beta.kubernetes.io/os":                    labels.OS,
		"beta.kubernetes.io/instance-type":         labels.InstanceType,
		"example.com/team":                         "example.com/team",
	} {
		if got := labels.Normal(key); got != want {
			t.Errorf("Normal(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestWellKnownKeysFollowFromTypePlaceOrPool(t *testing.T) {
	for key, want := range map[string]bool{
		labels.Zone: true, labels.ZoneID: true, labels.InstanceFamily: true, labels.NodePool: true,
		labels.Hostname: false, "example.com/team": false, "": false,
	} {
		if got := labels.WellKnown(key); got != want {
			t.Errorf("WellKnown(%q) = %v, want %v", key, got, want)
		}
	}
}

func TestEphemeralTaintsGoByThemselves(t *testing.T) {
	for key, want := range map[string]bool{
		labels.TaintNotReady: true, labels.TaintUnregistered: true, "readiness.k8s.io/network": true,
		labels.TaintDisrupted: false, "dedicated": false,
	} {
		if got := labels.Ephemeral(key); got != want {
			t.Errorf("Ephemeral(%q) = %v, want %v", key, got, want)
		}
	}
}

func TestRegionOfZone(t *testing.T) {
	for zone, want := range map[string]string{
		"us-east-1a": "us-east-1", "us-east-1-bos-1a": "us-east-1", "us-gov-west-1b": "us-gov-west-1", "": "", "nowhere": "nowhere",
	} {
		if got := labels.RegionOf(zone); got != want {
			t.Errorf("RegionOf(%q) = %q, want %q", zone, got, want)
		}
	}
}
