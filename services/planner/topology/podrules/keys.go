package podrules

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/view"
)

// Keys are some of the topology keys of required spread. Those that are far down the list of TopologyKeys are taken
// together.
type Keys uint64

// AnyKey are all of them.
const AnyKey = ^Keys(0)

func keyOf(key int32) Keys { return 1 << min(key, 63) }

// Has says whether a topology key is among them.
func (k Keys) Has(key int32) bool { return k&keyOf(key) != 0 }

// GiveWay is spread over which labels may give way for some classes that are spread over Several, or for all.
type GiveWay struct {
	Over    Keys
	Several bool
}

// SpreadsOverSeveral says whether a class's pods must be spread over several labels.
func (r *Rules) SpreadsOverSeveral(c *view.Class) bool { return len(r.spreadKeys(c)) > 1 }

func (r *Rules) spreadKeys(c *view.Class) []Keys {
	var out []Keys
	for _, rule := range r.Classes[c.Index].Spread {
		if k := keyOf(r.Counters[rule.Counter].Key); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// GivesWay lists for which labels of required spread what could be bought may stop counting, in turn, so that pods of
// some classes have a place: where they must be spread over several, for one of these, the last that they name before
// others, then for all but the hostname; then for all. There can always be one more node: if none but those that there
// are counted, pods would be together on a few, and a new one could not be added to these.
func (r *Rules) GivesWay(classes []*view.Class) []GiveWay {
	var out []GiveWay
	several := false
	for _, c := range classes {
		keys := r.spreadKeys(c)
		if len(keys) < 2 {
			continue
		}
		several = true
		for _, k := range slices.Backward(keys) {
			if x := (GiveWay{Over: k, Several: true}); !k.Has(Hostname) && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	if several {
		out = append(out, GiveWay{Over: AnyKey &^ keyOf(Hostname), Several: true})
	}
	return append(out, GiveWay{Over: AnyKey})
}
