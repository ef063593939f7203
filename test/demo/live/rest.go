package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/demo/story"
)

// await waits until check has had no complaint, and nothing has changed, for some time.
func (p *player) await(ctx context.Context, what string, still time.Duration, check func(story.World) string) {
	began, since, last := time.Now(), time.Now(), ""
	for pause(ctx, lookEvery) == nil {
		w := p.world()
		complaint := check(w)
		if now := shape(w); complaint != "" || now != last {
			since, last = time.Now(), now
		}
		switch {
		case w.Blind == nil && time.Since(since) > still:
			p.told("%s, after %s", what, time.Since(began).Round(time.Second))
			return
		case time.Since(began) > restTimeout:
			p.wrong("%s: not within %s: %s\n%s", what, restTimeout, complaint, w)
			return
		}
	}
}

// shape is all of a world that must not change any more once it is at rest.
func shape(w story.World) string {
	var b strings.Builder
	for i := range w.Pods {
		fmt.Fprintln(&b, w.Pods[i].UID, w.Pods[i].Spec.NodeName)
	}
	for _, c := range w.Live() {
		fmt.Fprintln(&b, c.GetId(), c.GetState(), c.GetDisruption())
	}
	fmt.Fprintln(&b, len(w.AWS.Instances), len(w.Instances()), w.NodeClaims)
	return b.String()
}

// rests waits until the cluster is at rest, and checks what must hold then.
func (p *player) rests(ctx context.Context) {
	p.await(ctx, "the cluster is at rest", restFor, func(w story.World) string {
		complaints := slices.Concat(p.pods(w), p.claims(ctx, w), p.nodes(w))
		if err := w.Audit(); err != nil {
			complaints = append(complaints, err.Error())
		}
		return strings.Join(append(complaints, p.objects(ctx, w)...), "; ")
	})
}

// pods complains of pods that do not run, though they can.
func (p *player) pods(w story.World) (complaints []string) {
	for i := range w.Pods {
		pod := &w.Pods[i]
		if pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil || pod.Spec.NodeName == "" && p.mayPend(pod) || story.Up(pod) {
			continue
		}
		complaints = append(complaints, fmt.Sprintf("pod %s is %s on %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName))
	}
	return complaints
}

// mayPend says that the pod is for a pool that can't have as many nodes as pods may need.
func (p *player) mayPend(pod *corev1.Pod) bool {
	return p.bounded(pod.Spec.NodeSelector["pool"])
}

// bounded says that the pool of that name can not always have a node more.
func (p *player) bounded(name string) bool {
	return slices.ContainsFunc(p.script.Pools, func(q pool) bool { return q.name == name && q.bounded() })
}

// claims complains of claims that are under way, and of nodes that are not what their pools ask for.
func (p *player) claims(ctx context.Context, w story.World) (complaints []string) {
	add := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	for _, c := range w.Live() {
		if c.GetState() != clusterpb.ClaimState_CLAIM_STATE_INITIALIZED {
			add("claim %s is %s", c.GetId(), c.GetState())
		}
		// A pool that is full can't replace its nodes, and one whose last replacement failed waits for a quarter of an hour.
		if c.GetDrifted() != nil && !p.bounded(c.GetNodePool()) && !p.paused(ctx, c.GetNodePool()) {
			add("claim %s has drifted: %s", c.GetId(), c.GetDrifted().GetMessage())
		}
	}
	return complaints
}

// nodes complains where instances and nodes are not one to one, of nodes that are unfit, and of those without a use.
func (p *player) nodes(w story.World) (complaints []string) {
	add := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	nodes, used, count := map[string]*corev1.Node{}, map[string]bool{}, map[string]int{}
	for i := range w.Pods {
		if w.Pods[i].Status.Phase == corev1.PodRunning && !ofDaemon(&w.Pods[i]) {
			used[w.Pods[i].Spec.NodeName] = true
		}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		nodes[n.Name] = n
		in := n.Labels[labels.NodePool]
		count[in]++
		if !p.static(in) && !used[n.Name] {
			add("node %s of pool %s has no pods, and stays", n.Name, in)
		}
		for _, t := range n.Spec.Taints {
			if t.Key != "only" {
				add("node %s has taint %s", n.Name, t.ToString())
			}
		}
	}
	for _, q := range p.script.Pools {
		if q.replicas > 0 && count[q.name] != q.replicas {
			add("pool %s has %d nodes, and wants %d", q.name, count[q.name], q.replicas)
		}
	}
	for _, i := range w.Instances() {
		if nodes[i.NodeName] == nil {
			add("instance %s has no node", i.ID)
		}
		delete(nodes, i.NodeName)
	}
	for name := range nodes {
		add("node %s has no instance", name)
	}
	return complaints
}

// paused says that the pool has once been said to wait with its drift.
func (p *player) paused(ctx context.Context, pool string) bool {
	list, err := p.Kubernetes.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "reason=DriftPaused,involvedObject.kind=NodePool,involvedObject.name=" + pool,
	})
	return err == nil && len(list.Items) > 0
}

// objects complains of statuses that are not what is true.
func (p *player) objects(ctx context.Context, w story.World) (complaints []string) {
	add := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	count, cpu := map[string]int64{}, map[string]int64{}
	for i := range w.Nodes {
		in := w.Nodes[i].Labels[labels.NodePool]
		count[in]++
		cpu[in] += w.Nodes[i].Status.Capacity.Cpu().Value()
	}
	list, err := p.Dynamic.Resource(pools()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for _, o := range list.Items {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "nodes")
		if n != count[o.GetName()] {
			add("pool %s says that it has %d nodes, and has %d", o.GetName(), n, count[o.GetName()])
		}
		text, _, _ := unstructured.NestedString(o.Object, "status", "resources", "cpu")
		if has := fmt.Sprint(cpu[o.GetName()]); text != has && (text != "" || has != "0") {
			add("pool %s says that it has %s cores, and has %s", o.GetName(), text, has)
		}
		appendText(&complaints, notTrue(o, "Ready", "ValidationSucceeded", "NodeClassReady"))
	}
	if list, err = p.Dynamic.Resource(classes()).List(ctx, metav1.ListOptions{}); err != nil {
		return []string{err.Error()}
	}
	for _, o := range list.Items {
		appendText(&complaints, notTrue(o, "Ready"))
	}
	if list, err = p.Dynamic.Resource(nodeClaims()).List(ctx, metav1.ListOptions{}); err != nil {
		return []string{err.Error()}
	}
	instances := map[string]string{}
	for _, i := range w.Instances() {
		instances["aws:///"+i.Zone+"/"+i.ID] = i.NodeName
	}
	for _, o := range list.Items {
		id, _, _ := unstructured.NestedString(o.Object, "status", "providerID")
		node, _, _ := unstructured.NestedString(o.Object, "status", "nodeName")
		if has, ok := instances[id]; !ok || has != node {
			add("NodeClaim %s says that it is instance %q and node %q, which is %q", o.GetName(), id, node, has)
		}
		delete(instances, id)
		appendText(&complaints, notTrue(o, "Ready", "Launched", "Registered", "Initialized"))
	}
	for _, id := range slices.Sorted(maps.Keys(instances)) {
		add("instance %s has no NodeClaim", id)
	}
	return complaints
}

func appendText(to *[]string, text string) {
	if text != "" {
		*to = append(*to, text)
	}
}

// notTrue names the conditions of an object that are not true, or not of its generation.
func notTrue(o unstructured.Unstructured, wanted ...string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, want := range wanted {
		if !slices.ContainsFunc(conditions, func(c any) bool {
			m, ok := c.(map[string]any)
			return ok && m["type"] == want && m["status"] == "True"
		}) {
			return fmt.Sprintf("%s %s: %s is not true: %v", o.GetKind(), o.GetName(), want, conditions)
		}
	}
	return ""
}

// left complains of what is left when all is deleted.
func (p *player) left(ctx context.Context, w story.World) string {
	live := len(w.Instances())
	for _, i := range w.AWS.Instances {
		if !i.Live() && i.State != "terminated" {
			live++
		}
	}
	objects := 0
	for _, r := range []string{"nodepools", "ec2nodeclasses"} {
		gvr := pools()
		if r == "ec2nodeclasses" {
			gvr = classes()
		}
		list, err := p.Dynamic.Resource(gvr).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		objects += len(list.Items)
	}
	if n := live + objects + len(w.Nodes) + len(w.NodeClaims) + len(w.Live()) + len(w.AWS.LaunchTemplates); n > 0 {
		return fmt.Sprintf("left are %d pools and classes, %d instances, %d nodes, %d NodeClaims, %d live claims, %d launch templates, profiles %v", objects, live,
			len(w.Nodes), len(w.NodeClaims), len(w.Live()), len(w.AWS.LaunchTemplates), w.AWS.InstanceProfiles)
	}
	return ""
}
