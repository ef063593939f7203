package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// newClaim is how old a claim must be before it counts that its instance type is not sold: catalogs, prices and claims come
// by different ways.
const newClaim = time.Hour

// DriftFacts are what a claim is compared with. What is not known (nil, "", an empty list) is no drift.
type DriftFacts struct {
	Claim *model.Claim
	// Pool is the claim's, Class the one that it was launched from.
	Pool  *model.NodePool
	Class *model.NodeClass
	// Label looks up a label of the node by its present key (labels.Normal): as the claim says, else as the node has it.
	Label func(key string) (value string, ok bool)
	// HasType says whether the class's catalog lists an instance type, Sold whether it is sold, be it available now or not.
	HasType func(model.TypeName) bool
	Sold    func(t model.TypeName, zone string, c model.CapacityType) bool
	// Instance is what EC2 says about the instance, and Wanted what the class selects now.
	Instance, Wanted Placement
}

// Placement is where an instance is attached, and what it boots. The image in Wanted is not looked at: the class has
// several. Nor is the reservation there, which the class lists.
type Placement struct {
	ImageID        string
	Reservation    string // "" for none, or while the class may not have been asked since
	Subnets        []string
	SecurityGroups []string
}

// Drifted says how a claim no longer is what its pool or class asks for. What says how nodes behave, and not what they
// are, is no drift: weight, limits, disruption settings, replicas. The message begins with Karpenter's word for the drift
// and stays the same as long as the drift does.
func Drifted(f DriftFacts, now time.Time) (model.Reason, time.Time) {
	if f.Claim.State < model.ClaimLaunched {
		return model.Reason{}, time.Time{}
	}
	var until time.Time
	if f.Pool != nil && f.Pool.NotReady.Code != model.CodeNodePoolInvalid && f.Pool.NotReady.Code != model.CodeBeingDeleted {
		subject := "nodepool/" + string(f.Pool.Name)
		for _, check := range []func(*DriftFacts) string{poolChanged, requirementsMiss} {
			if text := check(&f); text != "" {
				return model.Reason{Code: model.CodeDrifted, Message: text, Subject: subject}, time.Time{}
			}
		}
		if text := typeGone(&f); text != "" {
			if until = f.Claim.CreateTime.Add(newClaim); !until.After(now) {
				return model.Reason{Code: model.CodeDrifted, Message: text, Subject: subject}, time.Time{}
			}
		}
	}
	if f.Class == nil {
		return model.Reason{}, until
	}
	for _, check := range []func(*DriftFacts) string{classChanged, imageGone, subnetGone, groupsChanged, reservationGone} {
		if text := check(&f); text != "" {
			return model.Reason{Code: model.CodeDrifted, Message: text, Subject: "ec2nodeclass/" + string(f.Class.Name)}, time.Time{}
		}
	}
	return model.Reason{}, until
}

// SameVersion says whether two hashes can be compared: both are known, and made by the same version of the hash. Hashes of
// later versions than the first begin with their version and "-".
func SameVersion(a, b string) bool {
	return a != "" && b != "" && hashVersion(a) == hashVersion(b)
}

func hashVersion(hash string) string {
	before, _, found := strings.Cut(hash, "-")
	if !found {
		return ""
	}
	return before
}

// Rehash is what a claim's hash should become once its pool or class has the present one: that, where the two can't be
// compared because another version of Kerf made the claim. So an upgrade replaces no nodes.
func Rehash(hash, present string) string {
	if hash == "" || present == "" || SameVersion(hash, present) {
		return hash
	}
	return present
}

func changed(hash, present string) bool { return SameVersion(hash, present) && hash != present }

func poolChanged(f *DriftFacts) string {
	if !changed(f.Claim.PoolHash, f.Pool.Hash) {
		return ""
	}
	return fmt.Sprintf("NodePoolDrifted: the template of node pool %s has changed since the launch", f.Pool.Name)
}

// requirementsMiss compares labels, not the requirements of the launch: a requirement that the node meets anyway is no
// drift.
func requirementsMiss(f *DriftFacts) string {
	if f.Label == nil {
		return ""
	}
	for _, r := range require.NewSet(f.Pool.Requirements...) {
		value, present := f.Label(r.Key)
		switch {
		case r.Matches(value, present):
		case present:
			return fmt.Sprintf("RequirementsDrifted: node pool %s asks for %s, and the node has %s", f.Pool.Name, r, value)
		case r.Key != labels.ZoneID: // AWS does not tell every zone's id
			return fmt.Sprintf("RequirementsDrifted: node pool %s asks for %s, and the node has no such label", f.Pool.Name, r)
		}
	}
	return ""
}

// typeGone says that the claim could not be launched again as what it is. That there is no capacity for the moment is
// no drift, nor is a zone that is not known. What is reserved counts as sold as long as it is sold on demand: only the
// reservation has ended.
func typeGone(f *DriftFacts) string {
	c := f.Claim
	if c.InstanceType == "" || f.Class == nil || !f.Class.NotReady.OK() {
		return ""
	}
	if f.HasType != nil && !f.HasType(c.InstanceType) {
		return fmt.Sprintf("InstanceTypeNotFound: the catalogue of node class %s has no %s any more", f.Class.Name, c.InstanceType)
	}
	if f.HasType == nil || f.Sold == nil || c.Zone == "" || f.Sold(c.InstanceType, c.Zone, c.CapacityType) ||
		(c.CapacityType == model.Reserved && f.Sold(c.InstanceType, c.Zone, model.OnDemand)) {
		return ""
	}
	return fmt.Sprintf("InstanceTypeNotFound: %s is not sold as %s in %s any more", c.InstanceType, c.CapacityType, c.Zone)
}

func classChanged(f *DriftFacts) string {
	if !changed(f.Claim.ClassHash, f.Class.Hash) {
		return ""
	}
	return fmt.Sprintf("NodeClassDrifted: EC2NodeClass %s has changed since the launch", f.Class.Name)
}

// imageGone says that the class no longer boots the claim's image: it has one image for each kind of instance type, so one
// that it does not list for this type it does not list at all.
func imageGone(f *DriftFacts) string {
	image := f.Claim.ImageID
	if image == "" {
		image = f.Instance.ImageID
	}
	if image == "" || !f.Class.NotReady.OK() || len(f.Class.Images) == 0 ||
		slices.ContainsFunc(f.Class.Images, func(i model.MachineImage) bool { return i.ID == image }) {
		return ""
	}
	return fmt.Sprintf("AMIDrift: EC2NodeClass %s no longer launches %s", f.Class.Name, image)
}

func subnetGone(f *DriftFacts) string {
	if len(f.Instance.Subnets) == 0 || len(f.Wanted.Subnets) == 0 || slices.Contains(f.Wanted.Subnets, f.Instance.Subnets[0]) {
		return ""
	}
	return fmt.Sprintf("SubnetDrift: the instance is in %s, which is not among the class's %s", f.Instance.Subnets[0],
		count(len(f.Wanted.Subnets), "subnet"))
}

// reservationGone says that the instance is in a capacity reservation that the class no longer selects, and others may
// need. One that has ended is no drift: EC2 shows the instance without it.
func reservationGone(f *DriftFacts) string {
	id := f.Instance.Reservation
	if id == "" || id != f.Claim.ReservationID || !f.Class.NotReady.OK() || slices.Contains(f.Class.Reservations, id) {
		return ""
	}
	return fmt.Sprintf("CapacityReservationDrift: the instance is in %s, which EC2NodeClass %s does not select any more", id, f.Class.Name)
}

// groupsChanged compares security groups, which come sorted.
func groupsChanged(f *DriftFacts) string {
	has, wants := f.Instance.SecurityGroups, f.Wanted.SecurityGroups
	if len(has) == 0 || len(wants) == 0 || slices.Equal(has, wants) {
		return ""
	}
	return fmt.Sprintf("SecurityGroupDrift: the instance has %s, the class selects %s", strings.Join(has, ", "), strings.Join(wants, ", "))
}
