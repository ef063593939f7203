// Package side starts the two that are compared, each beside a Kubernetes control plane of its own: Kerf's three services
// on the simulated AWS, and Karpenter's kwok provider. Both have their settings as they come, the same market and the same
// pool, and nodes that take LaunchDelay to appear.
//
// It must not know the loads. Start reading at Side.
package side

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/versus/market"
)

// The sides by their names.
const (
	Kerf      = "kerf"
	Karpenter = "karpenter"
)

// LaunchDelay is from the launch of an instance to its Node, on either side.
const LaunchDelay = 2 * time.Second

const readyTimeout = time.Minute

// Options says what to start.
type Options struct {
	// Dir holds everything that is written, logs and data; it stays.
	Dir    string
	Market *market.Market
	Seed   uint64
	// Spot lets the pool buy spot capacity too; only Kerf's side has a market for it.
	Spot bool
	// Standby starts a second watcher and a second actuator of Kerf's, whose lease is then LeaseTTL.
	Standby  bool
	LeaseTTL string
}

// Side is one of the two, running.
type Side struct {
	Name    string
	Cluster *harness.Cluster
	Client  kubernetes.Interface // as the admin
	// Pids are the controllers' processes.
	Pids map[string]int
	// Sim is the simulated AWS, and Stack all that runs; Kerf's alone.
	Sim   *stack.Sim
	Stack *stack.Stack

	stop []func() error // in the order of the starts
}

// Start starts the side of that name and returns when it is ready for pods.
func Start(ctx context.Context, name string, o Options) (*Side, error) {
	s := &Side{Name: name, Pids: map[string]int{}}
	start := map[string]func(context.Context, Options) error{Kerf: s.kerf, Karpenter: s.karpenter}[name]
	if start == nil {
		return nil, fmt.Errorf("no side is called %q; there are %s and %s", name, Kerf, Karpenter)
	}
	if err := start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), s.Stop())
	}
	return s, nil
}

// Stop ends everything.
func (s *Side) Stop() error {
	var errs []error
	for i := range s.stop {
		errs = append(errs, s.stop[len(s.stop)-1-i]())
	}
	s.stop = nil
	return errors.Join(errs...)
}

// poolText is the pool of both sides. They differ in the class that it names, and in that all types of Karpenter's kwok
// provider are the market's.
//
//nolint:gochecknoglobals // a constant in all but the language's eyes
var poolText = template.Must(template.New("pool").Parse(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: {{.Group}}
        kind: {{.Kind}}
        name: default
      requirements:
      - key: karpenter.sh/capacity-type
        operator: In
        values: [{{range $i, $v := .Capacity}}{{if $i}}, {{end}}"{{$v}}"{{end}}]
{{- range .Types}}
      - key: {{.Key}}
        operator: {{.Operator}}
        values: [{{range $i, $v := .Values}}{{if $i}}, {{end}}"{{$v}}"{{end}}]
{{- end}}
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 0s
`))

type pool struct {
	Group, Kind string
	Capacity    []string
	Types       []market.Requirement
}

func (p pool) yaml() ([]byte, error) {
	var b bytes.Buffer
	if err := poolText.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ready waits until the pool says that it is.
func (s *Side) ready(ctx context.Context) error {
	client, err := s.Cluster.Dynamic(harness.Admin)
	if err != nil {
		return err
	}
	pools := client.Resource(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"})
	return harness.Until(ctx, "the node pool to be ready", readyTimeout, func(ctx context.Context) (string, bool) {
		pool, err := pools.Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		conditions, _, err := unstructured.NestedSlice(pool.Object, "status", "conditions")
		if err != nil {
			return err.Error(), false
		}
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
				return fmt.Sprint(c["status"], " ", c["message"]), c["status"] == "True"
			}
		}
		return "no condition Ready", false
	})
}
