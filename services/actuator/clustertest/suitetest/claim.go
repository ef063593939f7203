package suitetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (w World) mirror(t *testing.T, c model.Claim) {
	t.Helper()
	w.publish(t, cluster.Publication{Claims: []model.Claim{c}})
}

func testClaim(t *testing.T, w World) {
	w.apply(t, poolManifest)
	w.until(t, "the pool", func(s cluster.State) bool { return poolOf(s, w.Name) != nil })
	c := w.claim()
	w.mirror(t, c)
	w.until(t, "the claim's object", func(s cluster.State) bool { return slices.Contains(s.ClaimObjects, c.ID) })
	o := w.object(t, "NodeClaim", string(c.ID))
	labels := map[string]string{
		"type": "karpenter", "karpenter.sh/nodepool": w.Name, "karpenter.k8s.aws/ec2nodeclass": w.Name, "kerf.dev/claim": string(c.ID),
	}
	if d := cmp.Diff(labels, o.GetLabels()); d != "" {
		t.Error(d)
	}
	owners := o.GetOwnerReferences()
	if len(owners) != 1 || owners[0].Kind != "NodePool" || owners[0].UID != w.object(t, "NodePool", w.Name).GetUID() {
		t.Errorf("owners %+v, want the pool", owners)
	}
	if d := cmp.Diff(any(map[string]any{"cpu": "1250m", "memory": "5Gi"}), field(o, "spec", "resources", "requests")); d != "" {
		t.Error(d)
	}
	for _, kind := range []string{"Launched", "Registered", "Initialized", "Ready"} {
		if got := conditionOf(t, o, kind); got.status != "False" || got.since == "" {
			t.Errorf("%s of a planned claim is %+v", kind, got)
		}
	}

	w.Advance(time.Minute)
	c = launched(c)
	w.mirror(t, c)
	o = w.object(t, "NodeClaim", string(c.ID))
	labels["node.kubernetes.io/instance-type"], labels["topology.kubernetes.io/zone"] = "m5.large", "us-east-1a"
	labels["karpenter.sh/capacity-type"] = "spot"
	if d := cmp.Diff(labels, o.GetLabels()); d != "" {
		t.Error(d)
	}
	if field(o, "status", "providerID") != c.ProviderID || field(o, "status", "imageID") != c.ImageID {
		t.Errorf("status %v lacks provider id or image", field(o, "status"))
	}
	since := conditionOf(t, o, "Launched").since
	notYet := conditionOf(t, o, "Ready").since
	if notYet == since {
		t.Error("Launched did not change later than Ready, which has not changed")
	}

	w.Advance(time.Minute)
	c.State, c.Reached, c.Node = model.ClaimInitialized, model.ClaimInitialized, model.NodeName(w.Name)
	w.mirror(t, c)
	o = w.object(t, "NodeClaim", string(c.ID))
	if got := conditionOf(t, o, "Launched"); got.status != "True" || got.since != since {
		t.Errorf("Launched is %+v, want it unchanged since %s", got, since)
	}
	if got := conditionOf(t, o, "Ready"); got.status != "True" || got.since == notYet || field(o, "status", "nodeName") != w.Name {
		t.Errorf("Ready is %+v, node %v", got, field(o, "status", "nodeName"))
	}
}

// testReadClaim reads the object of a claim that has come all the way, one that was only planned, and those that are
// none of Kerf's.
func testReadClaim(t *testing.T, w World) {
	grace, planned := time.Hour, w.claim()
	planned.Annotations = model.Labels{{Key: "team", Value: "web"}}
	whole := launched(planned)
	whole.ID = model.ClaimID(w.Name + "-whole")
	whole.State, whole.Reached, whole.Node = model.ClaimInitialized, model.ClaimInitialized, model.NodeName(w.Name)
	whole.Taints = []model.Taint{{Key: "only", Value: "web", Effect: model.NoSchedule}}
	whole.StartupTaints = []model.Taint{{Key: "cni", Effect: model.NoExecute}}
	whole.TerminationGracePeriod, whole.Allocatable = &grace, model.Amounts{{Resource: "cpu", Value: 1930}}
	w.publish(t, cluster.Publication{Claims: []model.Claim{planned, whole}})
	w.until(t, "the claims' objects", func(s cluster.State) bool {
		c, there, err := w.Cluster.Claim(whole.ID)
		return err == nil && there && c.State == model.ClaimInitialized && slices.Contains(s.ClaimObjects, planned.ID)
	})
	// The label of its pool, and of what it was launched as, are its fields, and labels.
	own := cmpopts.IgnoreSliceElements(func(l model.Label) bool { return l.Key != "type" && l.Key != "team" })
	times := cmpopts.IgnoreFields(model.Claim{}, "CreateTime", "StateTime", "LaunchTime", "InitializeTime")
	for _, want := range []model.Claim{planned, whole} {
		got, there, err := w.Cluster.Claim(want.ID)
		if d := cmp.Diff(want, got, own, times); d != "" || !there || err != nil {
			t.Errorf("there %v, error %v (-want +got):\n%s", there, err, d)
		}
	}
	if _, there, err := w.Cluster.Claim("none-of-that-name"); there || err != nil {
		t.Errorf("a claim without object: there %v, error %v", there, err)
	}
	foreign := w.Name + "-foreign"
	w.apply(t, fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: small}, requirements: []}
`, foreign))
	s := w.until(t, "another's claim", func(s cluster.State) bool { return slices.Contains(s.ClaimObjects, model.ClaimID(foreign)) })
	if !slices.Contains(s.UserClaims, model.ClaimID(foreign)) || slices.Contains(s.UserClaims, planned.ID) {
		t.Errorf("claims that users have written: %v, want %s among them, and not %s", s.UserClaims, foreign, planned.ID)
	}
	if _, there, err := w.Cluster.Claim(model.ClaimID(foreign)); there || err != nil {
		t.Errorf("another's claim: there %v, error %v", there, err)
	}
}

func testSpec(t *testing.T, w World) {
	c := w.claim()
	w.mirror(t, c)
	before := field(w.object(t, "NodeClaim", string(c.ID)), "spec")
	c = launched(c)
	c.Requirements = []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"arm64"}}}
	c.Requests = model.Amounts{{Resource: "cpu", Value: 9000}}
	w.mirror(t, c)
	o := w.object(t, "NodeClaim", string(c.ID))
	if d := cmp.Diff(before, field(o, "spec")); d != "" {
		t.Error(d)
	}
	if conditionOf(t, o, "Launched").status != "True" {
		t.Error("the status did not follow")
	}
}

func testUnchanged(t *testing.T, w World) {
	c := launched(w.claim())
	w.mirror(t, c)
	before := w.object(t, "NodeClaim", string(c.ID))
	w.until(t, "the claim's object", func(s cluster.State) bool { return slices.Contains(s.ClaimObjects, c.ID) })
	w.Advance(time.Minute)
	w.mirror(t, c)
	if d := cmp.Diff(before.Object, w.object(t, "NodeClaim", string(c.ID)).Object); d != "" {
		t.Error(d)
	}
}

// testChangeBack publishes faster than caches follow.
func testChangeBack(t *testing.T, w World) {
	c := w.claim()
	w.mirror(t, c)
	w.until(t, "the claim's object", func(s cluster.State) bool { return slices.Contains(s.ClaimObjects, c.ID) })
	waiting := c
	waiting.Failure = model.Reason{Code: model.CodeInsufficientCapacity, Message: "EC2 has none"}
	for range 5 {
		w.mirror(t, waiting)
		w.mirror(t, c)
		if got := conditionOf(t, w.object(t, "NodeClaim", string(c.ID)), "Launched"); got.message != "" {
			t.Errorf("Launched is %+v, though nothing is in its way any more", got)
		}
	}
	w.mirror(t, waiting)
	if got := conditionOf(t, w.object(t, "NodeClaim", string(c.ID)), "Launched"); got.message != "EC2 has none" || got.reason != "Waiting" {
		t.Errorf("Launched is %+v, want to know what it waits for", got)
	}
}

func testRollback(t *testing.T, w World) {
	c := launched(w.claim())
	c.State, c.Reached, c.Disruption, c.DisruptionReason = model.ClaimInitialized, model.ClaimInitialized, "d1", model.ReasonDrifted
	c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "AMIDrift: another image"}
	w.mirror(t, c)
	o := w.object(t, "NodeClaim", string(c.ID))
	if got := conditionOf(t, o, "DisruptionReason"); got.status != "True" || got.reason != "Drifted" {
		t.Errorf("DisruptionReason is %+v", got)
	}
	if got := conditionOf(t, o, "Drifted"); got.status != "True" || got.reason != "AMIDrift" || got.message != "AMIDrift: another image" {
		t.Errorf("Drifted is %+v", got)
	}
	c.Disruption, c.DisruptionReason, c.Drifted = "", 0, model.Reason{}
	w.mirror(t, c)
	o = w.object(t, "NodeClaim", string(c.ID))
	for _, kind := range []string{"DisruptionReason", "Drifted"} {
		if got := conditionOf(t, o, kind); got.status == "True" {
			t.Errorf("%s is still %+v", kind, got)
		}
	}
}

func testQuiet(t *testing.T, w World) {
	c := launched(w.claim())
	c.State, c.Reached, c.Node = model.ClaimInitialized, model.ClaimInitialized, model.NodeName(w.Name)
	since := ""
	for i, quiet := range []bool{false, true, true, false} {
		w.publish(t, cluster.Publication{Claims: []model.Claim{c}, Consolidatable: map[model.ClaimID]bool{c.ID: quiet}})
		got := conditionOf(t, w.object(t, "NodeClaim", string(c.ID)), "Consolidatable")
		if (got.status == "True") != quiet {
			t.Errorf("%d: %+v, want %t", i, got, quiet)
		}
		if i == 2 && got.since != since {
			t.Errorf("quiet since %s, want %s", got.since, since)
		}
		since = got.since
		w.Advance(time.Minute)
	}
}

func testForget(t *testing.T, w World) {
	c := w.claim()
	w.mirror(t, c)
	w.until(t, "the claim's object", func(s cluster.State) bool { return slices.Contains(s.ClaimObjects, c.ID) })
	for range 2 {
		w.publish(t, cluster.Publication{ForgetClaims: []model.ClaimID{c.ID}})
	}
	w.until(t, "the claim's object gone", func(s cluster.State) bool { return !slices.Contains(s.ClaimObjects, c.ID) })
	if o := w.Read(t, "NodeClaim", string(c.ID)); o != nil {
		t.Errorf("it is still there: %v", o.Object)
	}
}

func testDeletedClaim(t *testing.T, w World) {
	c := launched(w.claim())
	w.mirror(t, c)
	s := w.until(t, "the claim's object", func(s cluster.State) bool { return slices.Contains(s.ClaimObjects, c.ID) })
	if slices.Contains(s.DeletedClaims, c.ID) {
		t.Error("no one has deleted it yet")
	}
	w.Delete(t, "NodeClaim", string(c.ID))
	w.until(t, "the deletion", func(s cluster.State) bool { return slices.Contains(s.DeletedClaims, c.ID) })
	c.State, c.DisruptionReason = model.ClaimTerminating, model.ReasonDeleted
	w.mirror(t, c)
	o := w.object(t, "NodeClaim", string(c.ID))
	if got := conditionOf(t, o, "DisruptionReason"); got.reason != "Deleted" || conditionOf(t, o, "InstanceTerminating").status != "True" {
		t.Errorf("status %v does not tell of the end", field(o, "status"))
	}
	w.publish(t, cluster.Publication{ForgetClaims: []model.ClaimID{c.ID}})
	w.until(t, "the claim's object gone", func(s cluster.State) bool {
		return !slices.Contains(s.ClaimObjects, c.ID) && !slices.Contains(s.DeletedClaims, c.ID)
	})
}

func testPartial(t *testing.T, w World) {
	good, bad := w.claim(), w.claim()
	bad.ID = model.ClaimID(w.Name + "_Not A Name")
	err := w.Cluster.Publish(t.Context(), cluster.Publication{Claims: []model.Claim{bad, good}})
	var failed cluster.NotPublished
	if !errors.As(err, &failed) || len(failed) != 1 || failed[cluster.ClaimEntry(bad.ID)] == nil {
		t.Errorf("%v, want that claim %s alone has failed", err, bad.ID)
	}
	w.object(t, "NodeClaim", string(good.ID))
}
