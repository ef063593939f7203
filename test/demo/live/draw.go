// Package live plays stories that no one has written: from a seed it draws a world of pools, and things that users, AWS
// and machines do to it for a minute or so, plays them on a running stack, and checks from outside that what must hold
// at any time holds, and that the cluster comes to rest as it should.
//
// It knows what Kerf promises and nothing of how it does it. What happens when is drawn before, so that a seed has the
// same story each time, but for what depends on how the cluster is then. Start reading at Play; kinds in actions.go
// lists what may happen, and check.go and rest.go what must hold.
package live

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/test/demo/stack"
)

// Script is a drawn story.
type Script struct {
	Seed     uint64
	examples string   // the folder of the config
	aws      []string // flags of the simulated AWS
	standby  bool     // a second watcher and a second actuator stand by
	daemons  bool     // each node has a DaemonSet's pod
	pools    []pool
	acts     []act
}

// act is something that happens some time after what happened before it.
type act struct {
	after time.Duration
	kind  kind
	seed  uint64 // of all that is drawn while it is done
}

// pool is a drawn NodePool.
type pool struct {
	name, class, capacity string
	policy, after, budget string // "" is the default budget
	expire, drainFor      string
	weight, cpu, replicas int // 0 is no weight, no limit, and not static
	tainted               bool
}

// base is the pool that can hold every pod that names no pool, so that those must run.
const base = "base"

// bounded says that the pool can't always have a node more.
func (p pool) bounded() bool { return p.cpu > 0 || p.static() }

// static says that the pool has as many nodes as replicas.
func (p pool) static() bool { return p.replicas > 0 }

// instanceTypes are those of the pools.
const instanceTypes = "c5.large, m5.large, r5.large, m5a.large, c5.xlarge, m5.xlarge, r5.xlarge, c5.2xlarge"

func cores(instanceType string) int64 {
	switch _, size, _ := strings.Cut(instanceType, "."); size {
	case "large":
		return 2
	case "xlarge":
		return 4
	}
	return 8
}

func anyType(r *rand.Rand) string { return pick(r, strings.Split(instanceTypes, ", ")...) }

// reservation is one that class b selects.
const reservation = "cr-0a"

// Options are the stack that the story is for.
func (s Script) Options() stack.Options {
	return stack.Options{
		Seed: s.Seed, Examples: s.examples, Standby: s.standby, ZonalShift: true, AWS: s.aws, Reserved: []string{reservation + ",m5.large,us-east-1b,2,default"},
	}
}

const fewest, more = 14, 15 // things that happen: up to 28

// Draw draws a story.
func Draw(seed uint64) Script {
	r := rand.New(rand.NewPCG(seed, 0x6c697665)) //nolint:gosec // a test's choices must be repeatable
	s := Script{Seed: seed, examples: pick(r, "config", "config-next"), standby: r.IntN(3) == 0, daemons: r.IntN(2) == 0}
	s.aws = pick(r, nil, nil, []string{"-limits"}, []string{"-describe-lag=2s"}, []string{"-spot-warning=10s"}, []string{"-describe-lag=5s", "-spot-warning=20s", "-limits"})
	for i := range 3 + r.IntN(3) {
		s.pools = append(s.pools, drawPool(r, i))
	}
	all := kinds()
	for range 3 { // something is there before anything happens to it
		s.acts = append(s.acts, act{kind: all[0], seed: r.Uint64()})
	}
	var bag []kind
	for _, k := range all {
		for range k.weight {
			bag = append(bag, k)
		}
	}
	for range fewest + r.IntN(more) {
		s.acts = append(s.acts, act{after: time.Duration(float64(10*time.Second) * r.Float64() * r.Float64()), kind: pick(r, bag...), seed: r.Uint64()})
	}
	return s
}

func drawPool(r *rand.Rand, i int) pool {
	p := pool{
		name: base, capacity: "on-demand", class: "a", expire: "Never",
		policy: pick(r, "WhenEmptyOrUnderutilized", "WhenEmptyOrUnderutilized", "WhenEmpty", "Balanced"),
		after:  pick(r, "0s", "2s", "5s"),
		budget: pick(r, "100%", "50%", "2", "1", ""),
	}
	if i == 0 {
		return p
	}
	p.name = fmt.Sprintf("p%d", i)
	p.class, p.capacity = pick(r, "a", "b"), pick(r, "spot", "on-demand", "spot, on-demand", "reserved, on-demand")
	p.weight, p.cpu = pick(r, 0, 0, 10, 50), pick(r, 0, 0, 0, 16)
	p.expire, p.drainFor = pick(r, "Never", "Never", "Never", "60s"), pick(r, "", "", "15s")
	p.tainted = r.IntN(3) == 0
	if r.IntN(5) == 0 {
		p.replicas, p.weight, p.cpu = 1+r.IntN(2), 0, 0
	}
	return p
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// manifest is the pool as users write it. A static one has small nodes, so that they are seen to be as many as it wants.
func (p pool) manifest() string {
	some := func(when bool, format string, args ...any) string {
		if !when {
			return ""
		}
		return fmt.Sprintf(format, args...)
	}
	types := instanceTypes
	if p.static() {
		types = "c5.large, m5.large"
	}
	return fmt.Sprintf(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  disruption: {consolidationPolicy: %s, consolidateAfter: %s%s}
  template:
    metadata: {labels: {pool: %s}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [%s]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}
      expireAfter: %s
`, p.name, p.policy, p.after, some(p.budget != "", ", budgets: [{nodes: %q}]", p.budget), p.name, p.class, p.capacity, types, p.expire) +
		some(p.drainFor != "", "      terminationGracePeriod: %s\n", p.drainFor) +
		some(p.tainted, "      taints: [{key: only, value: %s, effect: NoSchedule}]\n", p.name) +
		some(p.weight > 0, "  weight: %d\n", p.weight) + some(p.static(), "  replicas: %d\n", p.replicas) +
		some(p.cpu > 0, "  limits: {cpu: %d}\n", p.cpu)
}

// daemonManifest has the priority of daemons, which come after the pods that a node was bought for.
const daemonManifest = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec:
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec:
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: pause, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
`

// worldManifest is what is there at first. Volumes are, since nothing here makes any: so many in each zone.
func (s Script) worldManifest() string {
	const disks = 20
	all := []string{
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: important}\nvalue: 1000\n",
		"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: disks}\nprovisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n",
	}
	for i, reserved := range []string{"", "  capacityReservationSelectorTerms: [{id: " + reservation + "}]\n"} {
		all = append(all, `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: `+"ab"[i:i+1]+`}
spec:
  role: KerfNodeRole-kerf-demo
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
`+reserved)
	}
	for i := range 3 * disks {
		zone := "abc"[i/disks : i/disks+1]
		all = append(all, fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-%d}
spec:
  storageClassName: disks
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-%d}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1%s]}]}]}}
`, i, i, zone))
	}
	if s.daemons {
		all = append(all, daemonManifest)
	}
	for _, p := range s.pools {
		all = append(all, p.manifest())
	}
	return strings.Join(all, "---\n")
}

// workload draws a Deployment, a StatefulSet or a Job for the pods of a pool, or of any that is open to all where that
// has no name, and says it in a few words.
func workload(r *rand.Rand, kind, name string, in pool) (text, told string) {
	replicas, cpu, memory := 1+r.IntN(8), pick(r, 100, 250, 500, 900, 1400), pick(r, 128, 512, 1024, 2048)
	var spec, annotations, budget strings.Builder
	told = fmt.Sprintf("%s %s: %d of %dm and %d MiB", kind, name, replicas, cpu, memory)
	add := func(to *strings.Builder, when bool, word, text string) {
		if when {
			to.WriteString(text)
			told += ", " + word
		}
	}
	labels := fmt.Sprintf("{matchLabels: {app: %s}}", name)
	add(&spec, r.IntN(5) == 0, "one a node", "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "+labels+"}]}}\n")
	add(&spec, r.IntN(5) == 0, "spread over zones", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: "+labels+"}]\n")
	add(&spec, r.IntN(6) == 0, "important", "      priorityClassName: important\n")
	add(&spec, in.name != "", "in pool "+in.name, fmt.Sprintf("      nodeSelector: {pool: %s}\n      tolerations: [{key: only, value: %s}]\n", in.name, in.name))
	add(&annotations, r.IntN(6) == 0, "do-not-disrupt", `, annotations: {karpenter.sh/do-not-disrupt: "true"}`)
	group, size := "apps", fmt.Sprintf("  replicas: %d\n  selector: %s\n", replicas, labels)
	var disks strings.Builder
	switch kind {
	case "StatefulSet":
		size += "  serviceName: none\n"
		add(&disks, r.IntN(2) == 0, "with a disk each", `  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {storageClassName: disks, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`)
	case "Job":
		group, size = "batch", fmt.Sprintf("  completions: %d\n  parallelism: %d\n", replicas, 1+replicas/2)
		spec.WriteString("      restartPolicy: Never\n")
	}
	// A budget of pods that don't run keeps their nodes for good.
	add(&budget, kind != "Job" && !in.bounded() && r.IntN(3) == 0, "one away at most", "---\n"+budgetManifest(name, name, 1))
	return fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: %s}\nspec:\n%s  template:\n    metadata: {labels: {app: %s}%s}\n    spec:\n%s",
		group, kind, name, size+disks.String(), name, annotations.String(), spec.String()) + fmt.Sprintf(`      terminationGracePeriodSeconds: %d
      containers: [{name: main, image: pause, resources: {requests: {cpu: %dm, memory: %dMi}}}]
`, r.IntN(4), cpu, memory) + budget.String(), told
}

func budgetManifest(name, app string, away int) string {
	return fmt.Sprintf("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s}\nspec: {maxUnavailable: %d, selector: {matchLabels: {app: %s}}}\n", name, away, app)
}
