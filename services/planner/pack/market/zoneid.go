package market

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// zoneIDClash says that none of the zones which a pool and what is asked for allow has an id that they allow. It is the
// zero Reason where one has, where no zone is allowed anyway, and where one of the alternatives names no id.
func (m *Market) zoneIDClash(p *view.Pool, asked []require.Set) model.Reason {
	var first model.Reason
	for i, s := range asked {
		all := p.Requirements.Intersect(s)
		id, ok := all.Get(labels.ZoneID)
		if !ok {
			return model.Reason{}
		}
		zones := slices.DeleteFunc(slices.Clone(p.Class.Zones), func(zone string) bool {
			r, named := all.Get(labels.Zone)
			return named && !r.Contains(zone)
		})
		allowed := func(zone string) bool {
			return id.Matches(m.World.Places.ZoneID(zone), m.World.Places.ZoneID(zone) != "")
		}
		if len(zones) == 0 || slices.ContainsFunc(zones, allowed) {
			return model.Reason{}
		}
		if i == 0 {
			first = m.zoneIDReason(p, s, id, zones)
		}
	}
	return first
}

func (m *Market) zoneIDReason(p *view.Pool, asked require.Set, id require.Requirement, zones []string) model.Reason {
	who := "the pod asks"
	if _, ok := p.Requirements.Get(labels.ZoneID); ok {
		who = "the pool asks"
		if _, both := asked.Get(labels.ZoneID); both {
			who = "the pod and the pool ask"
		}
	}
	known := false
	names := make([]string, len(zones))
	for i, zone := range zones {
		names[i] = zone + " (id not known)"
		if id := m.World.Places.ZoneID(zone); id != "" {
			names[i], known = fmt.Sprintf("%s (%s)", zone, id), true
		}
	}
	out := model.Reason{
		Code: model.CodeRequirements, Subject: "nodepool/" + string(p.Name),
		Message: fmt.Sprintf("%s for %s, and the allowed zones are %s", who, id, strings.Join(names, ", ")),
		Remedy:  "allow a zone of such an id in the pool, the node class's subnets and the pod, or ask for another id",
	}
	if !known {
		out.Message = fmt.Sprintf("%s for %s, and the ids of the zones %s are not known", who, id, strings.Join(zones, ", "))
		out.Remedy = fmt.Sprintf("ask for %s; the ids come from EC2 with the subnets, and without EC2 from status.subnets[].zoneID of the EC2NodeClass", labels.Zone)
	}
	return out
}
