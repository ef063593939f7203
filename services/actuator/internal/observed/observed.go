// Package observed is what the cluster and EC2 showed last: nodes, pools and classes from Kubernetes' caches, instances
// from EC2. It decides nothing. Start reading at Cluster and Instances.
package observed

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// retry is how soon a cluster that could not be observed is looked at again.
const retry = time.Second

// Cluster is one look at the cluster: all of a pass decides by the same one.
type Cluster struct {
	kube   cluster.Cluster
	agenda *agenda.Agenda
	log    *slog.Logger

	cluster.State
	// Known says that State is a look: the caches have filled once. A node that is not in an empty cache is not gone.
	Known bool
	// nodes are those of State with a provider id, by it.
	nodes map[string][]*cluster.Node
	// missing are the claims whose node should be there and is not, and since when.
	missing map[model.ClaimID]time.Time
	// touched are the nodes that have come, changed or gone since Touched was asked, as they were and as they are.
	touched []*cluster.Node
	// silences are when the API server showed no nodes.
	silences silences
	// policy counts the changes of pools and classes, objects those of the claims' objects.
	policy, objects int
}

// NewCluster makes a look at nothing.
func NewCluster(k cluster.Cluster, a *agenda.Agenda, log *slog.Logger) *Cluster {
	return &Cluster{kube: k, agenda: a, log: log, nodes: map[string][]*cluster.Node{}, missing: map[model.ClaimID]time.Time{}}
}

// Look takes a new look. Where that fails the last one stands.
func (c *Cluster) Look(ctx context.Context) {
	state, err := c.kube.Observe()
	if err != nil {
		if c.Known || !errors.Is(err, cluster.ErrNotReady) {
			c.log.WarnContext(ctx, "observe the cluster", "error", err)
		}
		c.agenda.Wake(c.agenda.Now().Add(retry))
		return
	}
	c.compareNodes(state.Nodes)
	if !same(c.Pools, state.Pools) && !reflect.DeepEqual(c.Pools, state.Pools) ||
		!same(c.Classes, state.Classes) && !reflect.DeepEqual(c.Classes, state.Classes) {
		c.policy++
	}
	if !same(c.ClaimObjects, state.ClaimObjects) && !slices.Equal(c.ClaimObjects, state.ClaimObjects) ||
		!slices.Equal(c.DeletedClaims, state.DeletedClaims) {
		c.objects++
	}
	if last := c.State.Silent; !last.IsZero() && !last.Equal(state.Silent) {
		until := c.agenda.Now()
		if !state.Silent.IsZero() { // another has begun meanwhile
			until = state.Silent
		}
		c.silences.end(span{last, until})
	}
	c.State, c.Known = state, true
}

// SilentSince is how long the API server has shown no nodes since a time.
func (c *Cluster) SilentSince(t time.Time) time.Duration {
	var present span
	if !c.Silent.IsZero() {
		present = span{c.Silent, c.agenda.Now()}
	}
	return c.silences.since(t, present)
}

// same says that two lists are one.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// compareNodes goes through the nodes of the last look and those of the next, both by name, for what has changed.
func (c *Cluster) compareNodes(next []*cluster.Node) {
	last := c.Nodes
	if same(last, next) {
		return
	}
	for len(last) > 0 || len(next) > 0 {
		switch {
		case len(next) == 0 || len(last) > 0 && last[0].Name < next[0].Name:
			c.unindex(last[0])
			last = last[1:]
		case len(last) == 0 || next[0].Name < last[0].Name:
			c.index(next[0])
			next = next[1:]
		default:
			if last[0] != next[0] {
				c.unindex(last[0])
				c.index(next[0])
			}
			last, next = last[1:], next[1:]
		}
	}
}

func (c *Cluster) index(n *cluster.Node) {
	c.touched = append(c.touched, n)
	if n.ProviderID != "" {
		c.nodes[n.ProviderID] = append(c.nodes[n.ProviderID], n)
	}
}

func (c *Cluster) unindex(n *cluster.Node) {
	c.touched = append(c.touched, n)
	left := slices.DeleteFunc(c.nodes[n.ProviderID], func(x *cluster.Node) bool { return x == n })
	if c.nodes[n.ProviderID] = left; len(left) == 0 {
		delete(c.nodes, n.ProviderID)
	}
}

// Touched are the nodes that have come, changed or gone since it was last asked, as they were and as they are.
func (c *Cluster) Touched() []*cluster.Node {
	out := c.touched
	c.touched = nil
	return out
}

// Policy counts the changes of pools and classes.
func (c *Cluster) Policy() int { return c.policy }

// Objects counts the changes of which objects of claims there are.
func (c *Cluster) Objects() int { return c.objects }

// Node is the claim's node: the one with its provider id. Where several say that they are its instance, it is the one
// that it joined as; before it has joined it is not known which is true, and none is.
func (c *Cluster) Node(claim *model.Claim) *cluster.Node {
	found := c.nodes[claim.ProviderID]
	if len(found) == 1 {
		return found[0]
	}
	if i := slices.IndexFunc(found, func(n *cluster.Node) bool { return n.Name == claim.Node }); i >= 0 {
		return found[i]
	}
	return nil
}

// Registered says that Kerf has let a node with the provider id open, for some claim.
func (c *Cluster) Registered(providerID string) bool {
	return slices.ContainsFunc(c.nodes[providerID], func(n *cluster.Node) bool {
		return n.Labels[labels.Registered] == "true" && n.Labels[labels.Claim] != ""
	})
}

// Missing is since when the cluster is seen to have no node of a claim that has joined and is not being ended; zero
// where it has one, or several. Where many are missing at once, the reason says so.
func (c *Cluster) Missing(claim *model.Claim) (time.Time, model.Reason) {
	if claim.State < model.ClaimRegistered || claim.State > model.ClaimDraining || len(c.nodes[claim.ProviderID]) > 0 {
		delete(c.missing, claim.ID)
		return time.Time{}, model.Reason{}
	}
	since, known := c.missing[claim.ID]
	if !known {
		since = c.agenda.Now()
		c.missing[claim.ID] = since
	}
	return since, rules.MissingGuard(len(c.missing), len(c.nodes)+len(c.missing))
}

// MissingClaims are the claims of which Missing said so last, in no order.
func (c *Cluster) MissingClaims() iter.Seq[model.ClaimID] { return maps.Keys(c.missing) }

// Named is the node of that name; nil when there is none.
func (c *Cluster) Named(name model.NodeName) *cluster.Node {
	i, ok := slices.BinarySearchFunc(c.Nodes, name, func(n *cluster.Node, name model.NodeName) int { return cmp.Compare(n.Name, name) })
	if !ok {
		return nil
	}
	return c.Nodes[i]
}

// Pool is the pool of that name; nil when there is none.
func (c *Cluster) Pool(name model.PoolName) *cluster.Pool {
	i, ok := slices.BinarySearchFunc(c.Pools, name, func(p cluster.Pool, name model.PoolName) int { return cmp.Compare(p.Name, name) })
	if !ok {
		return nil
	}
	return &c.Pools[i]
}

// Deleted says that a user has deleted the claim's object, or the claim's pool while the claim was on its way and had
// no object yet: with a pool go the objects that it owns, and this one would have no owner.
func (c *Cluster) Deleted(claim *model.Claim) bool {
	if _, deleted := slices.BinarySearch(c.DeletedClaims, claim.ID); deleted {
		return true
	}
	_, there := slices.BinarySearch(c.ClaimObjects, claim.ID)
	return c.Known && claim.State.InFlight() && !there && c.Pool(claim.NodePool) == nil
}
