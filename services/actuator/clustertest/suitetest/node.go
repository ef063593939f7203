package suitetest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

func testCold(t *testing.T, w World) {
	if _, err := w.Cold.Observe(); !errors.Is(err, cluster.ErrNotReady) {
		t.Errorf("error %v, want ErrNotReady", err)
	}
	w.until(t, "anything at all", func(cluster.State) bool { return true })
}

func testNodes(t *testing.T, w World) {
	w.apply(t, nodeManifest+"---"+podManifest+`
---
apiVersion: v1
kind: Pod
metadata: {name: held, namespace: NAMESPACE, annotations: {karpenter.sh/do-not-disrupt: "true"}}
spec:
  nodeName: NAME
  priorityClassName: system-node-critical
  tolerations: [{operator: Exists}]
  containers: [{name: main, image: none}]
`)
	want := cluster.Node{
		Name: model.NodeName(w.Name), ProviderID: "aws:///us-east-1a/i-" + w.Name, Labels: map[string]string{"theirs": "1"}, Ready: true,
		Taints:      []model.Taint{{Key: "theirs", Value: "v", Effect: model.NoSchedule}},
		Capacity:    model.Amounts{{Resource: "cpu", Value: 2000}, {Resource: "memory", Value: 8 << 30}, {Resource: "pods", Value: 29}},
		Allocatable: model.Amounts{{Resource: "cpu", Value: 1930}, {Resource: "memory", Value: 7 << 30}, {Resource: "pods", Value: 29}},
		Pods: []cluster.Pod{
			{
				Namespace: w.Namespace, Name: "held", Critical: true, ToleratesDisrupted: true, DoNotDisrupt: true, Ready: true,
				GracePeriod: 30 * time.Second,
			},
			{Namespace: w.Namespace, Name: "web", Ready: true, GracePeriod: 5 * time.Second},
		},
	}
	for i := range want.Pods {
		want.Pods[i].UID = string(w.object(t, "Pod", want.Pods[i].Name).GetUID())
	}
	var diff string
	w.until(t, "the node as a value", func(s cluster.State) bool {
		n := nodeOf(s, w.Name)
		if n == nil || n.CreateTime.IsZero() {
			return false
		}
		got := *n
		got.CreateTime, got.Annotations, got.Conditions = time.Time{}, nil, nil // others' as well
		got.UID = ""
		got.Pods = slices.Clone(n.Pods)
		for i := range got.Pods { // a kubelet's word
			got.Pods[i].StartTime = time.Time{}
		}
		if !slices.ContainsFunc(n.Conditions, func(c model.NodeCondition) bool {
			return c.Type == "Ready" && c.Status == "True" && !c.TransitionTime.IsZero()
		}) {
			return false
		}
		diff = cmp.Diff(want, got)
		if diff != "" {
			t.Log(diff)
		}
		return diff == ""
	})
}

func testUpdateNode(t *testing.T, w World) {
	w.apply(t, nodeManifest)
	disrupted := model.Taint{Key: "karpenter.sh/disrupted", Effect: model.NoSchedule}
	change := cluster.NodeChange{
		SetLabels: map[string]string{"ours": "1"}, SetAnnotations: map[string]string{"ours": "2"}, AddTaints: []model.Taint{disrupted},
	}
	for range 2 {
		w.update(t, change)
	}
	s := w.until(t, "the node with label and taint", func(s cluster.State) bool {
		n := nodeOf(s, w.Name)
		return n != nil && n.Ready && n.Labels["ours"] == "1" && slices.Contains(n.Taints, disrupted)
	})
	n := nodeOf(s, w.Name)
	if d := cmp.Diff(map[string]string{"theirs": "1", "ours": "1"}, n.Labels); d != "" || n.Annotations["ours"] != "2" {
		t.Errorf("labels %s, annotations %v", d, n.Annotations)
	}
	theirs := model.Taint{Key: "theirs", Value: "v", Effect: model.NoSchedule}
	if !slices.Contains(n.Taints, theirs) || len(slices.Compact(slices.Clone(n.Taints))) != len(n.Taints) {
		t.Errorf("taints %v, want %v kept and nothing twice", n.Taints, theirs)
	}

	change = cluster.NodeChange{RemoveLabels: []string{"ours", "never"}, RemoveTaints: []model.Taint{disrupted}}
	for range 2 {
		w.update(t, change)
	}
	s = w.until(t, "the node without label and taint", func(s cluster.State) bool {
		_, labelled := nodeOf(s, w.Name).Labels["ours"]
		return !labelled && !slices.Contains(nodeOf(s, w.Name).Taints, disrupted)
	})
	if n := nodeOf(s, w.Name); !maps.Equal(n.Labels, map[string]string{"theirs": "1"}) || !slices.Contains(n.Taints, theirs) {
		t.Errorf("labels %v, taints %v: others' are gone", n.Labels, n.Taints)
	}
	err := w.Cluster.UpdateNode(t.Context(), cluster.NodeChange{Node: model.NodeName(w.Name + "-never")})
	if !errors.Is(err, cluster.ErrNotFound) {
		t.Errorf("error %v for a node that never was, want ErrNotFound", err)
	}
}

func testFinalizer(t *testing.T, w World) {
	yes, no := true, false
	w.apply(t, nodeManifest)
	w.update(t, cluster.NodeChange{Finalizer: &yes})
	w.Delete(t, "Node", w.Name)
	w.until(t, "the node terminating", func(s cluster.State) bool { n := nodeOf(s, w.Name); return n != nil && n.Terminating })
	w.update(t, cluster.NodeChange{Finalizer: &yes, SetLabels: map[string]string{"late": "1"}})
	w.object(t, "Node", w.Name)
	w.update(t, cluster.NodeChange{Finalizer: &no})
	w.until(t, "the node gone", func(s cluster.State) bool { return nodeOf(s, w.Name) == nil })
}

func testDeleteNode(t *testing.T, w World) {
	yes, no := true, false
	w.apply(t, nodeManifest)
	w.update(t, cluster.NodeChange{Finalizer: &yes})
	for range 2 {
		w.update(t, cluster.NodeChange{Delete: true})
	}
	w.until(t, "the node terminating", func(s cluster.State) bool { n := nodeOf(s, w.Name); return n != nil && n.Terminating })
	w.update(t, cluster.NodeChange{Finalizer: &no, Delete: true})
	w.until(t, "the node gone", func(s cluster.State) bool { return nodeOf(s, w.Name) == nil })
	if err := w.Cluster.UpdateNode(t.Context(), cluster.NodeChange{Node: model.NodeName(w.Name), Delete: true}); !errors.Is(err, cluster.ErrNotFound) {
		t.Errorf("error %v for a node that is gone, want ErrNotFound", err)
	}
}

// testOtherNode asks for changes of a node whose name the next one has got.
func testOtherNode(t *testing.T, w World) {
	w.apply(t, nodeManifest)
	s := w.until(t, "the node", func(s cluster.State) bool { return nodeOf(s, w.Name) != nil })
	n := nodeOf(s, w.Name)
	disrupted := []model.Taint{{Key: "karpenter.sh/disrupted", Effect: model.NoSchedule}}
	w.update(t, cluster.NodeChange{UID: n.UID, ProviderID: n.ProviderID, AddTaints: disrupted})
	w.until(t, "the taint", func(s cluster.State) bool { return nodeOf(s, w.Name).Leaving() })
	for name, c := range map[string]cluster.NodeChange{
		"another uid, deleted":         {UID: "another", ProviderID: n.ProviderID, Delete: true},
		"another provider id, deleted": {UID: n.UID, ProviderID: "aws:///us-east-1a/i-another", Delete: true},
		"another uid, untainted":       {UID: "another", RemoveTaints: disrupted},
	} {
		c.Node = n.Name
		if err := w.Cluster.UpdateNode(t.Context(), c); !errors.Is(err, cluster.ErrNotFound) {
			t.Errorf("%s: error %v, want ErrNotFound", name, err)
		}
	}
	if string(w.object(t, "Node", w.Name).GetUID()) != n.UID || w.object(t, "Node", w.Name).GetDeletionTimestamp() != nil {
		t.Error("the node was deleted")
	}
	if s, err := w.Cluster.Observe(); err != nil || !nodeOf(s, w.Name).Leaving() {
		t.Errorf("the node's taint was taken off (%v)", err)
	}
}

func testOwner(t *testing.T, w World) {
	w.apply(t, nodeManifest)
	c := w.claim()
	w.update(t, cluster.NodeChange{Owner: c.ID}) // there is no such object yet, which is no error
	w.publish(t, cluster.Publication{Claims: []model.Claim{c}})
	for range 2 {
		w.update(t, cluster.NodeChange{Owner: c.ID})
	}
	owners := w.object(t, "Node", w.Name).GetOwnerReferences()
	if len(owners) != 1 || owners[0].Kind != "NodeClaim" || owners[0].UID != w.object(t, "NodeClaim", string(c.ID)).GetUID() {
		t.Errorf("owners %+v, want the claim's object alone", owners)
	}
}

// running applies the node and its pod, and waits until the pod runs: one that does not is no budget's matter.
func (w World) running(t *testing.T) cluster.Pod {
	t.Helper()
	w.apply(t, nodeManifest+"---"+podManifest)
	s := w.until(t, "the pod running", func(s cluster.State) bool {
		return podOf(s, w.Name, "web") != nil && field(w.object(t, "Pod", "web"), "status", "phase") == "Running"
	})
	return *podOf(s, w.Name, "web")
}

// ends waits for the pod to be terminating, or to be gone already.
func (w World) ends(t *testing.T) {
	t.Helper()
	w.until(t, "the pod on its way out", func(s cluster.State) bool {
		p := podOf(s, w.Name, "web")
		return p == nil || !p.DeletionTime.IsZero()
	})
}

func testPodsOn(t *testing.T, w World) {
	w.running(t)
	other := strings.ReplaceAll(nodeManifest, "NAME", "NAME-other")
	w.apply(t, other)
	w.until(t, "the other node", func(s cluster.State) bool { return nodeOf(s, w.Name+"-other") != nil })
	on := func(node string) []cluster.Pod {
		t.Helper()
		got, err := w.Cluster.PodsOn(t.Context(), model.NodeName(node))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	// The pod may become ready between what is seen and what the server says.
	w.until(t, "the pod as the server says it is", func(s cluster.State) bool {
		p := podOf(s, w.Name, "web")
		return p != nil && cmp.Equal([]cluster.Pod{*p}, on(w.Name))
	})
	// What has come before the question is never missing, whether it is seen or not.
	w.apply(t, strings.Replace(podManifest, "name: web,", "name: late,", 1))
	if got := on(w.Name); !slices.ContainsFunc(got, func(p cluster.Pod) bool { return p.Name == "late" }) {
		t.Errorf("%v, and not the pod that has just come", got)
	}
	for _, node := range []string{w.Name + "-other", w.Name + "-none"} {
		if got := on(node); len(got) > 0 {
			t.Errorf("%s has %v", node, got)
		}
	}
}

func testEvict(t *testing.T, w World) {
	p := w.running(t)
	e := cluster.Eviction{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	if err := w.Cluster.Evict(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	w.ends(t)
	if err := w.Cluster.Evict(t.Context(), e); err != nil && !errors.Is(err, cluster.ErrNotFound) {
		t.Errorf("evicted again: %v, want nothing, or ErrNotFound once it is gone", err)
	}
}

func testBudget(t *testing.T, w World) {
	p := w.running(t)
	w.apply(t, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: NAMESPACE}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`)
	e := cluster.Eviction{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	if err := w.Cluster.Evict(t.Context(), e); !errors.Is(err, cluster.ErrBlocked) {
		t.Fatalf("error %v, want ErrBlocked", err)
	}
	e.Force, e.Grace = true, time.Second
	if err := w.Cluster.Evict(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	w.ends(t)
}

func testOtherPod(t *testing.T, w World) {
	p := w.running(t)
	for name, e := range map[string]cluster.Eviction{
		"another uid":         {Name: p.Name, UID: "another"},
		"another uid, forced": {Name: p.Name, UID: "another", Force: true},
		"another name":        {Name: "another", UID: p.UID},
	} {
		e.Namespace = p.Namespace
		if err := w.Cluster.Evict(t.Context(), e); !errors.Is(err, cluster.ErrNotFound) {
			t.Errorf("%s: error %v, want ErrNotFound", name, err)
		}
	}
	if o := w.object(t, "Pod", p.Name); o.GetDeletionTimestamp() != nil {
		t.Error("the pod is being deleted")
	}
}
