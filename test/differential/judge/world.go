package judge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// world is the cluster once all claims have their nodes.
type world struct {
	*trial
	rand *rand.Rand
	// objects are the trial's, with the devices that pods are given in this world.
	objects *kube.Objects
	// late says whether a DaemonSet's pod that is still to start on the i-th node, which has joined, is there in this draw.
	late  func(i int) bool
	nodes []*kube.Node
	pods  []*kube.Pod
	// launched says what each claim's node was launched as.
	launched map[string]model.RankedOffering
	// offerings is how many offerings each claim lists.
	offerings map[string]int
	// lingers says which of the nodes on their way out are there still, with the pods that the plan has no other place
	// for; nil for none.
	lingers func(name model.NodeName) bool
	// joined is how many of the nodes have joined; the others are to come, up to those that linger.
	joined, lingering int
}

// world draws what the claims are launched as. In draw 0 each is what it lists first. Forced says of some nodes which of
// their offerings it must be.
func (t *trial) world(number int, forced map[string]int) *world {
	w := &world{
		trial: t, objects: t.objects.Fork(), rand: rand.New(rand.NewPCG(t.c.Seed, uint64(number))), //nolint:gosec // not a secret
		launched: make(map[string]model.RankedOffering), offerings: make(map[string]int),
	}
	switch number {
	case 0:
		w.late = func(int) bool { return true }
	case 1:
		w.late = func(int) bool { return false }
	default:
		r := rand.New(rand.NewPCG(t.c.Seed, uint64(100+number))) //nolint:gosec // not a secret
		w.late = func(int) bool { return r.IntN(2) == 0 }
	}
	s := &t.c.Input.Snapshot
	joined := make(map[model.ClaimID]bool)
	for i := range s.Nodes {
		joined[s.Nodes[i].Claim] = true
		if t.leaving(&s.Nodes[i]) {
			continue
		}
		w.nodes = append(w.nodes, t.joined(&s.Nodes[i]))
	}
	w.joined = len(w.nodes)
	for i := range s.Claims {
		c := &s.Claims[i]
		if joined[c.ID] {
			continue
		}
		own := claim{
			name: "claim-" + string(c.ID), pool: t.pool(c.NodePool), offerings: c.Offerings, requirements: c.Requirements,
			labels: c.Labels, taints: c.Taints,
		}
		if c.InstanceType != "" {
			own.offerings = []model.RankedOffering{{InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType}}
		}
		w.join(own, number, forced)
	}
	for i := range t.Plan.NodeClaims {
		c, pool := &t.Plan.NodeClaims[i], t.pool(t.Plan.NodeClaims[i].NodePool)
		w.join(claim{
			name: "claim-" + string(c.ID), pool: pool, offerings: c.Offerings, requirements: c.Requirements,
			labels: pool.Labels, taints: pool.Taints,
		}, number, forced)
	}
	return w
}

// claim is one whose node has not joined, in flight or planned.
type claim struct {
	name         string
	pool         *model.NodePool
	offerings    []model.RankedOffering
	requirements []model.Requirement
	labels       model.Labels
	taints       []model.Taint
}

func (t *trial) pool(name model.PoolName) *model.NodePool {
	for i := range t.c.Input.Snapshot.NodePools {
		if p := &t.c.Input.Snapshot.NodePools[i]; p.Name == name {
			return p
		}
	}
	return &model.NodePool{Name: name}
}

func (t *trial) instanceType(name model.TypeName) *model.InstanceType {
	for i := range t.c.Input.Snapshot.Catalogs {
		types := t.c.Input.Snapshot.Catalogs[i].InstanceTypes
		for j := range types {
			if types[j].Name == name {
				return &types[j]
			}
		}
	}
	return &model.InstanceType{Name: name}
}

// join adds the node of a claim.
func (w *world) join(c claim, number int, forced map[string]int) {
	if len(c.offerings) == 0 {
		return
	}
	o := c.offerings[0]
	if number > 0 {
		o = c.offerings[w.rand.IntN(len(c.offerings))]
	}
	if i, ok := forced[c.name]; ok {
		o = c.offerings[i]
	}
	w.offerings[c.name], w.launched[c.name] = len(c.offerings), o
	w.nodes = append(w.nodes, w.newNode(c.name, c.pool, o, w.open(c.labels, c.requirements), c.taints))
}

// open adds to labels what the actuator gives a node for its claim's requirements on labels of the user's own: one of the
// values that a requirement lists, and nothing for those that list none.
func (w *world) open(own model.Labels, rs []model.Requirement) model.Labels {
	for _, r := range rs {
		_, decided := own.Get(r.Key)
		if !decided && r.Operator == model.In && len(r.Values) > 0 {
			own = gen.With(own, r.Key, r.Values[w.rand.IntN(len(r.Values))])
		}
	}
	return own
}

// newNode is the node that an offering makes, once it is ready. Labels that follow from the offering win over own.
func (t *trial) newNode(name string, pool *model.NodePool, o model.RankedOffering, own model.Labels, taints []model.Taint) *kube.Node {
	key := fmt.Sprintf("%s of %s: %s/%s/%s %v", name, pool.Name, o.InstanceType, o.Zone, o.CapacityType, own)
	return once(t.made.nodes, key, func() *kube.Node {
		n := t.nodeOf(name, pool, o, own, taints)
		return kube.NewNode(&n)
	})
}

func (t *trial) nodeOf(name string, pool *model.NodePool, o model.RankedOffering, own model.Labels, taints []model.Taint) model.Node {
	it := t.instanceType(o.InstanceType)
	n := model.Node{Name: model.NodeName(name), Taints: taints, Allocatable: t.overlaid(it, o), VolumeLimits: t.attachLimits(it.Name)}
	n.Devices = devices(pool, o.InstanceType)
	t.equip(&n, pool.Name, o.InstanceType)
	n.Labels = gen.Over(own, gen.NodeLabels(pool, it.Labels, o.Zone, o.CapacityType))
	n.Labels = gen.With(n.Labels, labels.Hostname, name)
	return n
}

// reset hands the cluster to the scheduler: the nodes, the pods that are bound, and on each new node the DaemonSets' pods,
// which are there before any other: they tolerate that it is not ready. On a node that has joined, a DaemonSet's pod that
// does not run yet may come before the other pods, after them or never.
func (w *world) reset() error {
	w.linger()
	for i := range w.c.Input.Snapshot.Pods {
		if p := &w.c.Input.Snapshot.Pods[i]; p.Node != "" && w.stays(p) {
			w.pods = append(w.pods, w.running(p))
		} else if p.Node != "" {
			w.objects.Free(w.running(p))
		}
	}
	for i, n := range w.nodes {
		for _, d := range w.daemons(n) {
			if i >= w.joined && i < w.lingering || w.late(i) {
				w.pods = append(w.pods, d)
			}
		}
	}
	return w.s.Reset(w.objects, w.nodes, w.pods)
}

// daemons are the pods that DaemonSets will still start on a node: where it has capacity for them or not, they are ahead.
// Where the node lacks what they need they are made, too, and stay pending, which no other pod's rules see.
func (t *trial) daemons(n *kube.Node) []*kube.Pod {
	if made, is := t.made.daemons[n]; is {
		return made
	}
	var out []*kube.Pod
	for _, d := range t.c.Input.Snapshot.DaemonSets {
		class := t.classes[d.Class]
		runs := slices.ContainsFunc(t.c.Input.Snapshot.Pods, func(p model.Pod) bool {
			return p.Class == d.Class && string(p.Node) == n.Name
		})
		if class == nil || runs {
			continue
		}
		id := class.Namespace + "/" + string(d.Class) + "-" + n.Name
		pod := kube.NewPod(&model.Pod{ID: model.PodID(id), Class: d.Class, Node: model.NodeName(n.Name)}, class)
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
		if admits(pod, n) && n.Has(class) {
			out = append(out, pod)
		}
	}
	t.made.daemons[n] = out
	return out
}

// admits is the DaemonSet controller's rule.
func admits(pod *kube.Pod, n *kube.Node) bool {
	fits, err := nodeaffinity.GetRequiredNodeAffinity(pod.Pod).Match(n.Node)
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, pod.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute || t.Effect == corev1.TaintEffectNoSchedule
	}, false)
	return err == nil && fits && !untolerated
}

func (w *world) bind(pod *kube.Pod, node string) error {
	if v := w.virtual(model.PodID(pod.UID)); v != nil {
		return w.keep(w.classes[v.Class].Requests, node)
	}
	bound, err := w.s.Bind(pod, node)
	if err != nil {
		return err
	}
	w.pods = append(w.pods, bound)
	return nil
}

// keep takes from a node what a buffer keeps there. No pod is there that other pods' rules could count.
func (w *world) keep(requests model.Amounts, node string) error {
	i := slices.IndexFunc(w.nodes, func(n *kube.Node) bool { return n.Name == node })
	if i < 0 {
		return fmt.Errorf("capacity is kept on %s, which is no node", node)
	}
	w.nodes[i] = w.nodes[i].Less(kube.Resources(requests))
	return w.s.Change(w.nodes[i])
}

// has says whether a node is there.
func (w *world) has(name string) bool {
	return slices.ContainsFunc(w.nodes, func(n *kube.Node) bool { return n.Name == name })
}

func (w *world) target(p model.Placement) string {
	if p.Node != "" {
		return string(p.Node)
	}
	return "claim-" + string(p.Claim)
}

// describe says what a node is.
func (w *world) describe(name string) string {
	o, ok := w.launched[name]
	if !ok {
		return name
	}
	for _, n := range w.nodes {
		if n.Name == name {
			return fmt.Sprintf("%s (%s/%s/%s, %s)", name, o.InstanceType, o.Zone, o.CapacityType, ownLabels(n.Labels))
		}
	}
	return name
}

func ownLabels(ls map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(ls)) {
		if !strings.Contains(key, "/") {
			out = append(out, key+"="+ls[key])
		}
	}
	return strings.Join(out, ",")
}
