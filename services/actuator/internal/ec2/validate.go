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
	"github.com/kerf-dev/kerf/services/core/model"
)

// validate asks EC2 whether launches of the class are allowed; nil where nothing speaks against them.
func (a *Adapter) validate(ctx context.Context, s cloud.ClassSpec, class cloud.Class) *cloud.Finding {
	likely := likelyLaunches(class, a.likelyTypes(s))
	key, err := json.Marshal(struct {
		Spec           cloud.ClassSpec
		Likely         []likelyLaunch
		Profile        string
		SecurityGroups []cloud.SecurityGroup
		Unknown        time.Time // a launch has told otherwise since
	}{s, likely, class.InstanceProfile, class.SecurityGroups, a.profiles.UnknownAt(s.InstanceProfile)})
	if err != nil {
		a.log.ErrorContext(ctx, "hash what launches of a class depend on", "class", s.Name, "error", err)
		return nil
	}
	sum := sha256.Sum256(key)
	r := cloud.Request{Claim: "validation", NodePool: "validation", Class: class, Spec: s}
	l := rights.Launch{
		Class: string(s.Name), Profile: s.InstanceProfile, Key: hex.EncodeToString(sum[:]), Tags: a.instanceTags(r), Remove: a.deleteTemplate,
	}
	for _, x := range likely {
		l.Kinds = append(l.Kinds, rights.Kind{
			Places: x.Places,
			Make: func(ctx context.Context) (string, error) {
				return a.ensureTemplate(ctx, r, templateGroup{image: x.image})
			},
		})
	}
	for _, g := range class.SecurityGroups {
		l.Groups = append(l.Groups, g.ID)
	}
	return a.rights.Check(ctx, l)
}

// most is how many types are asked about with an image, and how many images.
const most = 3

// likelyTypes are the types to ask about, best first: those that the class's pools allow, or where that is none
// ordinary ones.
func (a *Adapter) likelyTypes(s cloud.ClassSpec) []catalog.Type {
	a.mu.Lock()
	types := make([]catalog.Type, 0, len(a.types))
	for _, t := range a.types {
		types = append(types, t)
	}
	a.mu.Unlock()
	if len(types) == 0 {
		types = slices.Clone(a.known.Types)
	}
	first := []model.TypeName{"m5.large", "c5.large", "r5.large", "m6g.large", "c6g.large", "r6g.large", "g4dn.xlarge", "g5.xlarge"}
	if len(s.Likely) > 0 {
		first = s.Likely
		types = slices.DeleteFunc(types, func(t catalog.Type) bool { return !slices.Contains(first, model.TypeName(t.Name)) })
	}
	rank := func(t catalog.Type) int {
		if i := slices.Index(first, model.TypeName(t.Name)); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(types, func(x, y catalog.Type) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.VCPU, y.VCPU), cmp.Compare(x.Name, y.Name))
	})
	return types
}

// likelyLaunch is a launch from an image, as types that boot it, each in a subnet.
type likelyLaunch struct {
	Image  string
	Places []rights.Place
	image  cloud.Image
}

// likelyLaunches are launches from several of the class's images, that of the best type first, each as types in the class's
// subnets.
func likelyLaunches(class cloud.Class, types []catalog.Type) []likelyLaunch {
	// By id: their order by free addresses changes all the time.
	subnets := slices.SortedFunc(slices.Values(class.Subnets), func(x, y cloud.Subnet) int { return cmp.Compare(x.ID, y.ID) })
	var out []likelyLaunch
	for _, t := range types {
		there := slices.DeleteFunc(slices.Clone(subnets), func(n cloud.Subnet) bool { return !slices.Contains(t.Zones, n.Zone) })
		image, boots := class.ImageFor(t)
		if len(there) == 0 || !boots {
			continue
		}
		i := slices.IndexFunc(out, func(l likelyLaunch) bool { return l.Image == image.ID })
		if i < 0 && len(out) < most {
			out, i = append(out, likelyLaunch{Image: image.ID, image: image}), len(out)
		}
		if i >= 0 && len(out[i].Places) < most {
			n := len(out[i].Places)
			out[i].Places = append(out[i].Places, rights.Place{InstanceType: t.Name, Subnet: there[n%len(there)].ID})
		}
	}
	return out
}
