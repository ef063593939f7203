package market

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot"
)

// Memory keeps what was learned over restarts, so that who leads next need not ask for it before it plans. Nothing
// depends on it: what is not there is asked for.
type Memory interface {
	// Remember keeps a fact in the place of what it was.
	Remember(ctx context.Context, fact string, data []byte) error
	// Recall returns it; nil when nothing was kept.
	Recall(ctx context.Context, fact string) ([]byte, error)
}

// fact is what the market's knowledge is kept as.
const fact = "market"

// keptVersion is what kept means. What has another is not read.
const keptVersion = 1

// classAge is for how long what a class selected is good enough to begin with: it is asked for again at once.
const classAge = time.Hour

// kept is what is known of the market, as it is kept.
type kept struct {
	Version int
	// Reading is by what types and classes were read of AWS's answers. What another release has read lacks what this
	// one knows of them, and nodes would be bought, or drift, for that; so it is asked for.
	Reading  string
	Region   string
	Types    []catalog.Type
	TypesAt  time.Time
	OnDemand map[model.TypeName]int64
	Unpriced bool
	Spot     map[model.TypeName]map[string]int64 // by type and zone
	SpotAt   time.Time
	Classes  map[model.NodeClassName]keptClass
	Memory   learned
}

// keptClass is what the class object with the UID selected in its generation.
type keptClass struct {
	UID        string
	Generation int64
	Hash       string
	Resolved   cloud.Class
	At         time.Time
}

// reading is by what this program reads: its release, and the fields of what it keeps, as builds between releases have
// one version.
var reading = sync.OnceValue(func() string { //nolint:gochecknoglobals // it never changes, and lists some hundred fields by reflection
	v := boot.ReadVersion()
	fields := fnv.New64a()
	list(fields, reflect.TypeFor[kept](), map[reflect.Type]bool{})
	return fmt.Sprintf("%s %s %x", v.Version, v.Revision, fields.Sum64())
})

// list writes the fields of a type, and of those that it is made of.
func list(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	switch t.Kind() { //nolint:exhaustive // others are made of nothing
	case reflect.Map:
		list(w, t.Key(), seen)
		list(w, t.Elem(), seen)
	case reflect.Slice, reflect.Array, reflect.Pointer:
		list(w, t.Elem(), seen)
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for f := range t.Fields() {
			fmt.Fprintln(w, t, f.Name, f.Type, f.Tag)
			list(w, f.Type, seen)
		}
	}
}

func encode(k kept) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(k); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func decode(data []byte) (kept, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return kept{}, err
	}
	var k kept
	err = json.NewDecoder(z).Decode(&k)
	return k, err
}

// recall reads once what was kept, and says whether that has been done.
func (m *Market) recall(ctx context.Context) bool {
	if m.recalled || m.cfg.Memory == nil {
		return true
	}
	var k kept
	m.cfg.Jobs.Do(ctx, jobs.Job{
		Key: "recall/" + fact, First: time.Second, Most: time.Second,
		Run: func(ctx context.Context) error {
			data, err := m.cfg.Memory.Recall(ctx, fact)
			if err == nil && data != nil {
				k, err = decode(data)
			}
			return err
		},
		Done: func(err error) {
			m.recalled = true // nothing depends on it
			if err != nil {
				m.cfg.Log.WarnContext(ctx, "recall what EC2 sold", "error", err)
				return
			}
			if k.Version == keptVersion && k.Region == m.cfg.Region {
				m.take(k)
			}
		},
	})
	return false
}

// take takes over what was kept. It is as old as it says, and asked for again when it is due; types and classes that
// another release has read are asked for at once.
func (m *Market) take(k kept) {
	m.memoryBefore, m.repriced = k.Memory, true
	if k.Reading == reading() {
		m.before = k.Classes
	}
	if len(k.Types) > 0 && k.Reading == reading() {
		m.types, m.typesAt, m.onDemand, m.unpriced, m.askedTypes = k.Types, k.TypesAt, k.OnDemand, k.Unpriced, true
	}
	if !k.SpotAt.IsZero() {
		m.spot, m.spotAt, m.askedSpot = map[cloud.TypeZone]int64{}, k.SpotAt, true
		for name, zones := range k.Spot {
			for zone, price := range zones {
				m.spot[cloud.TypeZone{InstanceType: name, Zone: zone}] = price
			}
		}
	}
}

// Keep has what is known kept for those who lead next, where it has changed. Only who leads calls it.
func (s *Classes) Keep(ctx context.Context) {
	m := s.market
	if m.cfg.Memory == nil || m.keptTypes == m.typesAt && m.keptSpot == m.spotAt && m.keptClasses == s.version {
		return
	}
	// What is kept is replaced as a whole where it changes, so that a worker may read it.
	k := kept{
		Version: keptVersion, Reading: reading(), Region: m.cfg.Region, Types: m.types, TypesAt: m.typesAt, OnDemand: m.onDemand, Unpriced: m.unpriced,
		SpotAt: m.spotAt, Classes: map[model.NodeClassName]keptClass{}, Memory: s.memory.clone(),
	}
	for name, c := range s.byName {
		if !c.unresolved() && c.invalid.OK() {
			k.Classes[name] = keptClass{c.Spec.UID, c.Spec.Generation, c.Spec.Hash, c.resolved, c.resolvedAt}
		}
	}
	spot, classes := m.spot, s.version
	m.cfg.Jobs.Do(ctx, jobs.Job{
		Key: "remember/" + fact, RepeatAfter: keepEvery, First: keepEvery, Most: 10 * keepEvery,
		Run: func(ctx context.Context) error {
			k.Spot = make(map[model.TypeName]map[string]int64, len(k.Types))
			for at, price := range spot {
				if k.Spot[at.InstanceType] == nil {
					k.Spot[at.InstanceType] = map[string]int64{}
				}
				k.Spot[at.InstanceType][at.Zone] = price
			}
			data, err := encode(k)
			if err != nil {
				return fmt.Errorf("encode: %w", err)
			}
			return m.cfg.Memory.Remember(ctx, fact, data)
		},
		Done: func(err error) {
			if err != nil {
				m.cfg.Log.WarnContext(ctx, "remember what EC2 sells", "error", err)
				return
			}
			m.keptTypes, m.keptSpot, m.keptClasses = k.TypesAt, k.SpotAt, classes
		},
	})
}

// keepEvery is how often it is kept at most.
const keepEvery = time.Minute

// recallMemory takes over what was learned before.
func (s *Classes) recallMemory() {
	for image, types := range s.market.memoryBefore {
		for name, memory := range types {
			s.memory.note(image, name, memory)
		}
	}
	s.market.memoryBefore = nil
}

// recallClass begins with what the class selected when it was kept, if its object is still the same.
func (s *Classes) recallClass(ctx context.Context, c *Class) {
	k, ok := s.market.before[c.Spec.Name]
	if !ok || !c.invalid.OK() || !c.resolvedAt.IsZero() || k.UID != c.Spec.UID || k.Generation != c.Spec.Generation || k.Hash != c.Spec.Hash || time.Since(k.At) > classAge {
		return
	}
	s.selected(ctx, c, k.Resolved, k.At)
	c.recalled = true
}
