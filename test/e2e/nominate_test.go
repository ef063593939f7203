package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/harness"
)

// The scheduler is the real one in these tests, and the actuator's adapter acts with the actuator's rights.

const (
	nominationNodes = 8
	nominationPods  = 7    // for each node
	nominationCPU   = 4000 // of each node, in thousandths
)

// stage is a control plane and a namespace on it, with an opened port.
type stage struct {
	users
	port actuator.Kubernetes
	// class is the PriorityClass of its pods; "" for none.
	class string
	// zones are those that its nodes are in, by turns, and that some of its pods have to spread over; 0 for none.
	zones int
}

func newStage(t *testing.T, c *harness.Cluster, name string) stage {
	t.Helper()
	s := stage{users: newUsers(t, c, name)}
	var run func(context.Context) error
	s.port, run = openPort(t, c, nil)
	runPort(t, s.users, run)
	return s
}

// node makes a node of the stage's own, closed until open opens it.
func (s stage) node(t *testing.T, i int) model.NodeName {
	t.Helper()
	name, zone := fmt.Sprintf("%s-%d", s.name, i), ""
	if s.zones > 0 {
		zone = fmt.Sprintf(", topology.kubernetes.io/zone: zone-%d", i%s.zones)
	}
	s.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {stage: %s%s}}
spec: {taints: [{key: karpenter.sh/unregistered, effect: NoExecute}]}
status:
  capacity: {cpu: %dm, memory: 64Gi, pods: "110"}
  allocatable: {cpu: %dm, memory: 64Gi, pods: "110"}
`, name, s.name, zone, nominationCPU, nominationCPU))
	return model.NodeName(name)
}

// pod makes a pod for the stage's nodes alone.
func (s stage) pod(t *testing.T, name string, cpu int, more string) model.PodID {
	t.Helper()
	if s.class != "" {
		more += "  priorityClassName: " + s.class
	}
	s.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, labels: {app: web}}
spec:
  nodeSelector: {stage: %s}
  containers: [{name: main, image: none, resources: {requests: {cpu: %dm}}}]
%s`, name, s.name, s.name, cpu, more))
	return model.PodID(s.name + "/" + name)
}

// seen waits until the port shows a pod without a node.
func (s stage) seen(t *testing.T, id model.PodID, ok func(cluster.UnboundPod) bool) cluster.UnboundPod {
	t.Helper()
	var p cluster.UnboundPod
	harness.Eventually(t, "pod "+string(id)+" without a node", 10*time.Second, func(context.Context) (string, bool) {
		var there bool
		p, there = s.port.Nominator().Unbound(id)
		return fmt.Sprintf("%+v", p), there && ok(p)
	})
	return p
}

func (s stage) nominate(t *testing.T, node model.NodeName, pods ...model.PodID) {
	t.Helper()
	var list []cluster.Nomination
	for _, id := range pods {
		if p, unbound := s.port.Nominator().Unbound(id); unbound && p.Nominated != node { // a bound one has landed elsewhere
			list = append(list, cluster.Nomination{Pod: p, Node: node})
		}
	}
	if err := s.port.Nominator().Nominate(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

func (s stage) open(t *testing.T, node model.NodeName) {
	t.Helper()
	if err := s.port.UpdateNode(t.Context(), cluster.NodeChange{Node: node, RemoveTaints: unregistered(model.NoExecute)}); err != nil {
		t.Fatal(err)
	}
}

func unregistered(effect model.TaintEffect) []model.Taint {
	return []model.Taint{{Key: "karpenter.sh/unregistered", Effect: effect}}
}

// fill has pods bound to a node before it opens, as the actuator does: those that have to spread wait for each other, the
// scheduler was quicker with those that have a node by then, and the node opens once the scheduler has heard of its pods.
func (s stage) fill(ctx context.Context, node model.NodeName, pods []model.PodID) error {
	closed := cluster.NodeChange{Node: node, AddTaints: unregistered(model.NoSchedule), RemoveTaints: unregistered(model.NoExecute)}
	if err := s.port.UpdateNode(ctx, closed); err != nil {
		return err
	}
	var list, left []cluster.Nomination
	for _, id := range pods {
		_, bindable := s.port.Nominator().Bindable(id)
		p, unbound := s.port.Nominator().Unbound(id)
		if !unbound {
			continue // bound by now
		}
		if !bindable {
			return fmt.Errorf("pod %s may not be bound", id)
		}
		list = append(list, cluster.Nomination{Pod: p, Node: node})
	}
	for end := time.Now().Add(5 * time.Second); len(list) > 0 && time.Now().Before(end); {
		<-time.After(25 * time.Millisecond)
		refused, wait, err := s.port.Nominator().Bind(ctx, list)
		if err != nil {
			return err
		}
		left, list = append(left, refused...), wait
	}
	left = append(left, list...)
	if err := s.port.Nominator().Nominate(ctx, left); err != nil {
		return err
	}
	s.settle(slices.DeleteFunc(slices.Clone(pods), func(id model.PodID) bool {
		return slices.ContainsFunc(left, func(n cluster.Nomination) bool { return n.Pod.ID == id })
	}))
	return s.port.UpdateNode(ctx, cluster.NodeChange{Node: node, RemoveTaints: unregistered(model.NoSchedule)})
}

// settle waits until the scheduler has heard of pods that were bound, as the actuator does: the port hears by the same
// stream.
func (s stage) settle(bound []model.PodID) {
	began := time.Now()
	for _, id := range bound {
		for time.Since(began) < 5*time.Second {
			if _, unbound := s.port.Nominator().Unbound(id); !unbound {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	<-time.After(max(100*time.Millisecond, 3*time.Since(began)))
}

// whereabouts are the nodes of the stage's pods; "" for none.
func (s stage) whereabouts(ctx context.Context) (map[model.PodID]model.NodeName, error) {
	list, err := s.client.CoreV1().Pods(s.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[model.PodID]model.NodeName{}
	for i := range list.Items {
		p := &list.Items[i]
		out[model.PodID(p.Namespace+"/"+p.Name)] = model.NodeName(p.Spec.NodeName)
	}
	return out, nil
}

func (s stage) lands(t *testing.T, id model.PodID, want model.NodeName, within time.Duration) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("pod %s on node %s", id, want), within, func(ctx context.Context) (string, bool) {
		at, err := s.whereabouts(ctx)
		return fmt.Sprint(at, err), at[id] == want
	})
}

// ready waits until nothing but Kerf's own taint keeps pods off the nodes.
func (s stage) ready(t *testing.T, nodes []model.NodeName) {
	t.Helper()
	for _, name := range nodes {
		harness.Eventually(t, "node "+string(name)+" ready", 30*time.Second, func(ctx context.Context) (string, bool) {
			n, err := s.client.CoreV1().Nodes().Get(ctx, string(name), metav1.GetOptions{})
			return fmt.Sprint(n.Spec.Taints, err), err == nil && len(n.Spec.Taints) == 1
		})
	}
}

// settled are the nodes of the pods once no pod has found one for a while.
func (s stage) settled(t *testing.T) map[model.PodID]model.NodeName {
	t.Helper()
	var last map[model.PodID]model.NodeName
	since := time.Now()
	harness.Eventually(t, "the scheduler to have done what it can", 2*time.Minute, func(ctx context.Context) (string, bool) {
		at, err := s.whereabouts(ctx)
		if err != nil {
			return err.Error(), false
		}
		if !maps.Equal(at, last) {
			last, since = at, time.Now()
		}
		return fmt.Sprintf("%d pods", len(at)), time.Since(since) > 3*time.Second
	})
	return last
}

func (s stage) unschedulable(t *testing.T, pods []model.PodID) {
	t.Helper()
	harness.Eventually(t, "the scheduler to have tried every pod", 30*time.Second, func(ctx context.Context) (string, bool) {
		list, err := s.client.CoreV1().Pods(s.name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		tried := map[model.PodID]bool{}
		for i := range list.Items {
			p := &list.Items[i]
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
					tried[model.PodID(p.Namespace+"/"+p.Name)] = true
				}
			}
		}
		return fmt.Sprintf("%d of %d", len(tried), len(pods)), !slices.ContainsFunc(pods, func(id model.PodID) bool { return !tried[id] })
	})
}

// TestTheSchedulerIsToldWhereThePlansHavePods holds nominations against the real scheduler, on one control plane.
func TestTheSchedulerIsToldWhereThePlansHavePods(t *testing.T) {
	c := controlPlane(t)
	n := seed(t)
	t.Run("plans come true", func(t *testing.T) { plansComeTrue(t, c, n) })
	t.Run("preemption's nominations are left alone", func(t *testing.T) { preemptionIsLeftAlone(t, newStage(t, c, "preempt")) })
	t.Run("a pod whose node never comes is free", func(t *testing.T) { nodeNeverComes(t, newStage(t, c, "never")) })
	t.Run("nominations cost little", func(t *testing.T) { costOfNominations(t, newStage(t, c, "cost")) })
	t.Run("the actuator alone has the right", func(t *testing.T) { actuatorAlone(t, c) })
}

// plansComeTrue fills nodes to the brim by a plan. They open one after the other, while all pods wait.
func plansComeTrue(t *testing.T, c *harness.Cluster, seed uint64) {
	t.Helper()
	const without, with, never, bound, spread = "not-told", "told", "told-never-preempts", "bound", "bound-spread"
	share := map[string]int{}
	for _, name := range []string{without, with, never, bound, spread} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c, name)
			switch name {
			case without:
				share[name] = landedAsPlanned(t, s, seed, s.opened)
				return
			case never:
				s.neverPreempts(t)
			case spread:
				s.zones = 2
			}
			if name == bound || name == spread {
				share[name] = landedAsPlanned(t, s, seed, s.filled)
			} else {
				share[name] = landedAsPlanned(t, s, seed, s.told)
			}
		})
	}
	const all = nominationNodes * nominationPods
	t.Logf("landed as planned, of %d pods: %d bound, %d bound of which some spread over zones, %d nominated, %d nominated that never preempt, %d neither",
		all, share[bound], share[spread], share[with], share[never], share[without])
	// Nothing tells how far the scheduler has read: on a busy machine a few pods may land where others were planned.
	for _, name := range []string{bound, spread} {
		if 100*share[name] < 95*all {
			t.Errorf("%s: %d of %d pods landed as planned", name, share[name], all)
		}
	}
	// Not all, see ADR 10: the scheduler takes nominations back that it comes upon before the node is open.
	if share[with] <= share[without] {
		t.Errorf("with nominations %d of %d pods landed as planned, without them %d", share[with], all, share[without])
	}
}

// neverPreempts makes the class of the stage's pods one whose pods preempt none.
func (s *stage) neverPreempts(t *testing.T) {
	t.Helper()
	s.class = s.name
	never := corev1.PreemptNever
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.class}, PreemptionPolicy: &never}
	if _, err := s.client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Second) // until the API server's admission knows it
}

// opening opens nodes one after the other; next is when the following one comes.
type opening func(t *testing.T, nodes []model.NodeName, pods map[model.NodeName][]model.PodID, next func() time.Time)

// opened only opens them.
func (s stage) opened(t *testing.T, nodes []model.NodeName, _ map[model.NodeName][]model.PodID, next func() time.Time) {
	t.Helper()
	for _, node := range nodes {
		s.open(t, node)
		<-time.After(time.Until(next()))
	}
}

// told has their pods nominated first, and again those that the scheduler has tried in between.
func (s stage) told(t *testing.T, nodes []model.NodeName, pods map[model.NodeName][]model.PodID, next func() time.Time) {
	t.Helper()
	for _, node := range nodes {
		s.nominate(t, node, pods[node]...)
		s.open(t, node)
		for end := next(); time.Now().Before(end); {
			<-time.After(10 * time.Millisecond)
			s.nominate(t, node, pods[node]...)
		}
	}
}

// filled has their pods bound first.
func (s stage) filled(t *testing.T, nodes []model.NodeName, pods map[model.NodeName][]model.PodID, next func() time.Time) {
	t.Helper()
	errs := make([]error, len(nodes))
	var fills sync.WaitGroup
	for i, node := range nodes {
		fills.Go(func() { errs[i] = s.fill(t.Context(), node, pods[node]) })
		<-time.After(time.Until(next()))
	}
	fills.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// overZones is what every other pod of a stage with zones asks for.
const overZones = `  topologySpreadConstraints:
    - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
`

func landedAsPlanned(t *testing.T, s stage, seed uint64, open opening) int {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	planned := map[model.PodID]model.NodeName{}
	pods := map[model.NodeName][]model.PodID{}
	var nodes []model.NodeName
	var all []model.PodID
	for i := range nominationNodes {
		node := s.node(t, i)
		nodes = append(nodes, node)
		for j, cpu := range parts(random, nominationCPU/100, nominationPods) {
			more := ""
			if s.zones > 0 && j%2 == 0 {
				more = overZones
			}
			id := s.pod(t, fmt.Sprintf("web-%d-%d", i, j), 100*cpu, more)
			planned[id] = node
			pods[node], all = append(pods[node], id), append(all, id)
		}
	}
	s.ready(t, nodes)
	s.unschedulable(t, all)
	for _, id := range all {
		s.seen(t, id, func(cluster.UnboundPod) bool { return true })
	}
	open(t, nodes, pods, func() time.Time { // nodes come when they come
		return time.Now().Add(time.Duration(random.IntN(300)) * time.Millisecond)
	})
	at := s.settled(t)
	landed := 0
	for id, node := range planned {
		if at[id] == node {
			landed++
		}
	}
	return landed
}

// parts cuts a whole into n parts of at least one each.
func parts(random *rand.Rand, whole, n int) []int {
	cuts := random.Perm(whole - 1)[:n-1]
	slices.Sort(cuts)
	var out []int
	last := 0
	for _, c := range append(cuts, whole-1) {
		out, last = append(out, c+1-last), c+1
	}
	return out
}

func preemptionIsLeftAlone(t *testing.T, s stage) {
	t.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Value: 1000}
	if _, err := s.client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node := s.node(t, 0) // by the time that it is ready, the API server's admission knows the class
	s.ready(t, []model.NodeName{node})
	s.open(t, node)
	victim := s.pod(t, "victim", nominationCPU, "")
	s.lands(t, victim, node, 10*time.Second)
	pods := s.client.CoreV1().Pods(s.name)
	hold := func(finalizers string) {
		patch := []byte(`{"metadata":{"finalizers":` + finalizers + `}}`)
		if _, err := pods.Patch(t.Context(), "victim", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	hold(`["kerf.test/hold"]`)
	urgent := s.pod(t, "urgent", nominationCPU/2, "  priorityClassName: "+s.name)
	p := s.seen(t, urgent, func(p cluster.UnboundPod) bool { return p.Nominated == node })
	if p.ByKerf || len(s.port.Nominator().Nominees()) > 0 {
		t.Errorf("preemption's nomination is taken for Kerf's: %+v", p)
	}
	// A plan has it elsewhere, and saw it before preemption did.
	plan := nominate.Take([]model.Placement{{Pod: urgent, Node: "elsewhere"}}, nil, nil)
	world := nominate.World{Unbound: s.port.Nominator().Unbound}
	if due := plan.Opening("", "elsewhere", world); len(due) > 0 {
		t.Errorf("it is to be nominated elsewhere: %+v", due)
	}
	before := p
	before.Nominated = ""
	if err := s.port.Nominator().Nominate(t.Context(), []cluster.Nomination{{Pod: before, Node: "elsewhere"}, {Pod: before}}); err != nil {
		t.Fatal(err)
	}
	got, err := pods.Get(t.Context(), "urgent", metav1.GetOptions{})
	if err != nil || got.Status.NominatedNodeName != string(node) {
		t.Errorf("preemption's nomination has become %q, error %v", got.Status.NominatedNodeName, err)
	}
	hold("null")
	s.lands(t, urgent, node, 20*time.Second)
}

// nodeNeverComes has one pod that was to be nominated, and one that was, to a node that goes before it opens.
func nodeNeverComes(t *testing.T, s stage) {
	t.Helper()
	never, other := s.node(t, 0), s.node(t, 1)
	s.ready(t, []model.NodeName{never, other})
	expected, nominated := s.pod(t, "expected", 1000, ""), s.pod(t, "nominated", 1000, "")
	s.unschedulable(t, []model.PodID{expected, nominated})
	s.seen(t, nominated, func(cluster.UnboundPod) bool { return true })
	s.nominate(t, never, nominated)
	s.seen(t, nominated, func(p cluster.UnboundPod) bool { return p.Nominated == never && p.ByKerf })
	s.delete(t, "Node", string(never))
	began := time.Now()
	s.open(t, other)
	for _, id := range []model.PodID{expected, nominated} {
		s.lands(t, id, other, 10*time.Second)
		t.Logf("pod %s has another node %s after that one opened", id, time.Since(began).Round(time.Millisecond))
	}
}

// costOfNominations prints what a nomination costs the process that writes it, and watches the pods: about 0.4 ms.
func costOfNominations(t *testing.T, s stage) {
	t.Helper()
	const many = 400
	var list []cluster.Nomination
	for i := range many {
		s.pod(t, fmt.Sprintf("web-%d", i), 100, "")
	}
	for i := range many {
		p := s.seen(t, model.PodID(fmt.Sprintf("%s/web-%d", s.name, i)), func(cluster.UnboundPod) bool { return true })
		list = append(list, cluster.Nomination{Pod: p, Node: "closed"})
	}
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	const most = 4 * time.Millisecond // of CPU, on a busy machine
	began, used := time.Now(), cpu()
	if err := s.port.Nominator().Nominate(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	each := (cpu() - used) / many
	t.Logf("%d nominations took %s, and %s of CPU each; the scheduler has taken %d back by now, because it tried the pods",
		many, time.Since(began).Round(time.Millisecond), each, many-len(s.port.Nominator().Nominees()))
	if each > most {
		t.Errorf("a nomination takes %s of CPU, want %s at most", each, most)
	}
}

func actuatorAlone(t *testing.T, c *harness.Cluster) {
	t.Helper()
	may := func(user, verb, subresource string) bool {
		client, err := c.Client(user)
		if err != nil {
			t.Fatal(err)
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "pods", Subresource: subresource},
		}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Allowed
	}
	for _, user := range []string{harness.Watcher, harness.Planner, harness.Actuator} {
		if got, want := may(user, "patch", "status"), user == harness.Actuator; got != want {
			t.Errorf("%s may patch pods/status: %v", user, got)
		}
		if got, want := may(user, "create", "binding"), user == harness.Actuator; got != want {
			t.Errorf("%s may create pods/binding: %v", user, got)
		}
		for _, verb := range []string{"create", "update", "patch"} { // any of which changes what runs on a node
			if may(user, verb, "") {
				t.Errorf("%s may %s pods", user, verb)
			}
		}
		if may(user, "update", "status") {
			t.Errorf("%s may update pods/status", user)
		}
	}
}
