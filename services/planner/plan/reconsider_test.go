package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// morning is a Wednesday, at ten past nine.
func morning() time.Time { return time.Date(2026, 7, 15, 9, 10, 0, 0, time.UTC) }

// minute is a time so many minutes from then.
func minute(minutes float64) time.Time {
	return morning().Add(time.Duration(minutes * float64(time.Minute)))
}

func lasting(minutes int) *time.Duration {
	d := time.Duration(minutes) * time.Minute
	return &d
}

// past is a cluster of a pool and, unless a test takes them away, a claim c with node n that has been quiet for 20 minutes.
type past struct {
	model.Input
}

func (p *past) pool() *model.NodePool { return &p.Snapshot.NodePools[0] }
func (p *past) claim() *model.Claim   { return &p.Snapshot.Claims[0] }
func (p *past) node() *model.Node     { return &p.Snapshot.Nodes[0] }

func (p *past) budget(schedule string, minutes int) {
	p.pool().Budgets = append(p.pool().Budgets, model.DisruptionBudget{Count: 1, Schedule: schedule, Duration: *lasting(minutes)})
}

func (p *past) unhealthy(kind, status string, since float64) {
	p.node().Conditions = []model.NodeCondition{{Type: kind, Status: status, TransitionTime: minute(since)}}
}

// pod adds a pod of the deployment web, of a revision, that was bound at a minute.
func (p *past) pod(revision string, bound float64) {
	class := model.ClassID("c-" + revision)
	if p.Snapshot.PodClasses == nil || p.Snapshot.PodClasses[len(p.Snapshot.PodClasses)-1].ID != class {
		p.Snapshot.PodClasses = append(p.Snapshot.PodClasses, model.PodClass{
			ID: class, Namespace: "shop", OwnerKind: "Deployment", OwnerName: "web", OwnerRevision: revision,
		})
	}
	p.Snapshot.Pods = append(p.Snapshot.Pods, model.Pod{
		ID: model.PodID(fmt.Sprintf("shop/web-%d", len(p.Snapshot.Pods))), Class: class, Node: "n", Phase: model.PodRunning, BindTime: minute(bound),
	})
}

// moved adds a disruption that moved pods of web, and has ended a minute later.
func (p *past) moved(accepted float64) *model.DisruptionRecord {
	p.Snapshot.Disruptions = append(p.Snapshot.Disruptions, model.DisruptionRecord{
		ID: "d-moved", Reason: model.ReasonUnderutilized, AcceptTime: minute(accepted), EndTime: minute(accepted + 2),
		Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "Deployment", Name: "web", Revision: "1", Pods: 1}},
	})
	return &p.Snapshot.Disruptions[len(p.Snapshot.Disruptions)-1]
}

// failed adds disruptions of drifted nodes whose replacements failed.
func (p *past) failed(ended ...float64) {
	for i, at := range ended {
		p.Snapshot.Disruptions = append(p.Snapshot.Disruptions, model.DisruptionRecord{
			ID: model.DisruptionID(fmt.Sprintf("d-%d", i)), Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"c"},
			Replacements: []model.ClaimID{"forgotten"}, RolledBack: true, AcceptTime: minute(at - 5), EndTime: minute(at),
		})
	}
}

func TestAPlanSaysWhenTimeChangesIt(t *testing.T) {
	patient := model.Policy{
		PodRest: lasting(5),
		Repair:  model.RepairPolicy{Conditions: []model.RepairCondition{{Type: "Disk", Status: "True", After: 7 * time.Minute}}},
	}
	for name, tc := range map[string]struct {
		edit func(p *past)
		want float64 // in minutes, 0 for never
	}{
		"an empty cluster": {func(p *past) { p.Snapshot = model.Snapshot{} }, 0},

		"a node that will have been quiet":         {func(p *past) { p.pool().ConsolidateAfter = lasting(30) }, 10},
		"a node that has been quiet":               {func(p *past) { p.pool().ConsolidateAfter = lasting(5) }, 0},
		"a node without pods, since it was ready":  {func(p *past) { p.pool().ConsolidateAfter, p.node().LastPodEventTime = lasting(55), time.Time{} }, 5},
		"a node of a pool that never consolidates": {func(*past) {}, 0},
		"a node that is not initialized": {func(p *past) {
			p.pool().ConsolidateAfter, p.claim().InitializeTime, p.claim().State = lasting(30), time.Time{}, model.ClaimRegistered
		}, 0},
		"a node that is not Kerf's": {func(p *past) { p.pool().ConsolidateAfter, p.node().Claim, p.Snapshot.Claims = lasting(30), "", nil }, 0},

		"the last hour of a long life":  {func(p *past) { p.claim().CreateTime, p.claim().ExpireTime = minute(-6000), minute(90) }, 30},
		"the last tenth of a short one": {func(p *past) { p.claim().ExpireTime = minute(40) }, 30},
		"the end of a life":             {func(p *past) { p.claim().CreateTime, p.claim().ExpireTime = minute(-99), minute(1) }, 1},
		"a life that is over":           {func(p *past) { p.claim().ExpireTime = minute(-1) }, 0},
		"a claim that is drained": {func(p *past) {
			p.pool().ConsolidateAfter, p.claim().State, p.claim().Reached, p.claim().ExpireTime = lasting(30), model.ClaimDraining, model.ClaimInitialized, minute(1)
		}, 0},

		"a node that is not ready":             {func(p *past) { p.unhealthy("Ready", "Unknown", -10) }, 20},
		"a broken accelerator":                 {func(p *past) { p.unhealthy("AcceleratedHardwareReady", "False", -4) }, 6},
		"a condition of the policy's":          {func(p *past) { p.Policy = patient; p.unhealthy("Disk", "True", -4) }, 3},
		"one that it does not name":            {func(p *past) { p.Policy = patient; p.unhealthy("Ready", "False", -4) }, 0},
		"one that it calls well":               {func(p *past) { p.Policy = patient; p.unhealthy("Disk", "False", -4) }, 0},
		"an unhealthy node without any repair": {func(p *past) { p.Policy.Repair.Off = true; p.unhealthy("Ready", "False", -4) }, 0},

		"pods that were moved rest":           {func(p *past) { p.pod("1", -10); p.moved(-11) }, 20},
		"pods that rest as the policy says":   {func(p *past) { p.Policy = patient; p.pod("1", -4); p.moved(-5) }, 1},
		"as many of them as were moved":       {func(p *past) { p.pod("1", -10); p.pod("1", -9.9); p.moved(-11) }, 20},
		"pods of a rollout after a move":      {func(p *past) { p.pod("2", -10); p.moved(-11) }, 0},
		"pods that were there before":         {func(p *past) { p.pod("1", -12); p.moved(-11) }, 0},
		"pods whose move was taken back":      {func(p *past) { p.pod("1", -10); p.moved(-11).RolledBack = true }, 0},
		"a rollout, by its newest pod":        {func(p *past) { p.pod("1", -90); p.pod("2", -7); p.pod("2", -3) }, 7},
		"a workload of one revision":          {func(p *past) { p.pod("1", -90); p.pod("1", -3) }, 0},
		"a pod that is protected for a while": {func(p *past) { p.pod("1", -90); p.protect(minute(12)) }, 12},
		"a pod that is protected for ever":    {func(p *past) { p.pod("1", -90); p.protect(time.Time{}) }, 0},

		"a budget's window that opens":           {func(p *past) { p.budget("30 9 * * mon-fri", 60) }, 20},
		"a budget's window that closes":          {func(p *past) { p.budget("0 9 * * mon-fri", 60) }, 50},
		"a budget's window that has just opened": {func(p *past) { p.budget("10 9 * * *", 5) }, 5},
		"a budget's window that has just closed": {func(p *past) { p.budget("@hourly", 10) }, 50},
		"windows that follow each other":         {func(p *past) { p.budget("0 9-11 * * *", 60) }, 170},
		"a window that never closes":             {func(p *past) { p.budget("@hourly", 60) }, 0},
		"a budget without a schedule":            {func(p *past) { p.budget("", 0) }, 0},
		"a schedule that is none":                {func(p *past) { p.budget("soon", 1) }, 0},

		"the first pause after a failed drift": {func(p *past) { p.failed(-10) }, 5},
		"a second in a row":                    {func(p *past) { p.failed(-60, -20) }, 10},
		"a failure of long ago":                {func(p *past) { p.failed(-300) }, 0},
		"a type that may only be missed by an old claim": {func(p *past) {
			p.Snapshot.NodeClasses = []model.NodeClass{{Name: "al2023", Catalog: "cat"}}
			p.Snapshot.Catalogs = []model.Catalog{{ID: "cat"}}
			p.pool().NodeClass, p.claim().NodeClass, p.claim().InstanceType, p.claim().CreateTime = "al2023", "al2023", "m1.large", minute(-45)
		}, 15},

		"pods that end":                  {func(p *past) { p.ends(-0.5) }, 1.5},
		"pods that should have ended":    {func(p *past) { p.ends(-20) }, 0},
		"a pod of a DaemonSet that ends": {func(p *past) { p.ends(-0.5).Daemon = true }, 0},

		"a pod that waits for another's room":    {func(p *past) { p.ends(-20); p.waits(0.25) }, 0.25 + 1.0/6},
		"a pod that ends where none waits":       {func(p *past) { p.ends(-20); p.waits(0.25); p.Snapshot.Pods = p.Snapshot.Pods[:1] }, 0},
		"a pod that ends too late to be awaited": {func(p *past) { p.ends(-20); p.waits(2) }, 0},

		"a node whose driver is late":          {func(p *past) { p.lacks(-6) }, 4},
		"a node whose driver has come":         {func(p *past) { p.lacks(-6); p.node().Drivers = []string{"ebs.csi.aws.com"} }, 0},
		"a node whose driver is not to come":   {func(p *past) { p.lacks(-10) }, 0},
		"a node that no pod needs a driver of": {func(p *past) { p.lacks(-6); p.Snapshot.PodClasses[0].NeededDrivers = nil }, 0},

		"a node whose devices are late":    {func(p *past) { p.lacksDevices(-6) }, 4},
		"a node whose devices do not come": {func(p *past) { p.lacksDevices(-10) }, 0},
		"a node whose devices have come":   {func(p *past) { p.lacksDevices(-6); p.node().Devices = p.pool().Devices[0].Devices }, 0},

		"an offering that is back": {func(p *past) { p.shortage(3) }, 3},
		"a buffer that is to come": {func(p *past) { p.buffer(4, 8) }, 4},
		"a buffer that is to go":   {func(p *past) { p.buffer(-4, 8) }, 8},
		"without disruptions, what can be bought alone counts": {func(p *past) {
			p.Kinds = []model.DecisionKind{model.KindProvision}
			p.failed(-10)
			p.shortage(6)
		}, 6},
		"the first of several": {func(p *past) { p.shortage(3); p.buffer(2, 0); p.failed(-10) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := past{model.Input{Now: morning(), Snapshot: model.Snapshot{
				NodePools: []model.NodePool{{Name: "default", ConsolidationPolicy: model.WhenEmpty}},
				Nodes:     []model.Node{{Name: "n", Claim: "c", Ready: true, LastPodEventTime: minute(-20)}},
				Claims: []model.Claim{{
					ID: "c", NodePool: "default", Node: "n", State: model.ClaimInitialized, CreateTime: minute(-60), InitializeTime: minute(-50),
				}},
			}}}
			tc.edit(&p)
			got, err := plan.Decide(p.Input)
			if err != nil {
				t.Fatal(err)
			}
			var want time.Time
			if tc.want != 0 {
				want = minute(tc.want)
			}
			if !got.ReconsiderTime.Equal(want) {
				t.Errorf("reconsider at %s, want %s", got.ReconsiderTime, want)
			}
		})
	}
}

// lacks adds a pod that needs a driver, which the node, made at a minute, does not have.
func (p *past) lacks(made float64) {
	p.node().CreateTime = minute(made)
	p.pod("1", -90)
	p.Snapshot.PodClasses[0].NeededDrivers = []string{"ebs.csi.aws.com"}
}

// lacksDevices adds a pod that claims a device, which the node, made at a minute, was to have.
func (p *past) lacksDevices(made float64) {
	p.lacks(made)
	c := &p.Snapshot.PodClasses[0]
	c.NeededDrivers = nil
	c.DeviceClaims = []model.DeviceClaim{{Requests: []model.DeviceRequest{{Name: "r", Options: []model.DeviceOption{{Selector: "gpu", Count: 1}}}}}}
	gpu := model.NodeDevice{DeviceRef: model.DeviceRef{Driver: "gpu.example.com", Name: "gpu-0"}, Selectors: []string{"gpu"}}
	p.pool().Devices = []model.DeviceTemplate{{Devices: []model.NodeDevice{gpu}}}
	p.node().Labels = model.Labels{{Key: labels.NodePool, Value: "default"}, {Key: labels.InstanceType, Value: "m5.large"}}
}

func (p *past) protect(until time.Time) {
	last := &p.Snapshot.Pods[len(p.Snapshot.Pods)-1]
	last.DoNotDisrupt, last.DoNotDisruptUntil = true, until
}

// ends adds a pod that is being deleted, to a node where the last pod came or went at a minute, and returns its class.
func (p *past) ends(minutes float64) *model.PodClass {
	p.Snapshot.PodClasses = []model.PodClass{{ID: "old", Namespace: "d"}}
	p.Snapshot.Pods = []model.Pod{{ID: "d/old", Class: "old", Node: "n", Phase: model.PodRunning, CreateTime: minute(-60), BindTime: minute(-50), Terminating: true}}
	p.Snapshot.Nodes[0].LastPodEventTime = minute(minutes)
	return &p.Snapshot.PodClasses[0]
}

// waits adds a pod for which there is room on the node once the one there has ended.
func (p *past) waits(minutes float64) {
	p.node().Allocatable = []model.Amount{{Resource: "pods", Value: 1}}
	p.Snapshot.PodClasses[0].Requests = []model.Amount{{Resource: "pods", Value: 1}}
	p.Snapshot.Pods[0].TerminationDeadline = minute(minutes)
	p.Snapshot.Pods = append(p.Snapshot.Pods, model.Pod{ID: "d/new", Class: "old", Phase: model.PodUnschedulable, CreateTime: minute(-1)})
}

func (p *past) shortage(minutes float64) {
	p.Snapshot.Offerings = append(p.Snapshot.Offerings, model.Offering{
		InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot, Price: 1, UnavailableUntil: minute(minutes),
	})
}

// buffer begins and ends at some minutes; 0 for none.
func (p *past) buffer(start, end float64) {
	b := model.CapacityBuffer{ID: "shop/event", NotReady: model.Reason{Code: model.CodeBufferReference, Message: "no template"}, StartTime: minute(start)}
	if end != 0 {
		b.ExpireTime = minute(end)
	}
	p.Snapshot.CapacityBuffers = append(p.Snapshot.CapacityBuffers, b)
}

// TestASessionSaysItAgain asks a session that keeps what it has worked out at a later time.
func TestASessionSaysItAgain(t *testing.T) {
	p := past{model.Input{Now: morning()}}
	p.shortage(3)
	p.shortage(9)
	p.Snapshot.Offerings[1].Zone = "b"
	s, err := plan.NewSession(&p.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ now, want float64 }{{0, 3}, {1, 3}, {3, 9}, {5, 9}, {9, 0}} {
		p.Now = minute(tc.now)
		got, err := s.Decide(plan.QuestionOf(&p.Input))
		if err != nil {
			t.Fatal(err)
		}
		var want time.Time
		if tc.want != 0 {
			want = minute(tc.want)
		}
		if !got.ReconsiderTime.Equal(want) {
			t.Errorf("after %v minutes: reconsider at %s, want %s", tc.now, got.ReconsiderTime, want)
		}
	}
}
