package awssim

import (
	"maps"
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// Pool is where capacity comes from.
type Pool struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	// CapacityType is on-demand or spot.
	CapacityType string `json:"capacityType"`
}

// poolState is what a test said about a pool.
type poolState struct {
	stock int64  // free instances; -1 without end
	code  string // what launches fail with; empty for none
}

// launchSpec is an override with all that EC2 needs to launch it.
type launchSpec struct {
	override override
	pool     Pool
	typ      *catalog.Type
	image    *Image
	subnet   *subnet
	profile  string
	reserved *reserve // nil for none
}

// launchSpec checks one override against the world. Its errors are those that a fleet reports per pool.
func (s *Sim) launchSpec(o override, capacityType string) (launchSpec, error) {
	d := o.template.data
	name := o.instanceType
	if name == "" {
		name = d.instanceType
	}
	t := s.types[name]
	if t == nil {
		return launchSpec{}, fail("InvalidParameterValue", "Invalid value '%s' for InstanceType.", name)
	}
	sub, err := s.placeIn(o, d)
	if err != nil {
		return launchSpec{}, err
	}
	spec := launchSpec{override: o, pool: Pool{name, sub.Zone, capacityType}, typ: t, subnet: sub, profile: d.profileName}
	if spec.image, err = s.imageFor(o, d, t); err != nil {
		return launchSpec{}, err
	}
	if err := checkInterfaces(d.interfaces, t); err != nil {
		return launchSpec{}, err
	}
	if err := s.checkProfileAndGroups(d); err != nil {
		return launchSpec{}, err
	}
	if spec.reserved, err = s.reservedFor(d, spec.pool); err != nil {
		return launchSpec{}, err
	}
	if d.group != "" && !slices.ContainsFunc(s.cfg.PlacementGroups, func(g PlacementGroup) bool { return g.ID == d.group }) {
		return launchSpec{}, fail("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", d.group)
	}
	return spec, s.checkPool(spec)
}

// placeIn finds the subnet: the override's, else the template's. There is no default VPC.
func (s *Sim) placeIn(o override, d templateData) (*subnet, error) {
	id := o.subnetID
	if id == "" {
		id = d.subnetID
	}
	if id == "" {
		return nil, fail("MissingInput", "No subnet was given, and there is no default VPC.")
	}
	sub := s.subnets[id]
	if sub == nil {
		return nil, fail("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
	}
	if o.zone != "" && o.zone != sub.Zone {
		return nil, fail("InvalidParameterCombination", "The specified Availability Zone %s does not match that of subnet %s, %s.", o.zone, id, sub.Zone)
	}
	return sub, nil
}

func (s *Sim) imageFor(o override, d templateData, t *catalog.Type) (*Image, error) {
	id := o.imageID
	if id == "" {
		id = d.imageID
	}
	img := s.images[id]
	if img == nil {
		return nil, fail("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
	}
	if img.Arch != t.Arch {
		return nil, fail("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI.", ec2Arch(t.Arch), ec2Arch(img.Arch))
	}
	return img, nil
}

// checkProfileAndGroups refuses an instance profile that EC2 does not know yet, and groups of another world.
func (s *Sim) checkProfileAndGroups(d templateData) error {
	if d.profileName != "" {
		p := s.profiles[d.profileName]
		if p == nil || s.clock.Now().Before(p.created.Add(s.cfg.ProfileLag)) {
			return fail("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", d.profileName)
		}
	}
	known := map[string]bool{}
	for _, g := range s.cfg.SecurityGroups {
		known[g.ID] = true
	}
	for _, g := range d.securityGroups {
		if !known[g] {
			return fail("InvalidGroup.NotFound", "The security group '%s' does not exist", g)
		}
	}
	return nil
}

func (s *Sim) checkPool(spec launchSpec) error {
	p := spec.pool
	if !s.offered(p.InstanceType, p.Zone) {
		return fail("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", p.InstanceType, p.Zone)
	}
	if p.CapacityType == Spot && !spec.typ.SupportsSpot || p.CapacityType == OnDemand && !spec.typ.SupportsOnDemand && spec.reserved == nil {
		return fail("UnfulfillableCapacity", "The instance type %s is not sold as %s.", p.InstanceType, p.CapacityType)
	}
	if limit, err := strconv.ParseFloat(spec.override.maxPrice, 64); p.CapacityType == Spot && err == nil && float64(s.price(p)) > limit*1e6 {
		return fail("SpotMaxPriceTooLow", "Your Spot request price of %s is lower than the minimum required Spot request fulfillment price of %s.", spec.override.maxPrice, dollars(s.price(p)))
	}
	if spec.subnet.free() == 0 {
		return noAddresses(spec.subnet.ID)
	}
	if st := s.pools[p]; st != nil && st.code != "" {
		return fail(st.code, "Injected by the simulator for %s in %s, %s.", p.InstanceType, p.Zone, p.CapacityType)
	}
	return nil
}

func noAddresses(subnetID string) error {
	return fail("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", subnetID)
}

// shortage is why a pool gave less than it should.
func (s *Sim) shortage(p Pool) error {
	if p.CapacityType == Spot {
		return fail("InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.")
	}
	return fail("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s).", p.InstanceType, p.Zone)
}

// launch makes one instance of the spec: pending now, running after the launch latency.
func (s *Sim) launch(spec launchSpec, m market) *instance {
	now := s.clock.Now()
	i := &instance{
		id: s.newID("i-"), launched: now, pool: spec.pool, typ: spec.typ, image: spec.image, subnet: spec.subnet,
		profile: spec.profile, price: s.price(spec.pool), fleetID: m.fleet.id, clientToken: m.token,
		template: spec.override.template.id, data: spec.override.template.data,
	}
	if i.price == unpriced {
		i.price = 0
	}
	i.ip = spec.subnet.take(i.id).String()
	i.nodeName = s.nodeName(i.ip)
	tags := map[string]string{"aws:ec2:fleet-id": m.fleet.id, "aws:ec2launchtemplate:id": i.template, "aws:ec2launchtemplate:version": "1"}
	maps.Copy(tags, spec.override.template.data.tags["instance"])
	maps.Copy(tags, m.tags["instance"])
	if st := s.pools[spec.pool]; st != nil && st.stock > 0 {
		st.stock--
	}
	if spec.reserved != nil {
		spec.reserved.takes[i.id] = true
	}
	s.instances[i.id] = i
	m.fleet.instances = append(m.fleet.instances, i.id)
	s.enterState(i, moment{state: statePending, tags: tags})
	s.after(s.cfg.LaunchLatency, func() {
		if i.state() == statePending {
			s.enterState(i, moment{state: stateRunning})
			s.scheduleJoin(i, s.cfg.JoinLatency)
		}
	})
	return i
}

// stock is how many instances a pool has left; -1 without end.
func (s *Sim) stock(p Pool) int64 {
	if st := s.pools[p]; st != nil {
		return st.stock
	}
	return -1
}

// restock returns an instance's capacity to its pool.
func (s *Sim) restock(p Pool) {
	if st := s.pools[p]; st != nil && st.stock >= 0 {
		st.stock++
	}
}

// SetStock says how many more instances each matching pool gives; negative means without end. An empty field of p
// matches every type, zone or capacity type of the catalogue.
func (s *Sim) SetStock(p Pool, free int64) {
	s.eachPool(p, func(st *poolState) { st.stock = max(free, -1) })
}

// FailPool lets launches from the matching pools fail with a fleet error code, such as UnfulfillableCapacity or
// VcpuLimitExceeded. An empty code ends it.
func (s *Sim) FailPool(p Pool, code string) {
	s.eachPool(p, func(st *poolState) { st.code = code })
}

func (s *Sim) eachPool(match Pool, change func(*poolState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.cfg.Catalog.Types {
		for _, z := range t.Zones {
			for _, c := range []string{OnDemand, Spot} {
				p := Pool{t.Name, z, c}
				if !matches(match, p) {
					continue
				}
				if s.pools[p] == nil {
					s.pools[p] = &poolState{stock: -1}
				}
				change(s.pools[p])
			}
		}
	}
}

func matches(pattern, p Pool) bool {
	return (pattern.InstanceType == "" || pattern.InstanceType == p.InstanceType) &&
		(pattern.Zone == "" || pattern.Zone == p.Zone) &&
		(pattern.CapacityType == "" || pattern.CapacityType == p.CapacityType)
}
