package live

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/awssim/kwok"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
)

// doing does something to one of the objects of its kind and says what; "" is nothing.
type doing func(context.Context, *player, *rand.Rand, ref) (told string, err error)

// kind is one kind of things that happen. Where there is nothing yet that they may happen to, they do not.
type kind struct {
	name   string
	weight int
	to     func(*player) []ref
	do     doing
}

// kinds are all that may happen.
func kinds() []kind {
	return []kind{
		// users
		{"deployment", 14, world, create("Deployment")},
		{"statefulset", 6, world, create("StatefulSet")},
		{"job", 4, world, create("Job")},
		{"buffer", 6, scalable, buffer},
		{"scale", 20, scalable, change("", `{"spec":{"replicas":%d}}`, 0, 1, 2, 4, 6, 9, 12)},
		{"rollout", 6, scalable, change("", `{"spec":{"template":{"metadata":{"annotations":{"at":"%d"}}}}}`, 1, 2, 3)},
		{"delete workload", 6, workloads, remove},
		{"delete pod", 3, pods, remove},
		{"blocking budget", 5, scalable, block},
		{"change pool", 4, nodePools, change("", `{"spec":{"template":{"metadata":{"labels":{"revision":"r%d"}}}}}`, 1, 2, 3)},
		{"replicas", 6, staticPools, change("", `{"spec":{"replicas":%d}}`, 0, 1, 2, 3, 4)},
		{"change class", 3, classes, change("", `{"spec":{"userData":"echo %d"}}`, 1, 2, 3)},
		{"reserve", 1, classes, change("", `{"spec":{"capacityReservationSelectorTerms":%s}}`, "null", `[{"id":"`+reservation+`"}]`)},
		{"cordon", 3, nodes, change(`{"spec":{"unschedulable":null}}`, `{"spec":{"unschedulable":true}}`)},
		{"protect node", 3, nodes, change(free, `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true"}}}`)},
		{"delete node", 4, nodes, remove},
		{"delete nodeclaim", 4, nodeClaims, remove},
		{"delete pool", 2, closedPools, remove},
		// AWS
		{"images", 3, world, publish},
		{"interrupt", 6, instances(awssim.Spot), happens("interrupt")},
		{"rebalance", 3, instances(awssim.Spot), happens("rebalance")},
		{"terminate", 4, instances(""), happens("terminate")},
		{"retire", 2, instances(""), happens("health")},
		{"impair", 2, instances(""), happens("impair")},
		{"shortage", 6, world, shortage},
		{"addresses", 3, world, addresses},
		{"zonal shift", 4, world, shift},
		{"throttled", 4, world, throttle},
		{"aws fails", 8, world, fail},
		{"price", 3, world, price},
		// machines
		{"no kubelet", 4, world, noKubelet},
		{"kubelet", 4, nodes, unhealthy},
		{"kill", 8, world, kill},
		{"kill in the middle", 8, world, killAt},
		{"stop", 8, world, stop},
	}
}

// ref is an object that may be changed, and where things run on it, what node.
type ref struct{ kind, name, node string }

func world(*player) []ref { return []ref{{}} }

func workloads(p *player) []ref { return p.workloads }

func scalable(p *player) []ref {
	return slices.DeleteFunc(slices.Clone(p.workloads), func(w ref) bool { return w.kind == "Job" })
}

func nodePools(p *player) (out []ref) {
	for _, q := range p.script.pools {
		out = append(out, ref{kind: "NodePool", name: q.name})
	}
	return out
}

func closedPools(p *player) []ref { return nodePools(p)[1:] }

func staticPools(p *player) []ref {
	return slices.DeleteFunc(nodePools(p), func(q ref) bool { return !p.pool(q.name).static() })
}

func classes(*player) []ref {
	return []ref{{kind: "EC2NodeClass", name: "a"}, {kind: "EC2NodeClass", name: "b"}}
}

// nodes are those that Kerf has seen: one that is deleted before is only found missing after a quarter of an hour.
func nodes(p *player) (out []ref) {
	for _, n := range p.world().Nodes {
		if n.Labels[labels.Registered] == "true" {
			out = append(out, ref{"Node", n.Name, n.Name})
		}
	}
	return out
}

func nodeClaims(p *player) (out []ref) {
	for _, c := range p.world().Live() {
		out = append(out, ref{"NodeClaim", c.GetId(), c.GetNode()})
	}
	return out
}

func pods(p *player) (out []ref) {
	for _, pod := range p.world().Pods {
		out = append(out, ref{kind: "Pod", name: pod.Name})
	}
	return out
}

// instances are those of the capacity type, "" for any.
func instances(capacity string) func(*player) []ref {
	return func(p *player) (out []ref) {
		for _, i := range p.world().Instances() {
			if i.State == "running" && !i.Interrupted && (capacity == "" || i.CapacityType == capacity) {
				out = append(out, ref{"Instance", i.ID, i.NodeName})
			}
		}
		return out
	}
}

func create(kind string) doing {
	return func(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
		p.made++
		w, in := ref{kind: kind, name: fmt.Sprintf("w%d", p.made)}, pool{}
		if r.IntN(2) == 0 {
			in = pick(r, p.script.pools...)
		}
		text, told := workload(r, kind, w.name, in)
		p.workloads = append(p.workloads, w) // even where no one answers, who may have heard it
		return told, p.Cluster.Apply(ctx, []byte(text))
	}
}

// buffer asks for capacity for more pods of a workload, and stays until all is deleted.
func buffer(ctx context.Context, p *player, r *rand.Rand, of ref) (string, error) {
	size := pick(r, "replicas: 1", "replicas: 3", "percentage: 50")
	return fmt.Sprintf("a CapacityBuffer for %s of %s", size, of.name), p.Cluster.Apply(ctx, fmt.Appendf(nil, `apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: %s}
spec: {scalableRef: {apiGroup: apps, kind: %s, name: %s}, %s}
`, of.name, of.kind, of.name, size))
}

// block makes a budget that never allows an eviction. Pods that have two of them can't be evicted either.
func block(ctx context.Context, p *player, _ *rand.Rand, w ref) (string, error) {
	of := w.name
	p.later(func(ctx context.Context) error {
		return p.delete(ctx, ref{kind: "PodDisruptionBudget", name: "none-of-" + of})
	})
	return "a budget lets no pod of " + of + " go", p.Cluster.Apply(ctx, []byte(budgetManifest("none-of-"+of, of, 0)))
}

// change patches an object, with one of the values, until the end of the story where something undoes it.
func change(undo, patch string, values ...any) doing {
	return func(ctx context.Context, p *player, r *rand.Rand, o ref) (string, error) {
		text := patch
		if len(values) > 0 {
			text = fmt.Sprintf(patch, pick(r, values...))
		}
		if undo != "" {
			p.later(func(ctx context.Context) error { return p.patch(ctx, o, undo) })
		}
		return fmt.Sprintf("%s %s: %s", o.kind, o.name, text), p.patch(ctx, o, text)
	}
}

// remove deletes an object. A pool comes back at the end of the story.
func remove(ctx context.Context, p *player, _ *rand.Rand, o ref) (string, error) {
	p.touch(o.node)
	if o.kind == "NodePool" {
		for _, c := range p.world().Live() {
			if c.GetNodePool() == o.name {
				p.touch(c.GetNode())
			}
		}
		p.later(func(ctx context.Context) error { return p.Cluster.Apply(ctx, []byte(p.pool(o.name).manifest())) })
	}
	err := p.delete(ctx, o)
	if err == nil {
		p.workloads = slices.DeleteFunc(p.workloads, func(w ref) bool { return w == o })
	}
	return fmt.Sprintf("%s %s is deleted", o.kind, o.name), err
}

func publish(ctx context.Context, p *player, _ *rand.Rand, _ ref) (string, error) {
	_, err := p.Sim.PublishImages(ctx)
	return "AWS publishes images", err
}

// happens is what AWS does to an instance.
func happens(call string) doing {
	return func(ctx context.Context, p *player, _ *rand.Rand, i ref) (string, error) {
		p.touch(i.node)
		in := object{"instanceId": i.name}
		if call == "health" {
			in = object{"typeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", "instanceIds": []string{i.name}}
		}
		err := p.Sim.Post(ctx, call, in)
		if err != nil && strings.Contains(err.Error(), "already") {
			return "", nil // Kerf was faster than the last look
		}
		return fmt.Sprintf("AWS: %s %s (%s)", call, i.name, i.node), err
	}
}

type object = map[string]any

// aws has AWS do something, until the end of the story where something undoes it.
func (p *player) aws(ctx context.Context, call string, in, undo object) (string, error) {
	if undo != nil {
		p.later(func(ctx context.Context) error { return p.Sim.Post(ctx, call, undo) })
	}
	return fmt.Sprintf("AWS: %s %v", call, in), p.Sim.Post(ctx, call, in)
}

// shortage is of instances of a type, or of the account's quota for spot.
func shortage(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	of, capacity, code := anyType(r), pick(r, "", awssim.Spot), pick(r, "InsufficientInstanceCapacity", "UnfulfillableCapacity", "MaxSpotInstanceCountExceeded")
	switch {
	case r.IntN(2) == 0:
		in := object{"instanceType": of, "capacityType": capacity, "count": r.IntN(3)}
		return p.aws(ctx, "stock", in, object{"instanceType": of, "capacityType": capacity, "count": -1})
	case code == "MaxSpotInstanceCountExceeded":
		of, capacity = "", awssim.Spot
	}
	return p.aws(ctx, "pool-fail", object{"instanceType": of, "capacityType": capacity, "code": code}, object{"instanceType": of, "capacityType": capacity, "code": ""})
}

// addresses lets a subnet have few or none.
func addresses(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	subnet := pick(r, "subnet-0aaaaaaaaaaaaaaa1", "subnet-0bbbbbbbbbbbbbbb2", "subnet-0ccccccccccccccc3")
	return p.aws(ctx, "addresses", object{"subnetId": subnet, "free": r.IntN(4)}, object{"subnetId": subnet, "free": -1})
}

// shift moves the cluster away from a zone. AWS allows one at a time.
func shift(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	if p.shifted {
		return "", nil
	}
	p.shifted = true
	zone := "us-east-1" + pick(r, "a", "b", "c")
	return p.aws(ctx, "shift", object{"zone": zone, "seconds": pick(r, 0, 20, 600)}, object{"zone": zone, "back": true})
}

func throttle(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	action := "ec2:" + pick(r, "CreateFleet", "TerminateInstances", "DescribeInstances", "CreateLaunchTemplate", "CreateTags")
	return p.aws(ctx, "limit", object{"action": action, "burst": 1, "perSecond": 0.5}, object{"action": action, "burst": 1000, "perSecond": 1000})
}

func price(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	in := object{"instanceType": anyType(r), "zone": "us-east-1" + pick(r, "a", "b", "c"), "microUSD": 5_000 + r.IntN(200_000)}
	return p.aws(ctx, "price", in, nil)
}

func noKubelet(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	return p.aws(ctx, "kubelets", object{"held": r.IntN(3) > 0}, object{"held": false})
}

func fail(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	action := "ec2:" + pick(r, "CreateFleet", "CreateFleet", "TerminateInstances", "DescribeInstances", "CreateLaunchTemplate", "CreateTags")
	if r.IntN(5) == 0 {
		action = "*"
	}
	code := pick(r, "RequestLimitExceeded", "InternalError", "ServiceUnavailable", awssim.CodeDrop)
	return p.aws(ctx, "fail", object{"action": action, "code": code, "times": 1 + r.IntN(8), "after": r.IntN(3) == 0}, nil)
}

func unhealthy(ctx context.Context, p *player, _ *rand.Rand, n ref) (string, error) {
	p.touch(n.name)
	return "the kubelet of " + n.name + " reports that it is not ready", ignoreGone(kwok.Kubelet{Client: p.Kubernetes}.MakeUnhealthy(ctx, n.name, "drawn"))
}

// process is any that may be killed or stand still, Kerf's services more often than the rest.
func (p *player) process(r *rand.Rand) string {
	all := []string{
		"watcher", "planner", "actuator", "watcher", "planner", "actuator", "actuator", stack.Etcd, harness.APIServer, harness.Scheduler, harness.ControllerManager,
	}
	if p.script.standby {
		all = append(all, stack.WatcherStandby, stack.ActuatorStandby)
	}
	return pick(r, all...)
}

func ofCluster(name string) bool { return slices.Contains(harness.Components()[1:], name) }

// kill ends a process, which is started again while the story goes on.
func kill(_ context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	return p.kill(p.process(r), r)
}

func (p *player) kill(name string, r *rand.Rand) (string, error) {
	end, start := p.Kill, func(context.Context) error { return p.Revive(name) }
	if ofCluster(name) {
		end, start = p.Cluster.Kill, func(ctx context.Context) error { return p.Cluster.Start(ctx, name) }
	}
	return p.without(name, "is killed", time.Duration(r.Int64N(int64(4*time.Second))), func() error { return end(name) }, start)
}

// killAt kills a process in the middle of something: while a claim is in some state, if any comes to it soon.
func killAt(ctx context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	in := pick(r, clusterpb.ClaimState_CLAIM_STATE_LAUNCHING, clusterpb.ClaimState_CLAIM_STATE_LAUNCHED, clusterpb.ClaimState_CLAIM_STATE_DRAINING, clusterpb.ClaimState_CLAIM_STATE_TERMINATING)
	name := pick(r, "actuator", "actuator", "watcher", "planner", stack.Etcd, harness.APIServer)
	for range 20 {
		if slices.ContainsFunc(p.world().Live(), func(c *clusterpb.Claim) bool { return c.GetState() == in }) {
			told, err := p.kill(name, r)
			if told == "" {
				return "", err
			}
			return told + ", with a claim " + strings.TrimPrefix(in.String(), "CLAIM_STATE_"), err
		}
		if err := pause(ctx, lookEvery); err != nil {
			return "", err
		}
	}
	return "", nil
}

// stop lets a process stand still for some time, as on a machine that is out of memory or processor time.
func stop(_ context.Context, p *player, r *rand.Rand, _ ref) (string, error) {
	name, pid := p.process(r), p.Pid
	if ofCluster(name) {
		pid = p.Cluster.Pid
	}
	signal := func(s syscall.Signal) error { return syscall.Kill(-pid(name), s) }
	return p.without(name, "stands still", time.Duration(r.Int64N(int64(10*time.Second))), func() error { return signal(syscall.SIGSTOP) },
		func(context.Context) error { return signal(syscall.SIGCONT) })
}

// touch notes that a node is not as Kerf would have it.
func (p *player) touch(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touched[node] = true
}

func (p *player) isTouched(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.touched[node]
}
