package live

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
)

// past is what was seen since the story began.
type past struct {
	hosts   map[string]bool // nodes on which a pod was
	evicted map[string]bool // pods that were evicted, by uid
	bound   map[string]bool // pods that had a node, by namespace/name
	sizes   map[string][]size
}

// size is how many nodes a pool had.
type size struct {
	at time.Time
	n  int
}

func newPast() past {
	return past{hosts: map[string]bool{}, evicted: map[string]bool{}, bound: map[string]bool{}, sizes: map[string][]size{}}
}

// wrong notes what is not as promised, once.
func (p *player) wrong(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found[text] {
		return
	}
	p.found[text] = true
	p.errs = append(p.errs, fmt.Errorf("%s: %s", time.Now().UTC().Format("15:04:05"), text))
	p.line.Line(show.Bad, text)
}

// touch notes that a node, or a claim, is not as Kerf would have it.
func (p *player) touch(name, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != "" && why != "" {
		p.blamed[name] = why
	}
}

func (p *player) world() story.World {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// watch looks at the world again and again, and checks what must hold at any time.
func (p *player) watch(ctx context.Context) {
	for pause(ctx, lookEvery) == nil {
		w := story.Look(ctx, p.Stack, p.world())
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.seen = w
		away := len(p.away) > 0
		p.mu.Unlock()
		if !away {
			for _, dead := range p.Dead() {
				p.wrong("%s", dead)
			}
		}
		for _, pool := range p.script.Pools {
			p.checkLimit(w, pool)
			p.checkBudget(w, pool)
		}
	}
}

// checkLimit is for what lives in AWS.
func (p *player) checkLimit(w story.World, pool pool) {
	if pool.cpu == 0 || pool.replicas > 0 {
		return
	}
	total := int64(0)
	for _, i := range w.Instances() {
		if i.Tags[labels.NodePool] == pool.name {
			total += cores()[i.InstanceType]
		}
	}
	if total > int64(pool.cpu) {
		p.wrong("pool %s has %d cores, and may have %d", pool.name, total, pool.cpu)
	}
}

// sizesFor is how long a plan may be on its way, which was made when the pool was larger.
const sizesFor = 10 * time.Second

// checkBudget counts the nodes that drain because Kerf chose so.
func (p *player) checkBudget(w story.World, pool pool) {
	draining, all := 0, 0
	for _, c := range w.Live() {
		if c.GetNodePool() != pool.name {
			continue
		}
		if c.GetState() >= clusterpb.ClaimState_CLAIM_STATE_REGISTERED {
			all++
		}
		if slices.Contains(byChoice(), c.GetDisruptionReason()) && c.GetState() == clusterpb.ClaimState_CLAIM_STATE_DRAINING {
			draining++
		}
	}
	now := time.Now()
	sizes := slices.DeleteFunc(append(p.past.sizes[pool.name], size{now, all}), func(s size) bool { return now.Sub(s.at) > sizesFor })
	p.past.sizes[pool.name] = sizes
	most := slices.MaxFunc(sizes, func(a, b size) int { return a.n - b.n }).n
	if allowed := budget(pool.budget, most); draining > allowed {
		p.wrong("pool %s: %d nodes drain at once by choice; its budget %q of %d nodes allows %d", pool.name, draining, pool.budget, most, allowed)
	}
}

func byChoice() []clusterpb.DisruptionReason {
	return []clusterpb.DisruptionReason{
		clusterpb.DisruptionReason_DISRUPTION_REASON_EMPTY, clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED,
		clusterpb.DisruptionReason_DISRUPTION_REASON_UNDERUTILIZED,
	}
}

// budget is how many of n nodes may go at once.
func budget(text string, n int) int {
	if text == "" {
		text = "10%"
	}
	percent, isShare := strings.CutSuffix(text, "%")
	v, err := strconv.Atoi(percent)
	switch {
	case err != nil:
		panic(err) // drawn so
	case isShare:
		return int(math.Ceil(float64(n*v) / 100))
	}
	return v
}

// follow hears of all that becomes of pods.
func (p *player) follow(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(p.Kubernetes, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { p.sees(o) },
		UpdateFunc: func(_, o any) { p.sees(o) },
		DeleteFunc: func(o any) { p.sees(o) },
	})
	factory.Start(ctx.Done())
	return err
}

func (p *player) sees(o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || ofDaemon(pod) {
		return
	}
	evicted := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "EvictionByEvictionAPI"
	})
	p.mu.Lock()
	p.past.hosts[pod.Spec.NodeName], p.past.bound[pod.Namespace+"/"+pod.Name] = true, true
	if evicted {
		p.past.evicted[string(pod.UID)] = true
	}
	blamed := p.blamed[pod.Spec.NodeName]
	in := ""
	for i := range p.seen.Nodes {
		if n := &p.seen.Nodes[i]; n.Name == pod.Spec.NodeName {
			in = n.Labels[labels.NodePool]
		}
	}
	p.mu.Unlock()
	bounded := slices.ContainsFunc(p.script.Pools, func(q pool) bool { return q.name == in && q.expire != "Never" && q.drainFor != "" })
	if evicted && blamed == "" && !bounded && pod.Annotations[labels.DoNotDisrupt] == "true" {
		p.wrong("pod %s is do-not-disrupt, and was evicted from %s", pod.Name, pod.Spec.NodeName)
	}
}

// readEvents looks for nodes that went and left nothing that says why.
func (p *player) readEvents(ctx context.Context) {
	list, err := p.Kubernetes.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=NodeClaim"})
	if err != nil {
		p.wrong("%v", err)
		return
	}
	why := map[string][]string{}
	for i := range list.Items {
		e := &list.Items[i]
		if !slices.Contains([]string{"Launched", "Registered", "Initialized", "Unconsolidatable", "DisruptionBlocked"}, e.Reason) {
			why[e.InvolvedObject.Name] = append(why[e.InvolvedObject.Name], e.Reason)
		}
	}
	for _, c := range p.world().Claims {
		p.mu.Lock()
		blamed := p.blamed[c.GetId()] != "" || p.blamed[c.GetNode()] != ""
		p.mu.Unlock()
		if c.GetNode() != "" && c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE && !blamed && len(why[c.GetId()]) == 0 {
			p.wrong("claim %s is gone (%s), and no event says why", c.GetId(), c.GetDisruptionReason())
		}
	}
}

func ofDaemon(pod *corev1.Pod) bool { return pod.Labels["app"] == "daemon" }

// readLogs looks for what no service must ever say.
func (p *player) readLogs() {
	for _, service := range stack.Services() {
		text, err := os.ReadFile(p.Log(service))
		if err != nil {
			p.wrong("%v", err)
			continue
		}
		for line := range strings.Lines(string(text)) {
			for _, bad := range []string{`"level":"ERROR"`, "panic", "DATA RACE", "goroutine "} {
				if strings.Contains(line, bad) {
					p.wrong("the %s says: %s", service, strings.TrimSpace(line[:min(len(line), 600)]))
				}
			}
		}
	}
}

// summary counts what was launched, and what for.
func (p *player) summary() string {
	w := p.world()
	p.mu.Lock()
	defer p.mu.Unlock()
	var idle strings.Builder
	n, vain := 0, 0
	for _, c := range w.Claims {
		if c.GetNode() != "" && !p.past.hosts[c.GetNode()] && p.blamed[c.GetNode()] == "" && p.blamed[c.GetId()] == "" && !p.static(c.GetNodePool()) {
			n++
			if slices.ContainsFunc(c.GetPods(), func(pod string) bool { return p.past.bound[pod] }) {
				vain++
			}
			fmt.Fprintf(&idle, "\n    %s (%s) for %s, launched at %s, ended %s %s", c.GetId(), c.GetInstanceType(), strings.Join(c.GetPods(), " "),
				c.GetLaunchTime().AsTime().Format("15:04:05"), c.GetDisruptionReason(), c.GetFailure().GetMessage())
		}
	}
	return fmt.Sprintf("%d instances launched, %d evictions, %d nodes that never had a pod, %d of them for pods that ran elsewhere%s",
		len(w.AWS.Instances), len(p.past.evicted), n, vain, idle.String())
}

func (p *player) static(name string) bool {
	return slices.ContainsFunc(p.script.Pools, func(q pool) bool { return q.name == name && q.replicas > 0 })
}
