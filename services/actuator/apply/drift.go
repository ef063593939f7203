package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// staleAfter is how old a claim must be for its instance type to be missed: what EC2 lists wavers, and a claim that was
// just launched was launched as something that is sold.
const staleAfter = time.Hour

// Present is what a claim is compared with to see whether it has drifted. From what is not known nothing drifts: a nil
// pointer, an empty list.
type Present struct {
	Now      time.Time
	Pool     *cluster.Pool
	Class    *Class
	Node     *cluster.Node
	Instance *Instance
	// Offerings are what EC2 sells; MarketKnown says that they are all, so that what is not among them is not sold.
	Offerings   map[OfferingKey]Offering
	MarketKnown bool
}

// Drift says how a claim is no longer what its pool and class ask for; the zero Reason when it still is. Its message
// begins with Karpenter's word for it, and does not change as long as the drift is the same.
//
// The checks are in Karpenter's order, the pool's before the provider's; the first that fails answers.
func Drift(c model.Claim, p Present) model.Reason {
	if c.State < model.StateLaunched {
		return model.Reason{}
	}
	if p.Pool != nil && p.Pool.NotReady == (model.Reason{}) {
		for _, check := range [...]func(model.Claim, Present) string{poolDrift, requirementsDrift, typeDrift} {
			if message := check(c, p); message != "" {
				return model.Reason{Code: model.ReasonDrifted, Message: message, Subject: "nodepool/" + c.NodePool}
			}
		}
	}
	if p.Class != nil {
		for _, check := range [...]func(model.Claim, Present) string{classDrift, imageDrift, subnetDrift, groupDrift} {
			if message := check(c, p); message != "" {
				return model.Reason{Code: model.ReasonDrifted, Message: message, Subject: "ec2nodeclass/" + c.NodeClass}
			}
		}
	}

	return model.Reason{}
}

// SameVersion says whether two hashes can be compared: both are there, and made by the same version of the hash. Those
// of later versions than the first begin with their version and "-".
func SameVersion(a, b string) bool {
	version := func(hash string) string {
		v, _, found := strings.Cut(hash, "-")
		if !found {
			return ""
		}

		return v
	}

	return a != "" && b != "" && version(a) == version(b)
}

// Rehash is what a claim's hash should be once its pool or class has the present one: that, where the two can't be
// compared because this program makes hashes in another way than the one that made the claim. So an upgrade replaces
// no nodes.
func Rehash(hash, present string) string {
	if hash == "" || present == "" || SameVersion(hash, present) {
		return hash
	}

	return present
}

func poolDrift(c model.Claim, p Present) string {
	if !SameVersion(c.PoolHash, p.Pool.Hash) || c.PoolHash == p.Pool.Hash {
		return ""
	}

	return fmt.Sprintf("NodePoolDrifted: the template of node pool %s has changed since the launch: its hash is %s, was %s",
		c.NodePool, p.Pool.Hash, c.PoolHash)
}

// requirementsDrift compares labels, not the requirements of the launch: a requirement that the node meets anyway is no
// drift.
func requirementsDrift(c model.Claim, p Present) string {
	for _, r := range p.Pool.Requirements {
		value, present := label(c, p, r.Key)
		if Allows(r, value, present) || (!present && r.Key == labelZoneID) { // AWS does not tell every zone's id
			continue
		}
		has := "has no such label"
		if present {
			has = "has " + value
		}

		return fmt.Sprintf("RequirementsDrifted: node pool %s requires %s, the node %s", c.NodePool, Describe(r), has)
	}

	return ""
}

// label looks a label up: as the claim promised it, as the node has it, or as this version of Kerf knows the type, for
// keys that the version that launched it did not.
func label(c model.Claim, p Present, key string) (string, bool) {
	if v, ok := lookup(c.Labels, key); ok {
		return v, true
	}
	if p.Node != nil {
		if v, ok := p.Node.Labels[key]; ok {
			return v, true
		}
	}
	if p.Class == nil {
		return "", false
	}

	return lookup(p.Class.Shapes[c.Launched.InstanceType].Labels, key)
}

// lookup searches labels that are sorted by key.
func lookup(sorted []model.Label, key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(sorted, key, func(l model.Label, key string) int { return strings.Compare(l.Key, key) })
	if !ok {
		return "", false
	}

	return sorted[i].Value, true
}

// typeDrift says that the claim could not be launched again as what it is: EC2 has no such type any more, or sells it
// neither there nor so. That it has none for the moment is no drift. What is reserved is sold as long as the type is
// sold on demand: only the room in the reservation ends.
func typeDrift(c model.Claim, p Present) string {
	is := c.Launched
	if is.InstanceType == "" || p.Class == nil || len(p.Class.Shapes) == 0 || !p.MarketKnown || p.Now.Sub(c.CreateTime) < staleAfter {
		return ""
	}
	if _, ok := p.Class.Shapes[is.InstanceType]; !ok {
		return fmt.Sprintf("InstanceTypeNotFound: %s is not among the %d types that EC2NodeClass %s can launch", is.InstanceType,
			len(p.Class.Shapes), c.NodeClass)
	}
	_, sold := p.Offerings[OfferingKey{is.InstanceType, is.Zone, is.CapacityType}]
	if !sold && is.CapacityType == model.Reserved {
		_, sold = p.Offerings[OfferingKey{is.InstanceType, is.Zone, model.OnDemand}]
	}
	if sold {
		return ""
	}

	return fmt.Sprintf("InstanceTypeNotFound: %s is not sold as %s in %s any more", is.InstanceType, is.CapacityType, is.Zone)
}

func classDrift(c model.Claim, p Present) string {
	if !SameVersion(c.ClassHash, p.Class.Hash) || c.ClassHash == p.Class.Hash {
		return ""
	}

	return fmt.Sprintf("NodeClassDrifted: EC2NodeClass %s has changed since the launch: its hash is %s, was %s",
		c.NodeClass, p.Class.Hash, c.ClassHash)
}

// imageDrift says that the class no longer boots the claim's image. The class has one image for each kind of type, so
// one that it has not for this type it has not at all; to go by the list is safe where labels don't tell kinds apart.
func imageDrift(c model.Claim, p Present) string {
	image := c.ImageID
	if image == "" && p.Instance != nil {
		image = p.Instance.ImageID
	}
	has := func(i Image) bool { return i.ID == image }
	if image == "" || len(p.Class.Images) == 0 || slices.ContainsFunc(p.Class.Images, has) {
		return ""
	}
	now := "nothing"
	shape := p.Class.Shapes[c.Launched.InstanceType]
	boots := func(i Image) bool {
		return !slices.ContainsFunc(i.Requirements, func(r model.Requirement) bool {
			value, present := lookup(shape.Labels, r.Key)

			return !Allows(r, value, present)
		})
	}
	if i := slices.IndexFunc(p.Class.Images, boots); i >= 0 {
		now = p.Class.Images[i].ID
	}

	return fmt.Sprintf("AMIDrift: the node boots %s; EC2NodeClass %s boots %s with %s now, one of %d images",
		image, c.NodeClass, c.Launched.InstanceType, now, len(p.Class.Images))
}

func subnetDrift(_ model.Claim, p Present) string {
	if p.Instance == nil || p.Instance.SubnetID == "" || len(p.Class.Subnets) == 0 ||
		slices.Contains(p.Class.Subnets, p.Instance.SubnetID) {
		return ""
	}

	return fmt.Sprintf("SubnetDrift: the instance is in %s, which is not among the class's %d subnets", p.Instance.SubnetID,
		len(p.Class.Subnets))
}

func groupDrift(_ model.Claim, p Present) string {
	if p.Instance == nil || len(p.Instance.SecurityGroups) == 0 || len(p.Class.SecurityGroups) == 0 ||
		slices.Equal(p.Instance.SecurityGroups, p.Class.SecurityGroups) {
		return ""
	}

	return fmt.Sprintf("SecurityGroupDrift: the instance has %s, the class selects %s",
		strings.Join(p.Instance.SecurityGroups, ", "), strings.Join(p.Class.SecurityGroups, ", "))
}

// drift is what the state says of the claim.
func (v *verifier) drift(c model.Claim) model.Reason {
	p := Present{Now: v.state.Now, Offerings: v.state.Offerings, MarketKnown: v.state.MarketKnown}
	if pool, ok := v.state.Pools[c.NodePool]; ok {
		p.Pool = &pool
	}
	if class, ok := v.state.Classes[c.NodeClass]; ok {
		p.Class = &class
	}
	if node, ok := v.state.Nodes[c.ID]; ok {
		p.Node = &node
	}
	if instance, ok := v.state.Instances[c.ID]; ok {
		p.Instance = &instance
	}

	return Drift(c, p)
}

// drifted says that the claim has drifted: it was found so before and nothing has cleared it, or it is so now.
func (v *verifier) drifted(c model.Claim) bool {
	return c.Drifted != (model.Reason{}) || v.drift(c) != (model.Reason{})
}
