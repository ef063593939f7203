package story

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/test/demo/stack"
)

// Trouble are scenes that are no part of the story that the documents tell: bad input, and parts that are away. Each must
// give a clear error that names what is wrong, and nothing may be lost. They need step 1 before them.
func Trouble() []Step {
	return []Step{
		quick(21, "messages of wrong shape on the queue", "each is reported, and the announcement behind them is heeded", badMessages),
		quick(22, "a node class whose selectors match nothing", "class and pool are not ready and name the field, and so does the pod's event", lostClass),
		quick(23, "the planner is away", "the watcher says so, and the pods get their node when it is back", plannerAway),
		quick(24, "etcd is away", "the actuator says so and buys nothing, and goes on when it is back", etcdAway),
	}
}

// badMessages puts messages that are no announcements in front of one that is.
func badMessages(ctx context.Context, s *Stage) error {
	if err := s.apply(ctx, "pool-spot.yaml", "shop.yaml"); err != nil {
		return err
	}
	if err := s.expect(ctx, stepTimeout, running("shop", shopPods), s.budgetKnows(ctx, "shop", shopPods), quiet()); err != nil {
		return err
	}
	old, err := s.soleInstance()
	if err != nil {
		return err
	}
	bad := []string{
		"not even JSON",
		`{"id":"m-1","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":{"instance-id":7}}`,
		`{"id":"m-2","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":{}}`,
		`{"source":"aws.ec2"}`,
	}
	s.did("%d messages that make no sense arrive, and one that announces that AWS takes %s back", len(bad), old.ID)
	for _, body := range bad {
		if err := s.Sim.SendRaw(ctx, body); err != nil {
			return err
		}
	}
	if err := s.Sim.Interrupt(ctx, old.ID); err != nil {
		return err
	}
	err = s.expect(ctx, spotNotice, running("shop", shopPods), s.moved(old), quiet(), emptyQueue(),
		s.logged("actuator", "message is no EventBridge event"), s.logged("actuator", "detail.instance-id"))
	if err != nil {
		return err
	}
	s.top()
	if err := s.dropWorkload(ctx, "shop"); err != nil {
		return err
	}
	return s.expect(ctx, stepTimeout, running("shop", 0), nothing())
}

// emptyQueue holds when no message waits or is being read.
func emptyQueue() Condition {
	return func(w World) string {
		for _, q := range w.AWS.Queues {
			if q.Visible+q.InFlight > 0 {
				return fmt.Sprintf("queue %s empty, it has %d messages", q.Name, q.Visible+q.InFlight)
			}
		}
		return ""
	}
}

// logged holds when a service has written a line with all of the words.
func (s *Stage) logged(service string, words ...string) Condition {
	return func(World) string {
		text, err := os.ReadFile(s.Log(service))
		if err != nil {
			return err.Error()
		}
		for line := range strings.Lines(string(text)) {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				return ""
			}
		}
		return fmt.Sprintf("the %s to log %q", service, words)
	}
}

// lostClass applies a class whose subnets are tagged for another cluster.
func lostClass(ctx context.Context, s *Stage) error {
	s.did("EC2NodeClass lost, NodePool lost and a pod for it are applied")
	if err := s.apply(ctx, "class-lost.yaml", "pod-lost.yaml"); err != nil {
		return err
	}
	err := s.expect(ctx, stepTimeout,
		s.notReady(ctx, nodeClasses(), "lost", "subnetSelectorTerms"), s.notReady(ctx, nodePools(), "lost", "lost"),
		s.reported(ctx, "lost", "lost", "subnetSelectorTerms"))
	if err != nil {
		return err
	}
	if err := s.remove(ctx, "lost"); err != nil {
		return err
	}
	for _, r := range []schema.GroupVersionResource{nodePools(), nodeClasses()} {
		if err := s.Dynamic.Resource(r).Delete(ctx, "lost", metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return s.expect(ctx, stepTimeout, running("lost", 0), nothing(), s.isGone(ctx, nodePools(), "lost"), s.isGone(ctx, nodeClasses(), "lost"))
}

// notReady holds when the object says that it is not ready, and why in a message that contains the words.
func (s *Stage) notReady(ctx context.Context, resource schema.GroupVersionResource, name, words string) Condition {
	return func(World) string {
		status, message, err := s.readiness(ctx, resource, name)
		switch {
		case err != nil:
			return err.Error()
		case status != "False" || !strings.Contains(message, words):
			return fmt.Sprintf("%s/%s not ready with a message that has %q; ready is %q: %s", resource.Resource, name, words, status, message)
		}
		return ""
	}
}

func (s *Stage) isGone(ctx context.Context, resource schema.GroupVersionResource, name string) Condition {
	return func(World) string {
		_, err := s.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("%s/%s gone, it is there (%v)", resource.Resource, name, err)
	}
}

// plannerAway kills the planner, lets pods come, and starts it again.
func plannerAway(ctx context.Context, s *Stage) error {
	return s.without(ctx, "planner", s.logged("watcher", "cycle failed", "planner", s.Conn("planner").Target()))
}

// etcdAway kills etcd, lets pods come, and starts it again.
func etcdAway(ctx context.Context, s *Stage) error {
	return s.without(ctx, stack.Etcd, s.logged("actuator", "leading no longer", "etcd at 127.0.0.1"),
		s.logged("actuator", "no leader can be elected", "etcd at 127.0.0.1"))
}

// without lets pods come while a part is away, waits until that was reported, and expects the pods to run once the part
// is back.
func (s *Stage) without(ctx context.Context, part string, reported ...Condition) error {
	s.did("%s is killed", part)
	if err := s.Kill(part); err != nil {
		return err
	}
	s.away = true
	defer func() { s.away = false }()
	if err := s.scale(ctx, "inflate", 5); err != nil {
		return err
	}
	unbought := func(w World) string {
		if n := len(w.Instances()); n > 0 {
			return fmt.Sprintf("nothing bought, AWS runs %d instances", n)
		}
		return ""
	}
	if err := s.expect(ctx, stepTimeout, append(reported, unbought)...); err != nil {
		return err
	}
	s.did("%s is started again", part)
	if err := s.Revive(part); err != nil {
		return err
	}
	s.away = false
	if err := s.expect(ctx, stepTimeout, running("inflate", 5), nodes("default", "m5.large"), quiet()); err != nil {
		return err
	}
	s.top()
	return deflate(ctx, s)
}
