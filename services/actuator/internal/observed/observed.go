// Package observed is what the cluster and EC2 showed last: nodes, pools and classes from Kubernetes' caches, instances
// from EC2. It decides nothing. Start reading at Cluster and Instances.
package observed

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/core/model"
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
}

// NewCluster makes a look at nothing.
func NewCluster(k cluster.Cluster, a *agenda.Agenda, log *slog.Logger) *Cluster {
	return &Cluster{kube: k, agenda: a, log: log, nodes: map[string][]*cluster.Node{}}
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
	c.State, c.Known = state, true
	clear(c.nodes)
	for i := range state.Nodes {
		if n := state.Nodes[i]; n.ProviderID != "" {
			c.nodes[n.ProviderID] = append(c.nodes[n.ProviderID], n)
		}
	}
}

// Node is the claim's node: the one with its provider id. Where two nodes claim one instance it is not known which is
// true, and none is.
func (c *Cluster) Node(claim *model.Claim) *cluster.Node {
	if found := c.nodes[claim.ProviderID]; len(found) == 1 {
		return found[0]
	}
	return nil
}

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

// Deleted says that a user has deleted the claim's object.
func (c *Cluster) Deleted(id model.ClaimID) bool {
	_, deleted := slices.BinarySearch(c.DeletedClaims, id)
	return deleted
}

// Instances are what EC2 showed last. They belong to the owner of the jobs.
type Instances struct {
	cloud  cloud.Cloud
	agenda *agenda.Agenda
	jobs   *jobs.Pool
	log    *slog.Logger
	// poll and fastPoll are how often EC2 is asked: the latter while an instance is about to come or to go.
	poll, fastPoll time.Duration

	// All is the last list, and Listed when it was asked for; zero before the first.
	All    []cloud.Instance
	Listed time.Time
	// byClaim are those of All with a claim's tag.
	byClaim map[model.ClaimID][]cloud.Instance
	// now says to ask without waiting.
	now bool
}

// Intervals are how often a list is asked for: Fast while instances come or go, else Poll.
type Intervals struct{ Poll, Fast time.Duration }

// NewInstances makes a list that was never asked for.
func NewInstances(c cloud.Cloud, a *agenda.Agenda, j *jobs.Pool, log *slog.Logger, every Intervals) *Instances {
	return &Instances{cloud: c, agenda: a, jobs: j, log: log, poll: every.Poll, fastPoll: every.Fast}
}

// PollNow asks for a new list without waiting: something has changed in EC2.
func (s *Instances) PollNow() { s.now = true }

// Poll asks for a new list when it is time to.
func (s *Instances) Poll(ctx context.Context, expecting bool) {
	every := s.poll
	if expecting {
		every = s.fastPoll
	}
	if !s.now && !s.Listed.IsZero() && !s.agenda.Due(s.Listed.Add(every)) {
		return
	}
	var got []cloud.Instance
	var asked time.Time
	s.jobs.Do(ctx, jobs.Job{
		Key: "instances", RepeatAfter: min(s.fastPoll, time.Second), First: time.Second, Most: 30 * time.Second,
		Run: func(ctx context.Context) (err error) {
			asked = time.Now()
			got, err = s.cloud.Instances(ctx)
			return err
		},
		Done: func(err error) {
			if err != nil {
				s.log.WarnContext(ctx, "list instances", "error", err)
				return
			}
			s.All, s.Listed, s.now = got, asked, false
			s.byClaim = make(map[model.ClaimID][]cloud.Instance, len(got))
			for _, i := range got {
				s.byClaim[i.Claim] = append(s.byClaim[i.Claim], i)
			}
		},
	})
}

// Of are the instances with the claim's tag.
func (s *Instances) Of(id model.ClaimID) []cloud.Instance { return s.byClaim[id] }

// ClaimOf is the claim that the instance's tag names; "" when it is not shown or has no tag.
func (s *Instances) ClaimOf(instance string) model.ClaimID {
	i := slices.IndexFunc(s.All, func(x cloud.Instance) bool { return x.ID == instance })
	if i < 0 {
		return ""
	}
	return s.All[i].Claim
}

// Alive is the claim's instance while it is alive; nil when EC2 does not show it, or shows that it ends.
func (s *Instances) Alive(c *model.Claim) *cloud.Instance {
	own := s.byClaim[c.ID]
	i := slices.IndexFunc(own, func(i cloud.Instance) bool { return i.ID == c.InstanceID && i.State.Alive() })
	if i < 0 {
		return nil
	}
	return &own[i]
}
