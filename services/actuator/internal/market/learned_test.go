package market

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// learner is a class whose nodes boot an image, and types of which nodes have 7,577 MiB as far as is known.
type learner struct {
	*Classes
	t     *testing.T
	class *Class
	now   time.Time
}

func newLearner(t *testing.T, image string) *learner {
	t.Helper()
	m := New(config())
	for _, name := range []string{"m5.large", "m5a.large"} {
		m.types = append(m.types, catalog.Type{
			Name: name, Arch: "amd64", Hypervisor: "nitro", VCPU: 2, MemoryMiB: 8192, DefaultENIs: 3, IPv4PerENI: 10, CPUManufacturer: "intel",
		})
	}
	s := NewClasses(m)
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}})
	l := &learner{s, t, s.Get("default"), time.Now()}
	l.boots(image)
	return l
}

// boots has the class resolved to an image.
func (l *learner) boots(image string) {
	l.take(l.t.Context(), l.class, cloud.Class{Images: []cloud.Image{{ID: image}}}, nil)
}

// told is a node of m5.large that has so many MiB, some time after the last one.
func (l *learner) told(image string, memory int64, later time.Duration) {
	l.now = l.now.Add(later)
	l.cfg.Agenda.Begin(l.now)
	l.Learn(model.Claim{
		State: model.ClaimInitialized, InstanceType: "m5.large", ImageID: image,
		Capacity: model.Amounts{{Resource: "memory", Value: memory*mib + 1000}},
	})
	l.reshapes(l.t.Context())
}

// has wants that nodes of a type are thought to have so many MiB.
func (l *learner) has(name model.TypeName, want int64) {
	l.t.Helper()
	shape := l.class.Shapes()[name]
	if got := shape.Capacity.Value("memory") / mib; got != want {
		l.t.Errorf("%s is thought to have %d MiB, want %d", name, got, want)
	}
	if kept := shape.Capacity.Value("memory") - shape.Allocatable.Value("memory"); kept != (11*29+255+100)*mib {
		l.t.Errorf("%s keeps %d MiB for itself", name, kept/mib)
	}
}

func TestMemoryIsLearnedOfNodes(t *testing.T) {
	l := newLearner(t, "ami-1")
	l.has("m5.large", 7577)
	l.told("ami-1", 7577, 0)
	before := l.class.catalogue
	l.told("ami-1", 7600, time.Minute)
	if l.class.catalogue != before {
		t.Error("other shapes, though a node has all that was expected")
	}
	l.told("ami-1", 7000, time.Second) // less is taken over at once
	l.has("m5.large", 7000)
	l.has("m5a.large", 7577)
	l.told("ami-1", 7400, time.Hour) // the least that any has
	l.has("m5.large", 7000)
	if n := len(l.catalogues); n != 1 {
		t.Errorf("%d catalogues are kept, want 1", n)
	}
	l.boots("ami-2") // of another image nothing is known, and of the old one nothing any more
	l.has("m5.large", 7577)
	l.boots("ami-1")
	l.has("m5.large", 7577)
	l.told("ami-2", 6000, time.Second) // a node of an image that is not booted any more
	l.has("m5.large", 7577)
}

// TestEqualTypesAreNotShownAgain: they are asked for twice a day, and each time all was planned anew.
func TestEqualTypesAreNotShownAgain(t *testing.T) {
	l := newLearner(t, "ami-1")
	objects := []cluster.Class{{Spec: l.class.Spec}}
	asked := func(now time.Time) (news bool) {
		l.market.types, l.market.typesAt = slices.Clone(l.market.types), now
		l.Refresh(t.Context(), objects, nil, func(model.NodeClassName) bool { return true })
		return l.News()
	}
	asked(l.now)
	if asked(l.now.Add(12 * time.Hour)) {
		t.Error("equal types are news")
	}
	l.market.types[0].MemoryMiB = 4096
	if !asked(l.now.Add(24 * time.Hour)) {
		t.Error("another type is no news")
	}
	l.has("m5a.large", 7577)
	if n := len(l.catalogues); n != 1 {
		t.Errorf("%d catalogues are kept, want 1", n)
	}
}

func TestMoreMemoryThanThoughtIsLearnedWithoutHaste(t *testing.T) {
	l := newLearner(t, "ami-1")
	l.told("ami-1", 7800, 0)
	l.has("m5.large", 7577)
	l.told("ami-1", 7900, reshapeEvery)
	l.has("m5.large", 7800)
}

func TestNodesThatHaveNotToldTeachNothing(t *testing.T) {
	l := newLearner(t, "ami-1")
	for _, c := range []model.Claim{
		{State: model.ClaimRegistered}, {State: model.ClaimDraining, Reached: model.ClaimLaunched}, {State: model.ClaimGone, Reached: model.ClaimInitialized},
	} {
		c.InstanceType, c.ImageID, c.Capacity = "m5.large", "ami-1", model.Amounts{{Resource: "memory", Value: 5 << 30}}
		l.Learn(c)
	}
	l.reshapes(t.Context())
	l.has("m5.large", 7577)
}

// TestWhatOnlyOneClassHasSaidIsForgottenOnceAllHave: what another class is recalled to have selected may be old.
func TestWhatOnlyOneClassHasSaidIsForgottenOnceAllHave(t *testing.T) {
	l := newLearner(t, "ami-1")
	l.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "other", UID: "2"}})
	other := l.Get("other")
	l.selected(t.Context(), other, cloud.Class{Images: []cloud.Image{{ID: "ami-old"}}}, l.now)
	other.recalled = true
	l.memory.note("ami-new", "m5.large", 7000*mib)
	l.boots("ami-1")
	if _, known := l.memory["ami-new"]; !known {
		t.Error("what was learned of the image that the other class boots now is forgotten")
	}
	l.take(t.Context(), other, cloud.Class{Images: []cloud.Image{{ID: "ami-newer"}}}, nil)
	if _, known := l.memory["ami-new"]; known {
		t.Error("what was learned of an image that no class boots is kept")
	}
}

// memory is a Memory.
type memory map[string][]byte

func (m memory) Remember(_ context.Context, name string, data []byte) error {
	m[name] = data
	return nil
}

func (m memory) Recall(_ context.Context, name string) ([]byte, error) { return m[name], nil }

func TestWhatWasLearnedIsKept(t *testing.T) {
	kept := memory{}
	l := newLearner(t, "ami-1")
	l.told("ami-1", 7000, 0)
	l.market.cfg.Memory = kept
	l.market.typesAt, l.market.spotAt = l.now, l.now
	l.market.spot = map[cloud.TypeZone]int64{{InstanceType: "m5.large", Zone: "a"}: 7}
	l.Keep(t.Context())
	(<-l.market.cfg.Jobs.Results())()

	c := config()
	c.Memory = kept
	next := NewClasses(New(c))
	next.market.Refresh(t.Context())
	(<-c.Jobs.Results())()
	if m := next.market; !m.Asked() || m.spot[cloud.TypeZone{InstanceType: "m5.large", Zone: "a"}] != 7 || len(m.types) != 2 {
		t.Errorf("asked: %v, %d types, spot prices %v", m.Asked(), len(m.types), m.spot)
	}
	next.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}})
	next.recallMemory()
	next.recallClass(t.Context(), next.Get("default"))
	again := &learner{next, t, next.Get("default"), l.now}
	again.has("m5.large", 7000)
	if !again.class.due || again.class.unresolved() {
		t.Errorf("due: %v, unresolved: %v; want that it is good to begin with, and asked for again", again.class.due, again.class.unresolved())
	}
	if at := again.class.ReservedSince(); !at.IsZero() {
		t.Errorf("nodes drift from the reservations of %s before AWS has answered", at)
	}
	if p, status := again.class.Present(), again.class.Status(); len(p.Images) != 0 || status.Resolved {
		t.Errorf("nodes drift from %v, and the status says that it is resolved: %v; want neither before AWS has answered", p.Images, status.Resolved)
	}
	next.take(t.Context(), again.class, again.class.resolved, nil)
	if p, status := again.class.Present(), again.class.Status(); len(p.Images) != 1 || !status.Resolved {
		t.Errorf("nodes drift from %v, and the status says that it is resolved: %v; want what AWS has answered", p.Images, status.Resolved)
	}
	next.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "2"}})
	next.recallClass(t.Context(), next.Get("default"))
	if !next.Get("default").unresolved() {
		t.Error("another object of that name begins with what the old one selected")
	}
}
