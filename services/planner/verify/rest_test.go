package verify_test

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// TestPodsThatWereMovedRest takes a pod that is moved by choice, and a history.
func TestPodsThatWereMovedRest(t *testing.T) {
	history := func(change func(*model.DisruptionRecord), bound time.Time) func(*model.Input, *model.Plan) {
		return func(in *model.Input, p *model.Plan) {
			r := model.DisruptionRecord{
				ID: "d-old", Reason: model.ReasonUnderutilized, AcceptTime: at(5), EndTime: at(12),
				Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "ReplicaSet", Name: "api", Pods: 1}},
			}
			change(&r)
			in.Snapshot.Disruptions = []model.DisruptionRecord{r}
			pod(in, "shop/api-0").BindTime = bound
		}
	}
	same := func(*model.DisruptionRecord) {}
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"bound after it was moved":        {history(same, at(6)), "pod shop/api-0 may not move: pod shop/api-0 of ReplicaSet api was moved"},
		"bound when that was accepted":    {history(func(r *model.DisruptionRecord) { r.AcceptTime = at(6) }, at(6)), "was moved a short time ago"},
		"while that goes on":              {history(func(r *model.DisruptionRecord) { r.EndTime = time.Time{} }, at(6)), "was moved a short time ago"},
		"bound before":                    {history(same, at(3)), ""},
		"rested":                          {history(func(r *model.DisruptionRecord) { r.AcceptTime = at(-1) }, at(0)), ""},
		"bound at an unknown time":        {history(same, time.Time{}), ""},
		"that was rolled back":            {history(func(r *model.DisruptionRecord) { r.RolledBack = true }, at(6)), ""},
		"not by choice":                   {history(func(r *model.DisruptionRecord) { r.Reason = model.ReasonUnhealthy }, at(6)), ""},
		"of a controller that is no more": {history(func(r *model.DisruptionRecord) { r.Workloads[0].UID = "u0" }, at(6)), ""},
		"of another revision":             {history(func(r *model.DisruptionRecord) { r.Workloads[0].Revision = "0" }, at(6)), ""},
		"one that came after the one that was moved": {func(in *model.Input, p *model.Plan) {
			history(same, at(6))(in, p)
			pod(in, "shop/api-0").CreateTime = at(6)
			first := running("shop/api-first", "api", "wide")
			first.CreateTime, first.BindTime = at(5), at(5)
			in.Snapshot.Pods = append(in.Snapshot.Pods, first)
		}, ""},
		"another owner's":     {history(func(r *model.DisruptionRecord) { r.Workloads[0].Name = "web" }, at(6)), ""},
		"another namespace's": {history(func(r *model.DisruptionRecord) { r.Workloads[0].Namespace = "web" }, at(6)), ""},
		"the earliest of several records holds": {func(in *model.Input, p *model.Plan) {
			history(same, at(6))(in, p)
			late := in.Snapshot.Disruptions[0]
			late.ID, late.AcceptTime = "d-p", at(20)
			in.Snapshot.Disruptions = append(in.Snapshot.Disruptions, late)
		}, "was moved a short time ago"},
		"no rest asked for": {func(in *model.Input, p *model.Plan) {
			history(same, at(6))(in, p)
			in.Policy.PodRest = ptr(time.Duration(0))
		}, ""},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonUnderutilized), tc.change, tc.want}.run)
	}
	t.Run("drift waits as well", disruptionCase{one(model.ReasonDrifted), history(same, at(6)), "was moved a short time ago"}.run)
	t.Run("repair does not", disruptionCase{one(model.ReasonUnhealthy), history(same, at(6)), ""}.run)
}

// TestRolloutsAreLeftAlone takes a pod of an owner that has pods of two revisions.
func TestRolloutsAreLeftAlone(t *testing.T) {
	roll := func(change func(in *model.Input, newer *model.Pod)) func(*model.Input, *model.Plan) {
		return func(in *model.Input, p *model.Plan) {
			next := *classNamed(in, "api")
			next.ID, next.OwnerRevision = "api-2", "2"
			classNamed(in, "api").OwnerRevision = "1"
			in.Snapshot.PodClasses = append(in.Snapshot.PodClasses, next)
			in.Snapshot.Pods = append(in.Snapshot.Pods, running("shop/api-new", "api-2", "wide"))
			newer := pod(in, "shop/api-new")
			newer.BindTime = at(21)
			change(in, newer)
			p.Disruptions[0].Workloads[0].Revision = classNamed(in, "api").OwnerRevision
		}
	}
	same := func(*model.Input, *model.Pod) {}
	tests := map[string]struct {
		change func(*model.Input, *model.Plan)
		want   string
	}{
		"going on":                   {roll(same), "is being rolled out"},
		"settled":                    {roll(func(_ *model.Input, p *model.Pod) { p.BindTime = at(20) }), ""},
		"the other is ending":        {roll(func(_ *model.Input, p *model.Pod) { p.Terminating = true }), ""},
		"the other is not theirs":    {roll(func(in *model.Input, _ *model.Pod) { classNamed(in, "api-2").OwnerName = "web" }), ""},
		"an owner without revisions": {roll(func(in *model.Input, _ *model.Pod) { classNamed(in, "api").OwnerRevision = "" }), ""},
		"the same revision, scaled":  {roll(func(in *model.Input, _ *model.Pod) { classNamed(in, "api").OwnerRevision = "2" }), ""},
	}
	for name, tc := range tests {
		t.Run(name, disruptionCase{one(model.ReasonUnderutilized), tc.change, tc.want}.run)
	}
	t.Run("drift waits as well", disruptionCase{one(model.ReasonDrifted), roll(same), "being rolled out"}.run)
	t.Run("expiry does not", disruptionCase{one(model.ReasonExpired), roll(same), ""}.run)
}
