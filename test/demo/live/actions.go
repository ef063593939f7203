package live

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/awssim/kwok"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
)

// kind is one kind of things that happen. It says what it has done; "" is nothing, as where there is no node yet to do it to.
type kind struct {
	name   string
	weight int
	do     func(context.Context, *player, *rand.Rand) (told string, err error)
}

// kinds are all that may happen.
func kinds() []kind {
	return []kind{
		// users
		{"deployment", 14, create("Deployment")},
		{"statefulset", 6, create("StatefulSet")},
		{"job", 4, create("Job")},
		{"scale", 20, scale},
		{"rollout", 6, rollout},
		{"delete workload", 8, deleteWorkload},
		{"change pool", 4, changePool},
		{"change class", 3, changeClass},
		{"delete node", 4, deleteNode},
		{"delete nodeclaim", 4, deleteClaim},
		{"cordon", 3, cordon},
		{"delete pool", 2, deletePool},
		// AWS
		{"images", 3, publish},
		{"interrupt", 6, onInstance("interrupt", awssim.Spot)},
		{"rebalance", 3, onInstance("rebalance", awssim.Spot)},
		{"terminate", 4, onInstance("terminate", "")},
		{"shortage", 6, shortage},
		{"aws fails", 10, fail},
		{"price", 3, price},
		// machines
		{"no kubelet", 5, noKubelet},
		{"kubelet", 4, unhealthy},
		{"kill", 9, kill},
		{"stop", 9, stop},
	}
}

func kindOf(name string) kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.name == name })]
}

func anyKind(r *rand.Rand) kind {
	var bag []kind
	for _, k := range kinds() {
		bag = append(bag, slices.Repeat([]kind{k}, k.weight)...)
	}
	return pick(r, bag...)
}

func keys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

func create(kind string) func(context.Context, *player, *rand.Rand) (string, error) {
	return func(ctx context.Context, p *player, r *rand.Rand) (string, error) {
		p.made++
		w := workload{kind: kind, name: fmt.Sprintf("w%d", p.made), replicas: 1 + r.IntN(8)}
		tainted := false
		if r.IntN(2) == 0 {
			in := pick(r, p.script.Pools...)
			w.pool, w.bounded, tainted = in.name, in.bounded(), in.tainted
		}
		text, told := w.manifest(r, tainted)
		if err := p.Cluster.Apply(ctx, []byte(text)); err != nil {
			return "", err
		}
		p.workloads = append(p.workloads, w)
		return told, nil
	}
}

// scalable are the workloads that go on, and their API.
func (p *player) one(r *rand.Rand) (w workload, ok bool) {
	some := slices.DeleteFunc(slices.Clone(p.workloads), func(w workload) bool { return w.kind == "Job" })
	if len(some) == 0 {
		return w, false
	}
	return pick(r, some...), true
}

func (p *player) patch(ctx context.Context, w workload, patch string) error {
	resource := p.Dynamic.Resource(w.resource()).Namespace(metav1.NamespaceDefault)
	_, err := resource.Patch(ctx, w.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func scale(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	w, ok := p.one(r)
	if !ok {
		return "", nil
	}
	n := pick(r, 0, 1, 2, 4, 6, 9, 12)
	return fmt.Sprintf("%s is scaled to %d", w.name, n), p.patch(ctx, w, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

func rollout(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	w, ok := p.one(r)
	if !ok {
		return "", nil
	}
	return w.name + " is rolled out", p.patch(ctx, w, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"at":"%d"}}}}}`, r.Uint32()))
}

func deleteWorkload(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	if len(p.workloads) == 0 {
		return "", nil
	}
	i := r.IntN(len(p.workloads))
	w := p.workloads[i]
	p.workloads = slices.Delete(p.workloads, i, i+1)
	return w.name + " is deleted", p.drop(ctx, w)
}

func changePool(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	name := pick(r, p.script.Pools...).name
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"revision":"r%d"}}}}}`, r.IntN(1000))
	return "the template of pool " + name + " is changed", ignoreGone(p.patchPool(ctx, name, patch))
}

func changeClass(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	name := pick(r, "a", "b")
	patch := fmt.Sprintf(`{"spec":{"userData":"echo %d"}}`, r.IntN(1000))
	_, err := p.Dynamic.Resource(classes()).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return "the user data of class " + name + " are changed", err
}

// deletePool takes a pool away until the story is at its end. Its nodes go with it.
func deletePool(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	q := pick(r, p.script.Pools[1:]...)
	for _, c := range p.world().Live() {
		if c.GetNodePool() == q.name {
			p.touch(c.GetNode(), "pool deleted by hand")
		}
	}
	p.later(func(ctx context.Context) error { return p.Cluster.Apply(ctx, []byte(q.manifest())) })
	return "pool " + q.name + " is deleted by hand", ignoreGone(p.Dynamic.Resource(pools()).Delete(ctx, q.name, metav1.DeleteOptions{}))
}

// node is any node that is not on its way out, and is marked: what becomes of it is no more Kerf's choice.
func (p *player) node(r *rand.Rand, why string) (n corev1.Node, ok bool) {
	some := slices.DeleteFunc(slices.Clone(p.world().Nodes), func(n corev1.Node) bool { return n.DeletionTimestamp != nil })
	if len(some) == 0 {
		return n, false
	}
	n = pick(r, some...)
	p.touch(n.Name, why)
	return n, true
}

func deleteNode(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	n, ok := p.node(r, "node deleted by hand")
	if !ok {
		return "", nil
	}
	return "node " + n.Name + " is deleted by hand", ignoreGone(p.Kubernetes.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{}))
}

func deleteClaim(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	claims := p.world().Live()
	if len(claims) == 0 {
		return "", nil
	}
	c := pick(r, claims...)
	p.touch(c.GetNode(), "claim deleted by hand")
	p.touch(c.GetId(), "claim deleted by hand")
	return "claim " + c.GetId() + " is deleted by hand", ignoreGone(p.Dynamic.Resource(nodeClaims()).Delete(ctx, c.GetId(), metav1.DeleteOptions{}))
}

func cordon(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	n, ok := p.node(r, "")
	if !ok {
		return "", nil
	}
	set := func(ctx context.Context, value bool) error {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, value)
		_, err := p.Kubernetes.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return ignoreGone(err)
	}
	p.later(func(ctx context.Context) error { return set(ctx, false) })
	return "node " + n.Name + " is cordoned", set(ctx, true)
}

func publish(ctx context.Context, p *player, _ *rand.Rand) (string, error) {
	_, err := p.Sim.PublishImages(ctx)
	return "AWS publishes images", err
}

// onInstance is what AWS does to an instance of the capacity type, "" for any.
func onInstance(call, capacity string) func(context.Context, *player, *rand.Rand) (string, error) {
	return func(ctx context.Context, p *player, r *rand.Rand) (string, error) {
		some := slices.DeleteFunc(p.world().Instances(), func(i awssim.InstanceState) bool {
			return i.State != "running" || i.Interrupted || capacity != "" && i.CapacityType != capacity
		})
		if len(some) == 0 {
			return "", nil
		}
		i := pick(r, some...)
		p.touch(i.NodeName, call)
		p.touch(i.Tags[labels.Claim], call)
		err := p.Sim.Post(ctx, call, map[string]string{"instanceId": i.ID})
		if err != nil && strings.Contains(err.Error(), "already") {
			return "", nil // Kerf was faster than the last look
		}
		return fmt.Sprintf("AWS: %s %s (%s)", call, i.ID, i.NodeName), err
	}
}

func shortage(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	where := awssim.Pool{InstanceType: pick(r, slices.Sorted(keys(cores()))...), CapacityType: pick(r, "", awssim.Spot)}
	set := func(ctx context.Context, n int) error {
		return p.Sim.Post(ctx, "stock", map[string]any{"instanceType": where.InstanceType, "capacityType": where.CapacityType, "count": n})
	}
	p.later(func(ctx context.Context) error { return set(ctx, -1) })
	return fmt.Sprintf("AWS has no more %s %s", where.InstanceType, where.CapacityType), set(ctx, 0)
}

func price(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	in := map[string]any{
		"instanceType": pick(r, slices.Sorted(keys(cores()))...), "zone": pick(r, "us-east-1a", "us-east-1b", "us-east-1c"),
		"microUSD": 5_000 + r.IntN(200_000),
	}
	return fmt.Sprintf("AWS: the spot price is %v", in), p.Sim.Post(ctx, "price", in)
}

func noKubelet(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	set := func(ctx context.Context, held bool) error {
		return p.Sim.Post(ctx, "kubelets", map[string]bool{"held": held})
	}
	p.later(func(ctx context.Context) error { return set(ctx, false) })
	held := r.IntN(3) > 0
	return fmt.Sprintf("machines that boot join: %t", !held), set(ctx, held)
}

func fail(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	f := awssim.Fault{
		Action: "ec2:" + pick(r, "CreateFleet", "CreateFleet", "TerminateInstances", "DescribeInstances", "CreateLaunchTemplate", "CreateTags"),
		Code:   pick(r, "RequestLimitExceeded", "InternalError", "ServiceUnavailable", awssim.CodeDrop),
		Times:  1 + r.IntN(8), After: r.IntN(3) == 0,
	}
	if r.IntN(5) == 0 {
		f.Action = "*"
	}
	return fmt.Sprintf("AWS fails: %+v", f), p.Sim.Post(ctx, "fail", f)
}

func unhealthy(ctx context.Context, p *player, r *rand.Rand) (string, error) {
	n, ok := p.node(r, "kubelet not ready")
	if !ok {
		return "", nil
	}
	return "the kubelet of " + n.Name + " reports that it is not ready",
		ignoreGone(kwok.Kubelet{Client: p.Kubernetes}.MakeUnhealthy(ctx, n.Name, "drawn"))
}

// processes are what may be killed or stand still, Kerf's three services more often than the rest.
func processes() []string {
	return []string{
		"watcher", "planner", "actuator", "watcher", "planner", "actuator", "actuator", stack.Etcd, harness.APIServer, harness.Scheduler, harness.ControllerManager,
	}
}

func (p *player) ofCluster(name string) bool { return slices.Contains(harness.Components()[1:], name) }

// kill ends a process, which is started again while the story goes on.
func kill(_ context.Context, p *player, r *rand.Rand) (string, error) {
	name, dead := pick(r, processes()...), time.Duration(r.Int64N(int64(4*time.Second)))
	end, start := p.Kill, func(context.Context) error { return p.Revive(name) }
	if p.ofCluster(name) {
		end, start = p.Cluster.Kill, func(ctx context.Context) error { return p.Cluster.Start(ctx, name) }
	}
	told := fmt.Sprintf("%s is killed, for %s", name, dead.Round(time.Millisecond))
	return p.without(name, told, dead, func() error { return end(name) }, start)
}

// stop lets a process stand still for some time, as on a machine that is out of memory or processor time.
func stop(_ context.Context, p *player, r *rand.Rand) (string, error) {
	name, still := pick(r, processes()...), time.Duration(r.Int64N(int64(10*time.Second)))
	pid := p.Pid
	if p.ofCluster(name) {
		pid = p.Cluster.Pid
	}
	signal := func(s syscall.Signal) error { return syscall.Kill(-pid(name), s) }
	told := fmt.Sprintf("%s stands still for %s", name, still.Round(time.Millisecond))
	return p.without(name, told, still, func() error { return signal(syscall.SIGSTOP) }, func(context.Context) error { return signal(syscall.SIGCONT) })
}
