// Package topology knows the rules that tie pods to other pods: topology spread, pod affinity, pod anti-affinity and its
// inverse, as kube-scheduler filters by them; and the soft forms of the same, as weights.
//
// Rules are compiled once from a snapshot; a Tally counts pods on sites (hosts, claims of this plan, cells of claims yet
// to be cut) and answers whether one more pod may go to a site. It knows neither room nor prices; labels and taints it
// judges by package fit. Start reading with New, then Tally.Allows.
package topology

import (
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Rules are the constraints of all classes that have pods, compiled. They are not changed after New, and safe for
// concurrent use.
type Rules struct {
	w *view.World
}

// New compiles the rules of a world. The cost is linear in classes, pods, and the pairs of a rule and a kind of pod that
// it selects.
func New(w *view.World) *Rules { return &Rules{w: w} }

// Tied says whether it matters to any required rule where pods of a class go: they have such a rule themselves, or one of
// a class that has pods counts them or keeps them away.
func (r *Rules) Tied(*view.Class) bool { return false }

// Checked says whether Allows can ever refuse pods of a class: they have a required rule, or one keeps them away. What is
// Tied but not Checked is only counted by others: it may go anywhere, but should go before those that count it.
func (r *Rules) Checked(*view.Class) bool { return false }

// Soft says whether a class has preferred pod affinity, preferred anti-affinity or soft spread, its own or by default.
func (r *Rules) Soft(*view.Class) bool { return false }

// Keys are the node labels other than kubernetes.io/hostname on which it matters to required rules where pods of a class
// go, sorted: those of its own rules, and of rules that count the pods or keep them away.
func (r *Rules) Keys(*view.Class) []string { return nil }

// SoftKeys are the node labels other than kubernetes.io/hostname of a class's own soft rules, sorted.
func (r *Rules) SoftKeys(*view.Class) []string { return nil }

// OneNode says whether a class has required pod affinity on kubernetes.io/hostname: it needs a node with partners.
func (r *Rules) OneNode(*view.Class) bool { return false }

// NodeRule is a rule within one new node: where any pod of Trigger is, there are at most Most pods of Counted altogether,
// those of Trigger included where they are among them. Trigger and Counted are places in the list given to NodeRules,
// sorted.
type NodeRule struct {
	Trigger []int
	Counted []int
	Most    int
}

// NodeRules lists the rules on kubernetes.io/hostname that decide which pods of some classes may share a new node: spread
// (a new node is a domain with no pods, so a node holds at most maxSkew) and anti-affinity. Required affinity on
// the hostname is no such rule, see OneNode. A node that obeys them can be filled in any order.
func (r *Rules) NodeRules([]*view.Class) []NodeRule { return nil }

// Tally counts the pods on sites. It follows the view that it was made with: what is placed on a host there is counted
// here, and View.Fork and View.Revert go for both. It belongs to one goroutine.
type Tally struct {
	hosts []*Site
}

// Site is where pods may go: a host, a cell or a claim.
type Site struct{}

// Mark is a state of a Tally to go back to.
type Mark int

// NewTally counts the pods that are bound to the hosts of a view, those in skip (places in World.Pods) aside: pods that
// will not stay where they are. skip may be nil. The view is followed from then on.
func NewTally(_ *Rules, v *view.View, _ func(pod int) bool) *Tally {
	t := &Tally{}
	for range v.Hosts {
		t.hosts = append(t.hosts, &Site{})
	}
	return t
}

// Offer makes known what could be bought: the domains of such nodes count for the minimum of spread, as if the nodes were
// there. Offers that do not differ in what any rule looks at are cheap. All offers are made before anything else is asked.
func (t *Tally) Offer(*fit.Place) {}

// Host is the site of a host of the view.
func (t *Tally) Host(i int) *Site { return t.hosts[i] }

// Cell is a site for pods that go to new nodes which are not cut yet, and may be many: rules on kubernetes.io/hostname
// are not judged there. The places are what the nodes may be; pin are labels that go before theirs.
func (t *Tally) Cell(_ model.Labels, _ ...*fit.Place) *Site { return &Site{} }

// Claim is the site of one node of this plan, with a hostname of its own. The places are what it may be; pin are labels
// that go before theirs. From then on its domains exist, until Revert.
func (t *Tally) Claim(_ model.Labels, _ ...*fit.Place) *Site { return &Site{} }

// Narrow says that a claim's node may be less than it was thought. The pods on it are counted again.
func (t *Tally) Narrow(*Site, model.Labels, ...*fit.Place) {}

// Allows says whether one more pod of a class may go to a site, whatever nodes that are on offer are bought later. It is
// false where the site is undecided on a label that matters to the class.
func (t *Tally) Allows(*view.Class, *Site) bool { return true }

// Why is Allows with the reason; the zero Reason means that the pod may go there.
func (t *Tally) Why(*view.Class, *Site) model.Reason { return model.Reason{} }

// Room is how many pods of a class, up to limit, may go to a site one after the other.
func (t *Tally) Room(_ *view.Class, _ *Site, limit int) int { return limit }

// AllowsReal is Allows where only those domains count for the minimum of spread that exist or that a claim of this plan
// opens. Who relies on it must Freeze the class, and make no claim after that Opens.
func (t *Tally) AllowsReal(*view.Class, *Site) bool { return true }

// Freeze remembers that a pod of the class was placed by AllowsReal: no later claim may open a domain that its spread
// would count.
func (t *Tally) Freeze(*view.Class) {}

// Opens says whether a claim opened, when it was made, a domain that was frozen; such a claim must be reverted.
func (t *Tally) Opens(*Site) bool { return false }

// Add counts n pods of a class on a site; fewer than none takes pods away. Pods on hosts are mostly added by View.Place,
// which does it by itself; Add on a host is for pods that leave it.
func (t *Tally) Add(*view.Class, *Site, int) {}

// Mark marks the present state.
func (t *Tally) Mark() Mark { return 0 }

// Revert takes back everything since the mark: Add, Claim, Narrow and Freeze.
func (t *Tally) Revert(Mark) {}

// Wish is the weight of a class's soft rules that a site would not meet, had one more pod gone there; 0 means that all
// are met.
func (t *Tally) Wish(*view.Class, *Site) int32 { return 0 }

// OnHost is Why for a host of the view; it makes a Tally the fit.Peers of a fit.Matcher.
func (t *Tally) OnHost(c *view.Class, host int) model.Reason { return t.Why(c, t.hosts[host]) }

// RoomOn is Room for a host of the view.
func (t *Tally) RoomOn(c *view.Class, host, limit int) int { return t.Room(c, t.hosts[host], limit) }
