package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// whole is a state in which everything is known of the claim "old", and nothing has drifted.
func whole() State {
	s := state()
	s.MarketKnown = true
	editClaim(&s, func(c *model.Claim) {
		c.PoolHash, c.ClassHash, c.ImageID, c.CreateTime = "h", "ch", "ami-1", at(-600)
		c.Labels = model.Labels{
			{Key: labels.CapacityType, Value: "on-demand"},
			{Key: "kubernetes.io/arch", Value: "amd64"},
			{Key: "node.kubernetes.io/instance-type", Value: "m5.large"},
			{Key: "team", Value: "red"},
			{Key: labels.Zone, Value: "a"},
		}
	})
	editClass(&s, func(c *Class) {
		c.Images = []model.MachineImage{
			{ID: "ami-2", Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"arm64"}}}},
			{ID: "ami-1", Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}}}},
		}
		c.Subnets, c.SecurityGroups = []string{"subnet-a", "subnet-b"}, []string{"sg-1", "sg-2"}
	})
	s.Instances = map[model.ClaimID]rules.Placement{"old": {ImageID: "ami-1", Subnets: []string{"subnet-a"}, SecurityGroups: []string{"sg-1", "sg-2"}}}
	return s
}

func requires(r ...model.Requirement) func(*State) {
	return func(s *State) { editPool(s, func(p *cluster.Pool) { p.Requirements = append(p.Requirements, r...) }) }
}

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

func unsold(s *State) {
	for _, zone := range []string{"a", "b"} {
		delete(s.Market.(prices), OfferingKey{"m5.large", zone, model.OnDemand, ""})
	}
}

func TestDrift(t *testing.T) {
	for name, c := range map[string]struct {
		edit []func(*State)
		word string // "" for no drift
		says string
	}{
		"a claim that is as its pool and class ask for": {},
		"another template": {
			edit: []func(*State){func(s *State) { editPool(s, func(p *cluster.Pool) { p.Hash = "h2" }) }}, word: "NodePoolDrifted", says: "has changed",
		},
		"a claim without a hash": {edit: []func(*State){func(s *State) { editClaim(s, func(c *model.Claim) { c.PoolHash = "" }) }}},
		"a hash of another version": {
			edit: []func(*State){func(s *State) { editPool(s, func(p *cluster.Pool) { p.Hash = "kerf2-h" }) }},
		},
		"an invalid pool": {edit: []func(*State){func(s *State) {
			editPool(s, func(p *cluster.Pool) { p.Hash, p.NotReady.Code = "h2", model.CodeNodePoolInvalid })
		}}},
		"a pool that is gone":                          {edit: []func(*State){func(s *State) { delete(s.Pools, "default") }}},
		"a requirement that the node meets anyway":     {edit: []func(*State){requires(in(labels.Zone, "a"), in("team", "red"))}},
		"a requirement that the node does not meet":    {edit: []func(*State){requires(in(labels.Zone, "b"))}, word: "RequirementsDrifted", says: "the node has a"},
		"a requirement of a label that it has not":     {edit: []func(*State){requires(in("tier", "web"))}, word: "RequirementsDrifted", says: "the node has no such label"},
		"a requirement that the node meets by a label": {edit: []func(*State){requires(in("tier", "web")), nodeLabel("tier", "web")}},
		"the claim's requirement counts before the node's label": {
			edit: []func(*State){requires(in("team", "blue")), nodeLabel("team", "blue")}, word: "RequirementsDrifted",
		},
		"a requirement that forbids what it has not": {
			edit: []func(*State){requires(model.Requirement{Key: "tier", Operator: model.NotIn, Values: []string{"web"}}, model.Requirement{Key: "tier", Operator: model.DoesNotExist})},
		},
		"a type that the pool no longer allows": {
			edit: []func(*State){func(s *State) {
				editPool(s, func(p *cluster.Pool) { p.Requirements[0].Values = []string{"c5.large"} })
			}},
			word: "RequirementsDrifted", says: "the node has m5.large",
		},
		"a zone's id that no one knows": {edit: []func(*State){requires(in(labels.ZoneID, "use1-az1"))}},
		"a type that is not sold":       {edit: []func(*State){unsold}, word: "InstanceTypeNotFound", says: "as on-demand in a"},
		"a type that is sold elsewhere": {
			edit: []func(*State){func(s *State) { delete(s.Market.(prices), OfferingKey{"m5.large", "a", model.OnDemand, ""}) }}, word: "InstanceTypeNotFound",
		},
		"a type that there is none of lately": {edit: []func(*State){func(s *State) { reprice(s, "m5.large", "a", Offering{UnavailableUntil: at(9)}) }}},
		"a type that is sold as spot":         {edit: []func(*State){unsold, spot}, word: "InstanceTypeNotFound"},
		"a spot node of it": {
			edit: []func(*State){unsold, spot, launched(model.RankedOffering{InstanceType: "m5.large", Zone: "b", CapacityType: model.Spot})},
		},
		"a type that is reserved":                        {edit: []func(*State){launched(model.RankedOffering{InstanceType: "m5.large", Zone: "a", CapacityType: model.Reserved})}},
		"a type that is reserved and unsold":             {edit: []func(*State){unsold, launched(model.RankedOffering{InstanceType: "m5.large", Zone: "a", CapacityType: model.Reserved})}, word: "InstanceTypeNotFound"},
		"a type that is not sold, of a young claim":      {edit: []func(*State){unsold, func(s *State) { bornAt(s, at(-59)) }}},
		"a type that is not sold, as far as one can see": {edit: []func(*State){unsold, func(s *State) { s.MarketKnown = false }}},
		"a type that the class can't launch": {
			edit: []func(*State){func(s *State) {
				editClass(s, func(c *Class) { delete(c.Shapes, "m5.large") })
			}},
			word: "InstanceTypeNotFound", says: "has no m5.large any more",
		},
		"another class": {
			edit: []func(*State){func(s *State) { editClass(s, func(c *Class) { c.Hash = "ch2" }) }}, word: "NodeClassDrifted", says: "EC2NodeClass default has changed",
		},
		"a class that is gone":            {edit: []func(*State){func(s *State) { delete(s.Classes, "default") }}},
		"a class that is not known":       {edit: []func(*State){func(s *State) { editClass(s, func(c *Class) { c.Images, c.Subnets, c.SecurityGroups = nil, nil, nil }) }}},
		"an image of another kind":        {edit: []func(*State){func(s *State) { editClaim(s, func(c *model.Claim) { c.ImageID = "ami-2" }) }}},
		"an image that is not booted":     {edit: []func(*State){image("ami-0")}, word: "AMIDrift", says: "EC2NodeClass default no longer launches ami-0"},
		"an image that EC2 tells":         {edit: []func(*State){image(""), seen(rules.Placement{ImageID: "ami-0"})}, word: "AMIDrift"},
		"an image that EC2 does not tell": {edit: []func(*State){image(""), seen(rules.Placement{})}},
		"no image for the type": {
			edit: []func(*State){image("ami-0"), func(s *State) { editClass(s, func(c *Class) { c.Images = c.Images[:1] }) }},
			word: "AMIDrift",
		},
		"another subnet":               {edit: []func(*State){seen(rules.Placement{Subnets: []string{"subnet-c"}})}, word: "SubnetDrift", says: "subnet-c"},
		"other security groups":        {edit: []func(*State){seen(rules.Placement{SecurityGroups: []string{"sg-1"}})}, word: "SecurityGroupDrift", says: "has sg-1, the class selects sg-1, sg-2"},
		"an instance not seen":         {edit: []func(*State){func(s *State) { s.Instances = nil }}},
		"the pool answers first":       {edit: []func(*State){image("ami-0"), requires(in(labels.Zone, "b")), func(s *State) { editPool(s, func(p *cluster.Pool) { p.Hash = "h2" }) }}, word: "NodePoolDrifted"},
		"a claim that is not launched": {edit: []func(*State){image("ami-0"), inState(model.ClaimLaunching)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := whole()
			for _, edit := range c.edit {
				edit(&s)
			}
			v := &verifier{state: s}
			got := v.drift(s.Claims["old"])
			if c.word == "" {
				if got != (model.Reason{}) {
					t.Errorf("%+v, want no drift", got)
				}
				return
			}
			if got.Code != model.CodeDrifted || got.Subject == "" || !strings.HasPrefix(got.Message, c.word+": ") || !strings.Contains(got.Message, c.says) {
				t.Errorf("%+v, want %s that says %q", got, c.word, c.says)
			}
			v.state.Now = v.state.Now.Add(time.Hour)
			if again := v.drift(s.Claims["old"]); again != got {
				t.Errorf("an hour later it says %+v, which would be written again", again)
			}
		})
	}
}

func nodeLabel(key, value string) func(*State) {
	return func(s *State) { editNode(s, func(n *cluster.Node) { n.Labels = map[string]string{key: value} }) }
}

func image(id string) func(*State) {
	return func(s *State) { editClaim(s, func(c *model.Claim) { c.ImageID = id }) }
}

func seen(i rules.Placement) func(*State) { return func(s *State) { s.Instances["old"] = i } }

func launched(o model.RankedOffering) func(*State) {
	return func(s *State) { editClaim(s, func(c *model.Claim) { c.LaunchedAs(o) }) }
}

func spot(s *State) {
	s.Market.(prices)[OfferingKey{"m5.large", "b", model.Spot, ""}] = Offering{Price: 1}
}
