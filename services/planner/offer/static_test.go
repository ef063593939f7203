package offer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

// sold is one type, in zones at prices.
func sold(pairs ...any) []model.RankedOffering {
	var out []model.RankedOffering
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, model.RankedOffering{
			InstanceType: "m5.large", CapacityType: model.OnDemand, Zone: pairs[i].(string), Price: int64(pairs[i+1].(int)),
		})
	}
	return out
}

func static(replicas int64, claims ...model.Claim) *model.Snapshot {
	for i := range claims {
		claims[i].NodePool = "base"
		if claims[i].State == 0 {
			claims[i].State = model.ClaimInitialized
		}
	}
	return &model.Snapshot{NodePools: []model.NodePool{{Name: "base", Replicas: &replicas}, {Name: "dynamic"}}, Claims: claims}
}

func ask(s *model.Snapshot, offerings []model.RankedOffering) offer.StaticQuery {
	return offer.StaticQuery{
		Snapshot: s, Now: at(30),
		Leaving: func(c *model.Claim) bool { return c.Disruption != "" || c.State >= model.ClaimDraining },
		Options: func(*model.NodePool) ([]model.RankedOffering, model.Reason) { return offerings, model.Reason{} },
	}
}

func claim(id string, zone string) model.Claim {
	return model.Claim{ID: model.ClaimID(id), Zone: zone, Node: model.NodeName(id), Price: 100}
}

func TestStaticPoolsBuy(t *testing.T) {
	even := sold("a", 100, "b", 100, "c", 100)
	tests := map[string]struct {
		s      *model.Snapshot
		sold   []model.RankedOffering
		zones  []string
		short  model.Code
		detail string
	}{
		"replicas, without pods (case 85)":         {static(3), even, []string{"a", "b", "c"}, 0, ""},
		"to even the zones out":                    {static(5, claim("1", "a"), claim("2", "a"), claim("3", "c")), even, []string{"b", "b"}, 0, ""},
		"nothing where all are there":              {static(2, claim("1", "a"), claim("2", "a")), even, nil, 0, ""},
		"nothing where none are wanted":            {static(0), even, nil, 0, ""},
		"for one that is going":                    {static(1, model.Claim{ID: "1", Zone: "a", Disruption: "d"}), even, []string{"a"}, 0, ""},
		"for one that has failed":                  {static(1, model.Claim{ID: "1", Zone: "a", State: model.ClaimFailed}), even, []string{"a"}, 0, ""},
		"one in flight is there already":           {static(1, model.Claim{ID: "1", State: model.ClaimPlanned, Offerings: even}), even, nil, 0, ""},
		"in the cheaper zone first":                {static(1), sold("b", 99, "a", 100), []string{"b"}, 0, ""},
		"not in a zone that is far more expensive": {static(4), sold("a", 100, "b", 125, "c", 126), []string{"a", "b", "a", "b"}, 0, ""},
		"an in-flight claim counts for its zone":   {static(2, model.Claim{ID: "1", State: model.ClaimPlanned, Offerings: sold("a", 1)}), even, []string{"b"}, 0, ""},
		"nothing that is sold":                     {static(2), nil, nil, model.CodeNoOffering, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var zones []string
			var short model.Code
			for _, f := range offer.Static(ask(tt.s, tt.sold)) {
				for i, b := range f.Buy {
					zones = append(zones, b.Zone)
					if b.Number != i || len(b.Offerings) == 0 || slices.ContainsFunc(b.Offerings, func(o model.RankedOffering) bool { return o.Zone != b.Zone }) {
						t.Errorf("claim %d: %+v", i, b)
					}
				}
				short = f.Short.Code
				if len(f.Buy) > 0 && (f.Reason.Code != model.CodeStatic || f.Reason.Subject != "nodepool/base" || len(f.Remove) > 0) {
					t.Errorf("got %+v", f)
				}
			}
			if diff := cmp.Diff(tt.zones, zones); diff != "" || short != tt.short {
				t.Errorf("zones (-want +got), short %d, want %d:\n%s", short, tt.short, diff)
			}
		})
	}
}

func TestStaticPoolsKeepTheirLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		claims []model.Claim
		buys   int
	}{
		"none there (case 86)":       {nil, 2},
		"one there":                  {[]model.Claim{claim("1", "a")}, 1},
		"two there":                  {[]model.Claim{claim("1", "a"), claim("2", "b")}, 0},
		"one there, and one goes":    {[]model.Claim{claim("1", "a"), {ID: "2", Disruption: "d"}}, 0},
		"one there, and one is gone": {[]model.Claim{claim("1", "a"), {ID: "2", State: model.ClaimGone}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := static(5, tt.claims...)
			s.NodePools[0].Limits = model.Amounts{{Resource: model.Nodes, Value: 2}}
			got := offer.Static(ask(s, sold("a", 1, "b", 1)))
			if len(got) != 1 || len(got[0].Buy) != tt.buys || got[0].Short.Code != model.CodeLimit {
				t.Errorf("got %+v, want %d claims and the limit as the reason", got, tt.buys)
			}
		})
	}
}

func TestAClaimIsAsFlexibleAsItsPoolPrefers(t *testing.T) {
	q := ask(static(2), sold("a", 100, "b", 100))
	q.MeetsMinValues = func(_ *model.NodePool, list []model.RankedOffering) bool { return len(list) > 1 }
	got := offer.Static(q)
	if len(got) != 1 || len(got[0].Buy) != 2 || got[0].Buy[0].Zone != "" || len(got[0].Buy[0].Offerings) != 2 {
		t.Errorf("got %+v, want claims for any zone", got)
	}
	q.MeetsMinValues, q.Most = nil, 1
	q.Options = func(*model.NodePool) ([]model.RankedOffering, model.Reason) {
		return sold("a", 100, "a", 101, "b", 102), model.Reason{}
	}
	if got := offer.Static(q); len(got[0].Buy[0].Offerings) != 1 {
		t.Errorf("a claim lists %d offerings, want 1", len(got[0].Buy[0].Offerings))
	}
}

func TestStaticPoolsGiveBack(t *testing.T) {
	replicas := func(n int64, claims ...model.Claim) *model.Snapshot {
		s := static(n, claims...)
		s.PodClasses = []model.PodClass{{ID: "web"}, {ID: "vip", Priority: 1 << 26}, {ID: "daemon", Daemon: true}}
		for i := range claims {
			s.Nodes = append(s.Nodes, model.Node{Name: claims[i].Node})
		}
		return s
	}
	on := func(s *model.Snapshot, node, class string, n int) *model.Snapshot {
		for i := range n {
			s.Pods = append(s.Pods, model.Pod{ID: model.PodID(fmt.Sprintf("shop/%s-%s-%d", node, class, i)), Node: model.NodeName(node), Class: model.ClassID(class)})
		}
		return s
	}
	protect := func(s *model.Snapshot, node string) *model.Snapshot {
		for i := range s.Nodes {
			s.Nodes[i].DoNotDisrupt = s.Nodes[i].DoNotDisrupt || string(s.Nodes[i].Name) == node
		}
		return s
	}
	asked := func(s *model.Snapshot) *model.Snapshot { s.Pods[len(s.Pods)-1].DoNotDisrupt = true; return s }
	three := func(n int64) *model.Snapshot { return replicas(n, claim("1", "a"), claim("2", "b"), claim("3", "c")) }
	dear, old := claim("2", "a"), claim("3", "c")
	dear.Price = 200
	old.CreateTime, old.ExpireTime = at(0), at(31)
	tests := map[string]struct {
		s    *model.Snapshot
		want []model.ClaimID
	}{
		"empty ones first, then the cheapest to move (case 85)": {on(on(on(three(1), "1", "web", 3), "2", "web", 1), "3", "daemon", 5), []model.ClaimID{"3", "2"}},
		"do-not-disrupt last":  {protect(on(on(three(1), "1", "web", 3), "2", "web", 1), "3"), []model.ClaimID{"2", "1"}},
		"a pod's request last": {asked(on(on(on(three(1), "1", "web", 3), "2", "web", 1), "3", "web", 1)), []model.ClaimID{"2", "1"}},
		"all of them":          {protect(three(0), "1"), []model.ClaimID{"2", "3", "1"}},
		"high priority costs":  {on(on(on(three(2), "1", "web", 2), "2", "vip", 1), "3", "web", 4), []model.ClaimID{"1"}},
		"what is not launched yet": {
			replicas(1, claim("1", "a"), model.Claim{ID: "2", State: model.ClaimLaunching, Offerings: sold("b", 1)}), []model.ClaimID{"2"},
		},
		"of the fullest zone":              {replicas(2, claim("1", "a"), claim("2", "b"), claim("3", "b")), []model.ClaimID{"2"}},
		"of equals the more expensive one": {replicas(1, claim("1", "a"), dear), []model.ClaimID{"2"}},
		"near its end anyway":              {on(on(replicas(1, claim("1", "a"), old), "1", "web", 2), "3", "web", 9), []model.ClaimID{"3"}},
		"an empty one before one near its end": {
			on(replicas(1, claim("1", "a"), func() model.Claim { c := old; c.ExpireTime = at(30); return c }()), "3", "web", 9), []model.ClaimID{"1"},
		},
		"none that goes already": {replicas(1, claim("1", "a"), model.Claim{ID: "2", Disruption: "d"}), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := offer.Static(ask(tt.s, nil))
			var list []model.ClaimID
			if len(got) > 0 {
				list = got[0].Remove
				if got[0].Reason.Code != model.CodeSurplus || len(got[0].Buy) > 0 {
					t.Errorf("got %+v", got[0])
				}
			}
			if diff := cmp.Diff(tt.want, list); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStaticPoolOfTooManyNodesBuysThemInSeveralPlans(t *testing.T) {
	got := offer.Static(ask(static(1<<62, claim("1", "a")), sold("a", 100, "b", 100)))
	if len(got) != 1 || len(got[0].Buy) != 5000 || !got[0].Short.OK() {
		t.Errorf("%d answers, %d nodes are bought", len(got), len(got[0].Buy))
	}
	s := static(1<<62, claim("1", "a"))
	s.NodePools[0].Limits = model.Amounts{{Resource: model.Nodes, Value: 3}}
	if got := offer.Static(ask(s, sold("a", 100))); len(got[0].Buy) != 2 || got[0].Short.Code != model.CodeLimit {
		t.Errorf("with a limit of 3 nodes %d are bought, short: %v", len(got[0].Buy), got[0].Short)
	}
}
