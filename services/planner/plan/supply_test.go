package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

// drawSupply adds what users say about supply: overlays, buffers, static pools and reservations.
func (d *draw) drawSupply() {
	for i := range d.n("overlays", 0, 2) {
		d.drawOverlay(fmt.Sprintf("overlay-%d", i))
	}
	for i := range d.n("buffers", 0, 2) {
		b := model.CapacityBuffer{
			ID: model.BufferID(fmt.Sprintf("shop/buffer-%d", i)), Class: d.Snapshot.PodClasses[d.n("buffer class", 0, len(d.Snapshot.PodClasses)-2)].ID,
			Replicas: int64(d.n("replicas", 0, 4)), OneShot: d.chance("one shot"), CreateTime: now(),
		}
		d.Snapshot.CapacityBuffers = append(d.Snapshot.CapacityBuffers, b)
	}
	if d.chance("static") {
		n := int64(d.n("static replicas", 0, 4))
		d.Snapshot.NodePools[d.n("static pool", 0, len(d.Snapshot.NodePools)-1)].Replicas = &n
	}
	if d.chance("reservation") {
		left := int64(d.n("units", 0, 2))
		d.Snapshot.Offerings = append(d.Snapshot.Offerings, model.Offering{
			InstanceType: "m5.xlarge", Zone: "us-east-1b", CapacityType: model.Reserved, Price: 192, ReservationID: "cr-1", ReservationRemaining: &left,
		})
		d.Snapshot.NodeClasses[0].Reservations = []string{"cr-1"}
	}
}

func (d *draw) drawOverlay(name string) {
	o := model.NodeOverlay{Name: name, Weight: int32(d.n("overlay weight", 0, 1))}
	if d.chance("in one zone") {
		o.Requirements = append(o.Requirements, in("topology.kubernetes.io/zone", "us-east-1b"))
	}
	if d.chance("of some types") {
		o.Requirements = append(o.Requirements, in("node.kubernetes.io/instance-type", "m5.large", "m5.xlarge"))
	}
	slices.SortFunc(o.Requirements, func(a, b model.Requirement) int { return strings.Compare(a.Key, b.Key) })
	switch d.n("overlaid", 0, 3) {
	case 0:
		price := int64(d.n("price", 0, 3)) * 50000
		o.Price = &price
	case 1:
		ppm := int64(d.n("share", -9, 9)) * 100000
		o.AdjustmentPPM = &ppm
	case 2:
		o.Capacity = model.Amounts{{Resource: "memory", Value: int64(d.n("memory", 2, 24)) * gib}}
	}
	d.Snapshot.NodeOverlays = append(d.Snapshot.NodeOverlays, o)
}

func TestAMoveMustSaveByTheListAndByOverlays(t *testing.T) {
	price := func(p int64, types ...string) model.NodeOverlay {
		return model.NodeOverlay{Name: "o", Price: &p, Requirements: []model.Requirement{in("node.kubernetes.io/instance-type", types...)}}
	}
	tests := map[string]struct {
		overlay model.NodeOverlay
		want    model.Code
	}{
		"both say so":         {price(190000, "m5.xlarge"), model.CodeCheaperReplacement},
		"the list alone does": {price(1000, "m5.xlarge"), model.CodeNoCheaper},
		"what is cheaper is more expensive by overlay": {price(500000, "c5.large", "m5.large", "r5.large"), model.CodeNoCheaper},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			w.node("n1", "m5.xlarge", "inflate", 1)
			w.Snapshot.NodeOverlays = []model.NodeOverlay{tt.overlay}
			if got := verdict(t, w.decide(t), "n1"); got.Code != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestABufferMovesAlongWithItsNodesPods(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.xlarge", "inflate", 1)
	w.Snapshot.CapacityBuffers = []model.CapacityBuffer{{ID: "shop/spare", Class: "inflate", Replicas: 2, CreateTime: now()}}
	p := w.decide(t)
	if len(p.Disruptions) != 1 || len(p.NodeClaims) != 1 {
		t.Fatalf("want one node for another, got %v and %v", p.Disruptions, types(p))
	}
	if d := p.Disruptions[0]; d.Evictions != 1 || len(d.Destinations) != 3 {
		t.Errorf("evicts %d pods and moves %v, want 1 and 3", d.Evictions, d.Destinations)
	}
	w.Snapshot.CapacityBuffers, w.Snapshot.Pods = nil, nil
	if got := verdict(t, w.decide(t), "n1"); got.Code != model.CodeEmpty {
		t.Errorf("without buffer and pods: %v", got)
	}
}

func TestAPlanSaysWhatBecameOfOverlaysAndBuffers(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.xlarge", "inflate", 1)
	lost := model.Reason{Code: model.CodeBufferReference, Message: "there is no template", Subject: "capacitybuffer/shop/lost"}
	w.Snapshot.CapacityBuffers = []model.CapacityBuffer{
		{ID: "shop/ended", Class: "inflate", Replicas: 2, ExpireTime: now().Add(-time.Hour)},
		{ID: "shop/lost", Generation: 4, NotReady: lost},
		{ID: "shop/spare", Generation: 2, TemplateGeneration: 7, Class: "inflate", Replicas: 90},
	}
	price := int64(5)
	w.Snapshot.NodeOverlays = []model.NodeOverlay{{Name: "a", Generation: 3, Price: &price}, {Name: "b", Generation: 1, Price: &price}}
	w.Kinds = []model.DecisionKind{model.KindProvision}
	p := w.decide(t)
	if len(p.Objects) != 5 {
		t.Fatalf("%+v, want all five", p.Objects)
	}
	spare := p.Objects[2].Capacity
	if spare == nil || spare.Coming == 0 || spare.Coming == 90 || spare.Missing != 0 {
		t.Fatalf("%+v, want some on the node that is there, and others on new ones", spare)
	}
	want := []model.ObjectState{
		{Subject: "capacitybuffer/shop/ended", Capacity: &model.BufferCapacity{}},
		{Subject: "capacitybuffer/shop/lost", Generation: 4, NotReady: lost},
		{Subject: "capacitybuffer/shop/spare", Generation: 2, Capacity: &model.BufferCapacity{Replicas: 90, Coming: spare.Coming, TemplateGeneration: 7}},
		{Subject: "nodeoverlay/a", Generation: 3, NotReady: p.Objects[3].NotReady},
		{Subject: "nodeoverlay/b", Generation: 1},
	}
	if diff := cmp.Diff(want, p.Objects); diff != "" {
		t.Error(diff)
	}
	if got := p.Objects[3].NotReady.Code; got != model.CodeOverlayConflict {
		t.Errorf("overlay a: %v, want a conflict with b", got)
	}

	w.Snapshot.NodePools[0].Limits = model.Amounts{{Resource: model.CPU, Value: 1}}
	if spare := w.decide(t).Objects[2].Capacity; spare.Coming != 0 || spare.Missing == 0 || spare.Why.OK() {
		t.Errorf("%+v, want to know why no node is bought", spare)
	}
	w.Kinds = []model.DecisionKind{model.KindDisrupt}
	if p := w.decide(t); len(p.Objects) != 0 {
		t.Errorf("%+v, though no pods were placed", p.Objects)
	}
}
