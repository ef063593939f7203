package loop

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/policy"
)

// Repair reads the policy; nil is the default.
func Repair(p *policy.Repair) model.RepairPolicy {
	if p == nil {
		return model.RepairPolicy{}
	}
	out := model.RepairPolicy{Off: p.Off}
	if p.MaxUnhealthyPercent != nil {
		out.MaxUnhealthyPercent = int(*p.MaxUnhealthyPercent)
	}
	for _, x := range p.Conditions {
		out.Conditions = append(out.Conditions, model.RepairCondition{
			Type: x.Type, Status: string(x.Status), After: time.Duration(x.After),
		})
	}
	return out
}
