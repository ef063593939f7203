package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/demo/stack"
)

const (
	// lookEvery is how often the world is looked at: often enough to tell what happens, seldom enough for two cores.
	lookEvery = 100 * time.Millisecond
	// lookTimeout bounds one question of a look: far more than an answer takes, for machines that are busy.
	lookTimeout = 6 * time.Second
	// namespace is where the story's workloads live.
	namespace = metav1.NamespaceDefault
)

// The labels that the story looks at.

// World is one look at everything: the cluster, Kerf, and AWS.
type World struct {
	Nodes      []corev1.Node // those that Kerf has launched, by name
	Pods       []corev1.Pod  // of the story's namespace, by name
	NodeClaims []string      // names of the NodeClaim objects
	AWS        awssim.State
	Claims     []*clusterpb.Claim // the actuator's, ended ones too, by id
	Plan       *plannerpb.Plan    // the last that was relayed; nil when there is none
	// Blind are the questions that were not answered. What they ask for is then as it was seen last.
	Blind error
	// NoClaims is why the actuator did not answer; nil when it did.
	NoClaims error
}

// Look asks everybody, starting from what was seen last.
func Look(ctx context.Context, s *stack.Stack, last World) World {
	w := last
	var mu sync.Mutex
	var errs []error
	w.NoClaims = nil
	ask := func(what string, ask func(context.Context) error) func() {
		return func() {
			ctx, cancel := context.WithTimeout(ctx, lookTimeout)
			defer cancel()
			if err := ask(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("%s: %w", what, err))
			}
		}
	}
	var group sync.WaitGroup
	group.Go(ask("nodes", func(ctx context.Context) error {
		list, err := s.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labels.NodePool, ResourceVersion: "0"})
		if err == nil {
			w.Nodes = list.Items
		}
		return err
	}))
	group.Go(ask("pods", func(ctx context.Context) error {
		list, err := s.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil {
			w.Pods = list.Items
		}
		return err
	}))
	group.Go(ask("nodeclaims", func(ctx context.Context) error {
		list, err := s.Dynamic.Resource(nodeClaims()).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil {
			w.NodeClaims = nil
			for i := range list.Items {
				w.NodeClaims = append(w.NodeClaims, list.Items[i].GetName())
			}
		}
		return err
	}))
	group.Go(ask("aws", func(ctx context.Context) error {
		state, err := s.Sim.State(ctx)
		if err == nil {
			w.AWS = state
		}
		return err
	}))
	group.Go(ask("actuator", func(ctx context.Context) error {
		var refused []error
		for _, actuator := range s.Actuators { // one that stands still does not keep the other from answering
			ctx, cancel := context.WithTimeout(ctx, lookTimeout/2)
			resp, err := actuator.ListClaims(ctx, &actuatorpb.ListClaimsRequest{IncludeEnded: true})
			cancel()
			if err == nil {
				w.Claims = resp.GetClaims()
				return nil
			}
			refused = append(refused, err)
		}
		w.NoClaims = errors.Join(refused...)
		return w.NoClaims
	}))
	group.Go(func() { // no plan yet, or a watcher that was killed: nothing that a step depends on
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		if resp, err := s.Watcher.GetPlan(ctx, &watcherpb.GetPlanRequest{}); err == nil {
			w.Plan = resp.GetPlan()
		}
	})
	group.Wait()
	w.Blind = errors.Join(errs...)
	slices.SortFunc(w.Nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return w
}

func nodeClaims() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
}

// Live are the claims that have not ended.
func (w World) Live() []*clusterpb.Claim {
	return slices.DeleteFunc(slices.Clone(w.Claims), func(c *clusterpb.Claim) bool {
		return c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE || c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED
	})
}

// Instances are those that are pending or running.
func (w World) Instances() []awssim.InstanceState {
	return slices.DeleteFunc(slices.Clone(w.AWS.Instances), func(i awssim.InstanceState) bool { return !i.Live() })
}

// Running counts the pods that run and are ready, and all.
func (w World) Running() (ready, all int) {
	for i := range w.Pods {
		if Up(&w.Pods[i]) {
			ready++
		}
	}
	return ready, len(w.Pods)
}

// RunningText is Running as "3/5".
func (w World) RunningText() string {
	ready, all := w.Running()
	return fmt.Sprintf("%d/%d", ready, all)
}

// Up says that a pod runs, is ready and stays.
func Up(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
		return false
	}
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// node is the node of that name; nil when Kerf launched none.
func (w World) node(name string) *corev1.Node {
	for i := range w.Nodes {
		if w.Nodes[i].Name == name {
			return &w.Nodes[i]
		}
	}
	return nil
}

// String shows the world to someone who has to find out why it is not as expected.
func (w World) String() string {
	var b strings.Builder
	for i := range w.Nodes {
		n := &w.Nodes[i]
		fmt.Fprintf(&b, "node %s  pool=%s %s%s\n", n.Name, n.Labels[labels.NodePool], shape(n), taints(n))
	}
	for i := range w.Pods {
		p := &w.Pods[i]
		state := string(p.Status.Phase)
		if p.DeletionTimestamp != nil {
			state = "Terminating"
		}
		fmt.Fprintf(&b, "pod %s  %s node=%s\n", p.Name, state, p.Spec.NodeName)
	}
	for _, c := range w.Live() {
		fmt.Fprintf(&b, "claim %s  %s pool=%s %s instance=%s node=%s %s\n", c.GetId(), word(c.GetState()), c.GetNodePool(),
			c.GetInstanceType(), c.GetInstanceId(), c.GetNode(), c.GetFailure().GetMessage())
	}
	fmt.Fprintf(&b, "NodeClaim objects: %s\n", strings.Join(w.NodeClaims, " "))
	for _, i := range w.Instances() {
		fmt.Fprintf(&b, "instance %s  %s %s %s %s claim=%s %s\n", i.ID, i.State, i.InstanceType, i.Zone, i.CapacityType, i.Tags[labels.Claim], i.JoinError)
	}
	for _, t := range w.AWS.LaunchTemplates {
		fmt.Fprintf(&b, "launch template %s\n", t.Name)
	}
	for _, p := range w.Plan.GetPending() {
		fmt.Fprintf(&b, "plan %s leaves pod %s pending: %s\n", w.Plan.GetId(), p.GetPod(), p.GetReason().GetMessage())
	}
	for _, n := range w.Plan.GetNodes() {
		fmt.Fprintf(&b, "plan %s on node %s: %s\n", w.Plan.GetId(), n.GetNode(), n.GetReason().GetMessage())
	}
	if w.Blind != nil {
		fmt.Fprintf(&b, "not answered: %v\n", w.Blind)
	}
	return b.String()
}

// shape is what a node is.
func shape(n *corev1.Node) string {
	return n.Labels[corev1.LabelInstanceTypeStable] + " " + n.Labels[corev1.LabelTopologyZone] + " " + n.Labels[labels.CapacityType]
}

func taints(n *corev1.Node) string {
	var b strings.Builder
	for _, t := range n.Spec.Taints {
		fmt.Fprintf(&b, " %s", t.ToString())
	}
	return b.String()
}

// word is a claim's state as people say it.
func word(s clusterpb.ClaimState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "CLAIM_STATE_"))
}
