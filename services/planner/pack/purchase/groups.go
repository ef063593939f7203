package purchase

import (
	"encoding/binary"

	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
)

// groups gathers items that have the same key, in the order of the first of each. Items with host ports are a group each.
type groups struct {
	list  [][]int
	index map[string]int
	// key is the last one, whose memory the next may take.
	key []byte
}

// add adds an item, known as place.
func (g *groups) add(place int, it *market.Item, key []byte) {
	g.key = key
	if len(it.Class.HostPorts) > 0 {
		g.list = append(g.list, []int{place})
		return
	}
	k, ok := g.index[string(key)]
	if !ok {
		if g.index == nil {
			g.index = make(map[string]int)
		}
		k = len(g.list)
		g.index[string(key)] = k
		g.list = append(g.list, nil)
	}
	g.list[k] = append(g.list[k], place)
}

// appendKind writes down what options see of an item.
func appendKind(key []byte, it *market.Item) []byte {
	key = binary.AppendUvarint(key, uint64(it.Class.Profile.Index))
	for _, q := range it.Class.Requested {
		key = binary.AppendVarint(key, q)
	}
	if it.Segment != nil {
		key = binary.AppendUvarint(key, uint64(it.Segment.ID))
	}
	if devices.ClaimsDevices(it.Class.PodClass) || len(it.Class.Shared) > 0 {
		key = binary.AppendUvarint(append(key, 'd'), uint64(it.Class.Index))
	}
	return key
}
