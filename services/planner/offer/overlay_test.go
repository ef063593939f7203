package offer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

func req(key string, op model.Operator, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: op, Values: values}
}

func in(key string, values ...string) model.Requirement { return req(key, model.In, values...) }

const (
	zoneKey   = "topology.kubernetes.io/zone"
	poolKey   = "karpenter.sh/nodepool"
	familyKey = "karpenter.k8s.aws/instance-family"
	typeKey   = "node.kubernetes.io/instance-type"
	ctKey     = "karpenter.sh/capacity-type"
)

// shop has the pools a and b, of two types in three zones, on demand and spot.
func shop(overlays ...model.NodeOverlay) *model.Snapshot {
	s := &model.Snapshot{
		NodePools: []model.NodePool{
			{Name: "a", NodeClass: "default", Labels: model.Labels{{Key: "team", Value: "red"}}},
			{Name: "b", NodeClass: "default", Requirements: []model.Requirement{in("team", "red", "blue"), in(zoneKey, "us-east-1a", "us-east-1b")}},
		},
		NodeClasses: []model.NodeClass{{Name: "default", Catalog: "k", Zones: []string{"us-east-1a", "us-east-1b", "us-east-1c"}}},
		Catalogs: []model.Catalog{{ID: "k", InstanceTypes: []model.InstanceType{
			{Name: "c5.large", Labels: model.Labels{{Key: familyKey, Value: "c5"}}}, {Name: "m5.large", Labels: model.Labels{{Key: familyKey, Value: "m5"}}},
		}}},
		NodeOverlays: overlays,
	}
	for _, t := range []model.TypeName{"c5.large", "m5.large"} {
		for _, z := range s.NodeClasses[0].Zones {
			s.Offerings = append(s.Offerings,
				model.Offering{InstanceType: t, Zone: z, CapacityType: model.OnDemand, Price: 100_000},
				model.Offering{InstanceType: t, Zone: z, CapacityType: model.Spot, Price: 40_000})
		}
	}
	return s
}

func price(n int64, weight int32, name string, reqs ...model.Requirement) model.NodeOverlay {
	return model.NodeOverlay{Name: name, Weight: weight, Requirements: reqs, Price: &n}
}

// prices lists what overlays change, as "pool type zone capacity-type price overlay".
func prices(s *model.Snapshot, o *offer.Overlays) []string {
	var out []string
	for _, p := range s.NodePools {
		for i := range s.Offerings {
			off := &s.Offerings[i]
			got, name := o.For(p.Name, off.InstanceType).Price(off)
			if name != "" {
				out = append(out, fmt.Sprintf("%s %s %s %s %d %s", p.Name, off.InstanceType, off.Zone[9:], off.CapacityType, got, name))
			} else if got != off.Price {
				out = append(out, "a price that no overlay says")
			}
		}
	}
	return out
}

func TestOverlaysChangePrices(t *testing.T) {
	tests := map[string]struct {
		overlays []model.NodeOverlay
		want     []string
		conflict string
	}{
		"none": {nil, nil, ""},
		"of one zone, and of no other (case 90)": {
			[]model.NodeOverlay{price(1, 0, "x", in(zoneKey, "us-east-1a"), in(ctKey, "spot"))},
			[]string{"a c5.large a spot 1 x", "a m5.large a spot 1 x", "b c5.large a spot 1 x", "b m5.large a spot 1 x"},
			"",
		},
		"of one pool": {
			[]model.NodeOverlay{price(1, 0, "x", in(poolKey, "b"), in(familyKey, "m5"), in(zoneKey, "us-east-1b"))},
			[]string{"b m5.large b on-demand 1 x", "b m5.large b spot 1 x"},
			"",
		},
		"by the pool's own label, where it is decided": {
			[]model.NodeOverlay{price(1, 0, "x", in("team", "red"), in(typeKey, "m5.large"), in(zoneKey, "us-east-1a"), in(ctKey, "spot"))},
			[]string{"a m5.large a spot 1 x"},
			"",
		},
		"by a label that all of the pool's values satisfy": {
			[]model.NodeOverlay{price(1, 0, "x", req("team", model.Exists), in(typeKey, "m5.large"), in(zoneKey, "us-east-1a"), in(ctKey, "spot"))},
			[]string{"a m5.large a spot 1 x", "b m5.large a spot 1 x"},
			"",
		},
		"by a label that nothing has": {[]model.NodeOverlay{price(1, 0, "x", req("colour", model.Exists))}, nil, ""},
		"by a label that nothing may have": {
			[]model.NodeOverlay{price(1, 0, "x", req("colour", model.DoesNotExist), in(poolKey, "a"), in(typeKey, "m5.large"), in(zoneKey, "us-east-1a"), in(ctKey, "spot"))},
			[]string{"a m5.large a spot 1 x"},
			"",
		},
		"heavier wins (case 91)": {
			[]model.NodeOverlay{
				price(1, 1, "light", in(poolKey, "a"), in(typeKey, "m5.large"), in(ctKey, "spot")),
				price(2, 2, "heavy", in(poolKey, "a"), in(zoneKey, "us-east-1a"), in(ctKey, "spot")),
			},
			[]string{"a c5.large a spot 2 heavy", "a m5.large a spot 2 heavy", "a m5.large b spot 1 light", "a m5.large c spot 1 light"},
			"",
		},
		"of two of a weight the first by name is used nowhere (case 91)": {
			[]model.NodeOverlay{
				price(1, 5, "one", in(ctKey, "spot"), in(familyKey, "m5")),
				price(1, 5, "two", in(poolKey, "b"), in(zoneKey, "us-east-1b"), in(ctKey, "spot"), in(familyKey, "m5")),
			},
			[]string{"b m5.large b spot 1 two"},
			"nodeoverlay/one: node overlay two of the same weight 5 says the price of m5.large in us-east-1b (spot) of pool b, too",
		},
		"two of a weight that never meet": {
			[]model.NodeOverlay{
				price(1, 5, "one", in(poolKey, "a"), in(zoneKey, "us-east-1a"), in(ctKey, "spot"), in(familyKey, "m5")),
				price(2, 5, "two", in(poolKey, "a"), in(zoneKey, "us-east-1b"), in(ctKey, "spot"), in(familyKey, "m5")),
			},
			[]string{"a m5.large a spot 1 one", "a m5.large b spot 2 two"},
			"",
		},
		"two of a weight that meet only where the pool buys nothing": {
			[]model.NodeOverlay{
				price(1, 5, "one", in(poolKey, "b"), in(zoneKey, "us-east-1a", "us-east-1c"), in(ctKey, "spot"), in(familyKey, "m5")),
				price(2, 5, "two", in(poolKey, "b"), in(zoneKey, "us-east-1c"), in(ctKey, "spot"), in(familyKey, "m5")),
			},
			[]string{"b m5.large a spot 1 one", "b m5.large c spot 2 two"},
			"",
		},
		"an invalid one (case 93)": {
			[]model.NodeOverlay{{Name: "x", Price: new(int64), NotReady: model.Reason{Code: model.CodeOverlayInvalid, Message: "bad", Subject: "nodeoverlay/x"}}},
			nil, "nodeoverlay/x: bad",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := shop(tt.overlays...)
			o := offer.NewOverlays(s)
			if diff := cmp.Diff(tt.want, prices(s, o)); diff != "" {
				t.Errorf("prices (-want +got):\n%s", diff)
			}
			var problems []string
			for _, p := range o.Problems() {
				problems = append(problems, p.Subject+": "+p.Message)
			}
			if got := strings.Join(problems, "; "); got != tt.conflict {
				t.Errorf("problems %q, want %q", got, tt.conflict)
			}
		})
	}
}

func TestAdjustments(t *testing.T) {
	tests := map[string]struct {
		overlay    model.NodeOverlay
		list, want int64
	}{
		"an amount more":               {model.NodeOverlay{Adjustment: new(int64(5))}, 100, 105},
		"an amount less":               {model.NodeOverlay{Adjustment: new(int64(-5))}, 100, 95},
		"never below nothing":          {model.NodeOverlay{Adjustment: new(int64(-500))}, 100, 0},
		"a share more":                 {model.NodeOverlay{AdjustmentPPM: new(int64(125_000))}, 96_000, 108_000},
		"a share less":                 {model.NodeOverlay{AdjustmentPPM: new(int64(-300_000))}, 96_000, 67_200},
		"all of it":                    {model.NodeOverlay{AdjustmentPPM: new(int64(-1_000_000))}, 96_000, 0},
		"free":                         {model.NodeOverlay{Price: new(int64(0))}, 96_000, 0},
		"more than a number can say":   {model.NodeOverlay{AdjustmentPPM: new(int64(math.MaxInt64))}, math.MaxInt64, math.MaxInt64},
		"an amount beyond all numbers": {model.NodeOverlay{Adjustment: new(int64(math.MaxInt64))}, 5, math.MaxInt64},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.overlay.Name = "x"
			s := shop(tt.overlay)
			off := s.Offerings[0]
			off.Price = tt.list
			if got, by := offer.NewOverlays(s).For("a", off.InstanceType).Price(&off); got != tt.want || by != "x" {
				t.Errorf("got %d by %q, want %d", got, by, tt.want)
			}
		})
	}
}

func TestOverlaysChangeCapacity(t *testing.T) {
	has := func(pairs ...any) model.Amounts {
		var out model.Amounts
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, model.Amount{Resource: model.Resource(pairs[i].(string)), Value: int64(pairs[i+1].(int))})
		}
		return out
	}
	fuse := model.NodeOverlay{Name: "fuse", Weight: 1, Capacity: has("fuse", 20, "kvm", 1)}
	inA := model.NodeOverlay{Name: "in-a", Weight: 2, Capacity: has("fuse", 0), Requirements: []model.Requirement{in(zoneKey, "us-east-1a")}}
	o := offer.NewOverlays(shop(fuse, inA))
	at := func(zone string) (model.Amounts, string) {
		return o.For("a", "m5.large").Capacity(zone, model.Spot, "")
	}
	if got, by := at("us-east-1b"); cmp.Diff(has("fuse", 20, "kvm", 1), got) != "" || by != "fuse" {
		t.Errorf("in b: %v by %s (case 92)", got, by)
	}
	if got, by := at("us-east-1a"); cmp.Diff(has("fuse", 0, "kvm", 1), got) != "" || by != "fuse,in-a" {
		t.Errorf("in a: %v by %s: want the heavier one's word for each resource", got, by)
	}
	got, _ := at("us-east-1a")
	if diff := cmp.Diff(has("cpu", 2, "fuse", 0, "kvm", 1), offer.With(has("cpu", 2, "fuse", 7), got)); diff != "" {
		t.Errorf("laid over the catalogue (-want +got):\n%s", diff)
	}
	same := model.NodeOverlay{Name: "z", Weight: 1, Capacity: has("kvm", 1)}
	if p := offer.NewOverlays(shop(fuse, same)).Problems(); len(p) > 0 {
		t.Errorf("two that say the same: %v", p)
	}
	other := model.NodeOverlay{Name: "z", Weight: 1, Capacity: has("kvm", 2)}
	o = offer.NewOverlays(shop(fuse, other))
	if p := o.Problems(); len(p) != 1 || p[0].Code != model.CodeOverlayConflict || p[0].Subject != "nodeoverlay/fuse" || !strings.Contains(p[0].Message, "says the kvm of") {
		t.Errorf("two that contradict each other: %v", p)
	}
	if got, _ := at("us-east-1b"); cmp.Diff(has("kvm", 2), got) != "" {
		t.Errorf("the loser still has a say: %v", got)
	}
}

func TestAClaimHasWhatAllThatItMayBecomeHave(t *testing.T) {
	o := offer.NewOverlays(shop(
		model.NodeOverlay{Name: "all", Weight: 1, Capacity: model.Amounts{{Resource: "fuse", Value: 20}}},
		model.NodeOverlay{
			Name: "some", Weight: 2, Requirements: []model.Requirement{in(familyKey, "m5")},
			Capacity: model.Amounts{{Resource: "fuse", Value: 5}, {Resource: "kvm", Value: 1}},
		},
	))
	either := []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a"}, {InstanceType: "c5.large", Zone: "us-east-1a"}}
	tests := map[string]struct {
		claim model.Claim
		want  model.Amounts
	}{
		"in flight":   {model.Claim{NodePool: "a", Offerings: either}, model.Amounts{{Resource: "fuse", Value: 5}}},
		"launched":    {model.Claim{NodePool: "a", Offerings: either, InstanceType: "c5.large", Zone: "us-east-1a"}, model.Amounts{{Resource: "fuse", Value: 20}}},
		"of one type": {model.Claim{NodePool: "a", Offerings: either[:1]}, model.Amounts{{Resource: "fuse", Value: 5}, {Resource: "kvm", Value: 1}}},
		"of no pool":  {model.Claim{NodePool: "gone", Offerings: either}, nil},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, o.Claim(&tt.claim)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNoOverlaysSayNothing(t *testing.T) {
	o := offer.NewOverlays(shop())
	if o != nil || !o.For("a", "m5.large").None() || o.Problems() != nil {
		t.Error("there are some")
	}
}

// TestTheHeaviestThatMatchesSaysThePrice compares with the plainest way to say it, for overlays of different weights.
func TestTheHeaviestThatMatchesSaysThePrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := map[string][]string{
			zoneKey: {"us-east-1a", "us-east-1b"}, poolKey: {"a", "b"}, familyKey: {"c5", "m5"}, ctKey: {"spot", "on-demand"}, typeKey: {"m5.large"},
		}
		names := []string{zoneKey, poolKey, familyKey, ctKey, typeKey}
		var overlays []model.NodeOverlay
		for i := range rapid.IntRange(1, 5).Draw(t, "overlays") {
			var reqs []model.Requirement
			for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID[string]).Draw(t, "keys") {
				op := rapid.SampledFrom([]model.Operator{model.In, model.NotIn}).Draw(t, "operator")
				reqs = append(reqs, req(k, op, rapid.SampledFrom(keys[k]).Draw(t, "value")))
			}
			overlays = append(overlays, price(int64(i), int32(i), fmt.Sprintf("o%d", i), reqs...))
		}
		s := shop(rapid.Permutation(overlays).Draw(t, "order")...)
		o := offer.NewOverlays(s)
		for _, p := range s.NodePools {
			for i := range s.Offerings {
				off := &s.Offerings[i]
				labels := map[string]string{
					zoneKey: off.Zone, poolKey: string(p.Name), familyKey: string(off.InstanceType)[:2], ctKey: off.CapacityType.String(), typeKey: string(off.InstanceType),
				}
				want := off.Price
				for _, overlay := range overlays { // the last is the heaviest
					if !slices.ContainsFunc(overlay.Requirements, func(r model.Requirement) bool {
						return slices.Contains(r.Values, labels[r.Key]) != (r.Operator == model.In)
					}) {
						want = *overlay.Price
					}
				}
				if got, _ := o.For(p.Name, off.InstanceType).Price(off); got != want {
					t.Fatalf("%s %v: %d, want %d", p.Name, *off, got, want)
				}
			}
		}
	})
}

func BenchmarkNewOverlays(b *testing.B) {
	s := shop()
	s.Catalogs[0].InstanceTypes, s.Offerings = nil, nil
	for i := range 900 {
		t := model.InstanceType{Name: model.TypeName(fmt.Sprintf("t%03d", i)), Labels: model.Labels{{Key: familyKey, Value: fmt.Sprint(i % 90)}}}
		s.Catalogs[0].InstanceTypes = append(s.Catalogs[0].InstanceTypes, t)
		for _, z := range s.NodeClasses[0].Zones {
			s.Offerings = append(s.Offerings, model.Offering{InstanceType: t.Name, Zone: z, CapacityType: model.OnDemand, Price: 1})
		}
	}
	for i := range 10 {
		p := s.NodePools[0]
		p.Name = model.PoolName(fmt.Sprintf("p%d", i))
		s.NodePools = append(s.NodePools, p)
		s.NodeOverlays = append(s.NodeOverlays, price(1, 7, fmt.Sprintf("o%d", i), in(familyKey, fmt.Sprint(i)), in(zoneKey, "us-east-1a")))
	}
	b.ReportAllocs()
	for b.Loop() {
		offer.NewOverlays(s)
	}
}
