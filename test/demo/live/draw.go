// Package live plays stories that no one has written: from a seed it draws a world of pools, and things that users, AWS and
// machines do to it for two minutes, plays them on a running stack, and checks from outside that what must hold at any time
// holds, and that the cluster comes to rest as it should.
//
// It knows what Kerf promises and nothing of how it does it. What happens when is drawn before, so that a seed has the same
// story each time, but for what depends on how the cluster is then. Start reading at Play; kinds in actions.go lists what may
// happen, and check.go and rest.go what must hold.
package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Script is a drawn story.
type Script struct {
	Seed uint64
	// Examples is the folder of the config that is played with.
	Examples string
	// daemons says that each node has a DaemonSet's pod.
	daemons bool
	Pools   []pool
	acts    []act
}

// act is something that happens some time after what happened before it.
type act struct {
	after time.Duration
	kind  kind
	seed  uint64 // of all that is drawn while it is done
}

// pool is a drawn NodePool.
type pool struct {
	name             string
	capacity         []string // capacity types
	policy           string
	after            string // consolidateAfter
	budget           string // "" is the default
	weight           int
	cpu              int // limit; 0 is none
	expire, drainFor string
	tainted          bool
	replicas         int // of a static pool; 0 is none
	class            string
}

// base is the pool that can hold every pod that names no pool, so that those must run.
const base = "base"

// bounded says that the pool has a limit, or a fixed number of nodes.
func (p pool) bounded() bool { return p.cpu > 0 || p.replicas > 0 }

// cores are what instance types of the pools have.
func cores() map[string]int64 {
	return map[string]int64{
		"c5.large": 2, "m5.large": 2, "r5.large": 2, "m5a.large": 2, "c5.xlarge": 4, "m5.xlarge": 4, "r5.xlarge": 4, "c5.2xlarge": 8,
	}
}

const fewest, more = 12, 13 // things that happen: up to 24

// Draw draws a story.
func Draw(seed uint64) Script {
	r := rand.New(rand.NewPCG(seed, 0x6c697665)) //nolint:gosec // a test's choices must be repeatable
	s := Script{Seed: seed, Examples: pick(r, "config", "config-next"), Pools: []pool{drawPool(r, 0)}}
	for i := range 2 + r.IntN(3) {
		s.Pools = append(s.Pools, drawPool(r, i+1))
	}
	s.daemons = r.IntN(2) == 0
	// Something is there before anything happens to it.
	for _, name := range []string{"deployment", "deployment", "deployment"} {
		s.acts = append(s.acts, act{kind: kindOf(name), seed: r.Uint64()})
	}
	for range fewest + r.IntN(more) {
		s.acts = append(s.acts, act{after: time.Duration(float64(10*time.Second) * r.Float64() * r.Float64()), kind: anyKind(r), seed: r.Uint64()})
	}
	return s
}

func drawPool(r *rand.Rand, i int) pool {
	p := pool{
		name: base, capacity: []string{"on-demand"}, class: "a",
		policy: pick(r, "WhenEmptyOrUnderutilized", "WhenEmptyOrUnderutilized", "WhenEmpty", "Balanced"),
		after:  pick(r, "0s", "2s", "5s"),
		budget: pick(r, "100%", "50%", "2", "1", ""),
	}
	if i == 0 {
		return p
	}
	p.name = fmt.Sprintf("p%d", i)
	p.capacity = pick(r, []string{"spot"}, []string{"on-demand"}, []string{"spot", "on-demand"})
	p.class = pick(r, "a", "b")
	p.weight = pick(r, 0, 0, 10, 50)
	p.cpu = pick(r, 0, 0, 0, 16)
	p.expire = pick(r, "Never", "Never", "Never", "60s")
	p.drainFor = pick(r, "", "", "15s")
	p.tainted = r.IntN(3) == 0
	if r.IntN(5) == 0 {
		p.replicas, p.weight = 1+r.IntN(2), 0
	}
	return p
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// manifest is the pool as users write it.
func (p pool) manifest() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: %s}\nspec:", p.name)
	if p.weight > 0 {
		line("  weight: %d", p.weight)
	}
	if p.replicas > 0 {
		line("  replicas: %d", p.replicas)
	}
	if p.cpu > 0 && p.replicas == 0 {
		line("  limits: {cpu: %d}", p.cpu)
	}
	types := slices.Sorted(keys(cores()))
	if p.replicas > 0 {
		types = []string{"c5.large", "m5.large"}
	}
	line("  template:\n    metadata: {labels: {pool: %s}}\n    spec:", p.name)
	line("      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}", p.class)
	line("      requirements:\n      - {key: karpenter.sh/capacity-type, operator: In, values: [%s]}", strings.Join(p.capacity, ", "))
	line("      - {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}", strings.Join(types, ", "))
	line("      expireAfter: %s", orNever(p.expire))
	if p.drainFor != "" {
		line("      terminationGracePeriod: %s", p.drainFor)
	}
	if p.tainted {
		line("      taints: [{key: only, value: %s, effect: NoSchedule}]", p.name)
	}
	line("  disruption:\n    consolidationPolicy: %s\n    consolidateAfter: %s", p.policy, p.after)
	if p.budget != "" {
		line("    budgets: [{nodes: %q}]", p.budget)
	}
	return b.String()
}

func orNever(expire string) string {
	if expire == "" {
		return "Never"
	}
	return expire
}

func classManifest(name string) string {
	return fmt.Sprintf(`apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  role: KerfNodeRole-kerf-demo
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
`, name)
}

const daemonManifest = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec:
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec:
      priorityClassName: system-node-critical # as daemons have it, which come after the pods that a node was bought for
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: pause, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
`

// volumesManifest is a storage class, and volumes of it that are there already, as nothing here makes any: so many in each zone.
func volumesManifest(each int) string {
	var text strings.Builder
	text.WriteString("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: disks}\nprovisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n")
	for _, zone := range []string{"a", "b", "c"} {
		for i := range each {
			fmt.Fprintf(&text, `---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-%s%d}
spec:
  storageClassName: disks
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-%s%d}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1%s]}]}]}}
`, zone, i, zone, i, zone)
		}
	}
	return text.String()
}

// workload is a drawn Deployment, StatefulSet or Job.
type workload struct {
	kind, name string
	pool       string // "" for any that is open to all
	bounded    bool   // the pool can't always have a node more, so that not all of its pods may run
	replicas   int
}

// manifest draws the rest of a workload and says it in a few words.
func (w workload) manifest(r *rand.Rand, tainted bool) (text, told string) {
	cpu, memory := pick(r, 100, 250, 500, 900, 1400), pick(r, 128, 512, 1024, 2048)
	var spec, annotations, words string
	add := func(chance int, word, text string) {
		if r.IntN(chance) == 0 {
			spec, words = spec+text, words+", "+word
		}
	}
	selector := fmt.Sprintf("labelSelector: {matchLabels: {app: %s}}", w.name)
	add(5, "one a node", "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "+selector+"}]}}\n")
	add(5, "spread over zones", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, "+selector+"}]\n")
	add(6, "important", "      priorityClassName: important\n")
	if w.pool != "" {
		spec += fmt.Sprintf("      nodeSelector: {pool: %s}\n", w.pool)
		words += ", in pool " + w.pool
	}
	if tainted {
		spec += fmt.Sprintf("      tolerations: [{key: only, value: %s}]\n", w.pool)
	}
	if r.IntN(6) == 0 {
		annotations, words = `, annotations: {karpenter.sh/do-not-disrupt: "true"}`, words+", do-not-disrupt"
	}
	head := map[string]string{
		"Deployment":  "apiVersion: apps/v1\nkind: Deployment\n",
		"StatefulSet": "apiVersion: apps/v1\nkind: StatefulSet\n",
		"Job":         "apiVersion: batch/v1\nkind: Job\n",
	}[w.kind]
	size := fmt.Sprintf("  replicas: %d\n  selector: {matchLabels: {app: %s}}\n", w.replicas, w.name)
	switch w.kind {
	case "StatefulSet":
		size += "  serviceName: none\n"
		if r.IntN(2) == 0 {
			words += ", with a disk each"
			size += "  volumeClaimTemplates:\n  - {metadata: {name: data}, spec: {storageClassName: disks, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n"
		}
	case "Job":
		size = fmt.Sprintf("  completions: %d\n  parallelism: %d\n", w.replicas, 1+w.replicas/2)
		spec += "      restartPolicy: Never\n"
	}
	text = head + fmt.Sprintf("metadata: {name: %s}\nspec:\n%s  template:\n    metadata: {labels: {app: %s}%s}\n    spec:\n", w.name, size, w.name, annotations) + spec +
		fmt.Sprintf("      terminationGracePeriodSeconds: %d\n      containers:\n      - {name: main, image: pause, resources: {requests: {cpu: %dm, memory: %dMi}}}\n", r.IntN(4), cpu, memory)
	if w.kind != "Job" && !w.bounded && r.IntN(3) == 0 { // a budget of pods that don't run keeps their nodes for good
		words += ", one away at most"
		text += fmt.Sprintf("---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: %s}}}\n", w.name, w.name)
	}
	return text, fmt.Sprintf("%s %s: %d of %dm and %d MiB%s", w.kind, w.name, w.replicas, cpu, memory, words)
}

// Name is by what people know the story.
func (s Script) Name() string { return fmt.Sprintf("seed %d", s.Seed) }
