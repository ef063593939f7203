package market

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/fit"
)

// Segment is a topology segment: nodes that have the same value of each of some topology keys. A claim for pods whose rules
// use these keys must be in one Segment, whatever it is launched as.
type Segment struct {
	// ID tells the segments of a Scheduler apart; it is above 0.
	ID int
	// Labels are sorted by key. A label that nodes of the segment do not have is left out.
	Labels model.Labels
	// options are those that are in the segment, by id.
	options bits.Set
}

// SegmentName tells the segments of some labels apart.
func SegmentName(keys []string, label func(key string) (string, bool)) string {
	var out strings.Builder
	for _, k := range keys {
		if v, ok := label(k); ok {
			out.WriteString(k + "=" + v)
		}
		out.WriteByte(',')
	}
	return out.String()
}

// labelsOf are the values of some labels, less those that are not there.
func labelsOf(keys []string, label func(key string) (string, bool)) model.Labels {
	var out model.Labels
	for _, k := range keys {
		if v, ok := label(k); ok {
			out = append(out, model.Label{Key: k, Value: v})
		}
	}
	return out
}

// NewSegment is an empty segment of some labels.
func (m *Market) NewSegment(keys []string, label func(key string) (string, bool)) *Segment {
	return &Segment{Labels: labelsOf(keys, label), options: bits.New(m.count)}
}

// Add puts an option into the segment.
func (s *Segment) Add(o *Option) { s.options.Add(o.ID) }

// In says whether nodes of the option are in a segment; every node is in the nil Segment.
func (o *Option) In(c *Segment) bool { return c == nil || c.options.Has(o.ID) }

// Key is the option's values of some labels, to tell apart options that differ on one of them.
func (o *Option) Key(keys []string) string { return SegmentName(keys, o.Label) }

// SameOn says whether nodes of two options have the same value of each of some labels.
func SameOn(keys []string, o, p *Option) bool {
	return !slices.ContainsFunc(keys, func(k string) bool {
		v, ok := o.Label(k)
		w, has := p.Label(k)
		return ok != has || v != w
	})
}

// Places are where nodes of some options are.
func Places(options []*Option) []*fit.Place {
	out := make([]*fit.Place, len(options))
	for i, o := range options {
		out[i] = &o.Place
	}
	return out
}
