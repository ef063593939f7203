package offer

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// market is which pools have which types, and what is offered of those, as far as overlays have to know.
type market struct {
	pools     []*marketPool
	offerings map[model.TypeName][]*model.Offering
	places    Places
}

type marketPool struct {
	*model.NodePool
	requirements require.Set
	types        []model.InstanceType
	class        *model.NodeClass
}

func newMarket(s *model.Snapshot) *market {
	m := &market{offerings: make(map[model.TypeName][]*model.Offering), places: NewPlaces(s.Offerings)}
	for i := range s.Offerings {
		off := &s.Offerings[i]
		m.offerings[off.InstanceType] = append(m.offerings[off.InstanceType], off)
	}
	catalogs := make(map[model.CatalogID]*model.Catalog)
	for i := range s.Catalogs {
		catalogs[s.Catalogs[i].ID] = &s.Catalogs[i]
	}
	classes := make(map[model.NodeClassName]*model.NodeClass)
	for i := range s.NodeClasses {
		classes[s.NodeClasses[i].Name] = &s.NodeClasses[i]
	}
	for i := range s.NodePools {
		p := &s.NodePools[i]
		class := classes[p.NodeClass]
		if class == nil || catalogs[class.Catalog] == nil {
			continue
		}
		m.pools = append(m.pools, newMarketPool(p, class, catalogs[class.Catalog]))
	}
	slices.SortFunc(m.pools, func(a, b *marketPool) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

func newMarketPool(p *model.NodePool, class *model.NodeClass, catalog *model.Catalog) *marketPool {
	out := &marketPool{
		NodePool: p, class: class,
		requirements: require.NewSet(p.Requirements...).
			Intersect(require.FromLabels(p.Labels)).
			With(require.Value(labels.NodePool, string(p.Name))).
			With(require.Value(labels.NodeClass, string(p.NodeClass))),
	}
	for i := range catalog.InstanceTypes {
		if t := &catalog.InstanceTypes[i]; out.allows(t) {
			out.types = append(out.types, *t)
		}
	}
	return out
}

// allows says whether the pool's requirements leave a type, as far as the type's labels decide them.
func (p *marketPool) allows(t *model.InstanceType) bool {
	for _, r := range p.requirements {
		if v, ok := typeLabel(t, r.Key); ok && !labels.OfPlace(r.Key) && !r.Contains(v) {
			return false
		}
	}
	return true
}

// sells says whether the pool may buy an offering, as far as the place decides it.
func (m *market) sells(p *marketPool, off *model.Offering) bool {
	return m.places.Sells(p.class, p.requirements, off)
}

// meets says whether every node of a type that the pool could have satisfies requirements on labels that do not follow
// from the place. Of a label that the pool leaves open all that it allows must satisfy them.
func (p *marketPool) meets(reqs require.Set, t *model.InstanceType) bool {
	for _, r := range reqs {
		v, ok := typeLabel(t, r.Key)
		if !ok {
			own, said := p.requirements.Get(r.Key)
			switch {
			case said && !own.SubsetOf(r), !said && !r.AllowsAbsent():
				return false
			}
			continue
		}
		if !r.Contains(v) {
			return false
		}
	}
	return true
}

// typeLabel is a label that follows from the type.
func typeLabel(t *model.InstanceType, key string) (string, bool) {
	if key == labels.InstanceType {
		return string(t.Name), true
	}
	return t.Labels.Get(key)
}
