package story

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Steps are the whole story.
func Steps() []Step {
	steps := []Step{
		quick(1, "NodePool default, 0 replicas of inflate", "no nodes", setUp),
		quick(2, "5 replicas", "one m5.large, and all run on it", inflate(5, "m5.large")),
		quick(3, "12 replicas", "two m5.large, and all run", inflate(12, "m5.large", "m5.large")),
		quick(4, "5 replicas", "one m5.large is left", inflate(5, "m5.large")),
		quick(5, "1 replica", "a cheaper c5.large replaces the m5.large", inflate(1, "c5.large")),
		quick(6, "0 replicas", "no nodes, no instances, no claims, no launch templates", deflate),
	}
	return slices.Concat(steps, laterSteps(), upkeepSteps())
}

// setUp applies the example's pool and class and the workload without replicas. Nothing must come of it.
func setUp(ctx context.Context, s *Stage) error {
	s.did("NodePool default, EC2NodeClass default and Deployment inflate are applied")
	for _, file := range []string{"nodeclass.yaml", "nodepool.yaml"} {
		if err := s.Cluster.ApplyFile(ctx, s.example("inflate", file)); err != nil {
			return err
		}
	}
	if err := s.createInflate(ctx); err != nil {
		return err
	}
	err := s.expect(ctx, stepTimeout,
		s.isReady(ctx, nodeClasses(), "default"), s.isReady(ctx, nodePools(), "default"), running("inflate", 0))
	if err != nil {
		return err
	}
	return s.stays(ctx, time.Second, func(w World) string { // asks no one who may have been killed
		if n, i := len(w.Nodes), len(w.AWS.Instances); n+i > 0 {
			return fmt.Sprintf("no node and no instance, there are %d and %d", n, i)
		}
		return ""
	})
}

// isReady holds when the object's condition Ready is true.
func (s *Stage) isReady(ctx context.Context, resource schema.GroupVersionResource, name string) Condition {
	return func(World) string {
		status, message, err := s.readiness(ctx, resource, name)
		if err != nil {
			return err.Error()
		}
		if status != "True" {
			return fmt.Sprintf("%s/%s ready, it is not: %s", resource.Resource, name, message)
		}
		return ""
	}
}

// stays is an error when the conditions do not hold all the time for a while.
func (s *Stage) stays(ctx context.Context, d time.Duration, conditions ...Condition) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		w, changed := s.world()
		if m := missing(w, conditions); m != "" {
			return fmt.Errorf("expected to stay so for %s: %s", d, m)
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inflate scales the workload and waits until exactly these nodes are there and everything runs.
func inflate(replicas int, types ...string) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		if err := s.scale(ctx, "inflate", replicas); err != nil {
			return err
		}
		return s.expect(ctx, stepTimeout, running("inflate", replicas), nodes("default", types...), quiet())
	}
}

func deflate(ctx context.Context, s *Stage) error {
	if err := s.scale(ctx, "inflate", 0); err != nil {
		return err
	}
	return s.expect(ctx, stepTimeout, running("inflate", 0), nothing())
}
