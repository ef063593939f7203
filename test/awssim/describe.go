package awssim

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

type instancesAnswer struct {
	Reservations []reservation `xml:"reservationSet>item"`
	NextToken    string        `xml:"nextToken,omitempty"`
}

type reservation struct {
	ID        string         `xml:"reservationId"`
	Owner     string         `xml:"ownerId"`
	Instances []instanceItem `xml:"instancesSet>item"`
}

type instanceItem struct {
	ID           string       `xml:"instanceId"`
	ImageID      string       `xml:"imageId"`
	State        stateItem    `xml:"instanceState"`
	PrivateDNS   string       `xml:"privateDnsName"`
	PrivateIP    string       `xml:"privateIpAddress,omitempty"`
	InstanceType string       `xml:"instanceType"`
	LaunchTime   string       `xml:"launchTime"`
	Zone         string       `xml:"placement>availabilityZone"`
	ZoneID       string       `xml:"placement>availabilityZoneId,omitempty"`
	Tenancy      string       `xml:"placement>tenancy"`
	Reservation  string       `xml:"capacityReservationId,omitempty"`
	SubnetID     string       `xml:"subnetId,omitempty"`
	VPC          string       `xml:"vpcId,omitempty"`
	Arch         string       `xml:"architecture"`
	RootType     string       `xml:"rootDeviceType"`
	Virtual      string       `xml:"virtualizationType"`
	Lifecycle    string       `xml:"instanceLifecycle,omitempty"`
	SpotRequest  string       `xml:"spotInstanceRequestId,omitempty"`
	ClientToken  string       `xml:"clientToken,omitempty"`
	Profile      *profileItem `xml:"iamInstanceProfile"`
	Groups       []groupRef   `xml:"groupSet>item"`
	Tags         []tagItem    `xml:"tagSet>item"`
	Reason       *reasonItem  `xml:"stateReason"`
}

type profileItem struct {
	ARN string `xml:"arn"`
	ID  string `xml:"id"`
}

type groupRef struct {
	ID string `xml:"groupId"`
}

type reasonItem struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

// sighting is an instance as a Describe call sees it.
type sighting struct {
	*instance
	moment
}

// sightings are all instances that can be seen now, sorted by id; with ids, those, and an error for an unknown one.
func (s *Sim) sightings(ids []string) ([]sighting, error) {
	at := s.clock.Now().Add(-s.cfg.DescribeLag)
	visible := map[string]sighting{}
	for id, i := range s.instances {
		if m, ok := i.seen(at); ok {
			visible[id] = sighting{i, m}
		}
	}
	for _, id := range ids {
		if !isInstanceID(id) {
			return nil, fail("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
	}
	return selected(visible, ids, "InvalidInstanceID.NotFound", "instance ID")
}

// describeInstances lies behind the truth by the configured lag, for ids as well as for filters.
func (s *Sim) describeInstances(f *form) (any, error) {
	f.ignore("IncludeManagedResources")
	attrs := s.instanceAttributes()
	ids, fs := f.list("InstanceId"), filters(f, attrs)
	if len(ids) > 0 && f.has("MaxResults") {
		return nil, fail("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	all, err := s.sightings(ids)
	if err != nil {
		return nil, err
	}
	all = keep(all, func(i sighting) bool { return attrs.passes(i, fs) })
	all, token := page(f, all, func(i sighting) string { return i.id }, pageBounds{5, 1000, 0})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := instancesAnswer{NextToken: token}
	for _, i := range all {
		out.Reservations = append(out.Reservations, reservation{
			ID: "r-" + i.id[2:], Owner: s.cfg.AccountID, Instances: []instanceItem{s.describeInstance(i)},
		})
	}
	return out, nil
}

func (s *Sim) instanceAttributes() attributes[sighting] {
	return attributes[sighting]{
		tags: func(i sighting) map[string]string { return i.tags },
		by: map[string]func(sighting) []string{
			"instance-id":              func(i sighting) []string { return one(i.id) },
			"instance-state-name":      func(i sighting) []string { return one(i.moment.state) },
			"instance-state-code":      func(i sighting) []string { return one(strconv.Itoa(stateCode(i.moment.state))) },
			"instance-type":            func(i sighting) []string { return one(i.pool.InstanceType) },
			"instance-lifecycle":       func(i sighting) []string { return one(lifecycle(i.pool)) },
			"availability-zone":        func(i sighting) []string { return one(i.pool.Zone) },
			"subnet-id":                func(i sighting) []string { return one(i.subnet.ID) },
			"vpc-id":                   func(sighting) []string { return one(s.cfg.VPC) },
			"image-id":                 func(i sighting) []string { return one(i.image.ID) },
			"private-dns-name":         func(i sighting) []string { return one(i.nodeName) },
			"private-ip-address":       func(i sighting) []string { return one(i.ip) },
			"iam-instance-profile.arn": func(i sighting) []string { return one(s.profileARN(i.profile)) },
			"client-token":             func(i sighting) []string { return one(i.clientToken) },
		},
	}
}

// lifecycle is EC2's word for how an instance was bought; there is none for on-demand.
func lifecycle(p Pool) string {
	if p.CapacityType == Spot {
		return "spot"
	}
	return ""
}

func (s *Sim) describeInstance(i sighting) instanceItem {
	item := instanceItem{
		ID: i.id, ImageID: i.image.ID, State: newStateItem(i.moment.state), PrivateDNS: i.nodeName, PrivateIP: i.ip,
		InstanceType: i.pool.InstanceType, LaunchTime: i.launched.Format(time.RFC3339), Zone: i.pool.Zone,
		ZoneID: s.zoneIDs[i.pool.Zone], Tenancy: "default", SubnetID: i.subnet.ID, VPC: s.cfg.VPC,
		Arch: ec2Arch(i.typ.Arch), RootType: "ebs", Virtual: "hvm", Lifecycle: lifecycle(i.pool),
		ClientToken: i.clientToken, Tags: tagItems(i.tags),
	}
	if i.data.tenancy != "" {
		item.Tenancy = i.data.tenancy
	}
	if i.pool.CapacityType == Spot {
		item.SpotRequest = "sir-" + i.id[len(i.id)-8:]
	}
	item.Reservation = s.reservationOf(i.instance)
	if i.profile != "" {
		item.Profile = &profileItem{ARN: s.profileARN(i.profile), ID: "AIPA" + strings.ToUpper(digest(i.profile)[:17])}
	}
	for _, g := range i.data.securityGroups {
		item.Groups = append(item.Groups, groupRef{g})
	}
	if i.reason != "" {
		item.Reason = &reasonItem{i.reason, i.text}
	}
	if i.moment.state == stateTerminated { // EC2 forgets where a terminated instance was
		item.PrivateDNS, item.PrivateIP, item.SubnetID, item.VPC = "", "", "", ""
	}
	return item
}

func isInstanceID(id string) bool {
	digits, ok := strings.CutPrefix(id, "i-")
	if !ok || len(digits) != 8 && len(digits) != 17 {
		return false
	}
	_, err := hex.DecodeString(digits[len(digits)%2:])
	return err == nil
}

// userTags counts the tags that are not AWS's own.
func userTags(tags map[string]string) int {
	n := 0
	for k := range tags {
		if !strings.HasPrefix(k, "aws:") {
			n++
		}
	}
	return n
}
