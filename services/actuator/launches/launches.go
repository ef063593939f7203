// Package launches decides which claims are launched by one call, and which of its instances is whose, as pure values.
//
// Equal claims cost one call instead of many. The call is stored with each of them before it is made, so that any
// leader can repeat it, and whose an instance is follows from what is stored: an instance that a claim has stays that
// claim's, and the others go to the claims that have none, in order. Start reading at Together, then Owners.
package launches

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Most is how many claims one call launches at most: what it takes from a subnet, and loses with an answer, has a bound.
const Most = 500

// Token is the launch's name for EC2: the same for every repetition of an attempt, by every leader. It is of the cluster
// too, because EC2 keeps tokens per account.
func Token(clusterName string, c *model.Claim) string {
	if c.Launch != "" {
		return c.Launch
	}
	return token(clusterName, c)
}

func token(clusterName string, claims ...*model.Claim) string {
	sum := sha256.New()
	_, _ = fmt.Fprint(sum, clusterName) // a hash takes everything
	for _, c := range claims {
		_, _ = fmt.Fprintf(sum, "\x00%s\x00%d", c.ID, c.Attempt)
	}
	return "kerf-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// Together names the call that launches each claim with others, where there are claims that ask EC2 for the same. All
// of them are about to be launched, and sorted by id.
func Together(clusterName string, claims []*model.Claim) {
	groups := map[string][]*model.Claim{}
	var order []string
	for _, c := range claims {
		key, err := asks(c)
		if err != nil {
			continue // it is launched alone
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	for _, key := range order {
		for part := range slices.Chunk(groups[key], Most) {
			if len(part) == 1 {
				continue
			}
			name := token(clusterName, part...)
			for _, c := range part {
				c.Launch, c.LaunchSize = name, len(part)
			}
		}
	}
}

// asks is what EC2 is asked for, beside the claim's name.
func asks(c *model.Claim) (string, error) {
	out, err := json.Marshal(struct {
		Pool          model.PoolName
		Class         model.NodeClassName
		Offerings     []model.RankedOffering
		Labels        model.Labels
		Taints        []model.Taint
		StartupTaints []model.Taint
		EFA           bool
		Enclaves      bool
	}{
		c.NodePool, c.NodeClass, c.Offerings, c.Labels, c.Taints, c.StartupTaints,
		c.Requests.Value(instancetype.EFA) > 0, c.Requests.Value(instancetype.NitroSandbox) > 0,
	})
	return string(out), err
}

// Owners says whose an instance is that has no claim's tag. It remembers what it said, because a claim has an instance
// only once that is stored.
type Owners struct {
	claims   map[model.ClaimID]*model.Claim
	promised map[string]model.ClaimID // by instance
}

// NewOwners makes owners of no instance. The map has all claims that there are; it is the caller's, and is read only.
func NewOwners(claims map[model.ClaimID]*model.Claim) *Owners {
	return &Owners{claims: claims, promised: map[string]model.ClaimID{}}
}

// Stored is what is known of claims.
type Stored struct {
	// Of is the claim that has an instance; "" for none.
	Of func(providerID string) model.ClaimID
	// Members are the claims of a call, by id.
	Members func(launch string) []*model.Claim
}

// Resolve names the claims of instances that a call made for several. What none of these is without stays
// without a claim. Instances go in order of their id, whatever the list's.
func (o *Owners) Resolve(list []cloud.Instance, stored Stored) {
	var free []int
	for k := range list {
		i := &list[k]
		if i.Claim != "" || i.Launch == "" {
			continue
		}
		i.Untagged = true
		if i.Claim = stored.Of(i.ProviderID); i.Claim == "" {
			i.Claim = o.promise(i)
		}
		if i.Claim == "" && i.State.Alive() {
			free = append(free, k)
		}
	}
	slices.SortFunc(free, func(a, b int) int { return cmp.Compare(list[a].ID, list[b].ID) })
	without := map[string][]*model.Claim{}
	for _, k := range free {
		i := &list[k]
		wait, known := without[i.Launch]
		if !known {
			wait = o.without(stored.Members(i.Launch))
		}
		if len(wait) > 0 {
			i.Claim = wait[0].ID
			o.promised[i.ID] = i.Claim
			wait = wait[1:]
		}
		without[i.Launch] = wait
	}
}

// promise is the claim that an instance was given to, if that still waits for it.
func (o *Owners) promise(i *cloud.Instance) model.ClaimID {
	id, ok := o.promised[i.ID]
	if !ok {
		return ""
	}
	if c := o.claims[id]; c == nil || c.State.Ended() || c.Launch != i.Launch || c.InstanceID != "" && c.InstanceID != i.ID {
		delete(o.promised, i.ID)
		return ""
	}
	return id
}

// without are the claims that neither have an instance nor were given one: those that wait for one first, then those
// that are about to end, and have to end theirs.
func (o *Owners) without(members []*model.Claim) []*model.Claim {
	taken := map[model.ClaimID]bool{}
	for _, id := range o.promised {
		taken[id] = true
	}
	out := slices.DeleteFunc(slices.Clone(members), func(c *model.Claim) bool {
		return c.InstanceID != "" || c.State.Ended() || taken[c.ID]
	})
	slices.SortStableFunc(out, func(a, b *model.Claim) int { return cmp.Compare(a.State, b.State) })
	return out
}

// Forget forgets what was said of instances that are claims' by now.
func (o *Owners) Forget() {
	for id, claim := range o.promised {
		if c := o.claims[claim]; c == nil || c.State.Ended() || c.InstanceID != "" {
			delete(o.promised, id)
		}
	}
}
