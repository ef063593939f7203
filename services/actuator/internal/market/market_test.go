package market

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/core/model"
)

func config() Config {
	a := &agenda.Agenda{}
	a.Begin(time.Now())
	return Config{
		Agenda: a, Jobs: jobs.New(a, 1, 1), Log: slog.New(slog.DiscardHandler),
		Settings: func(cloud.ClassSpec) instancetype.Settings { return instancetype.Settings{} },
	}
}

func TestPricesAreWhatIsKnownOrElseEstimates(t *testing.T) {
	kind := func(name string) catalog.Type {
		return catalog.Type{Name: name, Zones: []string{"a"}, SupportsOnDemand: true, SupportsSpot: true}
	}
	c := config()
	listed := kind("listed")
	listed.OnDemandMicroUSD, listed.SpotSavesPercent = 1000, 70
	c.Fallback = &catalog.Catalog{Types: []catalog.Type{listed}}
	m := New(c)
	m.types = []catalog.Type{kind("listed"), kind("none"), kind("priced")}
	m.onDemand = map[model.TypeName]int64{"priced": 500}
	m.spot = map[cloud.TypeZone]int64{{InstanceType: "priced", Zone: "a"}: 200}
	until := time.Unix(1000, 0)
	short := model.Shortage{InstanceType: "priced", Zone: "a", CapacityType: model.Spot, Until: until}
	c.Agenda.Begin(until.Add(-time.Second))
	m.Reprice(false, shortage.Memory{shortage.KeyOf(short): short})
	want := []model.Offering{
		{InstanceType: "listed", Zone: "a", CapacityType: model.OnDemand, Price: 1000, PriceEstimated: true},
		{InstanceType: "listed", Zone: "a", CapacityType: model.Spot, Price: 300, PriceEstimated: true},
		{InstanceType: "none", Zone: "a", CapacityType: model.OnDemand},
		{InstanceType: "none", Zone: "a", CapacityType: model.Spot},
		{InstanceType: "priced", Zone: "a", CapacityType: model.OnDemand, Price: 500},
		{InstanceType: "priced", Zone: "a", CapacityType: model.Spot, Price: 200, UnavailableUntil: until},
	}
	if d := cmp.Diff(want, m.Offerings()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, _ := m.Offering(apply.OfferingKey{InstanceType: "priced", Zone: "a", CapacityType: model.Spot}); got.Price != 200 || !got.UnavailableUntil.Equal(until) {
		t.Errorf("%+v, want the same as in the list", got)
	}
	m.spotAt, m.repriced = until, true
	m.Reprice(false, nil)
	for _, o := range m.Offerings() {
		if o.CapacityType == model.Spot && o.InstanceType != "priced" && o.Price != 0 {
			t.Errorf("%s is sold as spot, though EC2 tells no price", o.InstanceType)
		}
	}
	was := m.Offerings()
	if m.Reprice(false, nil); &was[0] != &m.Offerings()[0] {
		t.Error("another list, though nothing has changed")
	}
}

// TestAClassThatCeasesToBeReadyIsToldOfOnce: a security group that was deleted was seen in the class's status alone.
func TestAClassThatCeasesToBeReadyIsToldOfOnce(t *testing.T) {
	var log bytes.Buffer
	conf := config()
	conf.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := NewClasses(New(conf))
	s.leads = true
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}})
	c := s.Get("default")
	ready := cloud.Class{}
	none := cloud.Class{}
	none.NotReady = model.Reason{Code: model.CodeNodeClassNotReady, Message: "no security group matches tag no=such", Remedy: "correct the terms"}
	for _, class := range []cloud.Class{ready, ready, none, none, ready, ready} {
		c.lags = true // its spec was changed, and AWS is being asked
		s.tell(t.Context(), c)
		s.selected(t.Context(), c, class, time.Now())
		c.catalogue = &catalogue{}
		s.tell(t.Context(), c)
		s.tell(t.Context(), c)
	}
	for words, want := range map[string]int{`why="no security group matches tag no=such" remedy="correct the terms"`: 1, "node class is ready again": 1, "class=default": 2} {
		if got := strings.Count(log.String(), words); got != want {
			t.Errorf("the log has %q %d times, want %d:\n%s", words, got, want, log.String())
		}
	}
}

func TestWhyAClassIsNotReady(t *testing.T) {
	s := NewClasses(New(config()))
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}})
	c := s.Get("default")
	is := func(want string) {
		t.Helper()
		if got := c.NotReady().Message; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	is("EC2NodeClass default is being resolved")
	s.take(t.Context(), c, cloud.Class{}, cloud.ErrThrottled)
	is("throttled")
	s.take(t.Context(), c, cloud.Class{Subnets: []cloud.Subnet{{Zone: "a", ZoneID: "az1"}}}, nil)
	is("the instance types of the region are not known yet")
	s.market.types = []catalog.Type{{Name: "m5.large"}}
	s.shape(t.Context(), c)
	is("")
	if c.ZoneID("a") != "az1" {
		t.Errorf("zone id %q", c.ZoneID("a"))
	}
	class, _ := c.Inventory()
	if again, _ := c.Inventory(); class != again {
		t.Error("another value, though nothing has changed")
	}
	s.Refused("default", "the token was used before", cloud.ErrTokenMismatch)
	is("")
	s.Refused("default", "no such profile", cloud.ErrInvalid)
	if again, _ := c.Inventory(); c.NotReady().OK() || class == again || again.NotReady.OK() {
		t.Errorf("%+v, want that a refused launch is shown", again)
	}
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1", Hash: "2"}})
	is("EC2NodeClass default is being resolved")
	s.take(t.Context(), c, cloud.Class{}, nil)
	is("")
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1", Hash: "2"}, Terminating: true})
	is("EC2NodeClass default is being deleted")
	invalid := model.Reason{Code: model.CodeNodeClassNotReady, Message: "spec.kubelet: wrong"}
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}, Terminating: true, Invalid: invalid})
	if why := c.NotReady(); why.Code != model.CodeBeingDeleted {
		t.Errorf("%+v, want that it is being deleted, whatever is wrong with it", why)
	}
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "2"}})
	if s.Get("default") == c {
		t.Error("a class with another UID is taken for the one before it")
	}
}

// TestNothingIsLaunchedWithWhatAnotherSpecSelected edits a class while AWS can't be asked: images and user data would be of
// two generations.
func TestNothingIsLaunchedWithWhatAnotherSpecSelected(t *testing.T) {
	s := NewClasses(New(config()))
	spec := cloud.ClassSpec{Name: "default", UID: "1", Generation: 1, AMIFamily: "AL2023"}
	s.follow(cluster.Class{Spec: spec})
	c := s.Get("default")
	is := func(want string, images int) {
		t.Helper()
		if got := c.NotReady().Message; got != want || len(c.Present().Images) != images {
			t.Errorf("%q with %d images, want %q with %d", got, len(c.Present().Images), want, images)
		}
	}
	const whole = "the instance types of the region are not known yet"
	s.take(t.Context(), c, cloud.Class{Images: []cloud.Image{{ID: "ami-1"}}}, nil)
	is(whole, 1)

	spec.Generation, spec.AMIFamily = 2, "Bottlerocket"
	s.follow(cluster.Class{Spec: spec})
	is("EC2NodeClass default is being resolved", 0)
	s.take(t.Context(), c, cloud.Class{}, cloud.ErrThrottled)
	is("throttled", 0)
	s.take(t.Context(), c, cloud.Class{Images: []cloud.Image{{ID: "ami-2"}}}, nil)
	is(whole, 1)
	s.take(t.Context(), c, cloud.Class{}, cloud.ErrThrottled) // what is known is of this spec
	is(whole, 1)
}
