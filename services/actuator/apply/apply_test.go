package apply

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// prices are a market of their own.
type prices map[OfferingKey]Offering

func (p prices) Offering(key OfferingKey) (Offering, bool) {
	o, ok := p[key]
	return o, ok
}

func at(minutes int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func offering(instanceType, zone string, price int64) model.RankedOffering {
	return model.RankedOffering{InstanceType: model.TypeName(instanceType), Zone: zone, CapacityType: model.OnDemand, Price: price}
}

// state is a cluster with one pool, three types and one running claim, "old", on an m5.large.
func state() State {
	shape := func(name string, cpu int64) Shape {
		amounts := model.Amounts{{Resource: "cpu", Value: cpu}, {Resource: "memory", Value: cpu << 22}}
		return Shape{
			Labels:   model.Labels{{Key: "kubernetes.io/arch", Value: "amd64"}, {Key: "node.kubernetes.io/instance-type", Value: name}},
			Capacity: amounts, Allocatable: amounts,
		}
	}
	s := State{
		Now: at(0), Revision: 100, Region: "us-east-1",
		Claims: map[model.ClaimID]model.Claim{"old": {
			ID: "old", NodePool: "default", NodeClass: "default", State: model.ClaimInitialized, Reached: model.ClaimInitialized,
			InstanceID: "i-1", InstanceType: "m5.large", Zone: "a", CapacityType: model.OnDemand, Price: 96_000,
			Capacity: shape("", 2000).Capacity, Pods: []model.PodID{"d/web"}, CreateTime: at(-6000), TerminationGracePeriod: new(time.Duration),
		}},
		Created:     map[model.ClaimID]int64{"old": 10},
		Disruptions: map[model.DisruptionID]model.DisruptionRecord{},
		Pools: map[model.PoolName]cluster.Pool{"default": {NodePool: model.NodePool{
			Name: "default", NodeClass: "default", Hash: "h", ExpireAfter: new(time.Hour),
			Labels:       model.Labels{{Key: "type", Value: "karpenter"}},
			Requirements: []model.Requirement{{Key: "node.kubernetes.io/instance-type", Operator: model.In, Values: []string{"c5.large", "m5.large", "m5.xlarge"}}},
		}}},
		Classes: map[model.NodeClassName]Class{"default": {
			NodeClass: model.NodeClass{Name: "default", Hash: "ch"}, ZoneIDs: map[string]string{"a": "use1-az1", "b": "use1-az2"},
			Shapes: map[model.TypeName]Shape{
				"c5.large": shape("c5.large", 2000), "m5.large": shape("m5.large", 2000), "m5.xlarge": shape("m5.xlarge", 4000),
				"r5.large": shape("r5.large", 2000),
			},
		}},
		Market: prices{},
		Nodes:  map[model.ClaimID]cluster.Node{"old": {Name: "n-old", Ready: true, Pods: []cluster.Pod{{Namespace: "d", Name: "web"}}}},
	}
	for name, price := range map[string]int64{"c5.large": 85_000, "m5.large": 96_000, "m5.xlarge": 192_000, "r5.large": 126_000} {
		for _, zone := range []string{"a", "b", "c"} {
			s.Market.(prices)[OfferingKey{model.TypeName(name), zone, model.OnDemand, ""}] = Offering{Price: price}
		}
	}
	return s
}

func nodeClaim(id string, offerings ...model.RankedOffering) model.NodeClaim {
	return model.NodeClaim{ID: model.ClaimID(id), NodePool: "default", NodeClass: "default", Offerings: offerings, Pods: []model.PodID{model.PodID("d/" + id)}}
}

func plan(claims ...model.NodeClaim) model.Plan {
	return model.Plan{ID: "p-1", InventoryRevision: 50, Now: at(0), Traceparent: "tp", NodeClaims: claims}
}

func one() model.NodeClaim { return nodeClaim("new", offering("m5.large", "a", 96_000)) }

// code is the first verdict's reason; 0 means plainly accepted.
func code(t *testing.T, o Outcome, decision string) model.Code {
	t.Helper()
	for _, v := range o.Verdicts {
		if v.Decision == decision {
			if v.Accepted != (v.Reason.Code == 0 || v.Reason.Code == model.CodeAlreadyAccepted) {
				t.Errorf("verdict %+v contradicts itself", v)
			}
			return v.Reason.Code
		}
	}
	t.Fatalf("no verdict for %s in %+v", decision, o.Verdicts)
	return 0
}

func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		claim func(*model.NodeClaim)
		plan  func(*model.Plan)
		state func(*State)
		want  model.Code
	}{
		"a sound claim is accepted": {},
		"an id that is stored is accepted again without effect": {
			claim: func(w *model.NodeClaim) { w.ID = "old" }, want: model.CodeAlreadyAccepted,
		},
		"an id that can't be a name": {claim: func(w *model.NodeClaim) { w.ID = "Not_A-Name" }, want: model.CodeInvalid},
		"an id that is too long":     {claim: func(w *model.NodeClaim) { w.ID = model.ClaimID(fmt.Sprintf("%064d", 0)) }, want: model.CodeInvalid},
		"more pods than can be stored": {
			claim: func(w *model.NodeClaim) {
				w.Pods = slices.Repeat([]model.PodID{model.PodID("namespace/" + strings.Repeat("x", 200))}, 2000)
			}, want: model.CodeInvalid,
		},
		"no offerings":                     {claim: func(w *model.NodeClaim) { w.Offerings = nil }, want: model.CodeInvalid},
		"a pod without a namespace":        {claim: func(w *model.NodeClaim) { w.Pods = []model.PodID{"web"} }, want: model.CodeInvalid},
		"a disruption that is not there":   {claim: func(w *model.NodeClaim) { w.Disruption = "d" }, want: model.CodeInvalid},
		"a pool that does not exist":       {claim: func(w *model.NodeClaim) { w.NodePool = "other" }, want: model.CodeNotFound},
		"another class than the pool's":    {claim: func(w *model.NodeClaim) { w.NodeClass = "other" }, want: model.CodeInvalid},
		"a pool that is being deleted":     {state: func(s *State) { editPool(s, func(p *cluster.Pool) { p.Terminating = true }) }, want: model.CodeNotFound},
		"a pool that is invalid":           {state: func(s *State) { editPool(s, func(p *cluster.Pool) { p.NotReady.Code = 2 }) }, want: 2},
		"a class that does not exist":      {state: func(s *State) { delete(s.Classes, "default") }, want: model.CodeNodeClassNotFound},
		"a class that is not ready":        {state: func(s *State) { editClass(s, func(c *Class) { c.NotReady.Code = 4 }) }, want: 4},
		"a type that the class can't run":  {claim: func(w *model.NodeClaim) { w.Offerings[0].InstanceType = "t2.nano" }, want: model.CodeNoOffering},
		"a zone without a subnet":          {claim: func(w *model.NodeClaim) { w.Offerings[0].Zone = "c" }, want: model.CodeNoOffering},
		"a capacity type that is not sold": {claim: func(w *model.NodeClaim) { w.Offerings[0].CapacityType = model.Spot }, want: model.CodeNoOffering},
		"a type that the pool does not allow": {
			claim: func(w *model.NodeClaim) { w.Offerings[0] = offering("r5.large", "a", 126_000) }, want: model.CodeRequirements,
		},
		"a requirement that the offering does not meet": {
			claim: func(w *model.NodeClaim) {
				w.Requirements = []model.Requirement{{Key: labels.Zone, Operator: model.In, Values: []string{"b"}}}
			},
			want: model.CodeRequirements,
		},
		"a label that keeps workloads apart, and that the pool does not name": {
			claim: func(w *model.NodeClaim) {
				w.Requirements = []model.Requirement{{Key: "node-restriction.kubernetes.io/pci", Operator: model.In, Values: []string{"yes"}}}
			},
			want: model.CodeRequirements,
		},
		"a key of the user's own that the claim does not have": {
			state: func(s *State) { editPool(s, ownKey) }, want: model.CodeRequirements,
		},
		"a key of the user's own that the claim has": {
			state: func(s *State) { editPool(s, ownKey) },
			claim: func(w *model.NodeClaim) {
				w.Requirements = []model.Requirement{{Key: "team", Operator: model.In, Values: []string{"red"}}}
			},
		},
		"a key of the user's own with a value that the pool does not allow": {
			state: func(s *State) { editPool(s, ownKey) },
			claim: func(w *model.NodeClaim) {
				w.Requirements = []model.Requirement{{Key: "team", Operator: model.In, Values: []string{"red", "green"}}}
			},
			want: model.CodeRequirements,
		},
		"an offering that EC2 had none of lately": {
			state: func(s *State) { reprice(s, "m5.large", "a", Offering{Price: 96_000, UnavailableUntil: at(1)}) }, want: model.CodeNoOffering,
		},
		"a shortage that is over": {
			state: func(s *State) { reprice(s, "m5.large", "a", Offering{Price: 96_000, UnavailableUntil: at(0)}) },
		},
		"a price that has risen a little": {state: func(s *State) { reprice(s, "m5.large", "a", Offering{Price: 100_000}) }},
		"a price that has risen by more":  {state: func(s *State) { reprice(s, "m5.large", "a", Offering{Price: 101_000}) }, want: model.CodePriceChanged},
		"a price that has fallen":         {state: func(s *State) { reprice(s, "m5.large", "a", Offering{Price: 1}) }},
		"a limit that is just kept":       {state: func(s *State) { limits(s, "cpu", 4000) }},
		"a limit that would be exceeded":  {state: func(s *State) { limits(s, "cpu", 3999) }, want: model.CodeLimit},
		"a limit on nodes":                {state: func(s *State) { limits(s, "nodes", 1) }, want: model.CodeLimit},
		"an ended claim counts against no limit": {
			state: func(s *State) {
				limits(s, "cpu", 2000)
				editClaim(s, func(c *model.Claim) { c.State = model.ClaimGone })
			},
		},
		"a claim of unknown size counts the largest that it may become": {
			state: func(s *State) {
				limits(s, "cpu", 5999)
				editClaim(s, func(c *model.Claim) {
					c.State, c.InstanceID = model.ClaimPlanned, ""
					c.Offerings = []model.RankedOffering{offering("m5.large", "a", 1), offering("m5.xlarge", "a", 1)}
				})
			},
			want: model.CodeLimit,
		},
		"a pod that a claim serves which the plan could not see": {
			claim: func(w *model.NodeClaim) { w.Pods = []model.PodID{"d/web"} }, plan: func(p *model.Plan) { p.InventoryRevision = 9 }, want: model.CodeDuplicate,
		},
		"a pod that a claim serves which the plan has seen": {
			claim: func(w *model.NodeClaim) { w.Pods = []model.PodID{"d/web"} }, plan: func(p *model.Plan) { p.InventoryRevision = 10 },
		},
		"a pod of a claim that is being drained": {
			claim: func(w *model.NodeClaim) { w.Pods = []model.PodID{"d/web"} }, plan: func(p *model.Plan) { p.InventoryRevision = 9 },
			state: func(s *State) { editClaim(s, func(c *model.Claim) { c.State = model.ClaimDraining }) },
		},
		"a plan without an inventory":      {plan: func(p *model.Plan) { p.InventoryRevision = 0 }, want: model.CodeStale},
		"a plan from a future inventory":   {plan: func(p *model.Plan) { p.InventoryRevision = 101 }, want: model.CodeStale},
		"a plan that is too old":           {plan: func(p *model.Plan) { p.Now = at(-11) }, want: model.CodeStale},
		"a plan that is just young enough": {plan: func(p *model.Plan) { p.Now = at(-10) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := state(), one()
			if c.claim != nil {
				c.claim(&w)
			}
			p := plan(w)
			if c.plan != nil {
				c.plan(&p)
			}
			if c.state != nil {
				c.state(&s)
			}
			o := Verify(p, s)
			if got := code(t, o, string(w.ID)); got != c.want {
				t.Errorf("%+v, want reason %d", o.Verdicts, c.want)
			}
			if wantGroups := c.want == 0; (len(o.Groups) == 1) != wantGroups {
				t.Errorf("%d groups to store", len(o.Groups))
			}
		})
	}
}

func TestAPlanThatIsTooOldNamesBothClocks(t *testing.T) {
	p := plan()
	p.Now = at(-11)
	r := Verify(p, state()).Stale
	for _, want := range []string{"11:49:00Z by the watcher's clock", "12:00:00Z by the actuator's"} {
		if !strings.Contains(r.Message, want) {
			t.Errorf("%q does not say %q", r.Message, want)
		}
	}
	if !strings.Contains(r.Remedy, "clock") {
		t.Errorf("remedy %q does not name the clock", r.Remedy)
	}
}

func ownKey(p *cluster.Pool) {
	p.Requirements = append(p.Requirements, model.Requirement{Key: "team", Operator: model.In, Values: []string{"blue", "red"}})
}

func editPool(s *State, f func(*cluster.Pool)) {
	p := s.Pools["default"]
	f(&p)
	s.Pools["default"] = p
}

func editClass(s *State, f func(*Class)) {
	c := s.Classes["default"]
	f(&c)
	s.Classes["default"] = c
}

func editClaim(s *State, f func(*model.Claim)) {
	c := s.Claims["old"]
	f(&c)
	s.Claims["old"] = c
}

func editNode(s *State, f func(*cluster.Node)) {
	n := s.Nodes["old"]
	f(&n)
	s.Nodes["old"] = n
}

func reprice(s *State, name, zone string, o Offering) {
	s.Market.(prices)[OfferingKey{model.TypeName(name), zone, model.OnDemand, ""}] = o
}

func limits(s *State, resource string, value int64) {
	editPool(s, func(p *cluster.Pool) { p.Limits = model.Amounts{{Resource: model.Resource(resource), Value: value}} })
}

func TestAcceptedClaim(t *testing.T) {
	s := state()
	editPool(&s, ownKey)
	w := nodeClaim("new", offering("m5.xlarge", "b", 192_000), offering("m5.large", "a", 90_000), offering("m5.large", "c", 96_000))
	w.Requirements = []model.Requirement{{Key: "team", Operator: model.In, Values: []string{"red"}}}
	limits(&s, "cpu", 5000) // too little for an m5.xlarge beside the old one
	o := Verify(plan(w), s)
	kept := []model.RankedOffering{offering("m5.large", "a", 96_000)}
	if code(t, o, "new") == 0 {
		t.Fatal("the price of the m5.large has risen by more than 5 %, so nothing should be left")
	}
	reprice(&s, "m5.large", "a", Offering{Price: 91_000, Estimated: true})
	o = Verify(plan(w), s)
	kept[0].Price, kept[0].PriceEstimated = 91_000, true
	want := model.Claim{
		ID: "new", NodePool: "default", NodeClass: "default", State: model.ClaimPlanned, Reached: model.ClaimPlanned,
		Requirements: w.Requirements, Offerings: kept, Pods: w.Pods, PoolHash: "h", ClassHash: "ch",
		Labels: model.Labels{
			{Key: labels.NodeClass, Value: "default"}, {Key: labels.NodePool, Value: "default"}, {Key: "team", Value: "red"}, {Key: "type", Value: "karpenter"},
		},
		Capacity: s.Classes["default"].Shapes["m5.large"].Capacity, Allocatable: s.Classes["default"].Shapes["m5.large"].Allocatable,
		CreateTime: at(0), StateTime: at(0), ExpireTime: at(60), PlanID: "p-1", Traceparent: "tp",
	}
	if len(o.Groups) != 1 {
		t.Fatalf("%+v", o.Verdicts)
	}
	if d := cmp.Diff([]model.Claim{want}, o.Groups[0].Claims); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDecisionsOfOnePlanCountTogether(t *testing.T) {
	s := state()
	limits(&s, "cpu", 6000)
	a, b, c := nodeClaim("a", offering("m5.large", "a", 96_000)), nodeClaim("b", offering("m5.large", "a", 96_000)), nodeClaim("c", offering("m5.large", "a", 96_000))
	o := Verify(plan(c, a, b), s)
	for id, want := range map[string]model.Code{"a": 0, "b": 0, "c": model.CodeLimit} {
		if got := code(t, o, id); got != want {
			t.Errorf("%s: reason %d, want %d", id, got, want)
		}
	}
	s = state()
	b.Pods = a.Pods
	o = Verify(plan(a, b), s)
	if code(t, o, "a") != 0 || code(t, o, "b") != model.CodeDuplicate {
		t.Errorf("%+v, want that one pod gets one claim", o.Verdicts)
	}
	o = Verify(plan(a, a), s)
	if code(t, o, "a") != model.CodeInvalid || len(o.Groups) != 0 {
		t.Errorf("%+v, want that an id that occurs twice is refused", o.Verdicts)
	}
}
