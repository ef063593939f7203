package devices

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// mostJoined is how many selectors are counted in all combinations; more are counted one by one and all together.
const mostJoined = 4

// Dims counts devices as if they were resources, for arithmetic that knows nothing of selectors: for a set of selectors,
// how many devices match any of them, and how many a pod must have of those. That is never too strict, and for pods whose
// claims are their own, of counts and without alternatives and constraints, it is exact (Hall's theorem), the order of
// pods aside. Make it with NewDims; it is not changed afterwards.
type Dims struct {
	sets [][]string
}

// prefix makes the names of the counted sets differ from those of resources: no resource can be called that.
const prefix = "devices:"

// NewDims has the sets of selectors that the classes' own claims ask for.
func NewDims(classes []model.PodClass) *Dims {
	all := ownSelectors(classes)
	d := &Dims{}
	if len(all) > mostJoined {
		for i := range all {
			d.sets = append(d.sets, all[i:i+1])
		}
		d.sets = append(d.sets, all)
		return d
	}
	for bits := 1; bits < 1<<len(all); bits++ {
		var set []string
		for i, s := range all {
			if bits&(1<<i) != 0 {
				set = append(set, s)
			}
		}
		d.sets = append(d.sets, set)
	}
	return d
}

// ownSelectors are those of claims that pods have for themselves, sorted.
func ownSelectors(classes []model.PodClass) []string {
	var out []string
	for i := range classes {
		for _, d := range classes[i].DeviceClaims {
			if d.Name != "" {
				continue // taken once, however many pods use it
			}
			for _, q := range d.Requests {
				for _, o := range q.Options {
					out = append(out, o.Selector)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func name(set []string) model.Resource { return model.Resource(prefix + strings.Join(set, "+")) }

// IsDevices says whether a resource is one of Dims'.
func IsDevices(r model.Resource) bool { return strings.HasPrefix(string(r), prefix) }

// Requests is what one pod of a class must have at least, sorted by name.
func (d *Dims) Requests(c *model.PodClass) model.Amounts {
	var out model.Amounts
	for _, set := range d.sets {
		var n int64
		for i := range c.DeviceClaims {
			if c.DeviceClaims[i].Name != "" {
				continue
			}
			for _, q := range c.DeviceClaims[i].Requests {
				n += least(q, set)
			}
		}
		if n > 0 {
			out = append(out, model.Amount{Resource: name(set), Value: n})
		}
	}
	return sorted(out)
}

// least is how many devices a request takes from a set at least: none where an option looks elsewhere.
func least(q model.DeviceRequest, set []string) int64 {
	var out int64
	for i, o := range q.Options {
		if !slices.Contains(set, o.Selector) {
			return 0
		}
		n := int64(max(o.Count, 1)) // all of them are one at least
		if i == 0 || n < out {
			out = n
		}
	}
	return out
}

// Free is how many devices of a place are left in each set, sorted by name.
func (d *Dims) Free(s *Stock) model.Amounts {
	var out model.Amounts
	for _, set := range d.sets {
		var n int64
		for i := range s.devices {
			if s.usable(i) && slices.ContainsFunc(set, func(x string) bool { return slices.Contains(s.devices[i].Selectors, x) }) {
				n++
			}
		}
		if n > 0 {
			out = append(out, model.Amount{Resource: name(set), Value: n})
		}
	}
	return sorted(out)
}

func sorted(a model.Amounts) model.Amounts {
	slices.SortFunc(a, func(x, y model.Amount) int { return cmp.Compare(x.Resource, y.Resource) })
	return a
}
