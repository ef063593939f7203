package scenario

import (
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// TestDevicesThatNeverComeAreNotBoughtAgainAndAgain carries out the plan of each file with pools that say what devices
// their nodes will have, and plans again a quarter of an hour later, and so on. No driver publishes anything on the
// nodes that are bought, so that the pods for which they were wait. In the end nothing is bought for them any more.
func TestDevicesThatNeverComeAreNotBoughtAgainAndAgain(t *testing.T) {
	loader := NewLoader()
	for _, file := range files(t) {
		s, err := loader.Load(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(s.Input.Snapshot.NodePools, func(p model.NodePool) bool { return len(p.Devices) > 0 }) {
			continue
		}
		t.Run(behaviour(file), func(t *testing.T) {
			in := s.Input
			in.Kinds = nil
			for range 12 {
				p, err := decide(in)
				if err != nil {
					t.Fatal(err)
				}
				if len(p.NodeClaims)+len(p.Disruptions) == 0 {
					return
				}
				in = withoutDevices(in, carriedOut(in, p, nil, 15*time.Minute))
			}
			t.Error("nodes are still bought, or removed")
		})
	}
}

// withoutDevices is what there is to see where no driver has published anything on nodes that are new.
func withoutDevices(before, after model.Input) model.Input {
	claims := map[model.ClassID]bool{}
	for _, c := range after.Snapshot.PodClasses {
		claims[c.ID] = len(c.DeviceClaims) > 0
	}
	for i := range after.Snapshot.Nodes {
		n := &after.Snapshot.Nodes[i]
		if slices.ContainsFunc(before.Snapshot.Nodes, func(old model.Node) bool { return old.Name == n.Name }) {
			continue
		}
		n.Devices = nil
		for j := range after.Snapshot.Pods {
			if p := &after.Snapshot.Pods[j]; p.Node == n.Name && claims[p.Class] {
				p.Node, p.Phase, p.BindTime, p.UnschedulableTime = "", model.PodUnschedulable, time.Time{}, after.Now
			}
		}
	}
	return after
}
