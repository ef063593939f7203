// Package cloudtest is an in-memory fake of EC2 for tests, and the suite that it and every real adapter pass.
//
// The fake keeps stock, client tokens, launch latency on a clock that the test moves, and eventual consistency; it never
// opens a socket. Start at New, and at Suite for what every implementation must do.
package cloudtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Fake implements the whole cloud port in memory. Safe for concurrent use.
type Fake struct {
	// OnLaunch is called, when set, before a launch is decided; an error is returned as the launch's.
	OnLaunch func(cloud.Request) error

	mu        sync.Mutex
	now       func() time.Time
	catalog   *catalog.Catalog
	lag       time.Duration
	next      int
	instances map[string]*record
	tokens    map[string]launch
	exhausted map[model.RankedOffering]bool
	limits    map[model.RankedOffering]int
	templates map[string]time.Time
	reserved  map[string]cloud.Reservation
	messages  []message
	held      bool // messages stay in the queue
	statuses  map[string]cloud.Status
	shifted   []string // ids of zones
	sent      int
	image     string
}

type record struct {
	cloud.Instance
	visible time.Time // Instances shows it from then on
	endedAt time.Time
}

type launch struct {
	request   cloud.Request
	instances []cloud.Instance
	err       error
}

type message struct {
	cloud.Message
	visible time.Time
}

var (
	_ cloud.Cloud   = (*Fake)(nil)
	_ cloud.Classes = (*Fake)(nil)
	_ cloud.Market  = (*Fake)(nil)
	_ cloud.Queue   = (*Fake)(nil)
	_ cloud.Checks  = (*Fake)(nil)
	_ cloud.Shifts  = (*Fake)(nil)
)

// BootTime is how long a fake instance is pending, and EndTime how long it is shutting down.
const (
	BootTime   = 2 * time.Second
	EndTime    = 2 * time.Second
	visibility = 20 * time.Second
	keepEnded  = 10 * time.Minute
)

// New makes a fake whose time is now's. lag is how long a launch stays hidden from Instances.
func New(c *catalog.Catalog, now func() time.Time, lag time.Duration) *Fake {
	return &Fake{
		now: now, catalog: c, lag: lag, instances: map[string]*record{}, tokens: map[string]launch{},
		reserved: map[string]cloud.Reservation{}, statuses: map[string]cloud.Status{}, exhausted: map[model.RankedOffering]bool{}, limits: map[model.RankedOffering]int{}, templates: map[string]time.Time{}, image: "ami",
	}
}

// Publish makes classes boot other images, whose ids begin with this.
func (f *Fake) Publish(image string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.image = image
}

// Exhaust makes an offering out of stock; Restock puts it back. Only type, zone and capacity type count.
func (f *Fake) Exhaust(o model.RankedOffering) { f.stock(o, true) }

// Restock undoes Exhaust.
func (f *Fake) Restock(o model.RankedOffering) { f.stock(o, false) }

// Limit leaves so many instances of an offering in stock.
func (f *Fake) Limit(o model.RankedOffering, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits[key(o)] = n
}

func (f *Fake) stock(o model.RankedOffering, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exhausted[key(o)] = gone
}

func key(o model.RankedOffering) model.RankedOffering {
	return model.RankedOffering{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType}
}

// Send puts a message on the queue.
func (f *Fake) Send(body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent++
	id := fmt.Sprintf("m-%d", f.sent)
	f.messages = append(f.messages, message{Message: cloud.Message{ID: id, Receipt: "r-" + id, Body: body}})
}

// Hold keeps messages in the queue, or lets them be received again.
func (f *Fake) Hold(held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = held
}

// Queued is how many messages are in the queue, those that were received and not deleted among them.
func (f *Fake) Queued() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.messages)
}

// Report makes EC2 find something wrong with an instance, or nothing any more where the status says nothing.
func (f *Fake) Report(s cloud.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.statuses[s.InstanceID] = s; !s.Impaired && len(s.Events) == 0 {
		delete(f.statuses, s.InstanceID)
	}
}

// Statuses implements cloud.Checks.
func (f *Fake) Statuses(context.Context) ([]cloud.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []cloud.Status
	for _, id := range slices.Sorted(maps.Keys(f.statuses)) {
		out = append(out, f.statuses[id])
	}
	return out, nil
}

// Shift makes the cluster be shifted away from these zones and no others.
func (f *Fake) Shift(zones ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shifted = nil
	for _, z := range f.catalog.Zones {
		if slices.Contains(zones, z.Name) {
			f.shifted = append(f.shifted, z.ID)
		}
	}
}

// ShiftedZones implements cloud.Shifts.
func (f *Fake) ShiftedZones(context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.shifted), nil
}

// Kill ends an instance as EC2 would without being asked.
func (f *Fake) Kill(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.instances[id]; ok && r.endedAt.IsZero() {
		r.endedAt = f.now()
	}
}

// Unfill ends an instance that is pending, as EC2 does where it finds no capacity for it.
func (f *Fake) Unfill(id string) {
	f.Kill(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.instances[id]; ok {
		r.Why, r.Unfilled = "Server.InsufficientInstanceCapacity", true
	}
}

// Launch implements cloud.Cloud. An offering in stock has as much of it as is asked for, unless Limit says otherwise.
func (f *Fake) Launch(_ context.Context, r cloud.Request) ([]cloud.Instance, error) {
	if f.OnLaunch != nil {
		if err := f.OnLaunch(r); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Token == "" || len(r.Token) > 64 || len(r.Offerings) == 0 {
		return nil, fmt.Errorf("launch claim %s: %w: token of %d characters, %d offerings",
			r.Claim, cloud.ErrInvalid, len(r.Token), len(r.Offerings))
	}
	if old, ok := f.tokens[r.Token]; ok {
		if !reflect.DeepEqual(old.request, r) {
			return nil, fmt.Errorf("launch claim %s: %w", r.Claim, cloud.ErrTokenMismatch)
		}
		return slices.Clone(old.instances), old.err
	}

	var short []model.Shortage
	var out []cloud.Instance
	for _, o := range r.Offerings {
		for !f.exhausted[key(o)] && len(out) < r.Asked() {
			out = append(out, f.start(r, o))
			if left, limited := f.limits[key(o)]; limited {
				f.limits[key(o)] = left - 1
				f.exhausted[key(o)] = left <= 1
			}
		}
		if len(out) == r.Asked() {
			break
		}
		short = append(short, model.Shortage{
			InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType, Message: "InsufficientInstanceCapacity",
		})
	}
	l := launch{request: r, instances: out}
	if len(out) > 0 {
		out[0].Short = short
		f.templates["fake/"+string(r.Class.Name)] = f.now()
	}
	if len(out) < r.Asked() {
		l.err = fmt.Errorf("launch claim %s: %w", r.Claim, &cloud.CapacityError{Offerings: short, Message: "no stock"})
	}
	if len(out) > 0 { // a launch that made nothing is not remembered
		f.tokens[r.Token] = l
	}
	return slices.Clone(out), l.err
}

func (f *Fake) start(r cloud.Request, o model.RankedOffering) cloud.Instance {
	f.next++
	id := fmt.Sprintf("i-%017d", f.next)
	i := cloud.Instance{
		ID: id, ProviderID: "aws:///" + o.Zone + "/" + id, State: cloud.Pending, InstanceType: o.InstanceType, Zone: o.Zone,
		CapacityType: o.CapacityType, ImageID: r.Class.Images[0].ID, LaunchTime: f.now(),
		SubnetID: subnetIn(r.Class, o.Zone), Launch: r.Token, ReservationID: o.ReservationID,
	}
	if r.Asked() == 1 {
		i.Claim, i.Name = r.Claim, string(r.Claim)
	}
	for _, g := range r.Class.SecurityGroups {
		i.SecurityGroups = append(i.SecurityGroups, g.ID)
	}
	f.instances[id] = &record{Instance: i, visible: f.now().Add(f.lag)}
	return i
}

// Made is how many instances there ever were.
func (f *Fake) Made() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// Tag implements cloud.Cloud.
func (f *Fake) Tag(_ context.Context, i cloud.Instance) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.instances[i.ID]; ok {
		r.Claim, r.Name = i.Claim, cmp.Or(r.Name, string(i.Claim))
	}
	return nil
}

func subnetIn(c cloud.Class, zone string) string {
	for _, s := range c.Subnets {
		if s.Zone == zone {
			return s.ID
		}
	}
	return ""
}

// Terminate implements cloud.Cloud.
func (f *Fake) Terminate(_ context.Context, ids ...string) error {
	for _, id := range ids {
		f.Kill(id)
	}
	return nil
}

// Instances implements cloud.Cloud.
func (f *Fake) Instances(_ context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	var out []cloud.Instance
	for _, r := range f.instances {
		if now.Before(r.visible) || (!r.endedAt.IsZero() && now.Sub(r.endedAt) > keepEnded) {
			continue
		}
		i := r.Instance
		asked := func(x cloud.Some) bool {
			return x.Claim != "" && x.Claim == i.Claim || x.Launch != "" && x.Launch == i.Launch || x.Instance == i.ID
		}
		if len(some) > 0 && !slices.ContainsFunc(some, asked) {
			continue
		}
		switch {
		case !r.endedAt.IsZero() && now.Sub(r.endedAt) >= EndTime:
			i.State = cloud.Terminated
		case !r.endedAt.IsZero():
			i.State = cloud.ShuttingDown
		case now.Sub(r.LaunchTime) >= BootTime:
			i.State = cloud.Running
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b cloud.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Resolve implements cloud.Classes: the fake has one subnet per zone, found by any tag but one of value "none".
func (f *Fake) Resolve(_ context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	c := cloud.Class{
		Name: s.Name, InstanceProfile: "fake-" + string(s.Name),
		PlacementGroup: cloud.PlacementGroup{ID: s.PlacementGroup.ID},
	}
	for _, t := range s.SubnetTerms {
		for _, tag := range t.Tags {
			if tag.Value == "none" {
				c.NotReady = model.Reason{
					Code: 4, Subject: "ec2nodeclass/" + string(s.Name), Message: "no subnet matches tag " + tag.Key + "=none",
					Remedy: "correct spec.subnetSelectorTerms of EC2NodeClass " + string(s.Name),
				}
				return c, nil
			}
		}
	}
	for i, z := range f.catalog.Zones {
		c.Subnets = append(c.Subnets, cloud.Subnet{
			ID: fmt.Sprintf("subnet-%04d", i), Zone: z.Name, ZoneID: z.ID, FreeAddresses: 4000,
		})
	}
	c.SecurityGroups = []cloud.SecurityGroup{{ID: "sg-0001", Name: "nodes"}}
	c.Reservations = f.reservations()
	for _, arch := range []string{"amd64", "arm64"} {
		c.Images = append(c.Images, cloud.Image{
			ID: f.published() + "-" + arch, Name: "fake-" + arch, CreateTime: time.Unix(0, 0).UTC(),
			Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{arch}}},
		})
	}
	return c, nil
}

func (f *Fake) published() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.image
}

// Look implements cloud.Classes.
func (f *Fake) Look(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return f.Resolve(ctx, s)
}

// Release implements cloud.Classes.
func (f *Fake) Release(_ context.Context, s cloud.ClassSpec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.templates, "fake/"+string(s.Name))
	return nil
}

// Sweep implements cloud.Classes.
func (f *Fake) Sweep(_ context.Context, unused time.Duration) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for name, used := range f.templates {
		if f.now().Sub(used) >= unused {
			out = append(out, name)
			delete(f.templates, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Templates lists the launch templates that are there.
func (f *Fake) Templates() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for name := range f.templates {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// InstanceTypes implements cloud.Market.
func (f *Fake) InstanceTypes(context.Context) ([]catalog.Type, error) { return f.catalog.Types, nil }

// OnDemandPrices implements cloud.Market.
func (f *Fake) OnDemandPrices(context.Context) (map[model.TypeName]int64, error) {
	out := make(map[model.TypeName]int64, len(f.catalog.Types))
	for _, t := range f.catalog.Types {
		out[model.TypeName(t.Name)] = t.OnDemandMicroUSD
	}
	return out, nil
}

// SpotPrices implements cloud.Market.
func (f *Fake) SpotPrices(context.Context) (map[cloud.TypeZone]int64, error) {
	out := map[cloud.TypeZone]int64{}
	for _, t := range f.catalog.Types {
		if !t.SupportsSpot {
			continue
		}
		for _, z := range t.Zones {
			out[cloud.TypeZone{InstanceType: model.TypeName(t.Name), Zone: z}] = catalog.SpotEstimate(t.OnDemandMicroUSD, 0)
		}
	}
	return out, nil
}

// Receive implements cloud.Queue; unlike SQS it does not wait.
func (f *Fake) Receive(context.Context) ([]cloud.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []cloud.Message
	for i := range f.messages {
		if f.held || len(out) == 10 || f.now().Before(f.messages[i].visible) {
			continue
		}
		f.messages[i].visible = f.now().Add(visibility)
		out = append(out, f.messages[i].Message)
	}
	return out, nil
}

// Delete implements cloud.Queue.
func (f *Fake) Delete(_ context.Context, receipts []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = slices.DeleteFunc(f.messages, func(m message) bool { return slices.Contains(receipts, m.Receipt) })
	return nil
}
