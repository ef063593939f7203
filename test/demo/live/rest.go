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
	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/demo/story"
)

const (
	// restFor is how long nothing must change once the cluster is at rest.
	restFor = 10 * time.Second
	// stuckAfter is how long nothing may change before; a shortage of AWS's is remembered for three minutes. A busy
	// machine needs longer for each change, and makes no fewer. endless is for what changes for ever.
	stuckAfter, endless = 4 * time.Minute, 10 * time.Minute
)

// await waits until check has had no complaint, and nothing has changed, for some time.
func (p *player) await(ctx context.Context, what string, still time.Duration, check func(context.Context, story.World) []string) {
	began, changed, content, last := time.Now(), time.Now(), time.Now(), ""
	for pause(ctx, lookEvery) == nil {
		w := p.world()
		complaints := check(ctx, w)
		now := shape(w)
		moved := now != last
		if last = now; moved {
			changed = time.Now()
		}
		if moved || w.Blind != nil || len(complaints) > 0 {
			content = time.Now()
		}
		switch {
		case time.Since(content) > still:
			p.told("%s, after %s", what, time.Since(began).Round(time.Second))
			return
		case time.Since(changed) > stuckAfter || time.Since(began) > endless:
			p.wrong("%s: not after %s: %s\n%s", what, time.Since(began).Round(time.Second), strings.Join(complaints, "; "), w)
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

// complaints are what is not as it should be.
type complaints []string

func (c *complaints) add(when bool, format string, args ...any) {
	if when {
		*c = append(*c, fmt.Sprintf(format, args...))
	}
}

// restless complains of all that is not as it is at rest.
func (p *player) restless(ctx context.Context, w story.World) []string {
	var c complaints
	if err := w.Audit(); err != nil {
		c.add(true, "%v", err)
	}
	c.pods(p, w)
	c.claims(ctx, p, w)
	if len(c) > 0 {
		return c // the rest would only say what comes of it
	}
	for _, err := range []error{c.pools(ctx, p, w), c.buffers(ctx, p, w), c.nodeClaims(ctx, p, w)} {
		if err != nil {
			c.add(true, "%v", err)
		}
	}
	return c
}

// pods complains of pods that do not run, though they can: not all those for a pool that can't always have a node more.
func (c *complaints) pods(p *player, w story.World) {
	for i := range w.Pods {
		pod := &w.Pods[i]
		fine := pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil || story.Up(pod) ||
			pod.Spec.NodeName == "" && p.pool(pod.Spec.NodeSelector["pool"]).bounded()
		c.add(!fine, "pod %s is %s on %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
	}
}

// claims complains of claims that are under way, and of nodes that are not what their pools ask for.
func (c *complaints) claims(ctx context.Context, p *player, w story.World) {
	for _, x := range w.Live() {
		c.add(x.GetState() != clusterpb.ClaimState_CLAIM_STATE_INITIALIZED, "claim %s is %s", x.GetId(), x.GetState())
		// A pool that is full can't replace its nodes, and one whose last replacement failed waits for a quarter of an
		// hour.
		if x.GetDrifted() != nil && !p.pool(x.GetNodePool()).bounded() {
			c.add(!p.paused(ctx, x.GetNodePool()), "claim %s has drifted: %s", x.GetId(), x.GetDrifted().GetMessage())
		}
	}
}

// paused says that the pool has once been said to wait with its drift.
func (p *player) paused(ctx context.Context, pool string) bool {
	list, err := p.Kubernetes.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "reason=DriftPaused,involvedObject.kind=NodePool,involvedObject.name=" + pool,
	})
	return err == nil && len(list.Items) > 0
}

// pools complains of pools and classes that are not ready, or do not have the nodes that they want and tell of.
func (c *complaints) pools(ctx context.Context, p *player, w story.World) error {
	count, cpu := map[string]int64{}, map[string]int64{}
	for i := range w.Nodes {
		in := w.Nodes[i].Labels[labels.NodePool]
		count[in]++
		cpu[in] += w.Nodes[i].Status.Capacity.Cpu().Value()
	}
	list, err := p.list(ctx, "NodePool")
	if err != nil {
		return err
	}
	for _, o := range list {
		name := o.GetName()
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "nodes")
		c.add(n != count[name], "pool %s says that it has %d nodes, and has %d", name, n, count[name])
		text, _, _ := unstructured.NestedString(o.Object, "status", "resources", "cpu")
		has := fmt.Sprint(cpu[name])
		c.add(text != has && (text != "" || has != "0"), "pool %s says that it has %s cores, and has %s", name, text, has)
		want, static, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		c.add(static && want != count[name], "pool %s has %d nodes, and wants %d", name, count[name], want)
		c.notTrue(o, "Ready", "ValidationSucceeded", "NodeClassReady")
	}
	list, err = p.list(ctx, "EC2NodeClass")
	for _, o := range list {
		c.notTrue(o, "Ready")
	}
	return err
}

// buffers complains of buffers that are not looked after and, where there are none, of nodes without a use.
func (c *complaints) buffers(ctx context.Context, p *player, w story.World) error {
	list, err := p.list(ctx, "CapacityBuffer")
	if err != nil {
		return err
	}
	for _, o := range list {
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "scalableRef", "kind")
		of, err := p.api(kind).Get(ctx, o.GetName(), metav1.GetOptions{})
		if ignoreGone(err) != nil {
			return err
		}
		if err != nil {
			continue
		}
		c.notTrue(o, "ReadyForProvisioning")
		in, _, _ := unstructured.NestedString(of.Object, "spec", "template", "spec", "nodeSelector", "pool")
		replicas, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
		if replicas > 0 && !p.pool(in).bounded() && kind == "Deployment" {
			c.notTrue(o, "Provisioning")
		}
	}
	used := map[string]bool{}
	for i := range w.Pods {
		used[w.Pods[i].Spec.NodeName] = used[w.Pods[i].Spec.NodeName] || w.Pods[i].Status.Phase == corev1.PodRunning && !ofDaemon(&w.Pods[i])
	}
	for _, n := range w.Nodes {
		in := n.Labels[labels.NodePool]
		c.add(len(list) == 0 && !used[n.Name] && !p.pool(in).static(), "node %s of pool %s has no pods, and stays", n.Name, in)
	}
	return nil
}

// nodeClaims complains where instances, nodes and NodeClaims are not one to one to one, and of nodes that are unfit.
func (c *complaints) nodeClaims(ctx context.Context, p *player, w story.World) error {
	list, err := p.list(ctx, "NodeClaim")
	if err != nil {
		return err
	}
	instances, nodes := map[string]string{}, map[string]bool{}
	for _, i := range w.Instances() {
		instances["aws:///"+i.Zone+"/"+i.ID] = i.NodeName
	}
	for _, n := range w.Nodes {
		nodes[n.Name] = true
		for _, t := range n.Spec.Taints {
			c.add(t.Key != "only", "node %s has taint %s", n.Name, t.ToString())
		}
	}
	for _, o := range list {
		id, _, _ := unstructured.NestedString(o.Object, "status", "providerID")
		node, _, _ := unstructured.NestedString(o.Object, "status", "nodeName")
		has, ok := instances[id]
		c.add(!ok || has != node || !nodes[node], "NodeClaim %s says that it is instance %q and node %q, which is %q", o.GetName(), id, node, has)
		delete(instances, id)
		delete(nodes, node)
		c.notTrue(o, "Ready", "Launched", "Registered", "Initialized")
	}
	c.add(len(instances)+len(nodes) > 0, "no NodeClaim says that it is %v, or %v", slices.Sorted(maps.Keys(instances)), slices.Sorted(maps.Keys(nodes)))
	return nil
}

// notTrue complains of conditions of an object that are not true.
func (c *complaints) notTrue(o unstructured.Unstructured, wanted ...string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, want := range wanted {
		c.add(!slices.ContainsFunc(conditions, func(c any) bool {
			m, ok := c.(map[string]any)
			return ok && m["type"] == want && m["status"] == "True"
		}), "%s %s: %s is not true: %v", o.GetKind(), o.GetName(), want, conditions)
	}
}

// left complains of what is left when all is deleted.
func (p *player) left(ctx context.Context, w story.World) []string {
	var c complaints
	for _, kind := range []string{"NodePool", "EC2NodeClass", "NodeClaim", "CapacityBuffer"} {
		list, err := p.list(ctx, kind)
		c.add(err != nil || len(list) > 0, "there are %d of kind %s, %v", len(list), kind, err)
	}
	going := slices.DeleteFunc(slices.Clone(w.AWS.Instances), func(i awssim.InstanceState) bool { return i.State == "terminated" })
	c.add(len(going)+len(w.Nodes)+len(w.Live())+len(w.AWS.LaunchTemplates) > 0, "there are %d instances, %d nodes, %d live claims, %d launch templates",
		len(going), len(w.Nodes), len(w.Live()), len(w.AWS.LaunchTemplates))
	return c
}
