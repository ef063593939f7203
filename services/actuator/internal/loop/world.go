package loop

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

// notReadyRetry is how soon a class that can't launch is looked at again.
const notReadyRetry = 15 * time.Second

// world is what AWS sells and what the node classes make of it. It belongs to the leader's goroutine.
type world struct {
	types    []catalog.Type
	typesAt  time.Time // zero: never got any
	onDemand map[model.TypeName]int64
	spot     map[cloud.TypeZone]int64
	spotAt   time.Time
	asked    map[string]bool // what was asked for at least once, with or without success

	classes  map[model.NodeClassName]*class
	catalogs map[model.CatalogID]*catalogue // by id
	prices   map[apply.OfferingKey]apply.Offering
	offers   []model.Offering
	unpriced bool // the types came without list prices
	repriced bool // prices or shortages are new
	unswept  bool // launch templates may be there that nobody needs
}

func newWorld() world {
	return world{asked: map[string]bool{}, classes: map[model.NodeClassName]*class{}, catalogs: map[model.CatalogID]*catalogue{}, repriced: true, unswept: true}
}

// class is a node class and what is known of it.
type class struct {
	spec      cloud.ClassSpec
	invalid   model.Reason
	leaving   bool
	class     cloud.Class
	resolved  time.Time // zero: not yet
	failure   model.Reason
	catalogue *catalogue
	zones     map[string]string
	now       bool // resolve without waiting
	held      hold
	told      *model.NodeClass
}

// hold keeps launches of a class back after one of them was refused. Otherwise the pods would be planned again at once,
// under another claim, and be refused again, several times a second.
type hold struct {
	reason model.Reason // while it lasts
	until  time.Time
	times  int // in a row, without a node of the class in between
}

// The pauses of a hold, which double. The longest is shorter than a claim's wait for its launch.
const (
	holdFirst = 5 * time.Second
	holdMost  = 2 * time.Minute
)

// hold begins a pause, unless one goes on: launches that were begun together are refused together.
func (l *leader) hold(name model.NodeClassName, why string) {
	c := l.world.classes[name]
	if c == nil || !c.held.until.IsZero() {
		return
	}
	pause := min(holdFirst<<min(c.held.times, 10), holdMost)
	c.held = hold{
		until: time.Now().Add(pause), times: c.held.times + 1,
		reason: model.Reason{
			Code: model.CodeNodeClassNotReady, Subject: "ec2nodeclass/" + string(name),
			Message: "nothing is launched with EC2NodeClass " + string(name) + " for a moment, because the last launch failed: " + why,
			Remedy:  "correct what EC2 complains of; it is tried again within " + holdMost.String(),
		},
	}
	c.told, l.dirty = nil, true
	l.wake(c.held.until)
}

// unhold ends a pause that is over.
func (l *leader) unhold(c *class) {
	switch {
	case c.held.until.IsZero():
	case l.now.Before(c.held.until):
		l.wake(c.held.until)
	default:
		c.held = hold{times: c.held.times}
		c.told, l.dirty = nil, true
	}
}

// catalogue is the shapes of all types under one set of settings.
type catalogue struct {
	told   *model.Catalog
	shapes map[model.TypeName]apply.Shape
}

func (c *class) shapes() map[model.TypeName]apply.Shape {
	if c.catalogue == nil {
		return nil
	}
	return c.catalogue.shapes
}

func (c *class) notReady() model.Reason {
	reason := func(code model.Code, message string) model.Reason {
		return model.Reason{Code: code, Message: message, Subject: "ec2nodeclass/" + string(c.spec.Name)}
	}
	switch {
	case c.invalid != (model.Reason{}):
		return c.invalid
	case c.leaving:
		return reason(model.CodeNodeClassNotReady, "EC2NodeClass "+string(c.spec.Name)+" is being deleted")
	case c.resolved.IsZero() && c.failure != (model.Reason{}):
		return c.failure
	case c.resolved.IsZero():
		return reason(model.CodeNodeClassNotReady, "EC2NodeClass "+string(c.spec.Name)+" is being resolved")
	case c.class.NotReady != (model.Reason{}):
		return c.class.NotReady
	case c.held.reason != (model.Reason{}):
		return c.held.reason
	case c.catalogue == nil:
		return reason(model.CodeNodeClassNotReady, "the instance types of the region are not known yet")
	default:
		return model.Reason{}
	}
}

func (w *world) resolveNow(name model.NodeClassName) {
	if c := w.classes[name]; c != nil {
		c.now = true
	}
}

// refresh asks for what is due: instances, what is sold for how much, what node classes select.
func (l *leader) refresh(ctx context.Context) {
	l.poll(ctx)
	l.refreshMarket(ctx)
	if l.observed {
		l.refreshClasses(ctx)
	}
	l.reprice()
	l.sweepTemplates(ctx)
	if !l.ready && l.settled() {
		l.ready, l.dirty = true, true
	}
}

// settled says that everything was asked for once, so that what is told is not a half of it.
func (l *leader) settled() bool {
	if !l.observed || !l.world.asked["types"] || !l.world.asked["spot"] || l.listed.IsZero() {
		return false
	}
	for _, c := range l.world.classes {
		if c.invalid == (model.Reason{}) && c.resolved.IsZero() && c.failure == (model.Reason{}) {
			return false
		}
	}
	return true
}

// refreshClasses follows the EC2NodeClass objects and resolves those that are due.
func (l *leader) refreshClasses(ctx context.Context) {
	there := map[model.NodeClassName]bool{}
	for _, x := range l.seen.Classes {
		there[x.Spec.Name] = true
		l.follow(x)
	}
	for name := range l.world.classes {
		if !there[name] {
			delete(l.world.classes, name)
			l.out.forgetClass(name)
			l.dirty = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.world.classes)) {
		l.unhold(l.world.classes[name])
		l.resolve(ctx, l.world.classes[name])
	}
}

// follow takes the object's newest form over.
func (l *leader) follow(x cluster.Class) {
	c := l.world.classes[x.Spec.Name]
	if c == nil || c.spec.UID != x.Spec.UID {
		c = &class{now: true}
		l.world.classes[x.Spec.Name] = c
		l.out.forgetClass(x.Spec.Name)
	}
	if reflect.DeepEqual(c.spec, x.Spec) && c.invalid == x.Invalid && c.leaving == x.Terminating {
		return
	}
	if !reflect.DeepEqual(c.spec, x.Spec) {
		c.now, c.held = true, hold{}
	}
	c.spec, c.invalid, c.leaving, c.told = x.Spec, x.Invalid, x.Terminating, nil
	l.dirty = true
}

func (l *leader) resolve(ctx context.Context, c *class) {
	if c.leaving { // whatever its spec has become
		l.release(ctx, c)
		return
	}
	if c.invalid != (model.Reason{}) {
		return
	}
	every := l.cfg.Intervals.Classes
	if c.class.NotReady != (model.Reason{}) {
		every = min(every, notReadyRetry)
	}
	if due := c.resolved.Add(every); !c.now && !c.resolved.IsZero() && l.now.Before(due) {
		l.wake(due)
		return
	}
	spec := c.spec
	var got cloud.Class
	l.do(ctx, job{
		// The generation is part of the key: a spec that was just corrected need not wait for the pause of the old one.
		key: fmt.Sprintf("class/%d/%s", spec.Generation, spec.Name), slot: l.slots.other, first: time.Second, most: time.Minute,
		run: func(ctx context.Context) (err error) {
			got, err = l.cfg.Classes.Resolve(ctx, spec)
			return err
		},
		done: func(err error) { l.resolved(ctx, c, spec, got, err) },
	})
}

func (l *leader) resolved(ctx context.Context, c *class, spec cloud.ClassSpec, got cloud.Class, err error) {
	if !reflect.DeepEqual(spec, c.spec) {
		return // it has changed meanwhile, and will be resolved again
	}
	l.dirty, c.told = true, nil
	if err != nil {
		c.failure = model.Reason{
			Code: model.CodeNodeClassNotReady, Message: plain(err), Subject: "ec2nodeclass/" + string(spec.Name),
		}
		l.cfg.Log.WarnContext(ctx, "resolve node class", "class", spec.Name, "error", err)
		return
	}
	c.class, c.resolved, c.failure, c.now = got, time.Now(), model.Reason{}, false
	c.zones = map[string]string{}
	for _, s := range got.Subnets {
		c.zones[s.Zone] = s.ZoneID
	}
	l.shape(ctx, c)
}

// shape gives the class the shapes of all types under its settings; classes with equal settings share them.
func (l *leader) shape(ctx context.Context, c *class) {
	c.catalogue, c.told = nil, nil
	l.dirty = true
	if len(l.world.types) == 0 || c.invalid != (model.Reason{}) {
		return
	}
	settings := l.cfg.Settings(c.spec)
	id, err := settingsID(settings)
	if err != nil {
		l.cfg.Log.ErrorContext(ctx, "name the settings of a class", "class", c.spec.Name, "error", err)
		return
	}
	if known := l.world.catalogs[id]; known != nil {
		c.catalogue = known
		return
	}
	out := &catalogue{told: &model.Catalog{ID: id}, shapes: map[model.TypeName]apply.Shape{}}
	for _, t := range l.world.types {
		shape, err := instancetype.Resolve(t, settings)
		if errors.Is(err, instancetype.ErrIncompatible) {
			continue
		}
		if err != nil {
			c.class.NotReady = model.Reason{
				Code: model.CodeNodeClassNotReady, Subject: "ec2nodeclass/" + string(c.spec.Name), Message: err.Error(),
				Remedy: "correct the settings of EC2NodeClass " + string(c.spec.Name),
			}
			return
		}
		s := apply.Shape{Labels: shapeLabels(shape.Labels), Capacity: shapeAmounts(shape.Capacity), Allocatable: shapeAmounts(shape.Allocatable)}
		out.shapes[model.TypeName(t.Name)] = s
		out.told.InstanceTypes = append(out.told.InstanceTypes, model.InstanceType{
			Name: model.TypeName(t.Name), Labels: s.Labels, Capacity: s.Capacity, Allocatable: s.Allocatable,
		})
	}
	l.world.catalogs[id], c.catalogue = out, out
}

func settingsID(s instancetype.Settings) (model.CatalogID, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return model.CatalogID("k-" + hex.EncodeToString(sum[:8])), nil
}

func shapeLabels(in []instancetype.Label) model.Labels {
	var out model.Labels
	for _, x := range in {
		out = append(out, model.Label(x))
	}
	return out
}

func shapeAmounts(in []instancetype.Amount) model.Amounts {
	var out model.Amounts
	for _, a := range in {
		out = append(out, model.Amount{Resource: model.Resource(a.Name), Value: a.Value})
	}
	return out
}

// release undoes what was made in AWS for a class that its user deletes, once no claim needs it.
func (l *leader) release(ctx context.Context, c *class) {
	name := c.spec.Name
	if l.out.released[name] || l.needed(name) {
		return
	}
	l.do(ctx, job{
		key: "release/" + string(name), slot: l.slots.other, first: time.Second, most: time.Minute, calm: time.Minute,
		run: func(ctx context.Context) error { return l.cfg.Classes.Release(ctx, name) },
		done: func(err error) {
			if err != nil {
				l.cfg.Log.WarnContext(ctx, "release node class", "class", name, "error", err)
				return
			}
			l.out.released[name] = true
		},
	})
}

// needed says that a claim of the class, or of any class for "", is not over yet.
func (l *leader) needed(class model.NodeClassName) bool {
	for _, c := range l.claims {
		if !c.State.Ended() && (class == "" || c.NodeClass == class) {
			return true
		}
	}
	return false
}

// sweepTemplates deletes launch templates that were not used for a while, and all of them once there are no claims.
func (l *leader) sweepTemplates(ctx context.Context) {
	if !l.ready {
		return
	}
	unused, calm := l.cfg.Intervals.Templates, l.cfg.Intervals.Templates
	key := "templates/unused"
	if !l.needed("") {
		if !l.world.unswept {
			return
		}
		unused, calm, key = 0, 0, "templates/all"
	}
	l.do(ctx, job{
		key: key, slot: l.slots.other, first: time.Second, most: time.Minute, calm: calm,
		run: func(ctx context.Context) error {
			_, err := l.cfg.Classes.Sweep(ctx, unused)
			return err
		},
		done: func(err error) {
			if err == nil && unused == 0 && !l.needed("") {
				l.world.unswept = false
			}
			l.logFailure(ctx, "sweep launch templates")(err)
		},
	})
}

// told is what the inventory says of the class.
func (c *class) inventory() *model.NodeClass {
	if c.told != nil {
		return c.told
	}
	out := &model.NodeClass{
		Name: c.spec.Name, Hash: c.spec.Hash, NotReady: c.notReady(), Generation: c.spec.Generation, Zones: c.class.Zones(),
	}
	if c.catalogue != nil {
		out.Catalog = c.catalogue.told.ID
	}
	for _, i := range c.class.Images {
		out.Images = append(out.Images, model.MachineImage{
			ID: i.ID, Name: i.Name, CreateTime: i.CreateTime,
			Requirements: slices.SortedFunc(slices.Values(i.Requirements), func(a, b model.Requirement) int { return cmp.Compare(a.Key, b.Key) }),
		})
	}
	c.told = out
	return out
}
