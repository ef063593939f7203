package shrink_test

import (
	"testing"

	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/kube"
	"github.com/kerf-dev/kerf/test/differential/shrink"
)

// TestWhatIsMadeSmallerIsACluster makes Kubernetes' objects of all that is tried on the way to the smallest case that still
// has a pod, or a pod with devices.
func TestWhatIsMadeSmallerIsACluster(t *testing.T) {
	const seeds, tries = 60, 2000
	withDevices := 0
	for seed := range uint64(seeds) {
		c := gen.New(seed, gen.Devices|gen.Nodes|gen.Roomy)
		if given(c) == 0 {
			continue
		}
		withDevices++
		objects := func(c gen.Case) {
			kube.NewObjects(&c.Input)
			for i := range c.Input.Snapshot.Nodes {
				kube.NewNode(&c.Input.Snapshot.Nodes[i])
			}
		}
		least := shrink.Shrink(c, func(c gen.Case) bool { objects(c); return len(c.Input.Snapshot.Pods) > 0 }, tries)
		if pods := len(least.Input.Snapshot.Pods); pods != 1 {
			t.Errorf("seed %d: %d pods are left, not one", seed, pods)
		}
		least = shrink.Shrink(c, func(c gen.Case) bool { objects(c); return given(c) > 0 }, tries)
		if pods := len(least.Input.Snapshot.Pods); pods != 1 || given(least) != 1 {
			t.Errorf("seed %d: %d pods are left, with %d devices", seed, pods, given(least))
		}
	}
	if withDevices < 3 {
		t.Errorf("%d cases have pods with devices", withDevices)
	}
}

// given is how many devices pods have.
func given(c gen.Case) int {
	n := 0
	for _, p := range c.Input.Snapshot.Pods {
		n += len(p.Devices)
	}
	return n
}
