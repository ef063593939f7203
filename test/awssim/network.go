package awssim

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sort"
	"strings"
)

// subnet is a Subnet with its addresses. Guarded by Sim.mu.
type subnet struct {
	Subnet
	prefix netip.Prefix
	used   map[uint32]string // address → instance id
	next   uint32            // where the search for a free address goes on, so that addresses are not used again at once
	cap    int64             // what a test leaves free, at most; -1 for no such limit
}

func newSubnet(c Subnet) *subnet {
	return &subnet{Subnet: c, prefix: netip.MustParsePrefix(c.CIDR).Masked(), used: map[uint32]string{}, cap: -1}
}

func (n *subnet) size() uint32 { return 1 << (32 - n.prefix.Bits()) }

// free is the number of addresses left; AWS keeps five of each range.
func (n *subnet) free() int64 {
	left := int64(n.size()) - 5 - int64(len(n.used))
	if n.cap >= 0 {
		left = min(left, n.cap)
	}
	return max(left, 0)
}

// take hands an address to an instance. The caller has checked free.
func (n *subnet) take(instanceID string) netip.Addr {
	base := n.prefix.Addr().As4()
	usable := n.size() - 5
	for {
		offset := n.next%usable + 4
		n.next++
		if _, taken := n.used[offset]; taken {
			continue
		}
		n.used[offset] = instanceID
		if n.cap > 0 {
			n.cap--
		}
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(base[:])+offset)
		return netip.AddrFrom4(b)
	}
}

func (n *subnet) release(instanceID string) {
	for offset, id := range n.used {
		if id == instanceID {
			delete(n.used, offset)
			if n.cap >= 0 {
				n.cap++
			}
		}
	}
}

// SetFreeAddresses leaves a subnet with at most n free addresses; negative takes the limit away.
func (s *Sim) SetFreeAddresses(subnetID string, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subnets[subnetID]
	if sub == nil {
		return fmt.Errorf("there is no subnet %s", subnetID)
	}
	sub.cap = max(n, -1)
	return nil
}

// nodeName is the private DNS name of an address, which is what an EKS node is called.
func (s *Sim) nodeName(ip string) string {
	host := "ip-" + strings.ReplaceAll(ip, ".", "-")
	if s.cfg.Region == "us-east-1" {
		return host + ".ec2.internal"
	}
	return host + "." + s.cfg.Region + ".compute.internal"
}

type subnetsAnswer struct {
	Subnets   []subnetItem `xml:"subnetSet>item"`
	NextToken string       `xml:"nextToken,omitempty"`
}

type subnetItem struct {
	ID     string    `xml:"subnetId"`
	ARN    string    `xml:"subnetArn"`
	State  string    `xml:"state"`
	Owner  string    `xml:"ownerId"`
	VPC    string    `xml:"vpcId"`
	CIDR   string    `xml:"cidrBlock"`
	Free   int64     `xml:"availableIpAddressCount"`
	Zone   string    `xml:"availabilityZone"`
	ZoneID string    `xml:"availabilityZoneId"`
	Tags   []tagItem `xml:"tagSet>item"`
}

func (s *Sim) describeSubnets(f *form) (any, error) {
	attrs := attributes[*subnet]{
		tags: func(n *subnet) map[string]string { return n.Tags },
		by: map[string]func(*subnet) []string{
			"subnet-id":            func(n *subnet) []string { return one(n.ID) },
			"vpc-id":               func(*subnet) []string { return one(s.cfg.VPC) },
			"availability-zone":    func(n *subnet) []string { return one(n.Zone) },
			"availability-zone-id": func(n *subnet) []string { return one(s.zoneIDs[n.Zone]) },
			"cidr-block":           func(n *subnet) []string { return one(n.CIDR) },
			"state":                func(*subnet) []string { return one("available") },
			"owner-id":             func(*subnet) []string { return one(s.cfg.AccountID) },
		},
	}
	ids, fs := f.list("SubnetId"), filters(f, attrs)
	all, err := selected(s.subnets, ids, "InvalidSubnetID.NotFound", "subnet ID")
	if err != nil {
		return nil, err
	}
	all = keep(all, func(n *subnet) bool { return attrs.passes(n, fs) })
	all, token := page(f, all, func(n *subnet) string { return n.ID }, pageBounds{5, 1000, 1000})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := subnetsAnswer{NextToken: token}
	for _, n := range all {
		out.Subnets = append(out.Subnets, subnetItem{
			ID: n.ID, ARN: s.arn("ec2", "subnet/"+n.ID), State: "available", Owner: s.cfg.AccountID, VPC: s.cfg.VPC,
			CIDR: n.CIDR, Free: n.free(), Zone: n.Zone, ZoneID: s.zoneIDs[n.Zone], Tags: tagItems(n.Tags),
		})
	}
	return out, nil
}

type securityGroupsAnswer struct {
	Groups    []groupItem `xml:"securityGroupInfo>item"`
	NextToken string      `xml:"nextToken,omitempty"`
}

type groupItem struct {
	Owner       string    `xml:"ownerId"`
	ID          string    `xml:"groupId"`
	Name        string    `xml:"groupName"`
	Description string    `xml:"groupDescription"`
	VPC         string    `xml:"vpcId"`
	Tags        []tagItem `xml:"tagSet>item"`
}

func (s *Sim) describeSecurityGroups(f *form) (any, error) {
	attrs := attributes[SecurityGroup]{
		tags: func(g SecurityGroup) map[string]string { return g.Tags },
		by: map[string]func(SecurityGroup) []string{
			"group-id":   func(g SecurityGroup) []string { return one(g.ID) },
			"group-name": func(g SecurityGroup) []string { return one(g.Name) },
			"vpc-id":     func(SecurityGroup) []string { return one(s.cfg.VPC) },
			"owner-id":   func(SecurityGroup) []string { return one(s.cfg.AccountID) },
		},
	}
	ids, fs := f.list("GroupId"), filters(f, attrs)
	groups := map[string]SecurityGroup{}
	for _, g := range s.cfg.SecurityGroups {
		groups[g.ID] = g
	}
	all, err := selected(groups, ids, "InvalidGroup.NotFound", "security group")
	if err != nil {
		return nil, err
	}
	all = keep(all, func(g SecurityGroup) bool { return attrs.passes(g, fs) })
	all, token := page(f, all, func(g SecurityGroup) string { return g.ID }, pageBounds{5, 1000, 1000})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := securityGroupsAnswer{NextToken: token}
	for _, g := range all {
		out.Groups = append(out.Groups, groupItem{s.cfg.AccountID, g.ID, g.Name, g.Name, s.cfg.VPC, tagItems(g.Tags)})
	}
	return out, nil
}

// selected are the things with these ids, or all, sorted by id; an unknown id is an error.
func selected[T any](m map[string]T, ids []string, code, what string) ([]T, error) {
	if len(ids) == 0 {
		ids = sortedKeys(m)
	}
	ids = append([]string(nil), ids...)
	sort.Strings(ids)
	var out []T
	for i, id := range ids {
		if i > 0 && ids[i-1] == id {
			continue
		}
		v, ok := m[id]
		if !ok {
			return nil, fail(code, "The %s '%s' does not exist", what, id)
		}
		out = append(out, v)
	}
	return out, nil
}

func keep[T any](items []T, pass func(T) bool) []T {
	var out []T
	for _, v := range items {
		if pass(v) {
			out = append(out, v)
		}
	}
	return out
}

func sortBy[T any](items []T, key func(T) string) {
	sort.Slice(items, func(i, j int) bool { return key(items[i]) < key(items[j]) })
}

func set(items []string) map[string]bool {
	out := map[string]bool{}
	for _, v := range items {
		out[v] = true
	}
	return out
}

// arn names a resource of this account and region.
func (s *Sim) arn(service, resource string) string {
	return "arn:aws:" + service + ":" + s.cfg.Region + ":" + s.cfg.AccountID + ":" + resource
}
