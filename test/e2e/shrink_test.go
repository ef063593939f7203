package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
)

const (
	shrunkDeployments = 24
	// shrunkFrom and shrunkTo are replicas of each: 960 pods on some 70 nodes of at most 8 CPUs, and 40 % of them.
	shrunkFrom, shrunkTo = 40, 16
)

// nearBound is how much more than any nodes could cost those may cost that hold the pods: at first, when they came in
// several plans, and once they are scaled down; by replicas. Nothing has changed for calm then; what is above that has
// until settledBy, as some moves wait until pods have settled. See docs/versus.md for figures.
var nearBound = map[int]float64{shrunkFrom: 1.08, shrunkTo: 1.05}

const calm, settledBy = 12 * time.Second, 2 * time.Minute

const shrunkPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
        - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["9"]}
  disruption: {consolidateAfter: 0s}
`

// TestAScaleDownEndsNearTheBoundAndMovesEachPodOnce scales all that runs down, under the settings that Kerf comes with
// and a budget that lets a tenth of the nodes go at once, and waits until nothing changes any more. Which pods go, and
// where the scheduler puts those that stand in for moved ones, is chance: of two loads one may miss.
func TestAScaleDownEndsNearTheBoundAndMovesEachPodOnce(t *testing.T) {
	n := seed(t)
	var missed []string
	for _, load := range []uint64{n, n + 1} {
		t.Run(fmt.Sprint(load), func(t *testing.T) { missed = scaleDown(t, load) })
		if len(missed) == 0 {
			return
		}
		t.Logf("%d: %s", load, strings.Join(missed, "; "))
	}
	t.Error("two loads missed")
}

// scaleDown plays the load of a seed, and says what it missed.
func scaleDown(t *testing.T, n uint64) (missed []string) {
	t.Helper()
	s := startWith(t, stack.Options{
		Seed: n, Plain: true, Delays: stack.Delays{Launch: 1500 * time.Millisecond, Join: 500 * time.Millisecond, Terminate: time.Second},
	})
	class := filepath.Join(s.Root(), "deploy/examples/inflate/nodeclass.yaml")
	if err := s.Cluster.ApplyFile(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if err := s.Cluster.Apply(t.Context(), []byte(shrunkPool)); err != nil {
		t.Fatal(err)
	}
	moves := watchMoves(t, s)
	landed := watchLandings(t, s)
	for _, replicas := range []int{shrunkFrom, shrunkTo} {
		most := nearBound[replicas]
		pods := shrinking(n, replicas)
		bound := lowerBound(t, s, class, shrunkPool, pods)
		if err := s.Cluster.Apply(t.Context(), []byte(pods)); err != nil {
			t.Fatal(err)
		}
		at, since, last := time.Now(), time.Now(), 0.0
		harness.Eventually(t, "pods that all have a node, and nodes that stay", 5*time.Minute, func(ctx context.Context) (string, bool) {
			now, settled, err := cost(ctx, s, shrunkDeployments*replicas)
			if err != nil {
				return err.Error(), false
			}
			if now != last || !settled {
				last, since = now, time.Now()
			}
			done := time.Since(since) > calm && (last <= most*bound || time.Since(at) > settledBy)
			return fmt.Sprintf("$%.3f an hour, at least $%.3f are needed; settled: %v", last, bound, settled), done
		})
		t.Logf("%d pods: $%.3f an hour, %.3f of what is needed at least, since %.0f s; nodes with more than they hold: %d",
			shrunkDeployments*replicas, last, last/bound, since.Sub(at).Seconds(), overfull(t, s))
		if last > most*bound {
			missed = append(missed, fmt.Sprintf("the nodes cost $%.3f an hour, and $%.3f are needed at least", last, bound))
		}
	}
	moved, again := moves()
	came, planned := landed()
	t.Logf("%d pods were moved; of %d that were to go to new nodes %d did", moved, planned, came)
	if came*2 < planned { // what finds room on nodes that are open goes there
		missed = append(missed, fmt.Sprintf("of %d moved pods that were to go to new nodes only %d did", planned, came))
	}
	if again > 0 {
		missed = append(missed, fmt.Sprintf("%d of %d moves were of pods that stood in for moved ones", again, moved))
	}
	return missed
}

func shrinking(seed uint64, replicas int) string {
	random := rand.New(rand.NewPCG(seed, 3))
	var out strings.Builder
	for i := range shrunkDeployments {
		fmt.Fprintf(&out, placedDeployment, i, replicas, 100*(1+random.IntN(10)), 128*(1+random.IntN(32)))
	}
	return out.String()
}

// cost is what all nodes cost, dollars an hour; settled says that there are so many pods, and that each has a node.
func cost(ctx context.Context, s *stack.Stack, want int) (dollars float64, settled bool, err error) {
	pods, err := s.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, false, err
	}
	claims, err := s.Actuator.ListClaims(ctx, &actuatorpb.ListClaimsRequest{PageSize: 500})
	if err != nil {
		return 0, false, err
	}
	var sum int64
	for _, c := range claims.GetClaims() {
		sum += c.GetPriceMicroUsdPerHour()
	}
	return float64(sum) / 1e6, len(pods.Items) == want &&
		!slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Spec.NodeName == "" || p.DeletionTimestamp != nil }), nil
}

// overfull is how many nodes have pods that ask for more CPU than is allocatable: on a very busy machine the scheduler
// binds such pods, kubelets would refuse them, and the price says little.
func overfull(t *testing.T, s *stack.Stack) int {
	t.Helper()
	pods, err := s.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.Kubernetes.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]int64{}
	for i := range pods.Items {
		for _, c := range pods.Items[i].Spec.Containers {
			asked[pods.Items[i].Spec.NodeName] += c.Resources.Requests.Cpu().MilliValue()
		}
	}
	over := 0
	for i := range nodes.Items {
		if asked[nodes.Items[i].Name] > nodes.Items[i].Status.Allocatable.Cpu().MilliValue() {
			over++
		}
	}
	return over
}

// lowerBound is what `kerf plan` proves that the pods of a manifest cost at least, dollars an hour.
func lowerBound(t *testing.T, s *stack.Stack, class, pool, pods string) float64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.Bin("kerf"), "plan", "-f", class, "-f", "-", "-o", "json", "--advice", "0", "--per-node-overhead", "0")
	cmd.Stdin = strings.NewReader(pool + pods)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kerf plan: %v\n%s", err, stderr.String())
	}
	var doc struct {
		Plan struct {
			Pending    []struct{} `json:"pending"`
			LowerBound struct {
				Cost int64 `json:"microUsdPerHour,string"`
			} `json:"lowerBound"`
		} `json:"plan"`
	}
	if err := json.Unmarshal(out, &doc); err != nil || len(doc.Plan.Pending) > 0 || doc.Plan.LowerBound.Cost == 0 {
		t.Fatalf("kerf plan has no bound: %v\n%s", err, out)
	}
	return float64(doc.Plan.LowerBound.Cost) / 1e6
}

// watchLandings counts the pods that were to be moved to replacements, and those that are there when it is asked or
// were before their node went. Which pod came for which is not known; how many of each controller is, by their names.
func watchLandings(t *testing.T, s *stack.Stack) func() (came, planned int) {
	t.Helper()
	type share struct{ claim, controller string }
	want, most := map[share]int{}, map[share]int{}
	look := func(ctx context.Context) error {
		claims, err := s.Actuator.ListClaims(ctx, &actuatorpb.ListClaimsRequest{PageSize: 500})
		if err != nil {
			return err
		}
		pods, err := s.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		on := map[string]string{}
		for _, c := range claims.GetClaims() {
			if c.GetReplaces() == "" || c.GetNode() == "" {
				continue
			}
			on[c.GetNode()] = c.GetId()
			planned := map[share]int{}
			for _, id := range c.GetPods() {
				planned[share{c.GetId(), id[:strings.LastIndexByte(id, '-')]}]++
			}
			maps.Copy(want, planned)
		}
		now := map[share]int{}
		for i := range pods.Items {
			if p := &pods.Items[i]; on[p.Spec.NodeName] != "" {
				now[share{on[p.Spec.NodeName], p.Namespace + "/" + p.Name[:strings.LastIndexByte(p.Name, '-')]}]++
			}
		}
		for k, n := range now {
			most[k] = max(most[k], n)
		}
		return nil
	}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := look(ctx); err != nil && ctx.Err() == nil {
				t.Logf("look for pods: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return func() (came, planned int) {
		cancel()
		<-done
		for k, n := range want {
			planned, came = planned+n, came+min(n, most[k])
		}
		return came, planned
	}
}

// watchMoves counts the pods that are evicted, and those of them that stand in for pods that were. Kubernetes does not
// say which pod replaces which: the controller's next one does.
func watchMoves(t *testing.T, s *stack.Stack) func() (moved, again int) {
	t.Helper()
	var mu sync.Mutex
	moved, again := 0, 0
	open, standsIn, gone := map[types.UID]int{}, map[types.UID]bool{}, map[types.UID]bool{}
	see := func(p *corev1.Pod, isNew bool) {
		mu.Lock()
		defer mu.Unlock()
		owner := metav1.GetControllerOf(p)
		if owner == nil {
			return
		}
		if isNew && open[owner.UID] > 0 {
			open[owner.UID]--
			standsIn[p.UID] = true
		}
		if !gone[p.UID] && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Reason == "EvictionByEvictionAPI"
		}) {
			gone[p.UID] = true
			open[owner.UID]++
			moved++
			if standsIn[p.UID] {
				again++
			}
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(s.Kubernetes, 0, informers.WithNamespace(metav1.NamespaceDefault))
	pods := factory.Core().V1().Pods().Informer()
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if p, is := o.(*corev1.Pod); is {
				see(p, true)
			}
		},
		UpdateFunc: func(_, o any) {
			if p, is := o.(*corev1.Pod); is {
				see(p, false)
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), pods.HasSynced) {
		t.Fatal("no pods were read")
	}
	return func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return moved, again
	}
}
