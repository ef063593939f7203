package market

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestWhatAnotherReleaseHasReadIsAskedFor wants that types and classes are asked for at once where who led before was
// of another release, which may not have read what this one goes by: they would count as known for half a day.
func TestWhatAnotherReleaseHasReadIsAskedFor(t *testing.T) {
	now := time.Now()
	at := cloud.TypeZone{InstanceType: "m5.large", Zone: "a"}
	for name, test := range map[string]struct {
		reading string
		taken   bool
	}{
		"this release":                         {reading(), true},
		"a release that did not say":           {"", false},
		"a release that has read it otherwise": {"v0.0.1 0", false},
	} {
		data, err := encode(kept{
			Version: keptVersion, Reading: test.reading, Types: []catalog.Type{{Name: "m5.large", Arch: "amd64"}}, TypesAt: now,
			OnDemand: map[model.TypeName]int64{"m5.large": 96_000}, SpotAt: now, Spot: map[model.TypeName]map[string]int64{"m5.large": {"a": 7}},
			Classes: map[model.NodeClassName]keptClass{"default": {UID: "1", Resolved: cloud.Class{Images: []cloud.Image{{ID: "ami-1"}}}, At: now}},
			Memory:  learned{"ami-1": {"m5.large": 7 << 30}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c := config()
		c.Memory = memory{fact: data}
		s := NewClasses(New(c))
		s.market.Refresh(t.Context())
		(<-c.Jobs.Results())()
		s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}})
		s.recallClass(t.Context(), s.Get("default"))
		if got := !s.market.typesAt.IsZero(); got != test.taken || s.market.askedTypes != test.taken {
			t.Errorf("%s: types are taken over: %v, want %v", name, got, test.taken)
		}
		if got := !s.Get("default").unresolved(); got != test.taken {
			t.Errorf("%s: what the class selects is taken over: %v, want %v", name, got, test.taken)
		}
		if s.market.spot[at] != 7 || s.market.memoryBefore["ami-1"]["m5.large"] != 7<<30 {
			t.Errorf("%s: spot prices %v and memory %v are not taken over", name, s.market.spot, s.market.memoryBefore)
		}
	}
}

// TestAFieldMoreIsReadOtherwise: builds between two releases have one version.
func TestAFieldMoreIsReadOtherwise(t *testing.T) {
	type before struct{ Types []struct{ Name string } }
	type after struct {
		Types []struct {
			Name    string
			Cluster bool
		}
	}
	fields := func(t reflect.Type) string {
		var b strings.Builder
		list(&b, t, map[reflect.Type]bool{})
		return b.String()
	}
	if b, a := fields(reflect.TypeFor[before]()), fields(reflect.TypeFor[after]()); b == a {
		t.Errorf("both are %q", b)
	}
	if all := fields(reflect.TypeFor[kept]()); !strings.Contains(all, "catalog.Type NoClusterPlacement bool") || !strings.Contains(all, "cloud.PlacementGroup Strategy string") {
		t.Errorf("types and classes are not among %s", all)
	}
}

// TestNodesDoNotDriftFromWhatWasSeenStandingBy: who led meanwhile may have resolved the class since.
func TestNodesDoNotDriftFromWhatWasSeenStandingBy(t *testing.T) {
	s := NewClasses(New(config()))
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}})
	class := s.Get("default")
	seen := cloud.Class{Images: []cloud.Image{{ID: "ami-1"}}}
	s.take(t.Context(), class, seen, nil)
	s.Lead()
	if p, status := class.Present(), class.Status(); len(p.Images) != 0 || status.Resolved || class.unresolved() {
		t.Errorf("a leader that has not asked yet lets nodes drift from %v, says resolved: %v, and can launch: %v", p.Images, status.Resolved, !class.unresolved())
	}
	s.take(t.Context(), class, seen, nil)
	if p, status := class.Present(), class.Status(); len(p.Images) != 1 || !status.Resolved {
		t.Errorf("nodes drift from %v, and the status says that it is resolved: %v; want what AWS has answered", p.Images, status.Resolved)
	}
}
