package pack

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Explain says why nothing can be bought for pods of a class: the nearest miss of all, and that of each pool by name.
func (s *Scheduler) Explain(c *view.Class) (model.Reason, []model.PoolMiss) {
	verdicts := make(map[string]model.Reason)
	return s.market.Explain(c, s.limits, func(o *market.Option) model.Reason {
		if r := s.whyDevices(c, o); !r.OK() {
			return r
		}
		place := o.Key(s.keys)
		r, known := verdicts[place]
		if !known {
			r = s.tally.Why(c, s.tally.Probe(nil, &o.Place))
			verdicts[place] = r
		}
		return r
	})
}

// whyDevices is the rule about devices that keeps a pod off a new node of an option, or the zero Reason.
func (s *Scheduler) whyDevices(c *view.Class, o *market.Option) model.Reason {
	if s.devices == nil || !devices.ClaimsDevices(c.PodClass) {
		return model.Reason{}
	}
	s.devices.Add(probeNumber, "", o.Devices.Stock())
	return s.devices.Why(probeNumber, c.PodClass, "a new "+string(o.Type.Name))
}
