package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

func snapshot() *model.Snapshot {
	s := &model.Snapshot{}
	for i := range 3 {
		s.PodClasses = append(s.PodClasses, model.PodClass{
			ID: model.ClassID(fmt.Sprintf("c-%d", i)), Namespace: "shop",
			Requests:          model.Amounts{{Resource: "cpu", Value: int64(100 * (i + 1))}, {Resource: "memory", Value: 1 << (20 + i)}, {Resource: "pods", Value: 1}},
			HostPorts:         []model.HostPort{{Protocol: "TCP", Port: int32(80 + i)}}[:i%2],
			VolumeAttachments: model.Amounts{{Resource: "csi", Value: 1}}[:i/2],
		})
	}
	for i := range 3 {
		n := model.Node{
			Name:        model.NodeName(fmt.Sprintf("n%d", i)),
			Allocatable: model.Amounts{{Resource: "cpu", Value: 4000}, {Resource: "memory", Value: 1 << 33}, {Resource: "pods", Value: 20}},
		}
		if i == 0 {
			n.VolumeLimits = model.Amounts{{Resource: "csi", Value: 2}}
		}
		s.Nodes = append(s.Nodes, n)
		s.Pods = append(s.Pods, model.Pod{ID: model.PodID(fmt.Sprintf("shop/p%d", i)), Class: "c-0", Node: n.Name, Phase: model.PodRunning})
	}
	return s
}

func newView(t interface{ Fatalf(string, ...any) }) *view.View {
	w, err := view.NewWorld(snapshot(), model.Policy{}, time.Time{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return view.NewView(w)
}

// state is all that can be seen of a view.
type state struct {
	Free      []view.Vector
	Ports     [][]model.HostPort
	Removed   []bool
	Nominated []int
	Attached  []int64
}

func see(v *view.View) state {
	var s state
	for i := range v.Hosts {
		s.Free = append(s.Free, append(view.Vector{}, v.Free(i)...))
		s.Ports = append(s.Ports, append([]model.HostPort{}, v.Ports(i)...))
		s.Removed = append(s.Removed, v.Removed(i))
		s.Nominated = append(s.Nominated, v.Nominated(i))
		_, left, _ := v.VolumesLeft(i, v.Classes[2])
		s.Attached = append(s.Attached, left)
	}
	return s
}

func TestRevertRestoresEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := newView(t)
		type fork struct {
			mark view.Mark
			seen state
		}
		var forks []fork
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			host := rapid.IntRange(0, len(v.Hosts)-1).Draw(t, "host")
			switch rapid.SampledFrom([]string{"place", "place", "leave", "remove", "fork", "revert"}).Draw(t, "step") {
			case "place":
				v.Place(host, v.Classes[rapid.IntRange(0, 2).Draw(t, "class")], rapid.IntRange(1, 3).Draw(t, "count"))
			case "leave":
				if bound := v.Hosts[host].Pods; len(bound) > 0 {
					pod := rapid.SampledFrom(bound).Draw(t, "pod")
					leaves := !view.Left(v, pod)
					view.SetLeft(v, pod, leaves)
					view.SetFree(v, pod, leaves)
				}
			case "remove":
				if !v.Removed(host) {
					v.Remove(host)
				}
			case "fork":
				forks = append(forks, fork{v.Fork(), see(v)})
			case "revert":
				if len(forks) == 0 {
					continue
				}
				f := forks[len(forks)-1]
				forks = forks[:len(forks)-1]
				v.Revert(f.mark)
				if diff := cmp.Diff(f.seen, see(v)); diff != "" {
					t.Fatalf("after the revert (-want +got):\n%s", diff)
				}
			}
		}
	})
}

func TestTheOrderOfPlacingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type step struct{ host, class int }
		var steps []step
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			steps = append(steps, step{rapid.IntRange(0, 2).Draw(t, "host"), rapid.IntRange(0, 2).Draw(t, "class")})
		}
		place := func(steps []step) state {
			v := newView(t)
			for _, s := range steps {
				v.Place(s.host, v.Classes[s.class], 1)
			}
			out := see(v)
			out.Ports = nil // a list in the order of placing
			return out
		}
		if diff := cmp.Diff(place(steps), place(rapid.Permutation(steps).Draw(t, "order"))); diff != "" {
			t.Fatalf("another order gives another view:\n%s", diff)
		}
	})
}

func TestHostsAreWhatTheirClaimsSay(t *testing.T) {
	claim := func(state model.ClaimState) model.Claim {
		return model.Claim{
			ID: "c", NodePool: "p", State: state, Node: "n0",
			Allocatable: model.Amounts{{Resource: "cpu", Value: 8000}, {Resource: "memory", Value: 1 << 34}, {Resource: "pods", Value: 20}},
			Labels:      model.Labels{{Key: "team", Value: "a"}},
		}
	}
	tests := map[string]struct {
		change                       func(*model.Snapshot)
		leaving, closed, initialized bool
		cpu                          int64
		team                         string
	}{
		"an unmanaged node that is not ready":           {func(*model.Snapshot) {}, false, false, false, 3900, ""},
		"an unmanaged node that is ready":               {func(s *model.Snapshot) { s.Nodes[0].Ready = true }, false, false, true, 3900, ""},
		"a cordoned node":                               {func(s *model.Snapshot) { s.Nodes[0].Unschedulable = true }, false, true, false, 3900, ""},
		"a node with the drain's taint":                 {func(s *model.Snapshot) { s.Nodes[0].Taints = []model.Taint{{Key: "karpenter.sh/disrupted"}} }, true, true, false, 3900, ""},
		"a node that is initialized":                    {func(s *model.Snapshot) { s.Claims = []model.Claim{claim(model.ClaimInitialized)} }, false, false, true, 3900, ""},
		"a node that is not registered has its claim's": {func(s *model.Snapshot) { s.Claims = []model.Claim{claim(model.ClaimLaunched)} }, false, false, false, 3900, "a"},
		"a node that does not report its cpu yet": {func(s *model.Snapshot) {
			s.Claims = []model.Claim{claim(model.ClaimRegistered)}
			s.Nodes[0].Allocatable = nil
		}, false, false, false, 7900, ""},
		"a draining claim that never was initialized": {func(s *model.Snapshot) {
			s.Claims = []model.Claim{claim(model.ClaimDraining)}
			s.Nodes[0].Allocatable = nil
		}, true, true, false, 7900, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := snapshot()
			tt.change(s)
			w, err := view.NewWorld(s, model.Policy{}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			v := view.NewView(w)
			h := v.Hosts[0]
			cpu, _ := v.Index.Place("cpu")
			team, _ := h.LabelSets[0].Get("team")
			got := []any{h.Leaving, h.Closed, h.Initialized, v.Free(0)[cpu], team}
			if diff := cmp.Diff([]any{tt.leaving, tt.closed, tt.initialized, tt.cpu, tt.team}, got); diff != "" {
				t.Errorf("leaving, closed, initialized, cpu, team (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimsInFlightAreTheLeastTheyMayBecome(t *testing.T) {
	s := snapshot()
	amounts := func(cpu int64) model.Amounts {
		return model.Amounts{{Resource: "cpu", Value: cpu}, {Resource: "memory", Value: 1 << 34}, {Resource: "pods", Value: 20}}
	}
	s.Catalogs = []model.Catalog{{ID: "k", InstanceTypes: []model.InstanceType{
		{Name: "large", Allocatable: amounts(1900), Capacity: amounts(2000)},
		{Name: "xlarge", Allocatable: amounts(3900), Capacity: amounts(4000)},
	}}}
	s.NodeClasses = []model.NodeClass{{Name: "nc", Catalog: "k"}}
	s.Claims = []model.Claim{{
		ID: "c", NodePool: "p", NodeClass: "nc", State: model.ClaimPlanned,
		Offerings: []model.RankedOffering{{InstanceType: "large", Zone: "z-1a", Price: 5}, {InstanceType: "xlarge", Zone: "z-1b", Price: 9}},
	}}
	w, err := view.NewWorld(s, model.Policy{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	v := view.NewView(w)
	h := v.Hosts[len(v.Hosts)-1]
	cpu, _ := v.Index.Place("cpu")
	if h.Node != nil || v.Free(h.Index)[cpu] != 1900 || w.ClaimCapacity(h.Claim)[cpu] != 4000 || len(h.LabelSets) != 2 || w.Price(h.Claim) != 5 {
		t.Errorf("the claim has %v, counts %v, and has %d label sets", v.Free(h.Index), w.ClaimCapacity(h.Claim), len(h.LabelSets))
	}
}

func TestVolumesOfOnePlaceShareAProfile(t *testing.T) {
	s := model.Snapshot{}
	for i, zone := range []string{"a", "a", "b"} {
		id := fmt.Sprintf("c-%d", i)
		s.PodClasses = append(s.PodClasses, model.PodClass{ID: model.ClassID(id), Namespace: "shop", Volumes: []model.VolumeTopology{{
			Name: "shop/data-" + id, Terms: []model.NodeAffinityTerm{{Requirements: []model.Requirement{
				{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{zone}},
			}}},
		}}})
	}
	w, err := view.NewWorld(&s, model.Policy{}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if w.Classes[0].Profile != w.Classes[1].Profile || w.Classes[0].Profile == w.Classes[2].Profile || len(w.Profiles) != 2 {
		t.Errorf("%d profiles, want one for each zone", len(w.Profiles))
	}
}

func TestWhatNodesTurnOutToHaveGoesForNewOnes(t *testing.T) {
	amounts := func(cpu, gpu int64) model.Amounts {
		return model.Amounts{{Resource: "cpu", Value: cpu}, {Resource: "gpu", Value: gpu}, {Resource: "memory", Value: 1 << 34}}
	}
	tests := map[string]struct {
		change func(*model.Snapshot)
		cpu    int64
	}{
		"less than the catalogue says":                       {func(*model.Snapshot) {}, 3500},
		"the least of several":                               {func(s *model.Snapshot) { s.Nodes[1].Allocatable = amounts(3400, 1) }, 3400},
		"never more than the catalogue says":                 {func(s *model.Snapshot) { s.Nodes[0].Allocatable = amounts(4100, 1) }, 3900},
		"not of a node that is not initialized":              {func(s *model.Snapshot) { s.Claims[0].State = model.ClaimRegistered }, 3900},
		"not of a node that drifted":                         {func(s *model.Snapshot) { s.Claims[0].Drifted = model.Reason{Code: model.CodeDrifted} }, 3900},
		"not of another class's node":                        {func(s *model.Snapshot) { s.Claims[0].NodeClass = "other" }, 3900},
		"a resource that a node does not have tells nothing": {func(s *model.Snapshot) { s.Nodes[0].Allocatable = nil }, 3900},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &model.Snapshot{
				PodClasses:  []model.PodClass{{ID: "c", Requests: amounts(1, 1)}},
				Catalogs:    []model.Catalog{{ID: "k", InstanceTypes: []model.InstanceType{{Name: "large", Allocatable: amounts(3900, 1)}}}},
				NodeClasses: []model.NodeClass{{Name: "nc", Catalog: "k"}, {Name: "other", Catalog: "k"}},
				Nodes:       []model.Node{{Name: "n0", Allocatable: amounts(3500, 0)}, {Name: "n1", Allocatable: amounts(3900, 1)}},
			}
			for i := range 2 {
				s.Claims = append(s.Claims, model.Claim{
					ID: model.ClaimID(fmt.Sprintf("c%d", i)), NodeClass: "nc", State: model.ClaimInitialized,
					Node: s.Nodes[i].Name, InstanceType: "large", Allocatable: amounts(3900, 1),
				})
			}
			s.Claims = append(s.Claims, model.Claim{ID: "flight", NodeClass: "nc", State: model.ClaimLaunched, InstanceType: "large", Allocatable: amounts(3900, 1)})
			tt.change(s)
			w, err := view.NewWorld(s, model.Policy{}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			large := &view.Type{InstanceType: &s.Catalogs[0].InstanceTypes[0], AllocatableVector: w.Index.Vector(amounts(3900, 1))}
			v := view.NewView(w)
			cpu, _ := w.Index.Place("cpu")
			gpu, _ := w.Index.Place("gpu")
			got := []int64{w.Allocatable("nc", large)[cpu], v.Free(len(v.Hosts) - 1)[cpu], w.Allocatable("nc", large)[gpu]}
			if diff := cmp.Diff([]int64{tt.cpu, tt.cpu, 1}, got); diff != "" {
				t.Errorf("cpu of a new node, cpu of one in flight, gpu of a new node (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreferencesArePartOfAProfile(t *testing.T) {
	s := model.Snapshot{}
	for i, weight := range []int32{10, 10, 20} {
		s.PodClasses = append(s.PodClasses, model.PodClass{ID: model.ClassID(fmt.Sprintf("c-%d", i)), PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{
			{Weight: weight, Requirements: []model.Requirement{{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{"a"}}}},
			{Weight: 1},
		}})
	}
	for policy, want := range map[model.PreferencePolicy][]int{model.PreferencesPriced: {2, 1}, model.PreferencesIgnored: {1, 0}} {
		w, err := view.NewWorld(&s, model.Policy{Preferences: policy}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		p := w.Classes[0].Profile
		if diff := cmp.Diff(want, []int{len(w.Profiles), len(p.Preferred)}); diff != "" {
			t.Errorf("policy %d: profiles, preferences of the first (-want +got):\n%s", policy, diff)
		}
		if p.Mentions("topology.kubernetes.io/zone") != (policy == model.PreferencesPriced) {
			t.Errorf("policy %d: a preference about the zone is mentioned: %v", policy, p.Keys)
		}
	}
}

func TestAVolumeThatPodsShareIsAttachedOnce(t *testing.T) {
	s := snapshot()
	attach := func(class int, volumes ...string) {
		c := &s.PodClasses[class]
		c.VolumeAttachments = model.Amounts{{Resource: "csi", Value: int64(len(volumes))}}
		c.Volumes = nil
		for _, name := range volumes {
			c.Volumes = append(c.Volumes, model.VolumeTopology{Name: name, Driver: "csi"})
		}
	}
	attach(0, "shop/data")
	attach(1, "shop/data", "shop/logs")
	attach(2, "", "shop/data") // one of its own
	s.Nodes[0].VolumeLimits = model.Amounts{{Resource: "csi", Value: 2}}
	w, err := view.NewWorld(s, model.Policy{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	v := view.NewView(w) // shop/data is on n0
	fits := func(class int, want bool) {
		t.Helper()
		if _, left, ok := v.VolumesLeft(0, w.Classes[class]); ok != want {
			t.Errorf("a pod of class %d: %v with capacity for %d more, want %v", class, ok, left, want)
		}
	}
	mark := v.Fork()
	v.Place(0, w.Classes[0], 5)
	fits(1, true)
	v.Place(0, w.Classes[1], 1)
	fits(1, true)
	fits(0, true)
	fits(2, false)
	v.Revert(mark)
	fits(2, true)
	v.Place(0, w.Classes[2], 1)
	fits(2, false)
	fits(0, true)
	fits(1, false)
}
