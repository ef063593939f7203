package story

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kerf-dev/kerf/test/awssim"
)

const (
	shopPods    = 4               // of manifests/shop.yaml
	shopMinimum = 3               // its budget's minAvailable
	spotNotice  = 2 * time.Minute // AWS's own
)

// interruption runs a workload with a disruption budget on a spot node, lets AWS announce that it takes the instance, and
// counts the ready pods at every change until all have moved.
func interruption(ctx context.Context, s *Stage) error {
	s.did("NodePool spot and Deployment shop, %d pods of which %d must be available, are applied", shopPods, shopMinimum)
	if err := s.apply(ctx, "pool-spot.yaml", "shop.yaml"); err != nil {
		return err
	}
	together := func(w World) string {
		if len(w.Nodes) != 1 {
			return fmt.Sprintf("one node for all of shop, there are %d", len(w.Nodes))
		}
		return ""
	}
	if err := s.expect(ctx, stepTimeout, running("shop", shopPods), together, s.budgetKnows(ctx, "shop", shopPods), quiet()); err != nil {
		return err
	}
	old, err := s.soleInstance()
	if err != nil {
		return err
	}
	count, err := s.countReady(ctx, "shop")
	if err != nil {
		return err
	}
	defer count.stop()

	s.did("AWS announces that it takes %s back in two minutes", old.ID)
	if err := s.Sim.Interrupt(ctx, old.ID); err != nil {
		return err
	}
	announced := time.Now()
	if err := s.expect(ctx, spotNotice, running("shop", shopPods), s.moved(old), quiet()); err != nil {
		return err
	}
	moved := time.Since(announced)
	least, err := count.least()
	switch {
	case err != nil:
		return err
	case least < shopMinimum:
		return fmt.Errorf("expected never less than %d ready pods of shop, as its budget says; there were %d", shopMinimum, least)
	}
	s.note = fmt.Sprintf("moved in %.1fs, never less than %d of %d ready", moved.Seconds(), least, shopPods)
	s.top()
	if err := s.dropWorkload(ctx, "shop"); err != nil {
		return err
	}
	return s.expect(ctx, stepTimeout, running("shop", 0), nothing())
}

// budgetKnows holds when the disruption controller has counted the pods.
func (s *Stage) budgetKnows(ctx context.Context, name string, pods int) Condition {
	return func(World) string {
		b, err := s.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if int(b.Status.CurrentHealthy) != pods {
			return fmt.Sprintf("budget %s to count %d healthy pods, it counts %d", name, pods, b.Status.CurrentHealthy)
		}
		return ""
	}
}

func (s *Stage) soleInstance() (awssim.InstanceState, error) {
	w, _ := s.world()
	instances := w.Instances()
	if len(instances) != 1 || instances[0].CapacityType != awssim.Spot {
		return awssim.InstanceState{}, fmt.Errorf("expected one spot instance, AWS runs %d instances", len(instances))
	}
	return instances[0], nil
}

// moved holds when the instance has ended by Kerf's hand and the pods run elsewhere.
func (s *Stage) moved(old awssim.InstanceState) Condition {
	return func(w World) string {
		for _, p := range w.podsOf("shop") {
			if p.Spec.NodeName == old.NodeName {
				return fmt.Sprintf("no pod on %s any more, %s is", old.NodeName, p.Name)
			}
		}
		for _, i := range w.AWS.Instances {
			if i.ID == old.ID && i.State != "terminated" {
				return fmt.Sprintf("instance %s terminated, it is %s", i.ID, i.State)
			}
		}
		return nodeGone(old.NodeName)(w)
	}
}

// readyCount follows a workload's pods by a watch, so that it misses no moment, and remembers the least that were ready.
type readyCount struct {
	app     string
	watch   watch.Interface
	ended   chan struct{}
	stopped sync.Once

	mu   sync.Mutex
	pods map[string]bool // ready or not, by name
	min  int
	err  error
}

// countReady starts to count the pods that are labelled as the app; the goroutine ends with stop.
func (s *Stage) countReady(ctx context.Context, app string) (*readyCount, error) {
	api, selector := s.Kubernetes.CoreV1().Pods(namespace), "app="+app
	pods, err := api.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	c := &readyCount{app: app, ended: make(chan struct{}), pods: map[string]bool{}}
	for i := range pods.Items {
		c.pods[pods.Items[i].Name] = Up(&pods.Items[i])
	}
	c.min = c.ready()
	c.watch, err = api.Watch(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: pods.ResourceVersion})
	if err != nil {
		return nil, err
	}
	go c.follow()
	return c, nil
}

func (c *readyCount) follow() {
	defer close(c.ended)
	for event := range c.watch.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		c.mu.Lock()
		switch {
		case !ok:
			c.err = fmt.Errorf("the watch of %s's pods broke: %v", c.app, event.Object)
		case event.Type == watch.Deleted:
			delete(c.pods, pod.Name)
		default:
			c.pods[pod.Name] = Up(pod)
		}
		c.min = min(c.min, c.ready())
		c.mu.Unlock()
	}
}

func (c *readyCount) ready() int {
	n := 0
	for _, ready := range c.pods {
		if ready {
			n++
		}
	}
	return n
}

// least ends the count and tells its result.
func (c *readyCount) least() (int, error) {
	select {
	case <-c.ended:
		return 0, fmt.Errorf("the watch of %s's pods ended before they had moved", c.app)
	default:
	}
	c.mu.Lock() // before stop, whose cut through the stream the watch may report as an error
	least, err := c.min, c.err
	c.mu.Unlock()
	c.stop()
	return least, err
}

func (c *readyCount) stop() {
	c.stopped.Do(c.watch.Stop)
	<-c.ended
}
