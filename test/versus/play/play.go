// Package play puts loads on a side while its history is written. It decides when a load goes on, by what is seen from
// outside alone: the same rules for either side. What the figures are, package report knows.
//
// Start reading at All.
package play

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/versus/load"
	"github.com/kerf-dev/kerf/test/versus/report"
	"github.com/kerf-dev/kerf/test/versus/side"
	"github.com/kerf-dev/kerf/test/versus/watch"
)

// Load is one load.
type Load struct {
	Name, About string
	// Spot loads need a market for spot capacity, which Kerf's side alone has. Size loads look into Kerf.
	Spot, Size bool
	// Play puts it on.
	Play func(ctx context.Context, s *Stage) error
	// Bound is what no cluster can do better, for a seed; nil for none.
	Bound func(ctx context.Context, seed uint64) (report.Values, error)
}

// All are the loads, in the order in which they are played.
func All() []Load {
	return []Load{
		{Name: "bursts", About: "4 bursts of 20 pods", Play: bursts},
		{Name: "ramp", About: "24 Deployments of 40 pods at once, then 40 % of them", Play: ramp, Bound: rampBound},
		{Name: "rollout", About: "all pods of the ramp made anew, a quarter at a time", Play: rollout},
		{Name: "day", About: "a day in ten minutes: rise and fall, batches, volumes, budgets", Play: day, Bound: dayBound},
		{Name: "spot", About: "a third of the spot nodes goes at once (Kerf alone)", Play: storm, Spot: true},
		{Name: "size", About: "thousands of nodes, in steps; then a burst, and each service dies (Kerf alone)", Play: size, Size: true},
	}
}

// Stage is where a load is played.
type Stage struct {
	Side  *side.Side
	Watch *watch.Watch
	Seed  uint64
	// Nodes is how large size grows.
	Nodes int
	// Say tells people how far it is.
	Say func(text string)
}

const (
	// quiet is for how long nothing may happen for a cluster to count as steady, longer than either side takes from one
	// consolidation to the next (Karpenter looks every 10 s, and looks again after 15 s). settleLimit is how long that is
	// waited for.
	quiet       = 30.0
	settleLimit = 4 * time.Minute
	bindLimit   = 3 * time.Minute
	// lull is between two bursts.
	lull = 10 * time.Second
)

// mark notes a step and says it.
func (s *Stage) mark(name string) {
	s.Watch.Mark(name)
	s.Say(name)
}

func (s *Stage) create(ctx context.Context, deployments ...*appsv1.Deployment) error {
	for _, d := range deployments {
		if _, err := s.Side.Client.AppsV1().Deployments(d.Namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) scale(ctx context.Context, deployments []*appsv1.Deployment) error {
	for _, d := range deployments {
		if err := s.resize(ctx, d.Name, *d.Spec.Replicas); err != nil {
			return err
		}
	}
	return nil
}

// bound waits until there are that many pods and each has a node.
func (s *Stage) bound(ctx context.Context, pods int) error {
	return harness.Until(ctx, fmt.Sprintf("%d pods on nodes", pods), bindLimit, func(context.Context) (string, bool) {
		all, waiting := s.Watch.Count()
		return fmt.Sprintf("%d pods, %d wait", all, waiting), all == pods && waiting == 0
	})
}

// steady waits until that many pods have nodes and then nothing has happened for a while, or for settleLimit.
func (s *Stage) steady(ctx context.Context, pods int) error {
	if err := s.bound(ctx, pods); err != nil {
		return err
	}
	began := time.Now()
	for s.Watch.Quiet() < quiet && time.Since(began) < settleLimit {
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// bursts makes one Deployment after the other, each once the one before is bound and a while has passed.
func bursts(ctx context.Context, s *Stage) error {
	pods := 0
	for i, d := range load.Bursts(s.Seed) {
		s.mark(report.Burst(i))
		pods += int(*d.Spec.Replicas)
		if err := s.create(ctx, d); err != nil {
			return err
		}
		if err := s.bound(ctx, pods); err != nil {
			return err
		}
		if err := sleep(ctx, lull); err != nil {
			return err
		}
	}
	return nil
}

// ramp makes all Deployments at once, waits until all is steady, and scales them down.
func ramp(ctx context.Context, s *Stage) error {
	deployments := load.Ramp(s.Seed)
	s.mark(report.Created)
	if err := s.create(ctx, deployments...); err != nil {
		return err
	}
	if err := s.steady(ctx, load.Pods(deployments)); err != nil {
		return err
	}
	s.mark(report.Scaled)
	if err := s.scale(ctx, load.Scaled(deployments, rampPercent)); err != nil {
		return err
	}
	return sleep(ctx, report.ScaledFor*time.Second)
}

// rampPercent is what remains of the ramp when it is scaled down.
const rampPercent = 40

func rampBound(ctx context.Context, seed uint64) (report.Values, error) {
	deployments := load.Ramp(seed)
	full, err := findBound(ctx, deployments)
	if err != nil {
		return nil, err
	}
	small, err := findBound(ctx, load.Scaled(deployments, rampPercent))
	if err != nil {
		return nil, err
	}
	return report.Values{
		"cost": full.Lower, "nodes": float64(full.Nodes), "scaled-cost-120": small.Lower, "scaled-cost": small.Lower,
		"scaled-nodes": float64(small.Nodes), "scaled-spent": small.Lower * report.ScaledFor / 3600,
		"plan": full.Plan, "scaled-plan": small.Plan,
	}, nil
}

func findBound(ctx context.Context, deployments []*appsv1.Deployment) (side.Bound, error) {
	manifest, err := load.YAML(deployments)
	if err != nil {
		return side.Bound{}, err
	}
	return side.FindBound(ctx, manifest)
}
