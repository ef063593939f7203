package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
)

// settle is how long everything must stay as expected before it counts.
const settle = 300 * time.Millisecond

// Condition says what is missing in the world; "" when it holds.
type Condition func(World) string

// missing are the complaints of all conditions.
func missing(w World, conditions []Condition) string {
	var complaints []string
	for _, c := range conditions {
		if m := c(w); m != "" {
			complaints = append(complaints, m)
		}
	}
	return strings.Join(complaints, "; ")
}

// replanned is after how long the watcher plans anew though nothing has changed: what a plan had to leave out comes then.
const replanned = time.Minute

// expect waits until all conditions hold and have held for a moment.
func (s *Stage) expect(ctx context.Context, timeout time.Duration, conditions ...Condition) error {
	if s.late {
		timeout += replanned
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var since time.Time
	for {
		w, changed := s.world()
		m := missing(w, conditions)
		if m != "" {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}
		s.line.Status(status(w, m))
		if !since.IsZero() && time.Since(since) >= settle {
			s.line.Status("")
			return nil
		}
		if err := s.healthy(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			s.line.Status("")
			return fmt.Errorf("expected, but not within %s: %s", timeout, m)
		}
	}
}

// nodes holds when Kerf's nodes of the pool are of these instance types, no more and no less, all ready to be relied on
// and none on its way out, and AWS runs exactly the instances for them.
func nodes(pool string, types ...string) Condition { //nolint:unparam // the pool is what the caller asserts
	return func(w World) string {
		var got, instances []string
		for i := range w.Nodes {
			if n := &w.Nodes[i]; n.Labels[labels.NodePool] == pool {
				got = append(got, n.Labels[corev1.LabelInstanceTypeStable]+unreliable(n))
			}
		}
		for _, i := range w.Instances() {
			if i.Tags[labels.NodePool] == pool {
				instances = append(instances, i.InstanceType)
			}
		}
		slices.Sort(got)
		slices.Sort(instances)
		slices.Sort(types)
		switch {
		case !slices.Equal(got, types):
			return fmt.Sprintf("nodes of pool %s: %s, there are %s", pool, list(types), list(got))
		case !slices.Equal(instances, types):
			return fmt.Sprintf("instances of pool %s: %s, AWS runs %s", pool, list(types), list(instances))
		}
		return ""
	}
}

// unreliable says what keeps a node from counting.
func unreliable(n *corev1.Node) string {
	switch {
	case n.DeletionTimestamp != nil:
		return " (being deleted)"
	case n.Labels[labels.Initialized] != "true":
		return " (not initialized)"
	case slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == labels.TaintDisrupted }):
		return " (draining)"
	}
	return ""
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// running holds when exactly n pods have the name or begin with it and a dash, all running, ready and not on their way
// out, and all of them on Kerf's nodes.
func running(name string, n int) Condition {
	return func(w World) string {
		ready, all := 0, 0
		for _, p := range w.podsOf(name) {
			all++
			if Up(&p) && w.node(p.Spec.NodeName) != nil {
				ready++
			}
		}
		if ready != n || all != n {
			return fmt.Sprintf("%d pods of %s run, %d of %d do", n, name, ready, all)
		}
		return ""
	}
}

// podsOf are the pods of that name or of a workload of that name.
func (w World) podsOf(name string) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(w.Pods), func(p corev1.Pod) bool {
		return p.Name != name && !strings.HasPrefix(p.Name, name+"-")
	})
}

// nothing holds when nothing at all is left of Kerf's work: no node, no live claim, no NodeClaim object, no instance that
// has not ended, no launch template.
func nothing() Condition {
	return func(w World) string {
		var left []string
		count := func(n int, what string) {
			if n > 0 {
				left = append(left, fmt.Sprintf("%d %s", n, what))
			}
		}
		count(len(w.Nodes), "nodes")
		count(len(w.Live()), "live claims")
		count(len(w.NodeClaims), "NodeClaim objects")
		alive := 0
		for _, i := range w.AWS.Instances {
			if i.State != "terminated" {
				alive++
			}
		}
		count(alive, "instances")
		count(len(w.AWS.LaunchTemplates), "launch templates")
		switch {
		case w.NoClaims != nil:
			return fmt.Sprintf("the actuator's claims, which it does not tell: %v", w.NoClaims)
		case len(left) > 0:
			return "nothing left, there are " + strings.Join(left, ", ")
		}
		return ""
	}
}

// quiet holds when every claim has become a node and none is on its way out: Kerf has nothing left to do.
func quiet() Condition {
	return func(w World) string {
		for _, c := range w.Live() {
			if c.GetState() != clusterpb.ClaimState_CLAIM_STATE_INITIALIZED {
				return fmt.Sprintf("no claim under way, %s is %s", c.GetId(), word(c.GetState()))
			}
		}
		if w.NoClaims != nil {
			return fmt.Sprintf("the actuator's claims, which it does not tell: %v", w.NoClaims)
		}
		return ""
	}
}

// on holds when every pod of the name runs on a node for which check has no complaint.
func on(name string, check func(*corev1.Node) string) Condition {
	return func(w World) string {
		for _, p := range w.podsOf(name) {
			n := w.node(p.Spec.NodeName)
			if n == nil {
				return fmt.Sprintf("pod %s on a node of Kerf's, it is on %q", p.Name, p.Spec.NodeName)
			}
			if m := check(n); m != "" {
				return fmt.Sprintf("pod %s on a node %s; %s is %s%s", p.Name, m, n.Name, shape(n), taints(n))
			}
		}
		return ""
	}
}
