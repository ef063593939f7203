package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/actuator/clustertest/suitetest"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/harness"
)

// TestTheAdapterOfKubernetesKeepsTheContractOfThePort opens Kubernetes as the actuator does, with the actuator's rights
// and no others, for the suite that the actuator's own fake passes too.
func TestTheAdapterOfKubernetesKeepsTheContractOfThePort(t *testing.T) {
	c := controlPlane(t)
	suitetest.Run(t, func(t *testing.T) suitetest.World {
		t.Helper()
		u := newUsers(t, c, "suite")
		clock := &shifted{}
		port, run := openPort(t, c, clock.Now)
		cold, _ := openPort(t, c, clock.Now)
		runPort(t, u, run)
		return suitetest.World{
			Cluster: port, Nominator: port.Nominator(), Replicas: port.Replicas(), Cold: cold, Name: u.name, Namespace: u.name,
			Preempt: u.preempt, Apply: u.apply, Delete: u.delete, Read: u.read, Events: u.events, Advance: clock.Advance,
		}
	})
}

// controlPlane runs a control plane that knows Kerf's objects until the test ends.
func controlPlane(t *testing.T) *harness.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the control plane, which -short leaves out")
	}
	c, err := harness.Start(t.Context(), harness.Options{Manifests: []string{"deploy/crds"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// openPort opens Kubernetes as the actuator does; nil is the machine's time.
func openPort(t *testing.T, c *harness.Cluster, now func() time.Time) (port actuator.Kubernetes, run func(context.Context) error) {
	t.Helper()
	config, err := c.Config(harness.Actuator)
	if err != nil {
		t.Fatal(err)
	}
	port, run, err = actuator.OpenCluster(actuator.ClusterConfig{REST: config, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return port, run
}

// runPort feeds a port until the test ends, and what the users have made is gone.
func runPort(t *testing.T, u users, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		u.clean(t)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// shifted is the machine's time and what the test added to it.
type shifted struct {
	mu sync.Mutex
	by time.Duration
}

func (s *shifted) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.by)
}

func (s *shifted) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by += d
}

// users are all others who work with the cluster. What they make is called name, or begins with it, or is in the
// namespace of that name.
type users struct {
	name   string
	client kubernetes.Interface
	dyn    dynamic.Interface
}

// newUsers gives them a namespace, whose name begins with that.
func newUsers(t *testing.T, c *harness.Cluster, name string) users {
	t.Helper()
	client, err := c.Client(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := c.Dynamic(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return users{name: c.Namespace(t, name), client: client, dyn: dyn}
}

func (u users) of(t *testing.T, kind string) dynamic.ResourceInterface {
	t.Helper()
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	budgets := schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
	switch kind {
	case "Node":
		return u.dyn.Resource(nodes)
	case "Pod":
		return u.dyn.Resource(pods).Namespace(u.name)
	case "PodDisruptionBudget":
		return u.dyn.Resource(budgets).Namespace(u.name)
	case "NodePool", "NodeClaim":
		return u.dyn.Resource(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: strings.ToLower(kind) + "s"})
	case "NodeOverlay":
		return u.dyn.Resource(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1alpha1", Resource: "nodeoverlays"})
	case "CapacityBuffer":
		buffers := schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacitybuffers"}
		return u.dyn.Resource(buffers).Namespace(u.name)
	case "EC2NodeClass":
		return u.dyn.Resource(schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"})
	}
	t.Fatalf("no user makes a %s", kind)
	return nil
}

// apply creates objects. Kwok is the kubelet of each node.
func (u users) apply(t *testing.T, manifests string) {
	t.Helper()
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(manifests), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := docs.Decode(o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if o.GetKind() == "Node" {
			o.SetAnnotations(map[string]string{harness.KwokAnnotation: harness.KwokValue})
		}
		options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
		if _, err := u.of(t, o.GetKind()).Create(t.Context(), o, options); err != nil {
			t.Fatal(err)
		}
	}
}

func (u users) delete(t *testing.T, kind, name string) {
	t.Helper()
	if err := u.of(t, kind).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// preempt writes a pod's nomination as the scheduler does.
func (u users) preempt(t *testing.T, pod string, node model.NodeName) {
	t.Helper()
	patch := []byte(`{"status":{"nominatedNodeName":"` + string(node) + `"}}`)
	options := metav1.PatchOptions{FieldManager: "kube-scheduler"}
	if _, err := u.client.CoreV1().Pods(u.name).Patch(t.Context(), pod, types.StrategicMergePatchType, patch, options, "status"); err != nil {
		t.Fatal(err)
	}
}

func (u users) read(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := u.of(t, kind).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (u users) events(t *testing.T, kind, name string) []clustertest.Event {
	t.Helper()
	var out []clustertest.Event
	for _, namespace := range []string{metav1.NamespaceDefault, u.name} {
		list, err := u.client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{
			FieldSelector: "source=kerf,involvedObject.kind=" + kind + ",involvedObject.name=" + name,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			e := &list.Items[i]
			o := e.InvolvedObject
			out = append(out, clustertest.Event{In: e.Namespace, Event: cluster.Event{
				Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: string(o.UID),
				Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message,
			}})
		}
	}
	return out
}

// clean removes what a test has left, by any holder.
func (u users) clean(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	now := int64(0)
	for _, kind := range []string{"Pod", "NodeClaim", "Node", "NodePool", "EC2NodeClass", "NodeOverlay", "CapacityBuffer"} {
		objects, err := u.of(t, kind).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		for i := range objects.Items {
			name := objects.Items[i].GetName()
			if kind != "Pod" && kind != "CapacityBuffer" && !strings.HasPrefix(name, u.name) {
				continue
			}
			free := []byte(`{"metadata":{"finalizers":null}}`)
			_, err := u.of(t, kind).Patch(ctx, name, types.MergePatchType, free, metav1.PatchOptions{})
			if err == nil {
				err = u.of(t, kind).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
			}
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
}
