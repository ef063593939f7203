package market

import (
	"context"
	"maps"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

const mib = 1 << 20

// reshapeEvery is how long classes may wait for shapes that are larger than was thought. Smaller ones come at once:
// what does not fit a node would only be bought again.
const reshapeEvery = time.Minute

// learned is how much memory nodes have turned out to have, in bytes, by image and type: the least that any had.
type learned map[string]map[model.TypeName]int64

// note notes what a node has, and says whether that is news.
func (l learned) note(image string, t model.TypeName, memory int64) bool {
	memory -= memory % mib
	if memory <= 0 || image == "" || t == "" {
		return false
	}
	if was, ok := l[image][t]; ok && was <= memory {
		return false
	}
	if l[image] == nil {
		l[image] = map[model.TypeName]int64{}
	}
	l[image][t] = memory
	return true
}

// clone is a copy that a worker may read.
func (l learned) clone() learned {
	out := make(learned, len(l))
	for image, types := range l {
		out[image] = maps.Clone(types)
	}
	return out
}

// Learn learns from a claim's node how much memory nodes of its type have that boot its image.
func (s *Classes) Learn(c model.Claim) {
	if c.State < model.ClaimInitialized || c.State.Ended() || c.Reached != 0 && c.Reached < model.ClaimInitialized {
		return // what it has is what was expected
	}
	has := c.Capacity.Value(instancetype.Memory)
	if !s.memory.note(c.ImageID, c.InstanceType, has) {
		return
	}
	s.version++
	now := s.cfg.Agenda.Now()
	for _, class := range s.byName {
		shape, ok := class.Shapes()[c.InstanceType]
		if image, boots := s.bootedBy(class, c.InstanceType); !ok || !boots || image != c.ImageID {
			continue
		}
		switch thought := shape.Capacity.Value(instancetype.Memory); {
		case has-has%mib < thought:
			class.reshape = now
		case has-has%mib > thought && class.reshape.IsZero():
			class.reshape = now.Add(reshapeEvery)
		}
		s.cfg.Agenda.Wake(class.reshape)
	}
}

// bootedBy is the image that nodes of a type boot under a class.
func (s *Classes) bootedBy(c *Class, name model.TypeName) (string, bool) {
	t, ok := s.market.typeNamed(name)
	if !ok {
		return "", false
	}
	i, ok := c.resolved.ImageFor(t)
	return i.ID, ok
}

// memoryOf is what was learned of the types under a class's images that differs from what follows from its settings, by
// type; nil for nothing.
func (s *Classes) memoryOf(c *Class, settings instancetype.Settings) map[string]int64 {
	var out map[string]int64
	for _, i := range c.resolved.Images {
		for name, memory := range s.memory[i.ID] {
			t, ok := s.market.typeNamed(name)
			if image, boots := c.resolved.ImageFor(t); !ok || !boots || image.ID != i.ID {
				continue
			}
			if plain, err := instancetype.Resolve(t, settings); err != nil || plain.Capacity.Value(instancetype.Memory) == memory {
				continue
			}
			if out == nil {
				out = map[string]int64{}
			}
			out[t.Name] = memory
		}
	}
	return out
}

// reshapes gives classes the shapes that were learned, where it is time.
func (s *Classes) reshapes(ctx context.Context) {
	for _, c := range s.byName {
		if !c.reshape.IsZero() && s.cfg.Agenda.Due(c.reshape) {
			s.shape(ctx, c)
		}
	}
	used := map[*catalogue]bool{}
	for _, c := range s.byName {
		used[c.catalogue] = true
	}
	maps.DeleteFunc(s.catalogues, func(_ model.CatalogID, c *catalogue) bool { return !used[c] })
}

// forget drops what was learned of images that no class has any more, once AWS has said which they have.
func (s *Classes) forget() {
	images := map[string]bool{}
	for _, c := range s.byName {
		if !c.current() && c.invalid.OK() {
			return
		}
		for _, i := range c.resolved.Images {
			images[i.ID] = true
		}
	}
	maps.DeleteFunc(s.memory, func(image string, _ map[model.TypeName]int64) bool { return !images[image] })
}
