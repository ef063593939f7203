package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

func instances(states ...cloud.InstanceState) []cloud.Instance {
	var out []cloud.Instance
	for i, s := range states {
		out = append(out, cloud.Instance{ID: fmt.Sprint("i-", i+1), Claim: "c1", State: s})
	}
	return out
}

func TestObservations(t *testing.T) {
	node, leaving := syncedNode(nil), syncedNode(nil)
	leaving.Terminating = true
	soon := &model.Notice{Kind: model.NoticeSpotInterruption, Deadline: at(2)}
	for name, c := range map[string]struct {
		state model.ClaimState
		seen  Seen
		edit  func(*model.Claim)
		want  string
	}{
		"a planned claim begins once EC2 was asked":   {state: model.ClaimPlanned, seen: Seen{Listed: at(1)}, want: "Start"},
		"before that it waits":                        {state: model.ClaimPlanned, want: "Tick"},
		"and so it does while its class is not ready": {state: model.ClaimPlanned, seen: Seen{Listed: at(1), NotReady: model.Reason{Code: model.CodeNodeClassNotReady}}, want: "Tick"},
		"an instance that runs":                       {state: model.ClaimLaunched, seen: Seen{Listed: at(1), Instances: instances(cloud.Running)}, want: "InstanceSeen Tick"},
		"one that shuts down":                         {state: model.ClaimInitialized, seen: Seen{Listed: at(1), Instances: instances(cloud.ShuttingDown)}, want: "InstanceEnding Tick"},
		"one that has ended, and its node":            {state: model.ClaimInitialized, seen: Seen{Listed: at(1), Instances: instances(cloud.Terminated), Node: &node}, want: "InstanceEnded NodeSeen Tick"},
		"none at all":                                 {state: model.ClaimInitialized, seen: Seen{Listed: at(1)}, want: "InstanceAbsent Tick"},
		"before EC2 was asked none is missing":        {state: model.ClaimInitialized, want: "Tick"},
		"another instance of the claim says nothing":  {state: model.ClaimInitialized, seen: Seen{Listed: at(1), Instances: instances(cloud.Terminated, cloud.Running)[1:]}, want: "InstanceAbsent Tick"},
		"a claim without an instance takes the live one": {
			state: model.ClaimLaunching, seen: Seen{Listed: at(1), Instances: instances(cloud.Terminated, cloud.Running)}, want: "InstanceSeen(i-2) Tick",
		},
		"a claim that ends waits for what shuts down":  {state: model.ClaimTerminating, seen: Seen{Listed: at(1), Instances: instances(cloud.ShuttingDown)}, want: "Tick"},
		"ends what still runs":                         {state: model.ClaimTerminating, seen: Seen{Listed: at(1), Instances: instances(cloud.Terminated, cloud.Running)}, want: "InstanceSeen Tick"},
		"is gone with its instance":                    {state: model.ClaimTerminating, seen: Seen{Listed: at(1), Instances: instances(cloud.Terminated)}, want: "InstanceEnded Tick"},
		"but not with another":                         {state: model.ClaimTerminating, seen: Seen{Listed: at(1), Instances: instances(cloud.Running, cloud.Terminated)[1:]}, want: "InstanceAbsent Tick"},
		"a user deletes the claim":                     {state: model.ClaimInitialized, seen: Seen{Deleted: true, Node: &node}, want: "Drain(Deleted) NodeSeen Tick"},
		"or the node":                                  {state: model.ClaimInitialized, seen: Seen{Node: &leaving}, want: "Drain(Deleted) NodeSeen Tick"},
		"which says nothing new while it drains":       {state: model.ClaimDraining, seen: Seen{Deleted: true, Node: &leaving}, want: "NodeSeen Tick"},
		"a draining claim misses its node":             {state: model.ClaimDraining, seen: Seen{NodeMissing: at(1)}, want: "NodeAbsent Tick"},
		"or does not know which it is":                 {state: model.ClaimDraining, want: "Tick"},
		"so does one in use":                           {state: model.ClaimInitialized, seen: Seen{NodeMissing: at(1)}, want: "NodeAbsent Tick"},
		"EC2 takes the instance back":                  {state: model.ClaimInitialized, seen: Seen{Notices: []*model.Notice{soon}}, want: "Drain(Interrupted at 12:01:55) Tick"},
		"also while it drains":                         {state: model.ClaimDraining, seen: Seen{Notices: []*model.Notice{soon}, Node: &node}, want: "Drain(Interrupted at 12:01:55) NodeSeen Tick"},
		"a block of capacity ends":                     {state: model.ClaimInitialized, seen: Seen{ReservationEnds: at(2)}, want: "Drain(Interrupted at 12:01:55) Tick"},
		"which is nothing to a claim not yet launched": {state: model.ClaimLaunching, seen: Seen{ReservationEnds: at(2)}, want: "Tick"},
		"EC2 only recommends to rebalance":             {state: model.ClaimInitialized, seen: Seen{Notices: []*model.Notice{{Kind: model.NoticeRebalanceRecommendation}}}, want: "Tick"},
		"an instance is being stopped":                 {state: model.ClaimInitialized, seen: Seen{Notices: []*model.Notice{{Kind: model.NoticeStateChange, InstanceState: "stopping"}}}, want: "Drain(Interrupted) Tick"},
		"an instance has begun to run":                 {state: model.ClaimInitialized, seen: Seen{Notices: []*model.Notice{{Kind: model.NoticeStateChange, InstanceState: "running"}}}, want: "Tick"},
		"its disruption was given up":                  {state: model.ClaimInitialized, edit: func(c *model.Claim) { c.Disruption = "d1" }, seen: Seen{Released: true}, want: "RollBack Tick"},
		"a claim without a disruption has none to end": {state: model.ClaimInitialized, seen: Seen{Released: true}, want: "Tick"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := inState(c.state)
			if c.edit != nil {
				c.edit(&claim)
			}
			c.seen.Places = func() *Places { return &Places{} }
			c.seen.Record = func(i cloud.Instance) Instance { return Instance{ID: i.ID} }
			var got []string
			events, _ := observations(claim, c.seen, at(1))
			for _, e := range events {
				text := e.Kind.String()
				switch {
				case e.Kind == EventDrain && !e.Deadline.IsZero():
					text += fmt.Sprintf("(%s at %s)", e.DisruptionReason, e.Deadline.Format(time.TimeOnly))
				case e.Kind == EventDrain:
					text += fmt.Sprintf("(%s)", e.DisruptionReason)
				case e.Instance.ID != "" && e.Instance.ID != "i-1":
					text += "(" + e.Instance.ID + ")"
				}
				got = append(got, text)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("seen: %s, want %s", s, c.want)
			}
		})
	}
}

func TestWhatWasSeenSaysNothingAboutTheNextState(t *testing.T) {
	node := syncedNode(nil)
	seen := Seen{Listed: at(5), Instances: instances(cloud.ShuttingDown), Node: &node, Deleted: true}
	r, moved := Advance(inState(model.ClaimInitialized), nil, seen, at(5))
	if !moved || r.Claim.State != model.ClaimTerminating || len(r.Effects) != 1 || r.Effects[0].Kind != EffectTerminate {
		t.Errorf("%s, %v: want that it ends, and that the deletion and the node are looked at no more", r.Claim.State, r.Effects)
	}
	drain := Event{Kind: EventDrain, DisruptionReason: model.ReasonEmpty}
	r, moved = Advance(inState(model.ClaimInitialized), []Event{drain}, seen, at(5))
	if !moved || r.Claim.State != model.ClaimDraining || r.Claim.DisruptionReason != model.ReasonEmpty {
		t.Errorf("%s for %s: want that what happened comes first", r.Claim.State, r.Claim.DisruptionReason)
	}
}

// A leader opens a node before it stores that the node is registered. Where it ends in between, the next one finds pods
// there.
func TestANodeThatIsOpenIsDrainedThoughItIsNotRegistered(t *testing.T) {
	unregistered := func(effect model.TaintEffect) *cluster.Node {
		n := syncedNode(nil)
		n.Taints = append(n.Taints, model.Taint{Key: labels.TaintUnregistered, Effect: effect})
		return &n
	}
	open := syncedNode(nil)
	notice := []*model.Notice{{Kind: model.NoticeSpotInterruption, Deadline: at(2)}}
	drain := []Event{{Kind: EventDrain, DisruptionReason: model.ReasonDeleted}}
	for name, c := range map[string]struct {
		happened []Event
		seen     Seen
		want     model.ClaimState
	}{
		"no node":                                 {seen: Seen{Deleted: true}, want: model.ClaimTerminating},
		"one that takes no pods yet":              {seen: Seen{Deleted: true, Node: unregistered(model.NoExecute)}, want: model.ClaimTerminating},
		"an open one":                             {seen: Seen{Deleted: true, Node: &open}, want: model.ClaimDraining},
		"one whose pods were bound by Kerf":       {seen: Seen{Deleted: true, Node: unregistered(model.NoSchedule)}, want: model.ClaimDraining},
		"an open one that EC2 takes back":         {seen: Seen{Notices: notice, Node: &open}, want: model.ClaimDraining},
		"an open one that a disruption ends":      {happened: drain, seen: Seen{Node: &open}, want: model.ClaimDraining},
		"one that is closed and that EC2 takes":   {seen: Seen{Notices: notice, Node: unregistered(model.NoExecute)}, want: model.ClaimTerminating},
		"an open one whose instance is gone, too": {seen: Seen{Deleted: true, Node: &open, Listed: at(1), Instances: instances(cloud.Terminated)}, want: model.ClaimTerminating},
	} {
		c.seen.Places = func() *Places { return &Places{} }
		r, _ := Advance(inState(model.ClaimLaunched), c.happened, c.seen, at(1))
		if r.Claim.State != c.want || c.want == model.ClaimDraining && r.Claim.Node != open.Name {
			t.Errorf("%s: it is %s of node %q, want %s", name, r.Claim.State, r.Claim.Node, c.want)
		}
	}
}

func TestPodsOfAnInterruptedNodeAreHeldBack(t *testing.T) {
	claims := func(pods map[model.ClaimState]model.PodID) map[model.ClaimID]*model.Claim {
		out := map[model.ClaimID]*model.Claim{}
		for s, p := range pods {
			id := model.ClaimID("for-" + p)
			out[id] = &model.Claim{ID: id, State: s, Pods: []model.PodID{p}}
		}
		return out
	}
	for name, c := range map[string]struct {
		claims map[model.ClaimState]model.PodID
		reason model.DisruptionReason
		grace  time.Duration
		until  float64 // minutes; 0 for not at all
		notice model.Notice
	}{
		"a plan is waited for":                              {reason: model.ReasonInterrupted, until: 1. / 6},
		"a claim for the pod is waited for until half time": {reason: model.ReasonInterrupted, claims: map[model.ClaimState]model.PodID{model.ClaimLaunched: "d/p"}, until: 1},
		"but not past the time that its end takes":          {reason: model.ReasonInterrupted, grace: 30 * time.Second, claims: map[model.ClaimState]model.PodID{model.ClaimLaunched: "d/p"}, until: .75},
		"a pod that takes too long leaves at once":          {reason: model.ReasonInterrupted, grace: 2 * time.Minute, claims: map[model.ClaimState]model.PodID{model.ClaimLaunched: "d/p"}},
		"a node for the pod is ready":                       {reason: model.ReasonInterrupted, claims: map[model.ClaimState]model.PodID{model.ClaimInitialized: "d/p"}},
		"a claim for another pod does not count":            {reason: model.ReasonInterrupted, claims: map[model.ClaimState]model.PodID{model.ClaimLaunched: "d/other"}, until: 1. / 6},
		"any other drain waits for nothing":                 {reason: model.ReasonDeleted},
		"nor does an instance that stops":                   {reason: model.ReasonInterrupted, notice: model.Notice{Kind: model.NoticeStateChange, InstanceState: "stopping"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := inState(model.ClaimDraining)
			claim.DisruptionReason, claim.DrainDeadline = c.reason, at(2)
			node := cluster.Node{Pods: []cluster.Pod{{Namespace: "d", Name: "p", GracePeriod: c.grace}}}
			places := func() *Places { return NewPlaces(maps.Values(claims(c.claims))) }
			seen := Seen{Node: &node, Places: places, Notices: []*model.Notice{&c.notice}}
			held, wake := heldBack(claim, seen, at(0))
			if held["d/p"] != (c.until > 0) || (c.until > 0 && !wake.Equal(at(c.until))) {
				t.Fatalf("held %v until %s, want minute %v", slices.Sorted(maps.Keys(held)), wake, c.until)
			}
			if held, _ = heldBack(claim, seen, at(max(c.until, .1))); len(held) > 0 {
				t.Errorf("%v are still held", held)
			}
		})
	}
}

func TestPodsOfANodeThatHasAllTheTimeWaitForTheirNextOne(t *testing.T) {
	claim, node := inState(model.ClaimDraining), cluster.Node{Pods: []cluster.Pod{{Namespace: "d", Name: "p", GracePeriod: time.Hour}}}
	claim.DisruptionReason = model.ReasonInterrupted
	next := &model.Claim{ID: "next", State: model.ClaimLaunched, Pods: []model.PodID{"d/p"}}
	seen := Seen{Node: &node, Places: func() *Places { return NewPlaces(slices.Values([]*model.Claim{next})) }}
	if held, wake := heldBack(claim, seen, at(20)); !held["d/p"] || !wake.Equal(at(30)) {
		t.Errorf("held %v until %s, want the pod until its node is ready", slices.Sorted(maps.Keys(held)), wake)
	}
	if held, _ := heldBack(claim, seen, at(30)); len(held) > 0 {
		t.Errorf("held %v, though what is bought may never be ready", slices.Sorted(maps.Keys(held)))
	}
	next.State = model.ClaimInitialized
	if held, _ := heldBack(claim, seen, at(20)); len(held) > 0 {
		t.Errorf("held %v, though the node is ready", slices.Sorted(maps.Keys(held)))
	}
	next.State = model.ClaimFailed
	if held, wake := heldBack(claim, seen, at(0)); !held["d/p"] || !wake.Equal(at(1./6)) {
		t.Errorf("held %v until %s, want the pod until a plan should be there", slices.Sorted(maps.Keys(held)), wake)
	}
}

// TestAPlanIsWaitedForAnew has pods of an interrupted node wait for a plan, as what was bought for them has failed, or
// another leader has begun before there was one.
func TestAPlanIsWaitedForAnew(t *testing.T) {
	claim, node := inState(model.ClaimDraining), cluster.Node{Pods: []cluster.Pod{{Namespace: "d", Name: "p"}}}
	claim.DisruptionReason = model.ReasonInterrupted
	next := &model.Claim{ID: "next", Pods: []model.PodID{"d/p"}}
	for name, c := range map[string]struct {
		state, reached model.ClaimState
		since          float64 // of the state, in minutes
		begun          time.Time
		deadline       time.Time
		until          float64 // 0 for not at all
	}{
		"what was bought has failed":       {state: model.ClaimFailed, reached: model.ClaimLaunched, since: 20, until: 20 + 1./6},
		"it is being ended":                {state: model.ClaimTerminating, reached: model.ClaimRegistered, since: 20, until: 20 + 1./6},
		"it has failed long ago":           {state: model.ClaimFailed, reached: model.ClaimLaunched, since: 10},
		"it was in use":                    {state: model.ClaimGone, reached: model.ClaimInitialized, since: 20},
		"another leader has begun":         {state: model.ClaimGone, reached: model.ClaimInitialized, begun: at(20), until: 20 + 1./6},
		"it was before the drain":          {state: model.ClaimGone, reached: model.ClaimInitialized, begun: at(-1)},
		"what the evictions need is spent": {state: model.ClaimFailed, reached: model.ClaimLaunched, since: 20, begun: at(20), deadline: at(20.5)},
	} {
		t.Run(name, func(t *testing.T) {
			claim.DrainDeadline, next.State, next.Reached, next.StateTime = c.deadline, c.state, c.reached, at(c.since)
			seen := Seen{Node: &node, Begun: c.begun, Places: func() *Places { return NewPlaces(slices.Values([]*model.Claim{next})) }}
			held, wake := heldBack(claim, seen, at(20.1))
			if held["d/p"] != (c.until > 0) || c.until > 0 && wake.Sub(at(c.until)).Abs() > time.Millisecond {
				t.Errorf("held %v until %s, want minute %v", slices.Sorted(maps.Keys(held)), wake, c.until)
			}
		})
	}
}

// TestAllClaimsAreLookedAtOnceForAllInterruptedNodes holds back the pods of a thousand nodes by one look at all claims.
func TestAllClaimsAreLookedAtOnceForAllInterruptedNodes(t *testing.T) {
	looks := 0
	places := NewPlaces(func(yield func(*model.Claim) bool) {
		looks++
		for i := range 1000 {
			if !yield(&model.Claim{ID: model.ClaimID(fmt.Sprint("new-", i)), State: model.ClaimLaunched, Pods: []model.PodID{model.PodID(fmt.Sprint("d/p", i))}}) {
				return
			}
		}
	})
	for i := range 1000 {
		claim := inState(model.ClaimDraining)
		claim.DisruptionReason, claim.DrainDeadline = model.ReasonInterrupted, at(2)
		node := cluster.Node{Pods: []cluster.Pod{{Namespace: "d", Name: fmt.Sprint("p", i)}}}
		if held, _ := heldBack(claim, Seen{Node: &node, Places: func() *Places { return places }}, at(0.5)); len(held) != 1 {
			t.Fatalf("node %d: %v held, want its pod, which a claim is on its way for", i, held)
		}
	}
	if looks != 1 {
		t.Errorf("%d looks at all claims", looks)
	}
}

// TestPodsThatGoWhereOthersAreNotLetInWaitForThese evicts them once the others are on their way, or after a while.
func TestPodsThatGoWhereOthersAreNotLetInWaitForThese(t *testing.T) {
	const second = 1. / 60
	claim := inState(model.ClaimDraining)
	claim.DisruptionReason, claim.StateTime = model.ReasonUnderutilized, at(0)
	goes := func(id model.PodID) bool { return id == "d/kept-for" }
	pods := func(leaving time.Time) *cluster.Node {
		return &cluster.Node{Pods: []cluster.Pod{
			{Namespace: "d", Name: "kept-for"}, {Namespace: "d", Name: "other", DeletionTime: leaving}, {Namespace: "d", Name: "daemon", Daemon: true},
		}}
	}
	for name, x := range map[string]struct {
		node  *cluster.Node
		later func(model.PodID) bool
		at    time.Time
		held  bool
	}{
		"while another is there":       {pods(time.Time{}), goes, at(second), true},
		"the other is on its way":      {pods(at(second)), goes, at(second), false},
		"the other takes too long":     {pods(time.Time{}), goes, at(3 * second), false},
		"none is kept for any":         {pods(time.Time{}), nil, at(second), false},
		"none of its pods is kept for": {pods(time.Time{}), func(model.PodID) bool { return false }, at(second), false},
	} {
		held, wake := heldBack(claim, Seen{Node: x.node, Later: x.later}, x.at)
		if held["d/kept-for"] != x.held || held["d/other"] || held["d/daemon"] || x.held && !wake.Equal(at(3*second)) {
			t.Errorf("%s: held %v until %s", name, held, wake)
		}
	}
}
