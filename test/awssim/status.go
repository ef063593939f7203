package awssim

import (
	"fmt"
	"strings"
	"time"
)

// StatusEvent is a scheduled event of an instance, as DescribeInstanceStatus lists it.
type StatusEvent struct {
	// Code is instance-reboot, system-reboot, system-maintenance, instance-retirement or instance-stop.
	Code        string    `json:"code"`
	Description string    `json:"description"`
	NotBefore   time.Time `json:"notBefore"`
}

// Impair lets an instance's status check fail from now on: the system's, or the instance's own.
func (s *Sim) Impair(instanceID string, system bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.instance(instanceID)
	if err != nil {
		return err
	}
	if system {
		i.impairedSystem = s.clock.Now()
	} else {
		i.impaired = s.clock.Now()
	}
	return nil
}

// Schedule adds a scheduled event to an instance.
func (s *Sim) Schedule(instanceID string, e StatusEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.instance(instanceID)
	if err != nil {
		return err
	}
	i.events = append(i.events, e)
	return nil
}

type statusAnswer struct {
	Statuses  []statusItem `xml:"instanceStatusSet>item"`
	NextToken string       `xml:"nextToken,omitempty"`
}

type statusItem struct {
	ID       string      `xml:"instanceId"`
	Zone     string      `xml:"availabilityZone"`
	State    stateItem   `xml:"instanceState"`
	System   checkItem   `xml:"systemStatus"`
	Instance checkItem   `xml:"instanceStatus"`
	Events   []eventItem `xml:"eventsSet>item"`
}

type checkItem struct {
	Status  string       `xml:"status"`
	Details []detailItem `xml:"details>item"`
}

type detailItem struct {
	Name   string `xml:"name"`
	Status string `xml:"status"`
	Since  string `xml:"impairedSince,omitempty"`
}

type eventItem struct {
	ID          string `xml:"instanceEventId"`
	Code        string `xml:"code"`
	Description string `xml:"description"`
	NotBefore   string `xml:"notBefore"`
}

// check is a status check that fails since a time, or passes when that is zero.
func check(since time.Time) checkItem {
	if since.IsZero() {
		return checkItem{"ok", []detailItem{{Name: "reachability", Status: "passed"}}}
	}
	return checkItem{"impaired", []detailItem{{"reachability", "failed", since.Format(time.RFC3339)}}}
}

// describeInstanceStatus shows running instances only, unless all are asked for.
func (s *Sim) describeInstanceStatus(f *form) (any, error) {
	f.ignore("IncludeManagedResources")
	attrs := statusAttributes()
	ids, fs, everything := f.list("InstanceId"), filters(f, attrs), f.bool("IncludeAllInstances")
	all, err := s.sightings(ids)
	if err != nil {
		return nil, err
	}
	all = keep(all, func(i sighting) bool {
		return (everything || i.moment.state == stateRunning) && attrs.passes(i, fs)
	})
	all, token := page(f, all, func(i sighting) string { return i.id }, pageBounds{5, 1000, 0})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := statusAnswer{NextToken: token}
	for _, i := range all {
		item := statusItem{
			ID: i.id, Zone: i.pool.Zone, State: newStateItem(i.moment.state),
			System: check(i.impairedSystem), Instance: check(i.impaired),
		}
		for n, e := range i.events {
			item.Events = append(item.Events, eventItem{fmt.Sprintf("instance-event-%s%02d", strings.TrimPrefix(i.id, "i-"), n), e.Code, e.Description, e.NotBefore.Format(time.RFC3339)})
		}
		out.Statuses = append(out.Statuses, item)
	}
	return out, nil
}

func statusAttributes() attributes[sighting] {
	return attributes[sighting]{by: map[string]func(sighting) []string{
		"availability-zone":      func(i sighting) []string { return one(i.pool.Zone) },
		"instance-state-name":    func(i sighting) []string { return one(i.moment.state) },
		"instance-status.status": func(i sighting) []string { return one(check(i.impaired).Status) },
		"system-status.status":   func(i sighting) []string { return one(check(i.impairedSystem).Status) },
		"event.code": func(i sighting) []string {
			var codes []string
			for _, e := range i.events {
				codes = append(codes, e.Code)
			}
			return codes
		},
	}}
}

type reservationsAnswer struct {
	Reservations []reservedItem `xml:"capacityReservationSet>item"`
	NextToken    string         `xml:"nextToken,omitempty"`
}

type reservedItem struct {
	ID           string    `xml:"capacityReservationId"`
	Owner        string    `xml:"ownerId"`
	InstanceType string    `xml:"instanceType"`
	Zone         string    `xml:"availabilityZone"`
	Total        int64     `xml:"totalInstanceCount"`
	Available    int64     `xml:"availableInstanceCount"`
	State        string    `xml:"state"`
	Match        string    `xml:"instanceMatchCriteria"`
	Type         string    `xml:"reservationType"`
	End          string    `xml:"endDate,omitempty"`
	Interrupt    bool      `xml:"interruptible"`
	Tags         []tagItem `xml:"tagSet>item"`
}

func (s *Sim) describeCapacityReservations(f *form) (any, error) {
	match := func(r *reserve) string {
		if r.Open {
			return "open"
		}
		return "targeted"
	}
	attrs := attributes[*reserve]{
		tags: func(r *reserve) map[string]string { return r.Tags },
		by: map[string]func(*reserve) []string{
			"instance-type":           func(r *reserve) []string { return one(r.InstanceType) },
			"availability-zone":       func(r *reserve) []string { return one(r.Zone) },
			"owner-id":                func(*reserve) []string { return one(s.cfg.AccountID) },
			"state":                   func(r *reserve) []string { return one(s.stateOf(r)) },
			"instance-match-criteria": func(r *reserve) []string { return one(match(r)) },
		},
	}
	ids, fs := f.list("CapacityReservationId"), filters(f, attrs)
	all, err := selected(s.reserves, ids, "InvalidCapacityReservationId.NotFound", "capacity reservation")
	if err != nil {
		return nil, err
	}
	all = keep(all, func(r *reserve) bool { return attrs.passes(r, fs) })
	all, token := page(f, all, func(r *reserve) string { return r.ID }, pageBounds{1, 1000, 1000})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := reservationsAnswer{NextToken: token}
	for _, r := range all {
		out.Reservations = append(out.Reservations, reservedItem{
			ID: r.ID, Owner: s.cfg.AccountID, InstanceType: r.InstanceType, Zone: r.Zone, Total: r.Total, Available: r.free(), State: s.stateOf(r),
			Match: match(r), Type: r.kind(), End: endDate(r.End), Interrupt: r.Interruptible, Tags: tagItems(r.Tags),
		})
	}
	return out, nil
}

type placementGroupsAnswer struct {
	Groups []placementItem `xml:"placementGroupSet>item"`
}

type placementItem struct {
	ID       string `xml:"groupId"`
	Name     string `xml:"groupName"`
	Strategy string `xml:"strategy"`
	State    string `xml:"state"`
}

func (s *Sim) describePlacementGroups(f *form) (any, error) {
	attrs := attributes[PlacementGroup]{by: map[string]func(PlacementGroup) []string{
		"group-name": func(g PlacementGroup) []string { return one(g.Name) },
		"state":      func(PlacementGroup) []string { return one("available") },
		"strategy":   func(g PlacementGroup) []string { return one(g.Strategy) },
	}}
	ids, names, fs := set(f.list("GroupId")), set(f.list("GroupName")), filters(f, attrs)
	if err := f.checked(); err != nil {
		return nil, err
	}
	var out placementGroupsAnswer
	for _, g := range s.cfg.PlacementGroups {
		asked := len(ids)+len(names) == 0 || ids[g.ID] || names[g.Name]
		delete(ids, g.ID)
		delete(names, g.Name)
		if asked && attrs.passes(g, fs) {
			out.Groups = append(out.Groups, placementItem{g.ID, g.Name, g.Strategy, "available"})
		}
	}
	if unknown := append(sortedKeys(ids), sortedKeys(names)...); len(unknown) > 0 {
		return nil, fail("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", unknown[0])
	}
	return out, nil
}
