package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestDiff(t *testing.T) {
	a, b, b2, c := &model.Claim{ID: "a"}, &model.Claim{ID: "b"}, &model.Claim{ID: "b", Attempt: 1}, &model.Claim{ID: "c"}
	o := func(zone string, price int64) model.Offering {
		return model.Offering{InstanceType: "t", Zone: zone, CapacityType: model.Spot, Price: price}
	}
	before := Inventory{Revision: 1, Claims: []*model.Claim{a, b}, Offerings: []model.Offering{o("a", 1), o("b", 1), o("c", 1)}}
	after := Inventory{Revision: 2, Claims: []*model.Claim{b2, c}, Offerings: []model.Offering{o("a", 1), o("c", 2), o("d", 1)}}
	want := model.Delta{
		Upserted: model.Snapshot{InventoryRevision: 2, Claims: []model.Claim{*b2, *c}, Offerings: []model.Offering{o("c", 2), o("d", 1)}},
		Removed:  model.Removed{Claims: []string{"a"}, Offerings: []string{"t/b/spot/"}},
	}
	if d := cmp.Diff(want, Diff(before, after)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(model.Delta{Upserted: model.Snapshot{InventoryRevision: 2}}, Diff(after, after)); d != "" {
		t.Errorf("nothing has changed, but %s", d)
	}
	if c := Diff(Inventory{}, after); len(c.Upserted.Claims) != 2 || len(c.Upserted.Offerings) != 3 {
		t.Errorf("from nothing everything is new, but %+v", c)
	}
}

func TestRevisionsGrow(t *testing.T) {
	first := Next(FromStore(5), 5)
	if second := Next(first, 5); second <= first {
		t.Errorf("%d after %d without a write", second, first)
	}
	// Another leader's first is above whatever this one tells without a further write, for a million changes.
	if other := FromStore(6); other <= first+1_000_000 {
		t.Errorf("%d is not above %d", other, first+1_000_000)
	}
	// And should there be more, the number still grows.
	if n := Next(FromStore(7)+3, 6); n <= FromStore(7)+3 {
		t.Errorf("%d does not grow", n)
	}
}
