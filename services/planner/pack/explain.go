package pack

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Explain says why nothing can be bought for pods of a class: the nearest miss of all, and that of each pool by name.
func (d *Scheduler) Explain(c *view.Class) (model.Reason, []model.PoolMiss) {
	verdicts := make(map[string]model.Reason)
	return d.market.Explain(c, d.limits, func(o *market.Option) model.Reason {
		if r := d.whyDevices(c, o); !r.OK() {
			return r
		}
		place := o.Key(d.keys)
		r, known := verdicts[place]
		if !known {
			r = d.tally.Why(c, d.tally.Probe(nil, &o.Place))
			verdicts[place] = r
		}
		return r
	})
}

// whyDevices is the rule about devices that keeps a pod off a new node of an option, or the zero Reason.
func (d *Scheduler) whyDevices(c *view.Class, o *market.Option) model.Reason {
	if d.devices == nil || !devices.ClaimsDevices(c.PodClass) {
		return model.Reason{}
	}
	d.devices.Add(probeNumber, "", o.Devices.Stock())
	return d.devices.Why(probeNumber, c.PodClass, "a new "+string(o.Type.Name))
}
