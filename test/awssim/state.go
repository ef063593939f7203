package awssim

import (
	"maps"
	"sort"
	"time"
)

// State is the truth about the world, without any lag: what a test asserts on, and what the admin API shows. All lists
// are sorted by id or name.
type State struct {
	Now              time.Time       `json:"now"`
	Instances        []InstanceState `json:"instances"`
	Fleets           []FleetState    `json:"fleets"`
	LaunchTemplates  []TemplateState `json:"launchTemplates"`
	InstanceProfiles []ProfileState  `json:"instanceProfiles"`
	Queues           []QueueState    `json:"queues"`
	Subnets          []SubnetState   `json:"subnets"`
	// HourlyMicroUSD is what all pending and running instances cost per hour.
	HourlyMicroUSD int64 `json:"hourlyMicroUSD"`
}

// InstanceState is one instance, also a terminated one as long as it can be described.
type InstanceState struct {
	ID           string            `json:"id"`
	State        string            `json:"state"`
	InstanceType string            `json:"instanceType"`
	Zone         string            `json:"zone"`
	CapacityType string            `json:"capacityType"`
	PriceMicro   int64             `json:"priceMicroUSD"`
	NodeName     string            `json:"nodeName"`
	ImageID      string            `json:"imageId"`
	SubnetID     string            `json:"subnetId"`
	FleetID      string            `json:"fleetId"`
	ClientToken  string            `json:"clientToken,omitempty"`
	Launched     time.Time         `json:"launched"`
	Since        time.Time         `json:"since"` // when it entered State, or was last tagged
	Reason       string            `json:"reason,omitempty"`
	Interrupted  bool              `json:"interrupted,omitempty"`
	Joined       bool              `json:"joined"`
	JoinError    string            `json:"joinError,omitempty"`
	Tags         map[string]string `json:"tags"`
}

// Live says that the instance is pending or running.
func (i InstanceState) Live() bool { return i.State == statePending || i.State == stateRunning }

// FleetState is one CreateFleet call.
type FleetState struct {
	ID        string            `json:"id"`
	Created   time.Time         `json:"created"`
	Requested int64             `json:"requested"`
	Instances []string          `json:"instances"`
	Errors    []string          `json:"errors"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// TemplateState is one launch template.
type TemplateState struct {
	ID   string            `json:"id"`
	Name string            `json:"name"`
	Tags map[string]string `json:"tags,omitempty"`
}

// ProfileState is one instance profile.
type ProfileState struct {
	Name string            `json:"name"`
	Path string            `json:"path"`
	Role string            `json:"role,omitempty"`
	Tags map[string]string `json:"tags,omitempty"`
}

// QueueState counts a queue's messages.
type QueueState struct {
	Name     string `json:"name"`
	Visible  int    `json:"visible"`
	InFlight int    `json:"inFlight"`
}

// SubnetState is a subnet's free addresses.
type SubnetState struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	Free int64  `json:"free"`
}

// State returns a copy of the world.
func (s *Sim) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	out := State{
		Now: now, Instances: []InstanceState{}, Fleets: []FleetState{}, LaunchTemplates: []TemplateState{},
		InstanceProfiles: []ProfileState{}, Queues: []QueueState{}, Subnets: []SubnetState{},
	}
	for _, id := range sortedKeys(s.instances) {
		i := s.instances[id].describe()
		out.Instances = append(out.Instances, i)
		if i.Live() {
			out.HourlyMicroUSD += i.PriceMicro
		}
	}
	for _, id := range sortedKeys(s.fleets) {
		f := s.fleets[id]
		out.Fleets = append(out.Fleets, FleetState{
			f.id, f.created, f.requested, append([]string{}, f.instances...), append([]string{}, f.errors...), maps.Clone(f.tags),
		})
	}
	for _, t := range s.templates {
		out.LaunchTemplates = append(out.LaunchTemplates, TemplateState{t.id, t.name, maps.Clone(t.tags)})
	}
	sort.Slice(out.LaunchTemplates, func(i, j int) bool { return out.LaunchTemplates[i].Name < out.LaunchTemplates[j].Name })
	for _, name := range sortedKeys(s.profiles) {
		p := s.profiles[name]
		out.InstanceProfiles = append(out.InstanceProfiles, ProfileState{p.name, p.path, p.role, maps.Clone(p.tags)})
	}
	for _, name := range sortedKeys(s.queues) {
		visible, inFlight := s.queues[name].depth(now)
		out.Queues = append(out.Queues, QueueState{name, visible, inFlight})
	}
	for _, id := range sortedKeys(s.subnets) {
		out.Subnets = append(out.Subnets, SubnetState{id, s.subnets[id].Zone, s.subnets[id].free()})
	}
	return out
}

func (i *instance) describe() InstanceState {
	m := i.now()
	return InstanceState{
		ID: i.id, State: m.state, InstanceType: i.pool.InstanceType, Zone: i.pool.Zone, CapacityType: i.pool.CapacityType,
		PriceMicro: i.price, NodeName: i.nodeName, ImageID: i.image.ID, SubnetID: i.subnet.ID, FleetID: i.fleetID,
		ClientToken: i.clientToken, Launched: i.launched, Since: m.at, Reason: m.reason, Interrupted: i.interrupted,
		Joined: i.joined, JoinError: i.joinError, Tags: maps.Clone(m.tags),
	}
}
