package ec2

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/rights"
)

// validate asks EC2 whether launches of the class are allowed; nil where nothing speaks against them.
func (a *Adapter) validate(ctx context.Context, s cloud.ClassSpec, class cloud.Class) *cloud.Finding {
	places, image := a.likelyPlaces(class)
	key, err := json.Marshal(struct {
		Spec           cloud.ClassSpec
		Places         []rights.Place
		Image, Profile string
		SecurityGroups []cloud.SecurityGroup
		Unknown        time.Time // a launch has told otherwise since
	}{s, places, image.ID, class.InstanceProfile, class.SecurityGroups, a.profiles.UnknownAt(s.InstanceProfile)})
	if err != nil {
		a.log.ErrorContext(ctx, "hash what launches of a class depend on", "class", s.Name, "error", err)
		return nil
	}
	sum := sha256.Sum256(key)
	r := cloud.Request{Claim: "validation", NodePool: "validation", Class: class, Spec: s}
	l := rights.Launch{
		Class: string(s.Name), Profile: s.InstanceProfile, Key: hex.EncodeToString(sum[:]), Tags: a.instanceTags(r), Places: places,
		Make: func(ctx context.Context) (string, error) {
			return a.ensureTemplate(ctx, r, templateGroup{image: image})
		},
		Remove: a.deleteTemplate,
	}
	for _, g := range class.SecurityGroups {
		l.Groups = append(l.Groups, g.ID)
	}
	return a.rights.Check(ctx, l)
}

// likely is how many types are asked about.
const likely = 3

// likelyPlaces are types of several families that one of the class's images boots on, ordinary ones first, each in one of the
// class's subnets.
func (a *Adapter) likelyPlaces(class cloud.Class) ([]rights.Place, cloud.Image) {
	a.mu.Lock()
	types := make([]catalog.Type, 0, len(a.types))
	for _, t := range a.types {
		types = append(types, t)
	}
	a.mu.Unlock()
	if len(types) == 0 {
		types = slices.Clone(a.known.Types)
	}
	rank := func(t catalog.Type) int {
		common := slices.Index([]string{"m5.large", "c5.large", "r5.large", "m6g.large", "c6g.large", "r6g.large", "g4dn.xlarge", "g5.xlarge"}, t.Name)
		if common < 0 {
			return 100
		}
		return common
	}
	slices.SortFunc(types, func(x, y catalog.Type) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.VCPU, y.VCPU), cmp.Compare(x.Name, y.Name))
	})
	// By id: their order by free addresses changes all the time.
	subnets := slices.SortedFunc(slices.Values(class.Subnets), func(x, y cloud.Subnet) int { return cmp.Compare(x.ID, y.ID) })
	for _, image := range class.Images {
		var out []rights.Place
		for _, t := range types {
			there := slices.DeleteFunc(slices.Clone(subnets), func(n cloud.Subnet) bool { return !slices.Contains(t.Zones, n.Zone) })
			if len(there) > 0 && image.Boots(t) {
				out = append(out, rights.Place{InstanceType: t.Name, Subnet: there[len(out)%len(there)].ID})
			}
			if len(out) == likely {
				return out, image
			}
		}
		if len(out) > 0 {
			return out, image
		}
	}
	return nil, cloud.Image{}
}
