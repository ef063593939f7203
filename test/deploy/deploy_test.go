package deploy_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-dev/kerf/test/harness"
)

const namespace = "kerf-system"

// patience is for machines that compile something beside the test; the waits end as soon as they can.
const patience = 2 * time.Minute

var shared harness.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m, harness.Options{})) }

// cluster has three nodes in three zones, volumes, and kinds of the names of cert-manager's.
func cluster(t *testing.T) (*harness.Cluster, kubernetes.Interface) {
	t.Helper()
	c := shared.Cluster(t)
	client, err := c.Client(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Issuer", "Certificate"} {
		if err := c.Apply(t.Context(), []byte(definition(kind))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if err := c.Apply(t.Context(), []byte(volume(i))); err != nil {
			t.Fatal(err)
		}
		addNode(t, client, i)
	}
	return c, client
}

// definition takes objects of any shape: test/chart checks them by cert-manager's types.
func definition(kind string) string {
	lower := strings.ToLower(kind)
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]ss}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, kind, lower)
}

// volume is one that a claim of any class but EKS's finds.
func volume(i int) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: test-%d}
spec:
  capacity: {storage: 8Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /nowhere}
`, i)
}

func addNode(t *testing.T, client kubernetes.Interface, i int) {
	t.Helper()
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("29"),
	}
	name := fmt.Sprintf("node-%d", i)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", i),
			},
			Annotations: map[string]string{harness.KwokAnnotation: harness.KwokValue},
		},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// TestEachOverlayIsScheduled applies each overlay, first as a dry run, as a user does before the first change. All of
// its pods pass admission, the namespace's pod security included, and find a node.
func TestEachOverlayIsScheduled(t *testing.T) {
	c, client := cluster(t)
	for _, name := range overlays(t) {
		t.Run(name, func(t *testing.T) {
			o := render(t, c, name)
			for _, verb := range [][]string{{"--dry-run=server"}, {}} {
				out, warnings := kubectl(t, c, append([]string{"apply", "--server-side", "--force-conflicts", "-k", overlayDir(t, name)}, verb...)...)
				if warnings != "" {
					t.Errorf("apply %v warns: %s", verb, warnings)
				}
				if got := strings.Count(out, "serverside-applied"); got != len(o.objects) {
					t.Errorf("apply %v: %d objects applied of %d:\n%s", verb, got, len(o.objects), out)
				}
			}
			t.Cleanup(func() { remove(t, c, client) })
			for _, w := range o.workloads(t) {
				if o.running(t, client, w) {
					apart(t, client, w)
				}
			}
		})
	}
}

func selector(w workload) string {
	return "app.kubernetes.io/component=" + w.template.Labels["app.kubernetes.io/component"]
}

// running waits until the workload's pods run; or are there, where their volumes come from a driver that is not here.
func (o overlay) running(t *testing.T, client kubernetes.Interface, w workload) bool {
	t.Helper()
	phase := corev1.PodRunning
	if len(w.claims) > 0 && w.claims[0].Spec.StorageClassName != nil {
		phase = corev1.PodPending
	}
	harness.Eventually(t, o.name+": the pods of "+w.name, patience, harness.Pods(client, namespace, selector(w), w.replicas, phase))
	return phase == corev1.PodRunning
}

// apart checks that each replica is on a node and in a zone of its own.
func apart(t *testing.T, client kubernetes.Interface, w workload) {
	t.Helper()
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector(w)})
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]bool{}
	for i := range pods.Items {
		nodes[pods.Items[i].Spec.NodeName] = true
	}
	if len(nodes) != w.replicas {
		t.Errorf("%d pods of %s are on %d nodes", w.replicas, w.name, len(nodes))
	}
}

// remove leaves the namespace to the next overlay.
func remove(t *testing.T, c *harness.Cluster, client kubernetes.Interface) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	run(ctx, t, c, "delete", "deployments,statefulsets,pvc,pdb,netpol,services,configmaps", "-n", namespace, "--all", "--wait=false")
	if err := harness.Until(ctx, "the pods to be gone", patience, harness.Pods(client, namespace, "", 0, corev1.PodRunning)); err != nil {
		t.Error(err)
	}
	release(ctx, t, client)
}

// release does what the controllers of claims and volumes do, which the test's cluster has not.
func release(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	claims, err := client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range claims.Items {
		patch := []byte(`{"metadata": {"finalizers": null}}`)
		if _, err := client.CoreV1().PersistentVolumeClaims(namespace).Patch(ctx, claims.Items[i].Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	for i := range 3 {
		patch := []byte(`{"spec": {"claimRef": null}}`)
		if _, err := client.CoreV1().PersistentVolumes().Patch(ctx, fmt.Sprintf("test-%d", i), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// TestPodSecurityIsEnforced shows that the admission which the overlays pass is on.
func TestPodSecurityIsEnforced(t *testing.T) {
	_, client := cluster(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "root"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "root", Image: "none"}}},
	}
	_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted`) {
		t.Errorf("a pod that may run as root: %v", err)
	}
}
