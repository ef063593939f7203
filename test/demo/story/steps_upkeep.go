package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/awssim/kwok"
	"github.com/kerf-dev/kerf/test/demo/stack"
)

// upkeepSteps are about nodes that do nothing wrong for their pods and must go all the same.
func upkeepSteps() []Step {
	return []Step{
		{
			Number: 13, Title: "AWS publishes a new machine image",
			Want: "one node is replaced and proves it, then two at a time, each replacement ready before a pod moves",
			play: newImage, lasts: 20 * time.Second,
		},
		{
			Number: 14, Title: "a node becomes unhealthy",
			Want: "it has " + stack.RepairAfter.String() + " to recover, then it goes at once and its pod gets another place",
			play: unhealthy, lasts: 20 * time.Second,
		},
		{
			Number: 15, Title: "a node's life of a minute is nearly over",
			Want: "it is replaced in the last tenth of it, replacement first",
			play: expiry, lasts: 30 * time.Second,
		},
	}
}

const (
	webPods    = 4 // of manifests/web.yaml, each on a node of its own
	webMinimum = 2 // its budget's minAvailable
	webBudget  = 2 // drifted nodes of manifests/pool-web.yaml that may go at once
)

// newImage lets a pool's nodes drift: AWS recommends another image than the one that they run.
func newImage(ctx context.Context, s *Stage) error {
	s.did("NodePool web and Deployment web, %d pods that keep apart of which %d must be available, are applied", webPods, webMinimum)
	if err := s.apply(ctx, "pool-web.yaml", "web.yaml"); err != nil {
		return err
	}
	err := s.expect(ctx, stepTimeout, running("web", webPods), s.fleet("web", webPods), s.budgetKnows(ctx, "web", webPods), quiet())
	if err != nil {
		return err
	}
	s.top()
	count, err := s.countReady(ctx, "web")
	if err != nil {
		return err
	}
	defer count.stop()

	began := time.Now()
	images, err := s.Sim.PublishImages(ctx)
	if err != nil {
		return err
	}
	s.did("AWS publishes %d new machine images; alias al2023@latest is another from now on", len(images))
	fresh := func(image string) bool { return images[image] != "" }
	err = s.expect(ctx, 2*stepTimeout, running("web", webPods), s.fleet("web", webPods), runs("web", fresh), quiet())
	if err != nil {
		return err
	}
	took := time.Since(began)
	h := s.past()
	most, err := h.rollout("web", fresh, webBudget)
	if err != nil {
		return err
	}
	gone := h.departures("web")
	if len(gone) != webPods {
		return fmt.Errorf("expected all %d nodes of pool web to be replaced, once each; %d were", webPods, len(gone))
	}
	least, err := count.orderly(h.since(began), gone, clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED, webMinimum)
	if err != nil {
		return err
	}
	s.note = fmt.Sprintf("one first, then %d at a time, in %.1fs, never less than %d of %d ready", most, took.Seconds(), least, webPods)
	return nil
}

// fleet holds when the pool has exactly n nodes that can be relied on and AWS runs an instance for each.
func (s *Stage) fleet(pool string, n int) Condition {
	return func(w World) string {
		var bad []string
		got, instances := 0, 0
		for i := range w.Nodes {
			if node := &w.Nodes[i]; node.Labels[labels.NodePool] == pool {
				got++
				if m := unreliable(node); m != "" {
					bad = append(bad, node.Name+m)
				}
			}
		}
		for _, i := range w.Instances() {
			if i.Tags[labels.NodePool] == pool {
				instances++
			}
		}
		if got != n || instances != n || len(bad) > 0 {
			return fmt.Sprintf("%d nodes of pool %s to be relied on, there are %d and %d instances: %s", n, pool, got, instances, list(bad))
		}
		return ""
	}
}

// runs holds when all instances of the pool have booted an image that is as wanted.
func runs(pool string, wanted func(image string) bool) Condition {
	return func(w World) string {
		old := 0
		for _, i := range w.Instances() {
			if i.Tags[labels.NodePool] == pool && !wanted(i.ImageID) {
				old++
			}
		}
		if old > 0 {
			return fmt.Sprintf("the new image on all nodes of pool %s, %d run another", pool, old)
		}
		return ""
	}
}

// unhealthy lets the kubelet of a node report that it is not ready, and never again anything else. The pool of the next
// step, whose nodes live for a minute, gets its node meanwhile.
func unhealthy(ctx context.Context, s *Stage) error {
	s.did("NodePool minute, whose nodes live for a minute, and Deployment minute are applied, for the next step")
	if err := s.apply(ctx, "minute.yaml"); err != nil {
		return err
	}
	if err := s.expect(ctx, stepTimeout, running("minute", 1), quiet()); err != nil {
		return err
	}
	w, _ := s.world()
	pod := w.podsOf("web")[0]
	count, err := s.countReady(ctx, "web")
	if err != nil {
		return err
	}
	defer count.stop()

	victim := pod.Spec.NodeName
	began := time.Now()
	s.did("the kubelet of %s says that its container runtime is stuck", victim)
	if err := (kwok.Kubelet{Client: s.Kubernetes}).MakeUnhealthy(ctx, victim, "container runtime is down"); err != nil {
		return err
	}
	err = s.expect(ctx, 2*stepTimeout, running("web", webPods), s.fleet("web", webPods), nodeGone(victim), quiet())
	if err != nil {
		return err
	}
	took := time.Since(began)
	s.top()
	h := s.past()
	gone := slices.DeleteFunc(h.departures("web"), func(d departure) bool { return d.node != victim })
	least, err := count.orderly(h.since(began), gone, clusterpb.DisruptionReason_DISRUPTION_REASON_UNHEALTHY, webPods-1)
	if err != nil {
		return err
	}
	if waited := gone[0].chosen.Sub(began); waited < stack.RepairAfter-time.Second { // conditions are dated by the second
		return fmt.Errorf("expected node %s to have %s to recover; it was removed after %s", victim, stack.RepairAfter, waited)
	}
	s.note = fmt.Sprintf("replaced in %.1fs, of which it had %s to recover, and never less than %d of %d ready",
		took.Seconds(), stack.RepairAfter, least, webPods)
	return nil
}

// nodeGone holds when there is no such node.
func nodeGone(node string) Condition {
	return func(w World) string {
		if w.node(node) != nil {
			return fmt.Sprintf("node %s gone, it is there", node)
		}
		return ""
	}
}

// expiry waits for the end of the first node of pool minute.
func expiry(ctx context.Context, s *Stage) error {
	old, err := s.oldest("minute")
	if err != nil {
		return err
	}
	s.did("the node of claim %s may live until %s, %.0f seconds from now", old.id, old.expire.Format("15:04:05"), time.Until(old.expire).Seconds())
	count, err := s.countReady(ctx, "minute")
	if err != nil {
		return err
	}
	defer count.stop()
	began := time.Now()
	err = s.expect(ctx, 2*stepTimeout, running("minute", 1), s.fleet("minute", 1), nodeGone(old.node), quiet())
	if err != nil {
		return err
	}
	s.top()
	h := s.past()
	gone := slices.DeleteFunc(h.departures("minute"), func(d departure) bool { return d.id != old.id })
	if _, err := count.orderly(h.since(began), gone, clusterpb.DisruptionReason_DISRUPTION_REASON_EXPIRED, 0); err != nil {
		return err
	}
	early := old.expire.Sub(gone[0].drained)
	if early < 0 && !s.late { // but never before the replacement
		return fmt.Errorf("expected the drain of %s to begin before its deadline; it began %s late", old.node, -early)
	}
	s.note = fmt.Sprintf("drained %.1fs before its deadline", early.Seconds())
	return s.dropUpkeep(ctx)
}

// oldest is the first claim of the pool.
func (s *Stage) oldest(pool string) (sight, error) {
	for _, m := range s.past() {
		for _, c := range m.claims {
			if c.pool == pool && c.node != "" && !c.expire.IsZero() {
				return c, nil
			}
		}
	}
	return sight{}, fmt.Errorf("expected a claim of pool %s that expires; there was none", pool)
}

// orderly is an error when one of the claims went for another reason or, unless it was unhealthy, before its
// replacement, when a plan left pods without a place, or when fewer pods than minimum were ready at any moment. It ends
// the count and tells its result.
func (c *readyCount) orderly(h history, gone []departure, reason clusterpb.DisruptionReason, minimum int) (int, error) {
	if len(gone) == 0 {
		return 0, errors.New("expected that a plan removes the node; none did")
	}
	for _, d := range gone {
		if d.reason != reason {
			return 0, fmt.Errorf("expected claim %s to go because it is %s; it went because it is %s", d.id, cause(reason), cause(d.reason))
		}
		if err := d.afterItsReplacement(); err != nil && reason != clusterpb.DisruptionReason_DISRUPTION_REASON_UNHEALTHY {
			return 0, err
		}
	}
	if err := h.leftPending(c.app); err != nil {
		return 0, err
	}
	least, err := c.least()
	if err == nil && least < minimum {
		err = fmt.Errorf("expected never less than %d ready pods of %s; there were %d", minimum, c.app, least)
	}
	return least, err
}

// cause is a disruption's reason as people say it.
func cause(r clusterpb.DisruptionReason) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "DISRUPTION_REASON_"))
}

// dropUpkeep deletes what the steps of this file have made, and waits until nothing is left of it.
func (s *Stage) dropUpkeep(ctx context.Context) error {
	for _, name := range []string{"web", "minute"} {
		if err := s.dropWorkload(ctx, name); err != nil {
			return err
		}
	}
	return s.expect(ctx, stepTimeout, running("web", 0), running("minute", 0), nothing())
}
