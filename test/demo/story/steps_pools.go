package story

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/awssim"
)

// laterSteps are those that need more than the one pool.
func laterSteps() []Step {
	return []Step{
		quick(7, "a pod of 2 CPU and 2.5 GiB", "it runs on an m5.xlarge", largePod),
		quick(8, "a pod that selects one zone and capacity type spot", "a spot node in that zone, from a spot pool", spotPod),
		quick(9, "a pool with a PreferNoSchedule taint", "its node carries the taint, and a pod that tolerates and selects it runs there", taintedPool),
		quick(10, "AWS takes a spot instance back", "the pods have moved before the two minutes are over, budget respected", interruption),
		quick(11, "a pod that fits nothing", "the nearest miss, on the pod as an event and in the plan", giantPod),
		quick(12, "the manifests in their v1beta1 form", "kerf plan says the same as for v1, and kerf convert prints v1", oldManifests),
	}
}

func largePod(ctx context.Context, s *Stage) error {
	s.did("pod large is applied")
	if err := s.apply(ctx, "pod-large.yaml"); err != nil {
		return err
	}
	if err := s.expect(ctx, stepTimeout, running("large", 1), nodes("default", "m5.xlarge"), quiet()); err != nil {
		return err
	}
	s.top()
	return s.cleanUp(ctx, "large")
}

// cleanUp deletes a pod and waits until its node is gone too.
func (s *Stage) cleanUp(ctx context.Context, pod string) error {
	if err := s.remove(ctx, pod); err != nil {
		return err
	}
	return s.expect(ctx, stepTimeout, running(pod, 0), nothing())
}

func spotPod(ctx context.Context, s *Stage) error {
	s.did("NodePool spot and pod picky, which selects us-east-1b and spot, are applied")
	if err := s.apply(ctx, "pool-spot.yaml", "pod-spot.yaml"); err != nil {
		return err
	}
	right := func(n *corev1.Node) string {
		if n.Labels[labels.NodePool] != "spot" || n.Labels[corev1.LabelTopologyZone] != "us-east-1b" || n.Labels[labels.CapacityType] != "spot" {
			return "of pool spot, in us-east-1b, as spot"
		}
		return ""
	}
	bought := func(w World) string {
		for _, i := range w.Instances() {
			if i.CapacityType != awssim.Spot || i.Zone != "us-east-1b" {
				return fmt.Sprintf("a spot instance in us-east-1b, AWS runs %s %s in %s", i.CapacityType, i.InstanceType, i.Zone)
			}
		}
		return ""
	}
	if err := s.expect(ctx, stepTimeout, running("picky", 1), on("picky", right), bought, quiet()); err != nil {
		return err
	}
	s.top()
	return s.cleanUp(ctx, "picky")
}

func taintedPool(ctx context.Context, s *Stage) error {
	s.did("NodePool batch, with the taint batch=yes:PreferNoSchedule, and pod batch are applied")
	if err := s.apply(ctx, "pool-tainted.yaml", "pod-batch.yaml"); err != nil {
		return err
	}
	tainted := func(n *corev1.Node) string {
		taint := corev1.Taint{Key: "batch", Value: "yes", Effect: corev1.TaintEffectPreferNoSchedule}
		if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) && t.Value == taint.Value }) {
			return "with the taint batch=yes:PreferNoSchedule"
		}
		if n.Labels["team"] != "batch" || n.Labels[labels.NodePool] != "batch" {
			return "of pool batch, labelled team=batch"
		}
		return ""
	}
	if err := s.expect(ctx, stepTimeout, running("batch", 1), on("batch", tainted), quiet()); err != nil {
		return err
	}
	s.top()
	return s.cleanUp(ctx, "batch")
}
