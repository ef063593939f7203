package market

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/launchhold"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// notReadyRetry is how soon a class that can't launch is looked at again.
const notReadyRetry = 15 * time.Second

// Classes are the node classes that Kubernetes has, each resolved against AWS. They belong to the owner of their Jobs.
type Classes struct {
	cfg    Config
	market *Market
	pools  []cluster.Pool
	byName map[model.NodeClassName]*Class
	// catalogues are by the id of their settings, of the types of shapedAt; earlier are those of the types before, while
	// they are made anew: one that is the same stays, so that it is not shown again.
	catalogues, earlier map[model.CatalogID]*catalogue
	shapedAt            time.Time
	// memory is what was learned of nodes.
	memory learned
	// leads says that this candidate leads: before, it looks and changes nothing in AWS.
	leads bool
	// unswept says that launch templates may be there that no claim needs.
	unswept bool
	version int
}

// NewClasses makes an empty set of classes, whose shapes are those of the market's types.
func NewClasses(m *Market) *Classes {
	return &Classes{cfg: m.cfg, market: m, byName: map[model.NodeClassName]*Class{}, catalogues: map[model.CatalogID]*catalogue{}, memory: learned{}, unswept: true}
}

// Lead lets the classes be resolved as a leader does, from the next Refresh on. What was seen before holds meanwhile,
// but for what nodes drift from: who led before may have resolved the class since.
func (s *Classes) Lead() {
	s.leads = true
	for _, c := range s.byName {
		c.due, c.recalled = true, !c.resolvedAt.IsZero()
		s.changed(c)
	}
}

// Get returns a class; nil when there is none of the name.
func (s *Classes) Get(name model.NodeClassName) *Class { return s.byName[name] }

// Version counts the changes of what is known of the classes.
func (s *Classes) Version() int { return s.version }

// All are the classes by name, in order.
func (s *Classes) All() iter.Seq2[model.NodeClassName, *Class] {
	return func(yield func(model.NodeClassName, *Class) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.byName)) {
			if !yield(name, s.byName[name]) {
				return
			}
		}
	}
}

// Asked says that AWS was asked for each class once, as far as it can be.
func (s *Classes) Asked() bool {
	for _, c := range s.byName {
		if !c.Asked() {
			return false
		}
	}
	return true
}

// Refresh follows the objects and the pools, and resolves and releases the classes that are due. Needed says whether
// claims of a class are left.
func (s *Classes) Refresh(ctx context.Context, objects []cluster.Class, pools []cluster.Pool, needed func(class model.NodeClassName) bool) {
	there := map[model.NodeClassName]bool{}
	for _, x := range objects {
		there[x.Spec.Name] = true
		s.follow(x)
	}
	for name := range s.byName {
		if !there[name] {
			delete(s.byName, name)
			s.version++
			s.cfg.Agenda.Change()
		}
	}
	s.recallMemory()
	if s.shapedAt != s.market.typesAt {
		s.shapedAt, s.earlier, s.catalogues = s.market.typesAt, s.catalogues, map[model.CatalogID]*catalogue{}
		for _, c := range s.All() {
			s.shape(ctx, c)
		}
		s.earlier = nil
	}
	s.reshapes(ctx)
	s.anticipate(pools)
	for name, c := range s.All() {
		s.hold(c, c.held.At(s.cfg.Agenda.Now()))
		s.tell(ctx, c)
		switch {
		case !c.Leaving: // what its spec has become does not matter any more
			s.recallClass(ctx, c)
			s.resolve(ctx, c)
		case s.leads && !c.Released && !needed(name):
			s.release(ctx, c)
		}
	}
}

// follow takes the object's newest form over. An object with another UID is another class of that name.
func (s *Classes) follow(x cluster.Class) {
	c := s.byName[x.Spec.Name]
	if c == nil || c.Spec.UID != x.Spec.UID {
		c = &Class{due: true}
		s.byName[x.Spec.Name] = c
	}
	if reflect.DeepEqual(c.Spec, x.Spec) && c.invalid == x.Invalid && c.Leaving == x.Terminating {
		return
	}
	if !reflect.DeepEqual(c.Spec, x.Spec) {
		c.due, c.lags, c.failure, c.held = true, true, model.Reason{}, launchhold.Hold{}
	}
	c.Spec, c.invalid, c.invalidWhy, c.Leaving = x.Spec, x.Invalid, x.InvalidWhy, x.Terminating
	s.changed(c)
}

// changed notes that there may be something new to show of the class.
func (s *Classes) changed(c *Class) {
	c.stale = true
	s.version++
}

// News says whether the inventory says something else of a class than it did.
func (s *Classes) News() (news bool) {
	for _, c := range s.byName {
		class, shapes := c.shown, c.shapes
		now, with := c.Inventory()
		news = news || now != class || with != shapes
	}
	return news
}

// hold takes over what launches have told.
func (s *Classes) hold(c *Class, h launchhold.Hold) {
	if h != c.held {
		c.held = h
		s.changed(c)
	}
	s.cfg.Agenda.Wake(h.Until)
}

// tell says once that nothing can be launched with a class, and once that something can again, be pods waiting for it
// or not. Launches that are refused have lines of their own.
func (s *Classes) tell(ctx context.Context, c *Class) {
	why, underway := c.NotReady(), c.unresolved() && c.invalid.OK() && c.failure.OK()
	if !s.leads || underway || why.Message == c.told || !why.OK() && why == c.held.Why {
		return
	}
	if c.told = why.Message; why.OK() {
		s.cfg.Log.InfoContext(ctx, "node class is ready again", "class", c.Spec.Name)
		return
	}
	s.cfg.Log.WarnContext(ctx, "node class is not ready: nothing is launched with it", "class", c.Spec.Name, "why", why.Message, "remedy", why.Remedy)
}

// Refused notes that a launch of the class was refused by the error. What the class selects may be gone: then it is
// resolved without waiting. That a token was used twice says nothing about the class.
func (s *Classes) Refused(name model.NodeClassName, why string, err error) {
	c := s.byName[name]
	if c == nil || errors.Is(err, cloud.ErrTokenMismatch) {
		return
	}
	c.due = c.due || errors.Is(err, cloud.ErrClassNotReady)
	s.hold(c, c.held.Refused(name, why, time.Now()))
}

// Moved learns from a claim that has changed its state whether launches of its class come to anything.
func (s *Classes) Moved(old, now model.Claim) {
	if c := s.byName[now.NodeClass]; c != nil {
		s.hold(c, c.held.Moved(old, now, time.Now()))
	}
}

func (s *Classes) resolve(ctx context.Context, c *Class) {
	if !c.invalid.OK() {
		return
	}
	every := s.cfg.ClassesEvery
	if !c.resolved.NotReady.OK() {
		every = min(every, notReadyRetry)
	}
	if !c.due && !c.resolvedAt.IsZero() && !s.cfg.Agenda.Due(c.resolvedAt.Add(every)) {
		return
	}
	spec, led := c.Spec, s.leads
	ask, key := s.cfg.Classes.Look, "look"
	if led {
		ask, key = s.cfg.Classes.Resolve, "class"
	}
	asked := spec
	asked.Likely = c.likely
	// The generation is part of the key: a spec that was just corrected need not wait for the pause of the old one.
	key = fmt.Sprintf("%s/%d/%s", key, spec.Generation, spec.Name)
	var got cloud.Class
	s.cfg.Jobs.Do(ctx, jobs.Job{
		Key: key, First: time.Second, Most: time.Minute,
		Run: func(ctx context.Context) (err error) {
			got, err = ask(ctx, asked)
			return err
		},
		Done: func(err error) {
			s.cfg.Jobs.LogFailure(ctx, s.cfg.Log, key, "resolve node class", slog.Any("class", spec.Name))(err)
			if led == s.leads && reflect.DeepEqual(spec, c.Spec) { // else it is resolved again
				s.take(ctx, c, got, err)
				c.due = c.due || led && !slices.Equal(asked.Likely, c.likely)
			}
		},
	})
}

// take takes over what a class selects, or why that is not known.
func (s *Classes) take(ctx context.Context, c *Class, got cloud.Class, err error) {
	s.changed(c)
	if err != nil {
		c.failure = model.Reason{
			Code: model.CodeNodeClassNotReady, Message: cloud.ErrorText(err), Subject: "ec2nodeclass/" + string(c.Spec.Name),
		}
		return
	}
	c.due = false
	defer s.forget()
	s.selected(ctx, c, got, time.Now())
}

// selected notes what a class selects, as it was at that time.
func (s *Classes) selected(ctx context.Context, c *Class, got cloud.Class, at time.Time) {
	before := c.reservations()
	c.resolved, c.resolvedAt, c.failure, c.lags, c.recalled = got, at, model.Reason{}, false, false
	if c.reservedSince.IsZero() || !slices.Equal(before, c.reservations()) {
		c.reservedSince = at
	}
	c.zones = map[string]string{}
	for _, n := range got.Subnets {
		c.zones[n.Zone] = n.ZoneID
		s.market.knowZone(n.Zone, n.ZoneID)
	}
	s.market.reserve(s.reserved())
	s.shape(ctx, c)
}

// settingsField is where the settings are that shape types.
const settingsField = "kubelet"

// shape gives the class the shapes of all types under its settings.
func (s *Classes) shape(ctx context.Context, c *Class) {
	c.catalogue, c.reshape = nil, time.Time{}
	s.changed(c)
	if len(s.market.types) == 0 || !c.invalid.OK() {
		return
	}
	settings := s.cfg.Settings(c.Spec)
	settings.PlacementGroup, settings.PlacementStrategy = c.resolved.PlacementGroup.ID, c.resolved.PlacementGroup.Strategy
	settings.Memory = s.memoryOf(c, settings)
	id, err := instancetype.CatalogID(settings)
	if err != nil {
		s.cfg.Log.ErrorContext(ctx, "hash the settings of a class", "class", c.Spec.Name, "error", err)
		return
	}
	if known := s.catalogues[id]; known != nil {
		c.catalogue = known
		return
	}
	sold, err := instancetype.Catalog(s.market.types, settings)
	if err != nil {
		// Types may have come anew, and the class said so already.
		if !slices.ContainsFunc(c.resolved.Findings, func(f cloud.Finding) bool { return f.Field == settingsField }) {
			c.resolved.Found(cloud.Finding{
				Condition: awsv1.ConditionValidationSucceeded, Reason: awsv1.ReasonInvalidKubeletConfiguration, Message: err.Error(), Field: settingsField,
			})
		}
		return
	}
	if known := s.earlier[id]; known != nil && reflect.DeepEqual(known.inventory, sold) {
		s.catalogues[id], c.catalogue = known, known
		return
	}
	out := &catalogue{inventory: sold, shapes: make(map[model.TypeName]apply.Shape, len(sold.InstanceTypes))}
	for _, t := range sold.InstanceTypes {
		out.shapes[t.Name] = apply.Shape{Labels: t.Labels, Capacity: t.Capacity, Allocatable: t.Allocatable}
	}
	s.catalogues[id], c.catalogue = out, out
}

// release undoes what was made in AWS for a class that its user deletes, once no claim needs it.
func (s *Classes) release(ctx context.Context, c *Class) {
	spec := c.Spec
	// As of resolve: a spec that has another profile now need not wait for the pause of the one before.
	key := fmt.Sprintf("release/%d/%s", spec.Generation, spec.Name)
	s.cfg.Jobs.Do(ctx, jobs.Job{
		Key: key, First: time.Second, Most: time.Minute, RepeatAfter: time.Minute,
		Run: func(ctx context.Context) error { return s.cfg.Classes.Release(ctx, spec) },
		Done: func(err error) {
			s.cfg.Jobs.LogFailure(ctx, s.cfg.Log, key, "release node class", slog.Any("class", spec.Name))(err)
			if err != nil {
				return
			}
			c.Released = true
			s.version++
		},
	})
}

// Launches notes that a launch may make a launch template.
func (s *Classes) Launches() { s.unswept = true }

// Sweep deletes launch templates that were not used for a while, and all of them once there are no claims.
func (s *Classes) Sweep(ctx context.Context, needed func(class model.NodeClassName) bool) {
	unused, settle, key := s.cfg.TemplatesUnused, s.cfg.TemplatesUnused, "templates/unused"
	if !needed("") {
		if !s.unswept {
			return
		}
		unused, settle, key = 0, 0, "templates/all"
	}
	s.cfg.Jobs.Do(ctx, jobs.Job{
		Key: key, First: time.Second, Most: time.Minute, RepeatAfter: settle,
		Run: func(ctx context.Context) error {
			_, err := s.cfg.Classes.Sweep(ctx, unused)
			return err
		},
		Done: func(err error) {
			s.cfg.Jobs.LogFailure(ctx, s.cfg.Log, key, "sweep launch templates")(err)
			if err == nil && unused == 0 && !needed("") {
				s.unswept = false
			}
		},
	})
}
