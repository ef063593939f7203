package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
)

const (
	lookEvery = 250 * time.Millisecond
	// restTimeout is how long it may take until nothing changes any more, and restFor how long nothing must change then.
	restTimeout, restFor = 4 * time.Minute, 10 * time.Second
	readyTimeout         = 60 * time.Second
)

// player plays one story.
type player struct {
	*stack.Stack
	script    Script
	line      *show.Timeline
	workloads []workload
	made      int                           // workloads, in all
	undo      []func(context.Context) error // what gives the world its peace

	outages sync.WaitGroup
	mu      sync.Mutex
	seen    story.World
	away    map[string]bool   // processes that are killed, or stand still
	outage  bool              // one has been
	blamed  map[string]string // nodes and claims that others than Kerf have ended, or made unfit, and how
	found   map[string]bool   // what was found wrong
	errs    []error
	past    past
}

// Play plays the story of a script on a stack on which nothing was played yet. The error is all that was not as promised.
func Play(ctx context.Context, s *stack.Stack, line *show.Timeline, script Script) error {
	p := &player{
		Stack: s, script: script, line: line, away: map[string]bool{}, blamed: map[string]string{}, found: map[string]bool{}, past: newPast(),
	}
	if err := p.setUp(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := p.follow(ctx); err != nil {
		return err
	}
	defer p.outages.Wait() // none may start anything once the stack has stopped
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(ctx) })
	defer watching.Wait()
	defer cancel()

	line.Step(1, fmt.Sprintf("%d things happen, drawn from seed %d", len(script.acts), script.Seed), "")
	for _, a := range script.acts {
		if err := p.act(ctx, a); err != nil {
			return err
		}
	}
	line.Step(2, "nothing happens any more", "the cluster comes to rest, and all of it agrees")
	if err := p.peace(ctx); err != nil {
		return err
	}
	p.rests(ctx)
	line.Step(3, "all is deleted", "nothing is left")
	p.tearDown(ctx)
	if !p.outage { // what waits to be written is lost with a leader
		p.readEvents(ctx)
	}
	p.readLogs()
	line.Fact("summary", p.summary())
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

func (p *player) setUp(ctx context.Context) error {
	manifests := []string{
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: important}\nvalue: 1000\n", classManifest("a"), classManifest("b"), volumesManifest(20),
	}
	if p.script.daemons {
		manifests = append(manifests, daemonManifest)
	}
	for _, pool := range p.script.Pools {
		manifests = append(manifests, pool.manifest())
		p.line.Fact(pool.name, fmt.Sprintf("%+v", pool))
	}
	p.line.Fact("config", fmt.Sprintf("%s, with a DaemonSet: %t", p.script.Examples, p.script.daemons))
	return p.Cluster.Apply(ctx, []byte(strings.Join(manifests, "---\n")))
}

// act does one thing. It may fail while some process is away, as it would for a user.
func (p *player) act(ctx context.Context, a act) error {
	if err := pause(ctx, a.after); err != nil {
		return err
	}
	out := p.anyAway()
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	told, err := a.kind.do(within, p, rand.New(rand.NewPCG(a.seed, 0))) //nolint:gosec // a test's choices must be repeatable
	if err != nil && (out || p.anyAway()) {
		told, err = fmt.Sprintf("not done: %s: %v", a.kind.name, err), nil
	}
	if told != "" {
		p.told("%s", told)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.kind.name, err)
	}
	return nil
}

func (p *player) told(format string, args ...any) {
	p.line.Line(show.User, time.Now().UTC().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// without takes a process away, and gives it back after some time, while the story goes on. One that is away already stays so.
func (p *player) without(name, told string, d time.Duration, end func() error, start func(context.Context) error) (string, error) {
	p.mu.Lock()
	already := p.away[name]
	p.away[name], p.outage = true, true
	p.mu.Unlock()
	if already {
		return "", nil
	}
	if err := end(); err != nil {
		return "", err
	}
	p.outages.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), d+readyTimeout)
		defer cancel()
		err := errors.Join(pause(ctx, d), start(ctx))
		p.mu.Lock()
		delete(p.away, name)
		p.mu.Unlock()
		p.told("%s is back", name)
		if err != nil {
			p.wrong("%s does not come back: %v", name, err)
		}
	})
	return told, nil
}

func (p *player) anyAway() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.away) > 0
}

// later adds what is undone when the story ends.
func (p *player) later(do func(context.Context) error) { p.undo = append(p.undo, do) }

// peace ends all troubles: processes are back, AWS has everything, and no pod or pool keeps the cluster from coming to rest.
func (p *player) peace(ctx context.Context) error {
	p.outages.Wait()
	for _, do := range p.undo {
		if err := do(ctx); err != nil {
			return err
		}
	}
	p.undo = nil
	for _, pool := range p.script.Pools {
		if err := p.patchPool(ctx, pool.name, `{"spec":{"template":{"spec":{"expireAfter":"Never"}}}}`); err != nil {
			return err
		}
	}
	for _, w := range p.workloads { // what Jobs have is for good
		if w.kind == "Job" {
			continue
		}
		if err := p.patch(ctx, w, `{"spec":{"template":{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":null}}}}}`); err != nil {
			return err
		}
	}
	all, err := p.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range all.Items {
		free := []byte(`{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":null}}}`)
		_, err := p.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, all.Items[i].Name, types.MergePatchType, free, metav1.PatchOptions{})
		if ignoreGone(err) != nil {
			return err
		}
	}
	return nil
}

func (p *player) patchPool(ctx context.Context, name, patch string) error {
	_, err := p.Dynamic.Resource(pools()).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// tearDown deletes workloads, then pools and classes, and expects that nothing is left of either.
func (p *player) tearDown(ctx context.Context) {
	for _, w := range p.workloads {
		if err := p.drop(ctx, w); err != nil {
			p.wrong("delete %s: %v", w.name, err)
		}
	}
	for _, r := range []schema.GroupVersionResource{pools(), classes()} {
		if err := p.Dynamic.Resource(r).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			p.wrong("delete %s: %v", r.Resource, err)
		}
	}
	p.await(ctx, "nothing is left", time.Second, func(w story.World) string { return p.left(ctx, w) })
}

// drop deletes a workload.
func (p *player) drop(ctx context.Context, w workload) error {
	background := metav1.DeletePropagationBackground
	err := p.Kubernetes.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Delete(ctx, w.name, metav1.DeleteOptions{})
	if ignoreGone(err) != nil {
		return err
	}
	resource := p.Dynamic.Resource(w.resource()).Namespace(metav1.NamespaceDefault)
	return ignoreGone(resource.Delete(ctx, w.name, metav1.DeleteOptions{PropagationPolicy: &background}))
}

func (w workload) resource() schema.GroupVersionResource {
	switch w.kind {
	case "Job":
		return schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	case "StatefulSet":
		return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	}
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

func pools() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
}

func nodeClaims() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
}

func classes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
