package manifests_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
)

// TestABudgetWithoutStatusAllowsWhatItsControllerWould: of five pods three are ready and stay, and three have a
// controller. One more has ended.
func TestABudgetWithoutStatusAllowsWhatItsControllerWould(t *testing.T) {
	labels := map[string]string{"app": "shop"}
	var c manifests.Cluster
	pod := func(name string, owned, ready bool, change func(*corev1.Pod)) {
		p := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{NodeName: "n1"}}
		p.Labels = labels
		if owned {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: new(true)}}
		}
		if !ready {
			p.Status.Phase = corev1.PodRunning
		}
		change(p)
		if err := c.Add(p, nil); err != nil {
			t.Fatal(err)
		}
	}
	as := func(*corev1.Pod) {}
	pod("a", true, true, as)
	pod("b", true, true, as)
	pod("c", false, true, as)
	pod("d", true, false, as)
	pod("going", false, true, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start()} })
	pod("ended", true, true, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })

	budget := func(name string, least, most *intstr.IntOrString) {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: meta(name), Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: least, MaxUnavailable: most, Selector: &metav1.LabelSelector{MatchLabels: labels},
		}}
		if err := c.Add(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	budget("least-one", new(intstr.FromInt32(1)), nil)
	budget("least-half", new(intstr.FromString("50%")), nil)
	budget("most-none", nil, new(intstr.FromInt32(0)))
	budget("most-one", nil, new(intstr.FromInt32(1)))
	budget("most-all", nil, new(intstr.FromString("100%")))
	budget("least-words", new(intstr.FromString("half")), nil)

	events, err := c.Events(start())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int32{}
	for _, e := range events {
		if b, ok := e.Object().Payload.(*clusterpb.PodDisruptionBudget); ok {
			got[b.GetId()] = b.GetDisruptionsAllowed()
		}
	}
	want := map[string]int32{
		"shop/least-one": 2, "shop/least-half": 1, "shop/most-none": 0, "shop/most-one": 1, "shop/most-all": 3, "shop/least-words": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evictions that budgets allow (-want +got):\n%s", diff)
	}
}
