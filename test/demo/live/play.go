package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
)

const (
	lookEvery    = 250 * time.Millisecond
	actTimeout   = time.Minute // far more than is needed, for machines that are busy
	readyTimeout = 60 * time.Second
)

// player plays one story.
type player struct {
	*stack.Stack
	script    Script
	line      *show.Timeline
	workloads []ref
	made      int                           // workloads, in all
	shifted   bool                          // there was a zonal shift
	undo      []func(context.Context) error // what gives the world its peace

	// What was seen when it was last looked.
	draining map[string]bool   // claims that have begun to drain
	ending   map[string]bool   // nodes whose instances AWS has ended
	sizes    map[string][]size // of pools, lately

	outages sync.WaitGroup
	mu      sync.Mutex
	seen    story.World
	evicted map[string]bool // pods that were, by uid
	away    map[string]bool // processes that are killed, or stand still
	touched map[string]bool // nodes that others than Kerf have ended, or made unfit
	found   []string        // what was found wrong
}

// Play plays the story of a script on a stack on which nothing was played yet. The error is all that was not as promised.
func Play(ctx context.Context, s *stack.Stack, line *show.Timeline, script Script) error {
	p := &player{
		Stack: s, script: script, line: line, away: map[string]bool{}, touched: map[string]bool{}, evicted: map[string]bool{}, draining: map[string]bool{}, sizes: map[string][]size{},
	}
	for _, q := range script.pools {
		line.Fact(q.name, fmt.Sprintf("%+v", q))
	}
	line.Fact("config", fmt.Sprintf("%s, with a DaemonSet: %t, with standbys: %t, of AWS: %v", script.examples, script.daemons, script.standby, script.aws))
	if err := p.Cluster.Apply(ctx, []byte(script.worldManifest())); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := p.follow(ctx); err != nil {
		cancel()
		return err
	}
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(ctx) })
	defer p.outages.Wait() // none may start anything once the stack has stopped
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
	p.await(ctx, "the cluster is at rest", restFor, p.restless)
	line.Step(3, "all is deleted", "nothing is left")
	for _, kind := range []string{"Deployment", "StatefulSet", "Job", "PodDisruptionBudget", "CapacityBuffer", "NodePool", "EC2NodeClass"} {
		if err := p.api(kind).DeleteCollection(ctx, inBackground(), metav1.ListOptions{}); err != nil {
			return fmt.Errorf("delete every %s: %w", kind, err)
		}
	}
	p.await(ctx, "nothing is left", time.Second, p.left)
	p.readLogs()
	instances := len(p.world().AWS.Instances)
	p.mu.Lock()
	defer p.mu.Unlock()
	line.Fact("summary", fmt.Sprintf("%d instances launched, %d evictions", instances, len(p.evicted)))
	if len(p.found) > 0 {
		return errors.New(strings.Join(p.found, "\n"))
	}
	return nil
}

// act does one thing. It may fail while some process is away, as it would for a user.
func (p *player) act(ctx context.Context, a act) error {
	if err := pause(ctx, a.after); err != nil {
		return err
	}
	out := p.anyAway()
	within, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	r, some := rand.New(rand.NewPCG(a.seed, 0)), a.kind.to(p) //nolint:gosec // a test's choices must be repeatable
	if len(some) == 0 {
		return nil
	}
	told, err := a.kind.do(within, p, r, pick(r, some...))
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

// without takes a process away, and gives it back after some time, while the story goes on. One that is away already
// stays so.
func (p *player) without(name, what string, d time.Duration, end func() error, start func(context.Context) error) (string, error) {
	p.mu.Lock()
	already := p.away[name]
	p.away[name] = true
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
		if err := errors.Join(pause(ctx, d), start(ctx)); err != nil {
			p.wrong("%s does not come back: %v", name, err)
		}
		p.mu.Lock()
		delete(p.away, name)
		p.mu.Unlock()
		p.told("%s is back", name)
	})
	return fmt.Sprintf("%s %s, for %s", name, what, d.Round(time.Millisecond)), nil
}

func (p *player) anyAway() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.away) > 0
}

// later adds what is undone when the story ends.
func (p *player) later(do func(context.Context) error) { p.undo = append(p.undo, do) }

// free takes the annotation of what must not be disrupted away.
const free = `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":null}}}`

// peace ends all troubles: processes are back, AWS has everything, and no pod, budget or pool keeps the cluster from
// coming to rest.
func (p *player) peace(ctx context.Context) error {
	p.outages.Wait()
	for _, q := range nodePools(p) {
		p.later(func(ctx context.Context) error {
			return p.patch(ctx, q, `{"spec":{"template":{"spec":{"expireAfter":"Never"}}}}`)
		})
	}
	for _, w := range scalable(p) { // what Jobs have is for good
		p.later(func(ctx context.Context) error { return p.patch(ctx, w, `{"spec":{"template":`+free+`}}`) })
	}
	p.later(func(ctx context.Context) error {
		all, err := p.list(ctx, "Pod")
		for _, pod := range all {
			err = errors.Join(err, p.patch(ctx, ref{kind: "Pod", name: pod.GetName()}, free))
		}
		return err
	})
	for _, do := range p.undo {
		if err := do(ctx); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
	}
	return nil
}

// pool is the drawn pool of that name; one that is "" where there is none.
func (p *player) pool(name string) pool {
	i := slices.IndexFunc(p.script.pools, func(q pool) bool { return q.name == name })
	if i < 0 {
		return pool{}
	}
	return p.script.pools[i]
}

// api is where objects of a kind are.
func (p *player) api(kind string) dynamic.ResourceInterface {
	group := map[string]string{
		"Deployment": "apps", "StatefulSet": "apps", "Job": "batch", "PodDisruptionBudget": "policy", "CapacityBuffer": "autoscaling.x-k8s.io",
		"NodePool": "karpenter.sh", "NodeClaim": "karpenter.sh", "EC2NodeClass": "karpenter.k8s.aws",
	}[kind]
	version := "v1"
	if kind == "CapacityBuffer" {
		version = "v1beta1"
	}
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if strings.HasPrefix(group, "karpenter") || kind == "Node" {
		return p.Dynamic.Resource(resource)
	}
	return p.Dynamic.Resource(resource).Namespace(metav1.NamespaceDefault)
}

func (p *player) list(ctx context.Context, kind string) ([]unstructured.Unstructured, error) {
	list, err := p.api(kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list every %s: %w", kind, err)
	}
	return list.Items, nil
}

func (p *player) patch(ctx context.Context, o ref, patch string) error {
	_, err := p.api(o.kind).Patch(ctx, o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return ignoreGone(err)
}

func (p *player) delete(ctx context.Context, o ref) error {
	return ignoreGone(p.api(o.kind).Delete(ctx, o.name, inBackground()))
}

func inBackground() metav1.DeleteOptions {
	policy := metav1.DeletePropagationBackground
	return metav1.DeleteOptions{PropagationPolicy: &policy}
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
