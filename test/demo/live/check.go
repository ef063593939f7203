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
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
)

// size is how many nodes a pool had.
type size struct {
	at time.Time
	n  int
}

// wrong notes what is not as promised, once.
func (p *player) wrong(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.found, text) {
		p.found = append(p.found, text)
		p.line.Line(show.Bad, time.Now().UTC().Format("15:04:05 ")+text)
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
		p.mu.Unlock()
		away := p.anyAway()
		for _, dead := range p.Dead() {
			if !away && !p.anyAway() {
				p.wrong("%s", dead)
			}
		}
		p.checkPods(w)
		for _, q := range p.script.pools {
			p.checkLimit(w, q)
			p.checkBudget(w, q, away)
		}
	}
}

// checkPods is of pods that run on an instance that Kerf has ended. Pods are looked at once more after the instance
// was: what ended before has ended then.
func (p *player) checkPods(w story.World) {
	for i := range w.Pods {
		pod := &w.Pods[i]
		if node := pod.Spec.NodeName; p.ending[node] && w.Blind == nil && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && !ofDaemon(pod) {
			p.wrong("pod %s runs on %s, whose instance is ended", pod.Name, node)
		}
	}
	p.ending = map[string]bool{}
	for _, i := range w.AWS.Instances {
		if !i.Live() && !p.isTouched(i.NodeName) && p.pool(i.Tags[labels.NodePool]).drainFor == "" {
			p.ending[i.NodeName] = true
		}
	}
}

// checkLimit is for what lives in AWS.
func (p *player) checkLimit(w story.World, q pool) {
	total := int64(0)
	for _, i := range w.Instances() {
		if i.Tags[labels.NodePool] == q.name {
			total += cores(i.InstanceType)
		}
	}
	if q.cpu > 0 && total > int64(q.cpu) {
		p.wrong("pool %s has %d cores, and may have %d", q.name, total, q.cpu)
	}
}

// sizesFor is how long a plan may be on its way, which was made when the pool was larger; while a process is away, for
// as long as it is.
const sizesFor = 10 * time.Second

// checkBudget counts the nodes that drain because Kerf chose so, when one more begins to. Those that began before stay,
// however few nodes others leave.
func (p *player) checkBudget(w story.World, q pool, away bool) {
	draining, all, more := 0, 0, false
	for _, c := range w.Live() {
		if c.GetNodePool() != q.name {
			continue
		}
		if c.GetState() >= clusterpb.ClaimState_CLAIM_STATE_REGISTERED {
			all++
		}
		switch c.GetDisruptionReason() { //nolint:exhaustive // the others have no choice
		case clusterpb.DisruptionReason_DISRUPTION_REASON_EMPTY, clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED,
			clusterpb.DisruptionReason_DISRUPTION_REASON_UNDERUTILIZED:
			if c.GetState() == clusterpb.ClaimState_CLAIM_STATE_DRAINING {
				draining++
				more = more || !p.draining[c.GetId()]
				p.draining[c.GetId()] = true
			}
		}
	}
	now := time.Now()
	sizes := append(p.sizes[q.name], size{now, all})
	if !away {
		sizes = slices.DeleteFunc(sizes, func(s size) bool { return now.Sub(s.at) > sizesFor })
	}
	p.sizes[q.name] = sizes
	most := slices.MaxFunc(sizes, func(a, b size) int { return a.n - b.n }).n
	if allowed := budget(q.budget, most); more && draining > allowed {
		p.wrong("pool %s: %d nodes drain at once by choice; its budget %q of %d nodes allows %d", q.name, draining, q.budget, most, allowed)
	}
}

// budget is how many of n nodes may go at once.
func budget(text string, n int) int {
	if text == "" {
		text = "10%"
	}
	number, isShare := strings.CutSuffix(text, "%")
	v, err := strconv.Atoi(number)
	if err != nil {
		panic(err) // drawn so
	}
	if isShare {
		return int(math.Ceil(float64(n*v) / 100))
	}
	return v
}

// follow hears of all that becomes of pods.
func (p *player) follow(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(p.Kubernetes, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    p.sees,
		UpdateFunc: func(_, o any) { p.sees(o) },
		DeleteFunc: p.sees,
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
	if evicted {
		p.evicted[string(pod.UID)] = true
	}
	touched, in := p.touched[pod.Spec.NodeName], pool{}
	for _, c := range p.seen.Claims {
		if c.GetNode() == pod.Spec.NodeName {
			in = p.pool(c.GetNodePool())
		}
	}
	p.mu.Unlock()
	endless := in.expire == "Never" || in.drainFor == ""
	// Of static pools a node more than are wanted goes for all the time that drains may take.
	if evicted && !touched && endless && !(in.static() && in.drainFor != "") && pod.Annotations[labels.DoNotDisrupt] == "true" {
		p.wrong("pod %s is do-not-disrupt, and was evicted from %s", pod.Name, pod.Spec.NodeName)
	}
}

func ofDaemon(pod *corev1.Pod) bool { return pod.Labels["app"] == "daemon" }

// readLogs looks for what no service must ever say.
func (p *player) readLogs() {
	services := stack.Services()
	if p.script.standby {
		services = append(services, stack.WatcherStandby, stack.ActuatorStandby)
	}
	for _, service := range services {
		text, err := os.ReadFile(p.Log(service))
		if err != nil {
			p.wrong("%v", err)
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
