package play

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/versus/load"
	"github.com/kerf-dev/kerf/test/versus/report"
)

const (
	sizeLimit = 40 * time.Minute // for one step on a slow machine
	// idle is for how long nothing is asked for, so that it can be seen what the services use then.
	idle = 45 * time.Second
	// sizeSettled is for how many seconds nothing may have happened before that.
	sizeSettled = 20.0
	burstPods   = 2000
	// atOnce is how many claims the second step launches at once, of a cluster that is large enough.
	atOnce      = 2000
	dieLimit    = 2 * time.Minute
	dialTimeout = 5 * time.Second
)

// size grows a cluster in three steps. For the second the pods all wait, because the pool may not grow, until it may: then
// all of the step's claims are launched at once. At its full size 2,000 pods come at once, and each service dies.
func size(ctx context.Context, s *Stage) error {
	steps := []int{s.Nodes / 10, min(s.Nodes/10+atOnce, s.Nodes*3/4), s.Nodes}
	at := 0
	for i, nodes := range steps {
		name := report.SizeStep(i)
		held := i == 1
		if held {
			if err := s.limitPool(ctx, "0"); err != nil {
				return err
			}
		}
		if err := s.grow(ctx, name, at*load.PodsPerNode, nodes*load.PodsPerNode, held); err != nil {
			return err
		}
		at = nodes
		if err := s.rest(ctx, name); err != nil {
			return err
		}
	}
	if err := s.burst(ctx, at*load.PodsPerNode); err != nil {
		return err
	}
	if err := s.countClaims(ctx); err != nil {
		return err
	}
	return s.dieEach(ctx)
}

// grow makes pods until there are that many, and waits until all have nodes. Held are pods that all wait first.
func (s *Stage) grow(ctx context.Context, name string, from, to int, held bool) error {
	if !held {
		s.mark(name)
	}
	if err := s.create(ctx, load.Many(name, to-from)...); err != nil {
		return err
	}
	if held {
		err := harness.Until(ctx, fmt.Sprintf("%d pods", to), sizeLimit, func(context.Context) (string, bool) {
			all, waiting := s.Watch.Count()
			return fmt.Sprintf("%d pods, %d wait", all, waiting), all == to
		})
		if err != nil {
			return err
		}
		if err := sleep(ctx, 5*time.Second); err != nil { // the scheduler has not refused all of them yet
			return err
		}
		s.mark(name)
		if err := s.limitPool(ctx, ""); err != nil {
			return err
		}
	}
	return harness.Until(ctx, fmt.Sprintf("%d pods on nodes", to), sizeLimit, func(context.Context) (string, bool) {
		all, waiting := s.Watch.Count()
		return fmt.Sprintf("%d pods, %d wait", all, waiting), all == to && waiting == 0
	})
}

// rest waits until nothing happens any more, leaves the cluster alone for a while, and notes how long plans took.
func (s *Stage) rest(ctx context.Context, name string) error {
	for began := time.Now(); s.Watch.Quiet() < sizeSettled && time.Since(began) < settleLimit; {
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	s.mark(name + report.SizeIdle)
	if err := sleep(ctx, idle); err != nil {
		return err
	}
	s.mark(name + report.SizeEnd)
	full, some, err := rounds(s.Side.Stack.Log("watcher"))
	s.Watch.Fact(name+report.SizeRound, full)
	s.Watch.Fact(name+report.SizePlan, some)
	return err
}

// rounds are how many seconds the longest of the watcher's rounds took until now: of those that look at everything, and
// of all.
func rounds(file string) (everything, all float64, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Msg        string `json:"msg"`
			Everything bool   `json:"everything"`
			Duration   int64  `json:"duration"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Msg != "planned" {
			continue
		}
		took := time.Duration(line.Duration).Seconds()
		all = max(all, took)
		if line.Everything {
			everything = max(everything, took)
		}
	}
	return everything, all, lines.Err()
}

// limitPool lets the pool have no more CPUs than that; "" takes the limit away.
func (s *Stage) limitPool(ctx context.Context, cpu string) error {
	client, err := s.Side.Cluster.Dynamic(harness.Admin)
	if err != nil {
		return err
	}
	patch := `{"spec":{"limits":null}}`
	if cpu != "" {
		patch = fmt.Sprintf(`{"spec":{"limits":{"cpu":%q}}}`, cpu)
	}
	pools := client.Resource(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"})
	_, err = pools.Patch(ctx, "default", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// burst makes pods all at once at the full size.
func (s *Stage) burst(ctx context.Context, before int) error {
	if err := s.grow(ctx, report.SizeBurst, before, before+burstPods, false); err != nil {
		return err
	}
	s.mark(report.SizeBurst + report.SizeEnd)
	return nil
}

// countClaims asks the actuator what has become of all claims.
func (s *Stage) countClaims(ctx context.Context) error {
	claims, failed, token := 0, 0, ""
	for {
		page, err := s.Side.Stack.Actuator.ListClaims(ctx, &actuatorpb.ListClaimsRequest{IncludeEnded: true, PageSize: 1000, PageToken: token})
		if status.Code(err) == codes.FailedPrecondition {
			return nil // another actuator leads meanwhile
		}
		if err != nil {
			return err
		}
		for _, c := range page.GetClaims() {
			claims++
			if c.GetState() == clusterpb.ClaimState_CLAIM_STATE_FAILED {
				failed++
			}
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	s.Watch.Fact(report.SizeClaims, float64(claims))
	s.Watch.Fact(report.SizeFailed, float64(failed))
	return nil
}

// dieEach kills one service after the other, makes a pod at the same moment, and waits for its claim.
func (s *Stage) dieEach(ctx context.Context) error {
	stored, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Side.Stack.Store()}, DialTimeout: dialTimeout, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer stored.Close() //nolint:errcheck // it was only read
	for i, name := range stack.Services() {
		s.mark("death of the " + name)
		took, err := s.die(ctx, stored, name, load.Rare(i))
		if err != nil {
			return fmt.Errorf("after the death of the %s: %w", name, err)
		}
		s.Watch.Fact(report.SizeDeath(name), took)
		if err := sleep(ctx, lull); err != nil {
			return err
		}
	}
	return nil
}

// die kills a service, and waits until the store has a claim that names a pod which was made at that moment, for an
// instance type of which no node has capacity left.
func (s *Stage) die(ctx context.Context, stored *clientv3.Client, name, instanceType string) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := stored.Watch(ctx, "/kerf/", clientv3.WithPrefix(), clientv3.WithFilterDelete())
	if err := s.Side.Stack.Kill(name); err != nil {
		return 0, err
	}
	began := time.Now()
	pod := load.Many("after-"+name, 1)[0]
	pod.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: instanceType}
	if err := s.create(ctx, pod); err != nil {
		return 0, err
	}
	if err := s.Side.Stack.Revive(name); err != nil {
		return 0, err
	}
	limit := time.After(dieLimit)
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-limit:
			return 0, fmt.Errorf("no claim for a new pod after %s", dieLimit)
		case r, ok := <-seen:
			if err := r.Err(); !ok || err != nil {
				return 0, errors.Join(errors.New("the watch of the store has ended"), err)
			}
			for _, e := range r.Events {
				if bytes.Contains(e.Kv.Key, []byte("/claims/")) && bytes.Contains(e.Kv.Value, []byte(pod.Name)) {
					return time.Since(began).Seconds(), nil
				}
			}
		}
	}
}
