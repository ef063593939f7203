package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeclient/kubeclienttest"
)

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default, uid: pool-uid}
spec:
  template:
    metadata: {labels: {type: karpenter}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
  limits: {cpu: 1000, memory: 1000Gi}
  disruption: {budgets: [{nodes: "20%", reasons: [Empty]}, {nodes: "3", schedule: "0 9 * * 1-5", duration: 8h}]}
`

const brokenPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: broken}
spec:
  weight: 999
  template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}}
`

const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// fakeAPI writes to a fake, too.
type fakeAPI struct{ kubeclienttest.Reader }

func (f fakeAPI) Pods(namespace string) apiserver.PodClient {
	return fakePods{f.CoreV1().Pods(namespace)}
}
func (f fakeAPI) Nodes() apiserver.NodeClient                   { return f.CoreV1().Nodes() }
func (f fakeAPI) Events(namespace string) apiserver.EventClient { return f.CoreV1().Events(namespace) }

type fakePods struct{ typedcorev1.PodInterface }

func (f fakePods) Patch(ctx context.Context, name string, c apiserver.PodPatch) error {
	var of []string
	if c.Subresource != "" {
		of = []string{c.Subresource}
	}
	_, err := f.PodInterface.Patch(ctx, name, c.Type, c.Data, metav1.PatchOptions{FieldManager: c.FieldManager}, of...)
	return err
}

func (f fakeAPI) Reviews() apiserver.ReviewClient {
	return f.AuthorizationV1().SelfSubjectAccessReviews()
}

func (f fakeAPI) ServerVersion(context.Context) (*version.Info, error) {
	return f.Discovery().ServerVersion()
}

func start(t *testing.T, typed []runtime.Object, custom ...runtime.Object) (*Kube, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(typed...)
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		karpenterv1.NodePoolGVR(): "NodePoolList", karpenterv1.NodeClaimGVR(): "NodeClaimList", awsv1.EC2NodeClassGVR(): "EC2NodeClassList",
	}, custom...)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	k, err := newKube(fakeAPI{kubeclienttest.Reader{Clientset: client}}, dyn, Config{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = k.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	eventually(t, func() bool { _, err := k.Observe(); return err == nil })
	return k, client
}

// eventually waits for the informers, which have a goroutine of their own.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatal("it never came to hold")
}

func observed(t *testing.T, k *Kube) cluster.State {
	t.Helper()
	s, err := k.Observe()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPoolsAndClassesBecomeValues(t *testing.T) {
	k, _ := start(t, nil, object(t, pool), object(t, brokenPool), object(t, class))
	s := observed(t, k)
	if len(s.Pools) != 2 || s.Pools[0].Name != "broken" {
		t.Fatalf("pools %+v: want broken and default", s.Pools)
	}
	if r := s.Pools[0].NotReady; !strings.Contains(r.Message, "spec.weight") || r.Subject != "nodepool/broken" {
		t.Errorf("reason %+v does not name the object and the field", r)
	}
	p := s.Pools[1]
	want := []model.DisruptionBudget{
		{Count: 20, IsPercent: true, Reasons: []model.DisruptionReason{model.ReasonEmpty}},
		{Count: 3, Schedule: "0 9 * * 1-5", Duration: 8 * time.Hour},
	}
	if d := cmp.Diff(want, p.Budgets); d != "" {
		t.Error(d)
	}
	limits := model.Amounts{{Resource: "cpu", Value: 1_000_000}, {Resource: "memory", Value: 1000 << 30}}
	if d := cmp.Diff(limits, p.Limits); d != "" {
		t.Error(d)
	}
	if p.Hash == "" || p.NodeClass != "default" || p.ExpireAfter == nil || *p.ExpireAfter != 720*time.Hour || p.TerminationGracePeriod != nil {
		t.Errorf("pool %+v lost something", p)
	}
	if len(s.Classes) != 1 || s.Classes[0].Spec.Role != "nodes" || s.Classes[0].Invalid.Message != "" {
		t.Errorf("classes %+v: want default as it is", s.Classes)
	}
}

func TestNodesAndPodsBecomeValues(t *testing.T) {
	const owner = "rs"
	yes := true
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	started := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	pod := func(name, kind, hold string, tolerations ...corev1.Toleration) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "u"},
			Spec:       corev1.PodSpec{NodeName: "n1", Tolerations: tolerations},
			Status:     corev1.PodStatus{StartTime: &started},
		}
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, UID: owner, Controller: &yes}}
		}
		if hold != "" {
			p.Annotations = map[string]string{labels.DoNotDisrupt: hold}
		}
		return p
	}
	gpus := pod("e-gpus", "", "")
	gpus.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
		RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "a", ResourceName: "example.com/gpu", RequestName: "container-0-request-0"}},
	}
	k, _ := start(t, []runtime.Object{
		node, pod("a-daemon", "DaemonSet", "", corev1.Toleration{Operator: corev1.TolerationOpExists}), pod("b-alone", "", "true"),
		pod("c-held", "ReplicaSet", "2h"), pod("d-typo", "ReplicaSet", "soon"), gpus,
	})
	s := observed(t, k)
	if len(s.Nodes) != 1 || !s.Nodes[0].Ready || s.Nodes[0].ProviderID != "aws:///a/i-1" {
		t.Fatalf("nodes %+v", s.Nodes)
	}
	base := cluster.Pod{Namespace: "default", UID: "u", StartTime: started.Time, GracePeriod: 30 * time.Second}
	want := []cluster.Pod{base, base, base, base, base}
	want[0].Name, want[0].Daemon, want[0].Owner, want[0].ToleratesDisrupted = "a-daemon", true, owner, true
	want[1].Name, want[1].DoNotDisrupt = "b-alone", true
	want[2].Name, want[2].Owner, want[2].DoNotDisrupt, want[2].DoNotDisruptUntil = "c-held", owner, true, started.Add(2*time.Hour)
	want[3].Name, want[3].Owner = "d-typo", owner
	want[4].Name, want[4].ByDevices = "e-gpus", "example.com/gpu"
	if d := cmp.Diff(want, s.Nodes[0].Pods); d != "" {
		t.Error(d)
	}
}

func TestUpdateNodeIsIdempotentAndKeepsWhatOthersSet(t *testing.T) {
	k, client := start(t, []runtime.Object{&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"theirs": "1"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}, {Key: "theirs", Effect: corev1.TaintEffectNoSchedule},
		}},
	}})
	yes := true
	change := cluster.NodeChange{
		Node: "n1", SetLabels: map[string]string{"ours": "1"}, Finalizer: &yes,
		AddTaints:    []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}},
		RemoveTaints: []model.Taint{{Key: "karpenter.sh/unregistered", Effect: model.NoExecute}},
	}
	for range 2 {
		if err := k.UpdateNode(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	n, err := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"theirs": "1", "ours": "1"}, n.Labels); d != "" {
		t.Error(d)
	}
	if len(n.Spec.Taints) != 2 || n.Spec.Taints[0].Key != "theirs" || n.Spec.Taints[1].Key != labels.TaintDisrupted {
		t.Errorf("taints %+v", n.Spec.Taints)
	}
	if d := cmp.Diff([]string{labels.FinalizerTermination}, n.Finalizers); d != "" {
		t.Error(d)
	}
	updates := 0
	for _, a := range client.Actions() {
		if a.Matches("update", "nodes") {
			updates++
		}
	}
	if updates != 1 {
		t.Errorf("%d writes, want one: the second change changed nothing", updates)
	}
	if err := k.UpdateNode(t.Context(), cluster.NodeChange{Node: "gone"}); !errors.Is(err, cluster.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
}

// The name of a node is its address: the next instance of the subnet may get both.
func TestANodeIsNeverMistakenForTheNextOfItsName(t *testing.T) {
	k, client := start(t, []runtime.Object{&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "ip-10-0-0-1", UID: "successor"},
		Spec: corev1.NodeSpec{
			ProviderID: "aws:///a/i-2", Taints: []corev1.Taint{{Key: labels.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}},
		},
	}})
	no := false
	for name, c := range map[string]cluster.NodeChange{
		"removed, by uid":         {UID: "gone", Finalizer: &no, Delete: true},
		"removed, by provider id": {ProviderID: "aws:///a/i-1", Finalizer: &no, Delete: true},
		"untainted":               {UID: "gone", RemoveTaints: []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}}},
	} {
		c.Node = "ip-10-0-0-1"
		if err := k.UpdateNode(t.Context(), c); !errors.Is(err, cluster.ErrNotFound) {
			t.Errorf("%s: error %v, want ErrNotFound", name, err)
		}
	}
	n, err := client.CoreV1().Nodes().Get(t.Context(), "ip-10-0-0-1", metav1.GetOptions{})
	if err != nil || len(n.Spec.Taints) != 1 {
		t.Fatalf("the successor is not as it was: %v", err)
	}
	if err := k.UpdateNode(t.Context(), cluster.NodeChange{Node: "ip-10-0-0-1", UID: "successor", ProviderID: "aws:///a/i-2", Delete: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "ip-10-0-0-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%v, want the node that was meant deleted", err)
	}
}

func TestAClaimIsMirroredThroughItsLife(t *testing.T) {
	k, client := start(t, nil, object(t, pool))
	c := model.Claim{
		ID: "default-1", NodePool: "default", NodeClass: "default", State: model.ClaimPlanned,
		Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}}},
	}
	publish := func(p cluster.Publication) {
		t.Helper()
		if err := k.Publish(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	read := func() *unstructured.Unstructured {
		t.Helper()
		o, err := k.dynamic.Resource(karpenterv1.NodeClaimGVR()).Get(t.Context(), "default-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	publish(cluster.Publication{Claims: []model.Claim{c}})
	eventually(t, func() bool { s, err := k.Observe(); return err == nil && len(s.ClaimObjects) == 1 })
	if got := statusOf(read(), "Launched"); got != "False" {
		t.Errorf("Launched is %q before the launch", got)
	}

	c.State, c.Node, c.ProviderID = model.ClaimInitialized, "n1", "aws:///a/i-1"
	c.InstanceType, c.Zone, c.CapacityType = "m5.large", "a", model.OnDemand
	publish(cluster.Publication{
		Claims: []model.Claim{c},
		Events: []cluster.Event{{Kind: "NodeClaim", Name: "default-1", Reason: "Initialized", Message: "ready"}},
	})
	o := read()
	if statusOf(o, "Ready") != "True" || o.GetLabels()[corev1.LabelInstanceTypeStable] != "m5.large" {
		t.Errorf("object %v is not ready, or lacks its type", o.Object)
	}
	if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].Name != "default" {
		t.Errorf("owner %+v, want the pool", refs)
	}

	publish(cluster.Publication{Events: []cluster.Event{{Kind: "NodeClaim", Name: "default-1", Reason: "Initialized", Message: "ready"}}})
	events, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(events.Items) != 1 {
		t.Errorf("%d events, %v: want the same thing said once", len(events.Items), err)
	}

	publish(cluster.Publication{ForgetClaims: []model.ClaimID{"default-1"}})
	if _, err := k.dynamic.Resource(karpenterv1.NodeClaimGVR()).Get(t.Context(), "default-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want the object gone", err)
	}
}

func statusOf(o *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			s, _ := m["status"].(string)
			return s
		}
	}
	return ""
}
