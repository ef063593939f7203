package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Outline is how many pods of each class are to have new nodes in each segment. That with pods of no class is nil.
type Outline struct{ pods map[position]int }

type position struct {
	class   *view.Class
	segment *market.Segment
}

// Pods is how many pods of a class it has in a segment.
func (o *Outline) Pods(c *view.Class, segment *market.Segment) int {
	if o == nil {
		return 0
	}
	return o.pods[position{c, segment}]
}

// located is some pods of a class on nodes of an option.
type located struct {
	class  *view.Class
	option *market.Option
	pods   int
}

// mostOutlines is how often an outline is tried that has more pods in a domain than spread allows.
const mostOutlines = 2

// manyItems is up to how many items an outline may have all of the default work. Of more it has manyItemsWork: such a
// plan knows many rules that an outline does not, so that more work gains little.
const manyItems, manyItemsWork = 128, 150_000_000

// mostOutlined is up to how many pods an outline is looked for whatever they cost: with more of them there are many nodes
// in each domain, and what whole ones cost matters less. Of more it is where they cost more than is proven by one in
// wideOutline.
const mostOutlined, wideOutline = 1024, 35

// Outline is where the pods of some claims, all of one tier, are on the nodes that would be bought for them under the
// rules that a bound knows: each domain has what required spread makes it have at least, and the rest is free. It knows
// the price of whole nodes, where a look at one pod after the other knows that of shares. It has those that are in some
// segment, and is nil where it costs no less than the claims.
func (by *Buyer) Outline(claims []*NewClaim, tally *topology.Tally, segment func(*view.Class, *market.Option) *market.Segment) *Outline {
	inSegment := func(it market.Item) bool { return it.Segment != nil }
	if !slices.ContainsFunc(claims, func(b *NewClaim) bool { return slices.ContainsFunc(b.Items, inSegment) }) {
		return nil
	}
	defer tally.Revert(tally.Mark())
	sharing := newSharing(by.m)
	sharing.uncount(tally, claims)
	var pods []int
	cost, of, tier := int64(0), by.spanOf(claims), by.m.TierOf(claims[0].Base.Pool)
	for _, b := range claims {
		if by.m.TierOf(b.Base.Pool) != tier {
			return nil
		}
		cost += b.Best().Price + by.Overhead
		for _, it := range b.Items {
			pods = append(pods, it.Pods...)
		}
	}
	if len(pods) > mostOutlined && !by.isFar(pods, of, cost, sharing) {
		return nil
	}
	sharing.nests = true
	for range mostOutlines {
		p := by.shared(pods, of, cost, sharing)
		if p.Loose = true; p.Work == 0 && len(p.Items) > manyItems {
			p.Work = manyItemsWork
		}
		s := by.memory.Solve(&p.Problem)
		if s.Cost >= cost {
			return nil
		}
		if sharing.follow(p.portions(s)) {
			break
		}
	}
	var out *Outline
	for _, x := range sharing.known {
		if in := segment(x.class, x.option); in != nil {
			if out == nil {
				out = &Outline{make(map[position]int)}
			}
			out.pods[position{x.class, in}] += x.pods
		}
	}
	return out
}

// isFar says that some pods cost so much more than is proven that an outline is worth its work; where nodes are taken to
// cost more than by the policy, what was said before that.
func (by *Buyer) isFar(pods []int, of span, cost int64, sharing *sharing) bool {
	if by.Overhead == by.m.World.Policy.PerNodeOverhead {
		proof := by.boundOf(pods, of, cost, sharing, 0)
		by.far = cost-proof.Price > cost/wideOutline
	}
	return by.far
}

// portions are where a solution has pods.
func (p *formulation) portions(s optimise.Solution) []located {
	var out []located
	for _, pattern := range s.Patterns {
		o := p.options[p.bins[pattern.Bin]]
		for range pattern.Copies {
			for _, c := range pattern.Counts {
				for _, it := range p.takePods(nil, c.Item, c.Pods) {
					out = append(out, located{it.Class, o, len(it.Pods)})
				}
			}
		}
	}
	return out
}
