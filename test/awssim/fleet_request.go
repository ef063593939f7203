package awssim

import (
	"fmt"
	"math"
	"slices"
)

// fleetRequest is a CreateFleet request after its parameters were read.
type fleetRequest struct {
	total, onDemand, spot int64
	defaultType           string
	odOptions, spotOpts   marketOptions
	overrides             []override
	tags                  map[string]map[string]string
}

// marketOptions are OnDemandOptions or SpotOptions.
type marketOptions struct {
	strategy               string
	minTarget              int64
	singleType, singleZone bool
}

// override is one LaunchTemplateConfigs.N.Overrides.M merged over its launch template.
type override struct {
	templateID, templateName, version string
	template                          *launchTemplate

	instanceType, subnetID, zone, imageID string
	maxPrice                              string
	priority                              float64
	hasPriority                           bool
}

// The limits of one fleet.
const (
	maxConfigs   = 50
	maxOverrides = 300
)

// readFleet reads all parameters. It looks at nothing but the form.
func readFleet(f *form) fleetRequest {
	f.ignore("Context", "TerminateInstancesWithExpiration", "ReplaceUnhealthyInstances", "ExcessCapacityTerminationPolicy",
		"SpotOptions.InstanceInterruptionBehavior", "SpotOptions.InstancePoolsToUseCount",
		"OnDemandOptions.CapacityReservationOptions")
	if t := f.str("Type"); t != "instant" {
		f.bad = fail("UnsupportedOperation", "Fleets of type '%s' are not simulated, only 'instant'.", t)
	}
	const p = "TargetCapacitySpecification."
	r := fleetRequest{
		total: f.int(p+"TotalTargetCapacity", -1), onDemand: f.int(p+"OnDemandTargetCapacity", 0),
		spot: f.int(p+"SpotTargetCapacity", 0), defaultType: f.str(p + "DefaultTargetCapacityType"),
		odOptions: readMarket(f, "OnDemandOptions", lowestPrice, prioritized),
		spotOpts:  readMarket(f, "SpotOptions", lowestPrice, priceCapacity, capacityOptimized, capacityPrioritized, diversified),
		tags:      tagSpecs(f, "TagSpecification"),
	}
	for _, kind := range f.list("ReservedCapacityOptions.ReservationType") {
		if kind != interruptibleMarket && kind != blockMarket && kind != "on-demand-capacity-reservation" {
			f.reject("ReservedCapacityOptions.ReservationType", kind)
		}
	}
	if u := f.str(p + "TargetCapacityUnitType"); u != "" && u != "units" {
		f.reject(p+"TargetCapacityUnitType", u)
	}
	configs := f.items("LaunchTemplateConfigs")
	for _, c := range configs {
		r.overrides = append(r.overrides, readConfig(f, c)...)
	}
	if f.bad == nil && (len(configs) > maxConfigs || len(r.overrides) > maxOverrides) {
		f.bad = fail("InvalidParameterValue", "The request has %d launch template configs and %d overrides; the limits are %d and %d.",
			len(configs), len(r.overrides), maxConfigs, maxOverrides)
	}
	r.settleTargets(f)
	return r
}

func readMarket(f *form, key string, strategies ...string) marketOptions {
	m := marketOptions{
		strategy: f.str(key + ".AllocationStrategy"), minTarget: f.int(key+".MinTargetCapacity", 0),
		singleType: f.bool(key + ".SingleInstanceType"), singleZone: f.bool(key + ".SingleAvailabilityZone"),
	}
	if m.strategy == "" {
		m.strategy = lowestPrice
	}
	if !slices.Contains(strategies, m.strategy) {
		f.reject(key+".AllocationStrategy", m.strategy)
	}
	return m
}

func readConfig(f *form, c string) []override {
	base := override{
		templateID:   f.str(c + ".LaunchTemplateSpecification.LaunchTemplateId"),
		templateName: f.str(c + ".LaunchTemplateSpecification.LaunchTemplateName"),
		version:      f.str(c + ".LaunchTemplateSpecification.Version"),
		priority:     math.Inf(1),
	}
	items := f.items(c + ".Overrides")
	if len(items) == 0 {
		return []override{base}
	}
	var out []override
	for _, i := range items {
		o := base
		o.instanceType, o.subnetID = f.str(i+".InstanceType"), f.str(i+".SubnetId")
		o.zone, o.imageID = f.str(i+".AvailabilityZone"), f.str(i+".ImageId")
		o.maxPrice = f.str(i + ".MaxPrice")
		o.hasPriority = f.has(i + ".Priority")
		o.priority = f.float(i+".Priority", math.Inf(1))
		if w := f.float(i+".WeightedCapacity", 1); w != 1 {
			f.reject(i+".WeightedCapacity", fmt.Sprint(w))
		}
		out = append(out, o)
	}
	return out
}

// settleTargets splits the total between the two markets.
func (r *fleetRequest) settleTargets(f *form) {
	if f.bad != nil {
		return
	}
	switch {
	case r.total < 1 || r.total > 10000:
		f.bad = fail("InvalidTargetCapacitySpecification", "Total target capacity must be between 1 and 10000.")
	case !slices.Contains([]string{OnDemand, Spot, blockMarket, "reserved-capacity"}, r.defaultType):
		f.reject("TargetCapacitySpecification.DefaultTargetCapacityType", r.defaultType)
	case r.onDemand+r.spot > r.total:
		f.bad = fail("InvalidTargetCapacitySpecification", "On-demand and spot target capacity together exceed the total.")
	case len(r.overrides) == 0:
		f.bad = fail("MissingParameter", "The request must contain the parameter LaunchTemplateConfigs")
	}
	if rest := r.total - r.onDemand - r.spot; r.defaultType == Spot {
		r.spot += rest
	} else {
		r.onDemand += rest
	}
	for _, m := range []marketOptions{r.odOptions, r.spotOpts} {
		if m.minTarget > 0 && !m.singleType && !m.singleZone && f.bad == nil {
			f.bad = fail("InvalidParameterCombination", "MinTargetCapacity needs SingleInstanceType or SingleAvailabilityZone.")
		}
	}
}
