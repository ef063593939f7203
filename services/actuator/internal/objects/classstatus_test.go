package objects

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

func classObject(generation int64) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetName("default")
	o.SetGeneration(generation)
	return o
}

// told are the conditions as "kind: status reason @generation".
func told(o *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for _, c := range conditions(o) {
		m := c.(map[string]any)
		out[m["type"].(string)] = fmt.Sprintf("%s %s @%d", m["status"], m["reason"], m["observedGeneration"])
	}
	return out
}

func TestEachConditionOfAClassSaysWhatIsMissing(t *testing.T) {
	all := func(status string, except map[string]string) map[string]string {
		out := map[string]string{}
		for _, kind := range append(awsv1.Dependencies(), awsv1.ConditionReady) {
			out[kind] = status
			if status == "True" {
				out[kind] = "True " + kind + " @1"
			}
			if e, ok := except[kind]; ok {
				out[kind] = e
			}
		}
		return out
	}
	var bare cloud.Class
	bare.Found(cloud.Finding{Condition: awsv1.ConditionSubnetsReady, Reason: awsv1.ReasonSubnetsNotFound, Message: "no subnet matches", Field: "subnetSelectorTerms"})
	bare.Found(cloud.Finding{Condition: awsv1.ConditionSecurityGroupsReady, Reason: awsv1.ReasonSecurityGroupsNotFound, Message: "no group matches"})
	wrong := model.Reason{Code: model.CodeNodeClassNotReady, Message: "spec.kubelet.x: it can't be passed on"}
	tests := map[string]struct {
		status cluster.ClassStatus
		want   map[string]string
	}{
		"all is there": {cluster.ClassStatus{Generation: 1, Resolved: true}, all("True", nil)},
		"neither subnets nor groups": {
			cluster.ClassStatus{Generation: 1, Resolved: true, Class: bare, NotReady: bare.NotReady},
			all("True", map[string]string{
				"SubnetsReady": "False SubnetsNotFound @1", "SecurityGroupsReady": "False SecurityGroupsNotFound @1", "Ready": "False NotReady @1",
				"ValidationSucceeded": "Unknown DependenciesNotReady @1",
			}),
		},
		"nothing is known yet": {
			cluster.ClassStatus{Generation: 1, NotReady: wrong},
			all("Unknown AwaitingReconciliation @1", map[string]string{"Ready": "False NotReady @1"}),
		},
		"a spec that can't be used": {
			cluster.ClassStatus{Generation: 1, Invalid: wrong, InvalidWhy: awsv1.ReasonUnsupportedKubeletConfiguration, NotReady: wrong},
			all("Unknown AwaitingReconciliation @1", map[string]string{
				"Ready": "False NotReady @1", "ValidationSucceeded": "False UnsupportedKubeletConfiguration @1",
			}),
		},
	}
	for name, tt := range tests {
		o := classObject(1)
		SetClass(o, tt.status, time.Unix(1, 0))
		if d := cmp.Diff(tt.want, told(o)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestConditionsOfAClassKeepTheGenerationTheyAreAbout(t *testing.T) {
	o := classObject(1)
	found := cloud.Class{Subnets: []cloud.Subnet{{ID: "subnet-1"}}, Images: []cloud.Image{{ID: "ami-1", Deprecated: true}}}
	SetClass(o, cluster.ClassStatus{Generation: 1, Resolved: true, Class: found}, time.Unix(1, 0))
	o.SetGeneration(2)
	SetClass(o, cluster.ClassStatus{
		Generation: 2, Class: found, NotReady: model.Reason{Code: model.CodeNodeClassNotReady, Message: "it is being resolved"},
	}, time.Unix(2, 0))
	got := told(o)
	if got["SubnetsReady"] != "True SubnetsReady @1" || got["Ready"] != "False NotReady @2" {
		t.Errorf("conditions %v", got)
	}
	// The object was edited while the status of the form before it was on its way.
	o.SetGeneration(3)
	SetClass(o, cluster.ClassStatus{Generation: 2, Resolved: true, Class: found}, time.Unix(3, 0))
	if got := told(o); got["Ready"] != "True Ready @2" {
		t.Errorf("Ready is %s, want that it is about generation 2", got["Ready"])
	}
	if ami := statusOf(o)["amis"].([]any)[0].(map[string]any); ami["deprecated"] != true {
		t.Errorf("image %v, want that it is deprecated", ami)
	}
}

func TestAClassShowsItsReservations(t *testing.T) {
	o := classObject(1)
	SetClass(o, cluster.ClassStatus{Generation: 1, Resolved: true, Class: cloud.Class{Reservations: []cloud.Reservation{
		{ID: "cr-1", OwnerID: "1", InstanceType: "m5.large", Zone: "a", MatchesLaunches: "open"},
		{ID: "cr-2", OwnerID: "1", InstanceType: "p5.48xlarge", Zone: "a", MatchesLaunches: "targeted", Block: true, Expiring: true, EndTime: time.Unix(60, 0)},
	}}}, time.Unix(1, 0))
	want := []any{
		map[string]any{
			"id": "cr-1", "ownerID": "1", "instanceType": "m5.large", "availabilityZone": "a", "instanceMatchCriteria": "open",
			"reservationType": "default", "state": "active",
		},
		map[string]any{
			"id": "cr-2", "ownerID": "1", "instanceType": "p5.48xlarge", "availabilityZone": "a", "instanceMatchCriteria": "targeted",
			"reservationType": "capacity-block", "state": "expiring", "endTime": "1970-01-01T00:01:00Z",
		},
	}
	if d := cmp.Diff(want, statusOf(o)["capacityReservations"]); d != "" {
		t.Error(d)
	}
}

// TestKerfsHashOfAClassIsNotTakenForKarpenters: a cluster that goes back has claims of Karpenter's with a hash of its
// class, and they drift from another hash of the same version.
func TestKerfsHashOfAClassIsNotTakenForKarpenters(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAnnotations(map[string]string{"karpenter.k8s.aws/ec2nodeclass-hash": "456", "karpenter.k8s.aws/ec2nodeclass-hash-version": "v4"})
	SetClass(o, cluster.ClassStatus{Hash: "789"}, time.Unix(1, 0))
	got := o.GetAnnotations()
	if got["karpenter.k8s.aws/ec2nodeclass-hash"] != "789" || got["karpenter.k8s.aws/ec2nodeclass-hash-version"] != "kerf" {
		t.Errorf("annotations %v; want Kerf's hash, with a version of its own", got)
	}
}
