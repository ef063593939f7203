package kube

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatIsReadDecidesWhetherAnObjectHasChanged(t *testing.T) {
	set := func(version, revision string, ready int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: version, Labels: map[string]string{"pod-template-hash": revision}},
			Status:     appsv1.ReplicaSetStatus{ReadyReplicas: ready},
		}
	}
	node := func(version string, at int64, status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: version}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(time.Unix(at, 0))}},
		}}
	}
	const cost, byKerf = "controller.kubernetes.io/pod-deletion-cost", "kerf.dev/pod-deletion-cost"
	pod := func(version string, notes map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: version, Annotations: notes}}
	}
	for name, c := range map[string]struct {
		before, after any
		want          bool
	}{
		"a ReplicaSet with another ready pod":   {set("1", "a", 1), set("2", "a", 2), true},
		"a ReplicaSet of another revision":      {set("1", "a", 1), set("2", "b", 1), false},
		"a node whose kubelet speaks":           {node("1", 1, "True"), node("2", 2, "True"), true},
		"a node that is not ready any more":     {node("1", 1, "True"), node("2", 2, "False"), false},
		"a pod whose deletion cost Kerf writes": {pod("1", nil), pod("2", map[string]string{cost: "-5", byKerf: "-5"}), true},
		"a pod whose deletion cost users write": {pod("1", nil), pod("2", map[string]string{cost: "-5"}), false},
	} {
		before, _ := (&trimmer{}).trim(c.before)
		after, _ := (&trimmer{}).trim(c.after)
		if got := unchanged(before, after); got != c.want {
			t.Errorf("%s: unchanged is %v", name, got)
		}
	}
}
