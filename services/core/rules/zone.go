package rules

import "github.com/kerf-dev/kerf/services/core/model"

// ZoneShifted says that a node stays because the cluster is shifted away from its zone: it does what it still can, and
// what is broken there is hardly the node. What AWS takes back, and what a user deletes, goes all the same.
func ZoneShifted(zone string, shifted map[string]bool) model.Reason {
	if !shifted[zone] {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeZoneShifted, Message: "the cluster is shifted away from its zone " + zone + ", where nodes are left alone",
		Remedy: "wait for the end of the zonal shift, or cancel it",
	}
}
