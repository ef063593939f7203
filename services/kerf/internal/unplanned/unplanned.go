// Package unplanned says why a plan does not speak of a pod: what keeps one that has no node from being planned for,
// and one that has a node where it is.
//
// It reads snapshots and plans, by the rules that the planner has, and decides nothing. Start reading at Why.
package unplanned

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Input is what a plan was made from, and the plan.
type Input struct {
	Snapshot *clusterpb.Snapshot
	Policy   *clusterpb.Policy
	Plan     *plannerpb.Plan
}

// Why is what becomes of a pod that the plan neither places, nor moves, nor leaves pending, in a few words, and the reason.
func Why(in Input, pod *clusterpb.Pod) (outcome string, why *clusterpb.Reason) {
	class := in.class(pod)
	switch {
	case pod.GetNode() != "":
		return "stays where it is", in.stays(pod, class)
	case class.GetDaemon():
		return "waits for the scheduler", message("it is a DaemonSet's, whose pods run on nodes that are there: none is bought for it")
	case in.unsupported(class) != "":
		return "is not planned for", message(in.unsupported(class))
	case pod.GetTerminating():
		return "is being deleted", nil
	default:
		return "waits for the scheduler", message("it is planned for once the scheduler says that it fits on no node (condition PodScheduled, reason Unschedulable)")
	}
}

// stays is why a pod stays on its node: because of itself, or as its node does. nil for the pods that come and go with
// nodes.
func (in Input) stays(pod *clusterpb.Pod, class *clusterpb.PodClass) *clusterpb.Reason {
	if class.GetDaemon() || class.GetMirror() {
		return nil
	}
	if read, err := convert.Part(&clusterpb.Snapshot{Pods: []*clusterpb.Pod{pod}}); err == nil {
		if r, _ := rules.Protected(&read.Pods[0], in.Plan.GetNow().AsTime()); r.Message != "" {
			return &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_POD_DO_NOT_DISRUPT, Message: r.Message, Remedy: r.Remedy}
		}
	}
	for _, v := range in.Plan.GetNodes() {
		if v.GetNode() == pod.GetNode() && v.GetDisruption() == "" && v.GetReason().GetMessage() != "" {
			return &clusterpb.Reason{
				Code: v.GetReason().GetCode(), Message: "its node stays: " + v.GetReason().GetMessage(), Remedy: v.GetReason().GetRemedy(),
			}
		}
	}
	return nil
}

func (in Input) class(pod *clusterpb.Pod) *clusterpb.PodClass {
	at := slices.IndexFunc(in.Snapshot.GetPodClasses(), func(c *clusterpb.PodClass) bool { return c.GetId() == pod.GetClassId() })
	if at < 0 {
		return nil
	}
	return in.Snapshot.GetPodClasses()[at]
}

// unsupported is why no pods of a class are planned for; "" where they are.
func (in Input) unsupported(c *clusterpb.PodClass) string {
	if c == nil {
		return ""
	}
	classes, err := convert.Part(&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{c}})
	by, otherErr := convert.Decide(&plannerpb.Decide{Now: in.Plan.GetNow(), Policy: in.Policy})
	if errors.Join(err, otherErr) != nil {
		return "" // the planner would have refused it
	}
	return rules.Unsupported(&classes.PodClasses[0], &by.Policy)
}

func message(text string) *clusterpb.Reason { return &clusterpb.Reason{Message: text} }

// Others counts the pods without a node that wait for schedulers which the policy does not name, and of which the plan does
// not speak, because none of those has said that it finds no node. "" where there are none.
func Others(in Input) string {
	others := map[string]bool{}
	for _, c := range in.Snapshot.GetPodClasses() {
		if !c.GetDaemon() && !c.GetMirror() && c.GetUnsupported() == "" && in.unsupported(c) != "" {
			others[c.GetId()] = true
		}
	}
	if len(others) == 0 {
		return ""
	}
	pending := map[string]bool{}
	for _, p := range in.Plan.GetPending() {
		pending[p.GetPod()] = true
	}
	var pods, names []string
	for _, p := range in.Snapshot.GetPods() {
		if others[p.GetClassId()] && p.GetNode() == "" && !pending[p.GetId()] {
			pods = append(pods, p.GetId())
			names = append(names, in.class(p).GetSchedulerName())
		}
	}
	if len(pods) == 0 {
		return ""
	}
	slices.Sort(names)
	verb, noun := "waits", "pod"
	if len(pods) > 1 {
		verb, noun = "wait", "pods"
	}
	return fmt.Sprintf("%d %s, such as %s, %s for schedulers that the policy does not name: %s", len(pods), noun, slices.Min(pods), verb,
		strings.Join(slices.Compact(names), ", "))
}
