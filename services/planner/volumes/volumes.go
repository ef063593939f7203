// Package volumes says how many volumes CSI drivers will be able to attach to a node that is yet to be bought, and
// whose volumes are that one pod at a time may use.
//
// A node says so itself once its drivers run; until then the nodes of its type tell, and where there are none, the
// catalogue does of EBS. A figure that is too low costs a node at worst, one that is too high is corrected by the node
// itself, and its pods move on. It knows neither views nor plans. Start reading at Limits.Of.
package volumes

import (
	"maps"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Limits knows the attach limits of nodes that are there, by type. Make it with New; it is not changed afterwards.
type Limits struct {
	learned map[limitKey]int64
}

type limitKey struct {
	typ    model.TypeName
	driver model.Resource
}

// New learns from nodes that are ready. Of several of a type the highest limit counts: what lowers it on some, even to
// nothing, are volumes that are just being detached.
func New(nodes []model.Node) *Limits {
	l := &Limits{learned: make(map[limitKey]int64)}
	for i := range nodes {
		typ, ok := nodes[i].Labels.Get(labels.InstanceType)
		if !ok || !nodes[i].Ready {
			continue
		}
		for _, a := range nodes[i].VolumeLimits {
			key := limitKey{model.TypeName(typ), a.Resource}
			if a.Value > l.learned[key] {
				l.learned[key] = a.Value
			}
		}
	}
	return l
}

// Equal says whether others say the same of each type.
func (l *Limits) Equal(m *Limits) bool { return maps.Equal(l.learned, m.learned) }

// Of is how many volumes a driver attaches to a new node of a type; ok is false where no limit is known.
func (l *Limits) Of(t *model.InstanceType, driver model.Resource) (limit int64, ok bool) {
	if limit, ok = l.learned[limitKey{t.Name, driver}]; ok {
		return limit, true
	}
	return t.Allocatable.Get(model.AttachLimit + driver)
}
