package suitetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

func testPolicy(t *testing.T, w World) {
	w.apply(t, poolManifest+"---"+classManifest)
	s := w.until(t, "pool and class", func(s cluster.State) bool { return poolOf(s, w.Name) != nil && classOf(s, w.Name) != nil })
	pool := *poolOf(s, w.Name)
	if pool.Hash == "" {
		t.Error("the pool has no hash")
	}
	pool.Hash = ""
	long, grace := 48*time.Hour, 10*time.Minute
	want := cluster.Pool{NodePool: model.NodePool{
		Name: model.PoolName(w.Name), NodeClass: model.NodeClassName(w.Name), Labels: model.Labels{{Key: "type", Value: "karpenter"}},
		Taints:       []model.Taint{{Key: "dedicated", Value: "ci", Effect: model.PreferNoSchedule}},
		Requirements: []model.Requirement{{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"on-demand", "spot"}}},
		Limits:       model.Amounts{{Resource: "cpu", Value: 1_000_000}, {Resource: "memory", Value: 1000 << 30}},
		Budgets: []model.DisruptionBudget{
			{Count: 20, IsPercent: true, Reasons: []model.DisruptionReason{model.ReasonEmpty}},
			{Count: 3, Schedule: "0 9 * * 1-5", Duration: 8 * time.Hour},
		},
		ExpireAfter: &long, TerminationGracePeriod: &grace, Annotations: model.Labels{},
		ConsolidationPolicy: model.WhenEmptyOrUnderutilized, ConsolidateAfter: new(time.Duration),
	}}
	if d := cmp.Diff(want, pool); d != "" {
		t.Error(d)
	}

	class := *classOf(s, w.Name)
	if class.Invalid != (model.Reason{}) || class.Terminating {
		t.Errorf("class %+v, want a good one", class)
	}
	spec := class.Spec
	if spec.UID != string(w.object(t, "EC2NodeClass", w.Name).GetUID()) || spec.Hash == "" || spec.Generation != 1 || spec.Role != "nodes" {
		t.Errorf("spec %+v lost something", spec)
	}
	terms := []cloud.SelectorTerm{{Tags: model.Labels{{Key: "karpenter.sh/discovery", Value: "kerf"}}}}
	if d := cmp.Diff(terms, spec.SubnetTerms); d != "" {
		t.Error(d)
	}
}

// testWrongPolicy makes objects that the API server takes: these rules are beyond a schema.
func testWrongPolicy(t *testing.T, w World) {
	w.apply(t, strings.Replace(poolManifest, "0 9 * * 1-5", "0 25 * * 1-5", 1)+"---"+
		classManifest+"  kubelet: {kubeReserved: {gpu: \"1\"}}\n")
	s := w.until(t, "pool and class", func(s cluster.State) bool { return poolOf(s, w.Name) != nil && classOf(s, w.Name) != nil })
	r := poolOf(s, w.Name).NotReady
	if r.Code != model.CodeNodePoolInvalid || r.Subject != "nodepool/"+w.Name || !strings.Contains(r.Message, "spec.disruption.budgets[1].schedule") {
		t.Errorf("pool: reason %+v names neither the object nor the field", r)
	}
	r = classOf(s, w.Name).Invalid
	if r.Code != model.CodeNodeClassNotReady || r.Subject != "ec2nodeclass/"+w.Name || !strings.Contains(r.Message, "spec.kubelet.kubeReserved") {
		t.Errorf("class: reason %+v names neither the object nor the field", r)
	}
	if name := classOf(s, w.Name).Spec.Name; string(name) != w.Name {
		t.Errorf("class: its name is %q", name)
	}
}

func testPoolStatus(t *testing.T, w World) {
	w.publish(t, cluster.Publication{Pools: []cluster.PoolStatus{{Name: model.PoolName(w.Name + "-never")}}}) // its user was faster
	w.apply(t, poolManifest)
	w.until(t, "the pool", func(s cluster.State) bool { return poolOf(s, w.Name) != nil })
	status := cluster.PoolStatus{Name: model.PoolName(w.Name), Resources: model.Amounts{{Resource: "cpu", Value: 4500}, {Resource: "nodes", Value: 2}}}
	w.publish(t, cluster.Publication{Pools: []cluster.PoolStatus{status}})
	o := w.object(t, "NodePool", w.Name)
	if d := cmp.Diff(any(map[string]any{"cpu": "4500m", "nodes": "2"}), field(o, "status", "resources")); d != "" || field(o, "status", "nodes") != int64(2) {
		t.Errorf("resources %s, nodes %v", d, field(o, "status", "nodes"))
	}
	if c := conditionOf(t, o, "Ready"); c.status != "True" {
		t.Errorf("Ready is %+v", c)
	}
	status.NotReady = model.Reason{Code: model.CodeNodeClassNotReady, Message: "its class is not ready"}
	w.publish(t, cluster.Publication{Pools: []cluster.PoolStatus{status}})
	o = w.object(t, "NodePool", w.Name)
	for kind, want := range map[string]string{"Ready": "False", "NodeClassReady": "False", "ValidationSucceeded": "True"} {
		if c := conditionOf(t, o, kind); c.status != want || want == "False" && c.message != "its class is not ready" {
			t.Errorf("%s is %+v", kind, c)
		}
	}
}

func testRegistration(t *testing.T, w World) {
	w.apply(t, poolManifest)
	w.until(t, "the pool", func(s cluster.State) bool { return poolOf(s, w.Name) != nil })
	for i, step := range []struct {
		last         cluster.Registration
		status, text string
	}{
		{cluster.Registration{}, "Unknown", ""},
		{cluster.Registration{Known: true, Message: "they did not join"}, "False", "they did not join"},
		{cluster.Registration{}, "False", "they did not join"}, // nothing more is known
		{cluster.Registration{Known: true, Healthy: true}, "True", ""},
	} {
		w.publish(t, cluster.Publication{Pools: []cluster.PoolStatus{{
			Name: model.PoolName(w.Name), Resources: model.Amounts{{Resource: "nodes"}}, Registration: step.last,
		}}})
		o := w.object(t, "NodePool", w.Name)
		if got := conditionOf(t, o, "NodeRegistrationHealthy"); got.status != step.status || got.message != step.text {
			t.Errorf("%d: %+v, want %s %q", i, got, step.status, step.text)
		}
		if got := conditionOf(t, o, "Ready"); got.status != "True" {
			t.Errorf("%d: Ready is %+v, which it does not depend on", i, got)
		}
	}
}

func testClassStatus(t *testing.T, w World) {
	w.apply(t, classManifest)
	w.until(t, "the class", func(s cluster.State) bool { return classOf(s, w.Name) != nil })
	status := cluster.ClassStatus{
		Name: model.NodeClassName(w.Name), Generation: 1, Hash: "h1", Resolved: true,
		Class: cloud.Class{
			Name: model.NodeClassName(w.Name), InstanceProfile: "profile-1", Subnets: []cloud.Subnet{{ID: "subnet-1", Zone: "us-east-1a", ZoneID: "use1-az1"}},
			SecurityGroups: []cloud.SecurityGroup{{ID: "sg-1", Name: "nodes"}},
			Images: []cloud.Image{{
				ID: "ami-1", Name: "al2023", Deprecated: true, Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}}},
			}},
			Reservations: []cloud.Reservation{{
				ID: "cr-1", OwnerID: "123456789012", InstanceType: "p5.48xlarge", Zone: "us-east-1a", MatchesLaunches: "targeted",
				Block: true, Expiring: true, EndTime: time.Unix(60, 0),
			}},
		},
	}
	for range 2 {
		w.publish(t, cluster.Publication{Classes: []cluster.ClassStatus{status}})
	}
	o := w.object(t, "EC2NodeClass", w.Name)
	want := map[string]any{
		"subnets":        []any{map[string]any{"id": "subnet-1", "zone": "us-east-1a", "zoneID": "use1-az1"}},
		"securityGroups": []any{map[string]any{"id": "sg-1", "name": "nodes"}},
		"amis": []any{map[string]any{"id": "ami-1", "name": "al2023", "deprecated": true, "requirements": []any{
			map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}},
		}}},
		"instanceProfile": "profile-1",
		"capacityReservations": []any{map[string]any{
			"id": "cr-1", "ownerID": "123456789012", "instanceType": "p5.48xlarge", "availabilityZone": "us-east-1a", "endTime": "1970-01-01T00:01:00Z",
			"instanceMatchCriteria": "targeted", "reservationType": "capacity-block", "state": "expiring",
		}},
	}
	for name, v := range want {
		if d := cmp.Diff(v, field(o, "status", name)); d != "" {
			t.Errorf("status.%s: %s", name, d)
		}
	}
	for _, kind := range append(awsv1.Dependencies(), awsv1.ConditionReady) {
		if c := conditionOf(t, o, kind); c.status != "True" {
			t.Errorf("%s is %+v", kind, c)
		}
	}
	status.Class.Found(cloud.Finding{Condition: awsv1.ConditionSubnetsReady, Reason: awsv1.ReasonSubnetsNotFound, Message: "no subnet matches tag a=b"})
	status.NotReady = status.Class.NotReady
	w.publish(t, cluster.Publication{Classes: []cluster.ClassStatus{status}})
	o = w.object(t, "EC2NodeClass", w.Name)
	if c := conditionOf(t, o, awsv1.ConditionSubnetsReady); c.status != "False" || c.reason != awsv1.ReasonSubnetsNotFound {
		t.Errorf("%s is %+v", awsv1.ConditionSubnetsReady, c)
	}
	if c := conditionOf(t, o, awsv1.ConditionReady); c.status != "False" {
		t.Errorf("Ready is %+v", c)
	}

	w.Delete(t, "EC2NodeClass", w.Name)
	w.until(t, "the class terminating", func(s cluster.State) bool { c := classOf(s, w.Name); return c != nil && c.Terminating })
	w.publish(t, cluster.Publication{Classes: []cluster.ClassStatus{status}})
	w.object(t, "EC2NodeClass", w.Name)
	for range 2 {
		w.publish(t, cluster.Publication{ForgetClasses: []model.NodeClassName{model.NodeClassName(w.Name)}})
	}
	w.until(t, "the class gone", func(s cluster.State) bool { return classOf(s, w.Name) == nil })
}

func testEvents(t *testing.T, w World) {
	w.running(t)
	node := cluster.Event{Kind: "Node", Name: w.Name, Warning: true, Reason: "Disrupted", Message: "because"}
	pod := cluster.Event{Kind: "Pod", Namespace: w.Namespace, Name: "web", Reason: "Told", Message: "why"}
	for range 2 {
		w.publish(t, cluster.Publication{Events: []cluster.Event{node, pod}})
	}
	ofNode, ofPod := w.Events(t, "Node", w.Name), w.Events(t, "Pod", "web")
	if len(ofNode) != 1 || len(ofPod) != 1 {
		t.Fatalf("events %+v and %+v, want one each", ofNode, ofPod)
	}
	node.UID, pod.UID = string(w.object(t, "Node", w.Name).GetUID()), string(w.object(t, "Pod", "web").GetUID())
	want := []clustertest.Event{{Event: node, In: "default"}, {Event: pod, In: w.Namespace}}
	for i, got := range []clustertest.Event{ofNode[0], ofPod[0]} {
		if got.Event != want[i].Event || got.In != want[i].In {
			t.Errorf("event %+v, want %+v", got, want[i])
		}
	}

	node.UID, node.Message = "", "because of something else"
	w.publish(t, cluster.Publication{Events: []cluster.Event{node}})
	if got := w.Events(t, "Node", w.Name); len(got) != 2 {
		t.Errorf("%d events after another message, want 2: %+v", len(got), got)
	}
	w.Advance(2 * time.Hour)
	w.publish(t, cluster.Publication{Events: []cluster.Event{node}})
	if got := w.Events(t, "Node", w.Name); len(got) != 3 {
		t.Errorf("%d events after two hours, want 3: the API server has dropped what was said", len(got))
	}
}
