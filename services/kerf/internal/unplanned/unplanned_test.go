package unplanned_test

import (
	"cmp"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/unplanned"
)

// input has pods and classes with all that the contract requires of them.
func input(pods ...*clusterpb.Pod) unplanned.Input {
	for _, p := range pods {
		p.Id, p.Uid, p.CreateTime = cmp.Or(p.GetId(), "a/b"), "u", &timestamppb.Timestamp{Seconds: 1}
		if p.Phase = clusterpb.PodPhase_POD_PHASE_WAITING; p.GetNode() != "" {
			p.Phase = clusterpb.PodPhase_POD_PHASE_RUNNING
		}
	}
	in := bare(pods)
	for _, c := range in.Snapshot.GetPodClasses() {
		c.Namespace = "a"
	}
	return in
}

func bare(pods []*clusterpb.Pod) unplanned.Input {
	return unplanned.Input{
		Snapshot: &clusterpb.Snapshot{Pods: pods, PodClasses: []*clusterpb.PodClass{
			{Id: "plain"}, {Id: "volcano", SchedulerName: "volcano"}, {Id: "yunikorn", SchedulerName: "yunikorn"}, {Id: "daemon", Daemon: true},
		}},
		Plan: &plannerpb.Plan{Now: &timestamppb.Timestamp{Seconds: 1000}, Nodes: []*plannerpb.NodeVerdict{
			{Node: "young", Reason: &clusterpb.Reason{Message: "it has been quiet for 8s, and its pool asks for 30s"}},
			{Node: "goes", Disruption: "d-1", Reason: &clusterpb.Reason{Message: "it is empty"}},
		}},
	}
}

func TestWhyAPlanDoesNotSpeakOfAPod(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pod          *clusterpb.Pod
		outcome, why string
	}{
		"one of another scheduler":     {&clusterpb.Pod{ClassId: "volcano"}, "is not planned for", "spec.schedulerName: volcano is not among the schedulers of the policy"},
		"one that was not looked at":   {&clusterpb.Pod{ClassId: "plain"}, "waits for the scheduler", "once the scheduler says that it fits on no node"},
		"a DaemonSet's without a node": {&clusterpb.Pod{ClassId: "daemon"}, "waits for the scheduler", "a DaemonSet's"},
		"one that goes":                {&clusterpb.Pod{ClassId: "plain", Terminating: true}, "is being deleted", ""},
		"one on a node that stays":     {&clusterpb.Pod{ClassId: "plain", Node: "young"}, "stays where it is", "its node stays: it has been quiet for 8s"},
		"one on a node that goes":      {&clusterpb.Pod{ClassId: "plain", Node: "goes"}, "stays where it is", ""},
		"a DaemonSet's":                {&clusterpb.Pod{ClassId: "daemon", Node: "young"}, "stays where it is", ""},
		"a protected one":              {&clusterpb.Pod{ClassId: "plain", Node: "young", DoNotDisrupt: true}, "stays where it is", "pod a/b is annotated karpenter.sh/do-not-disrupt"},
		"one whose protection is over": {
			&clusterpb.Pod{ClassId: "plain", Node: "young", DoNotDisrupt: true, DoNotDisruptUntil: &timestamppb.Timestamp{Seconds: 900}},
			"stays where it is", "its node stays",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, why := unplanned.Why(input(tt.pod), tt.pod)
			if outcome != tt.outcome || !strings.Contains(why.GetMessage(), tt.why) || (tt.why == "") != (why.GetMessage() == "") {
				t.Errorf("%s: %q, want %s: %q", outcome, why.GetMessage(), tt.outcome, tt.why)
			}
		})
	}
}

func TestPodsOfOtherSchedulersAreCounted(t *testing.T) {
	t.Parallel()
	one := &clusterpb.Pod{Id: "a/1", ClassId: "volcano"}
	in := input(one, &clusterpb.Pod{Id: "a/0", ClassId: "volcano", Node: "young"}, &clusterpb.Pod{Id: "a/2", ClassId: "plain"})
	if got, want := unplanned.Others(in), "1 pod, such as a/1, waits for schedulers that the policy does not name: volcano"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	in.Snapshot.Pods = append(in.Snapshot.Pods, &clusterpb.Pod{Id: "a/3", ClassId: "yunikorn"})
	if got, want := unplanned.Others(in), "2 pods, such as a/1, wait for schedulers that the policy does not name: volcano, yunikorn"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	in.Policy = &clusterpb.Policy{SchedulerNames: []string{"default-scheduler", "volcano"}}
	in.Plan.Pending = []*plannerpb.PendingPod{{Pod: "a/3"}}
	if got := unplanned.Others(in); got != "" {
		t.Errorf("%q, want none", got)
	}
}
