package shortage

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

const first = 3 * time.Minute

var t0 = time.Unix(1_800_000_000, 0).UTC()

func TestAShortageIsBelievedForLongerEachTime(t *testing.T) {
	m, now, s := Memory{}, t0, model.Shortage{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}
	for i, want := range []time.Duration{3, 6, 12, 24, 30, 30} {
		got := m.Again(s, first, now)
		if d := got.Until.Sub(now) - want*time.Minute; got.Times != i+1 || d < 0 || d >= first || i > 0 && got.Until.Truncate(first) != got.Until {
			t.Errorf("time %d: believed for %s, want %s and up to a whole time of three minutes", got.Times, got.Until.Sub(now), want*time.Minute)
		}
		m[KeyOf(got)] = got
		if again := m.Again(s, first, now.Add(time.Second)); again != got {
			t.Errorf("said twice it is %+v, want %+v", again, got)
		}
		now = got.Until.Add(time.Second)
		if o := m.Lookup().Of(KeyOf(s), 2, now); !o.Until.IsZero() || o.Tries != 1 {
			t.Errorf("once it is over: %+v, want that one claim tries it", o)
		}
	}
	now = ForgottenAt(m[KeyOf(s)], first)
	if got := m.Again(s, first, now); got.Times != 1 {
		t.Errorf("after a while it is time %d, want the first", got.Times)
	}
}

func TestWhatAShortageIsAbout(t *testing.T) {
	short := func(name model.TypeName, zone string) Memory {
		s := model.Shortage{InstanceType: name, Zone: zone, CapacityType: model.OnDemand, Until: t0.Add(time.Minute)}
		return Memory{KeyOf(s): s}
	}
	for name, tt := range map[string]struct {
		m           Memory
		about, free []Key
	}{
		"an offering": {short("m5.large", "a"), []Key{{"m5.large", "a", model.OnDemand}}, []Key{{"m5.large", "b", model.OnDemand}, {"m5.large", "a", model.Spot}}},
		"a type":      {short("m5.large", ""), []Key{{"m5.large", "b", model.OnDemand}}, []Key{{"m5.xlarge", "b", model.OnDemand}}},
		"the account": {short(Everything, ""), []Key{{"p5.48xlarge", "b", model.OnDemand}}, []Key{{"p5.48xlarge", "b", model.Spot}}},
		"a quota": {
			short(OfQuota("m5.xlarge", 4), ""),
			[]Key{{"m5.xlarge", "a", model.OnDemand}, {"c6i.xlarge", "b", model.OnDemand}},
			[]Key{{"g5.xlarge", "a", model.OnDemand}, {"m5.xlarge", "a", model.Spot}},
		},
	} {
		for _, k := range tt.about {
			if tt.m.Lookup().Of(k, 4, t0).Until.IsZero() || len(tt.m.Seen(k, 4)) != 1 {
				t.Errorf("%s: %v is not short, or an instance says nothing of it", name, k)
			}
		}
		for _, k := range tt.free {
			if got := tt.m.Lookup().Of(k, 4, t0); !got.Until.IsZero() || got.Tries > 0 || len(tt.m.Seen(k, 4)) > 0 {
				t.Errorf("%s: %v is %+v", name, k, got)
			}
		}
	}
	if got := short(OfQuota("m5.xlarge", 4), "").Lookup().Of(Key{"m5.large", "a", model.OnDemand}, 2, t0); got.Tries > 0 {
		t.Error("a type that needs less of the quota is short too")
	}
}

func TestMoreTryWhatWasHad(t *testing.T) {
	s, tries := model.Shortage{InstanceType: "m5.large", Times: 3, Until: t0}, 0
	for over := false; !over; tries++ {
		s, over = Eased(s, t0)
	}
	if tries != 8 || s.Times != 1 {
		t.Errorf("over after %d times, and believed as for time %d; want 8 and 1", tries, s.Times)
	}
}

func TestWhatAPlacementGroupHasNoneOf(t *testing.T) {
	large := Key{"m5.large", "a", model.OnDemand}
	s := Within("pg-1", model.Shortage{InstanceType: "m5.large", Zone: "a", CapacityType: model.OnDemand, Until: t0.Add(time.Minute)})
	m := Memory{KeyOf(s): s}
	if got := m.Lookup().Of(large, 2, t0); !got.Until.IsZero() || got.Tries > 0 {
		t.Errorf("outside the group it is %+v", got)
	}
	if got := m.InGroup("pg-1"); len(got) != 1 || got[large] != s.Until {
		t.Errorf("in the group: %v", got)
	}
	if len(m.InGroup("pg-2")) > 0 || len(m.InGroup("")) > 0 {
		t.Error("another group is short too")
	}
	quota := model.Shortage{InstanceType: OfQuota("m5.large", 2)}
	if got := Within("pg-1", quota); got != quota {
		t.Errorf("a quota is the group's: %+v", got)
	}
}

// TestThousandsOfOfferingsAreLookedUpWithoutReadingEachShortage: all offerings are priced anew with each shortage, and
// 1,000 interrupted nodes are a hundred of these.
func TestThousandsOfOfferingsAreLookedUpWithoutReadingEachShortage(t *testing.T) {
	now := time.Now()
	s := model.Shortage{InstanceType: OfQuota("m5.xlarge", 4), CapacityType: model.OnDemand, Until: now.Add(time.Hour)}
	l := Memory{KeyOf(s): s}.Lookup()
	k := Key{"m5.2xlarge", "a", model.OnDemand}
	if l.Of(k, 8, now) == (State{}) {
		t.Fatal("what counts towards the quota is not short")
	}
	if n := testing.AllocsPerRun(100, func() { l.Of(k, 8, now) }); n > 0 {
		t.Errorf("%v allocations for each offering, want that quotas are read once", n)
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{100, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			now, m := time.Now(), Memory{}
			for i := range n {
				s := model.Shortage{InstanceType: model.TypeName(fmt.Sprintf("m5.%dxlarge", i)), Zone: "a", CapacityType: model.Spot, Until: now.Add(time.Hour)}
				m[KeyOf(s)] = s
			}
			for b.Loop() {
				l := m.Lookup()
				for range 10_000 {
					l.Of(Key{"c5.large", "a", model.Spot}, 2, now)
				}
			}
		})
	}
}
