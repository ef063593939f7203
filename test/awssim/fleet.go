package awssim

import (
	"fmt"
	"strconv"
	"time"
)

// fleet is what is left of a CreateFleet call. Guarded by Sim.mu.
type fleet struct {
	id        string
	created   time.Time
	requested int64
	tags      map[string]string
	instances []string
	errors    []string // error codes, in the answer's order
}

type fleetAnswer struct {
	ID        string          `xml:"fleetId"`
	Errors    []fleetError    `xml:"errorSet>item"`
	Instances []fleetInstance `xml:"fleetInstanceSet>item"`
}

type fleetError struct {
	From      templateAndOverride `xml:"launchTemplateAndOverrides"`
	Lifecycle string              `xml:"lifecycle"`
	Code      string              `xml:"errorCode"`
	Message   string              `xml:"errorMessage"`
}

type fleetInstance struct {
	From         templateAndOverride `xml:"launchTemplateAndOverrides"`
	Lifecycle    string              `xml:"lifecycle"`
	IDs          []string            `xml:"instanceIds>item"`
	InstanceType string              `xml:"instanceType"`
	SubnetID     string              `xml:"subnetId"`
	Zone         string              `xml:"availabilityZone"`
}

type templateAndOverride struct {
	TemplateID   string       `xml:"launchTemplateSpecification>launchTemplateId"`
	TemplateName string       `xml:"launchTemplateSpecification>launchTemplateName,omitempty"`
	Version      string       `xml:"launchTemplateSpecification>version"`
	Override     overrideItem `xml:"overrides"`
}

type overrideItem struct {
	InstanceType string `xml:"instanceType,omitempty"`
	SubnetID     string `xml:"subnetId,omitempty"`
	Zone         string `xml:"availabilityZone,omitempty"`
	ImageID      string `xml:"imageId,omitempty"`
	MaxPrice     string `xml:"maxPrice,omitempty"`
	Priority     string `xml:"priority,omitempty"`
}

func (o override) item() templateAndOverride {
	out := templateAndOverride{
		TemplateID: o.template.id, TemplateName: o.templateName, Version: "1",
		Override: overrideItem{
			InstanceType: o.instanceType, SubnetID: o.subnetID, Zone: o.zone, ImageID: o.imageID, MaxPrice: o.maxPrice,
		},
	}
	if o.hasPriority {
		out.Override.Priority = strconv.FormatFloat(o.priority, 'f', -1, 64)
	}
	return out
}

// createFleet answers at once with what could be launched and why the rest could not.
func (s *Sim) createFleet(f *form) (any, error) {
	token := f.str("ClientToken")
	r := readFleet(f)
	dry := f.bool("DryRun")
	if err := f.finish(); err != nil {
		return nil, err
	}
	return s.once("CreateFleet", token, f, func() (any, error) {
		if err := s.resolveTemplates(r.overrides); err != nil {
			return nil, err
		}
		if err := distinct(r.overrides); err != nil {
			return nil, err
		}
		if dry {
			return nil, dryRun()
		}
		return s.launchFleet(r, token), nil
	})
}

func (s *Sim) resolveTemplates(overrides []override) error {
	for i := range overrides {
		o := &overrides[i]
		t, err := s.templateForLaunch(o.templateID, o.templateName)
		if err != nil {
			return err
		}
		if err := checkVersion(o.version); err != nil {
			return err
		}
		o.template = t
	}
	return nil
}

// distinct refuses two overrides for one capacity pool.
func distinct(overrides []override) error {
	seen := map[string]bool{}
	for _, o := range overrides {
		key := o.instanceType + "|" + o.subnetID + "|" + o.zone
		if o.instanceType == "" {
			key = o.template.id
		}
		if seen[key] {
			return fail("InvalidFleetConfig", "The fleet configuration contains duplicate instance pools: %s", key)
		}
		seen[key] = true
	}
	return nil
}

func (s *Sim) launchFleet(r fleetRequest, token string) fleetAnswer {
	fl := &fleet{id: "fleet-" + s.newUUID(), created: s.clock.Now(), requested: r.total, tags: r.tags["fleet"]}
	s.fleets[fl.id] = fl
	out := fleetAnswer{ID: fl.id}
	for _, m := range []struct {
		capacityType string
		target       int64
		options      marketOptions
	}{{OnDemand, r.onDemand, r.odOptions}, {Spot, r.spot, r.spotOpts}} {
		if m.target > 0 {
			s.buy(market{fl, m.capacityType, m.target, m.options, r.tags, token}, r.overrides, &out)
		}
	}
	for _, e := range out.Errors {
		fl.errors = append(fl.errors, e.Code)
	}
	return out
}

// market is one half of a fleet: what is bought on demand, or as spot.
type market struct {
	fleet        *fleet
	capacityType string
	target       int64
	options      marketOptions
	tags         map[string]map[string]string
	token        string
}

// buy tries the overrides that can be launched at all, and adds instances and errors to the answer.
func (s *Sim) buy(m market, overrides []override, out *fleetAnswer) {
	var specs []launchSpec
	var cands []candidate
	for _, o := range overrides {
		spec, err := s.launchSpec(o, m.capacityType)
		if err != nil {
			out.Errors = append(out.Errors, m.failure(o, err))
			continue
		}
		specs = append(specs, spec)
		cands = append(cands, s.candidate(spec, m.options))
	}
	a := allocate(cands, m.target, m.options.strategy)
	enough := a.total() >= m.options.minTarget
	for i, spec := range specs {
		launched := fleetInstance{
			From: spec.override.item(), Lifecycle: m.capacityType, InstanceType: spec.pool.InstanceType,
			SubnetID: spec.subnet.ID, Zone: spec.pool.Zone,
		}
		for n := a.take[i]; n > 0 && enough; n-- {
			if spec.subnet.free() == 0 {
				out.Errors = append(out.Errors, m.failure(spec.override, noAddresses(spec.subnet.ID)))
				break
			}
			launched.IDs = append(launched.IDs, s.launch(spec, m).id)
		}
		if len(launched.IDs) > 0 {
			out.Instances = append(out.Instances, launched)
		}
		if a.short[i] {
			out.Errors = append(out.Errors, m.failure(spec.override, s.shortage(spec.pool)))
		}
	}
}

func (m market) failure(o override, err error) fleetError {
	e := asAPIError(err)
	return fleetError{From: o.item(), Lifecycle: m.capacityType, Code: e.code, Message: e.message}
}

func (s *Sim) candidate(spec launchSpec, opts marketOptions) candidate {
	group := ""
	if opts.singleType {
		group += spec.pool.InstanceType
	}
	if opts.singleZone {
		group += "|" + spec.pool.Zone
	}
	depth, err := strconv.ParseInt(digest("depth", fmt.Sprint(spec.pool))[:6], 16, 64)
	if err != nil {
		depth = 0 // not possible: a digest is hexadecimal
	}
	return candidate{
		pool: spec.pool, price: s.price(spec.pool), priority: spec.override.priority, stock: s.stock(spec.pool), depth: depth, group: group,
	}
}

// runInstances checks a dry run; real launches go through CreateFleet.
func (s *Sim) runInstances(f *form) (any, error) {
	inSubnet := f.str("SubnetId")
	orString(&inSubnet, f.str("NetworkInterface.1.SubnetId"))
	f.ignore("ClientToken", "MinCount", "MaxCount", "TagSpecification", "MetadataOptions", "Monitoring", "BlockDeviceMapping",
		"SecurityGroupId", "UserData", "NetworkInterface", "InstanceMarketOptions", "EbsOptimized")
	o := override{
		templateID: f.str("LaunchTemplate.LaunchTemplateId"), templateName: f.str("LaunchTemplate.LaunchTemplateName"),
		version: f.str("LaunchTemplate.Version"), instanceType: f.str("InstanceType"), subnetID: inSubnet,
		imageID: f.str("ImageId"), zone: f.str("Placement.AvailabilityZone"),
	}
	profileName := profileRef(f, "IamInstanceProfile")
	dry := f.bool("DryRun")
	if err := f.finish(); err != nil {
		return nil, err
	}
	if !dry {
		return nil, fail("UnsupportedOperation", "RunInstances is simulated for dry runs only; launch with CreateFleet.")
	}
	if o.templateID == "" && o.templateName == "" {
		o.template = &launchTemplate{data: templateData{profileName: profileName}}
	} else if err := s.resolveTemplates([]override{o}); err != nil {
		return nil, err
	} else if o.template, err = s.templateRef(o.templateID, o.templateName); err != nil {
		return nil, err
	}
	if _, err := s.launchSpec(o, OnDemand); err != nil {
		return nil, err
	}
	return nil, dryRun()
}
