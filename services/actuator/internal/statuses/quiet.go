package statuses

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// quietEvery is the least time between two looks at which nodes are quiet: pods come and go all the time.
const quietEvery = time.Second

// Quiet knows when a pod last came to a node, or went, as far as the cluster was seen, and which claims' nodes may be
// consolidated by that. It belongs to the goroutine that makes the passes. The zero Quiet has seen nothing.
type Quiet struct {
	list  []*cluster.Node
	nodes map[model.NodeName]moved
	// stale says that something has changed that the answer depends on; until is when time alone changes it.
	stale     bool
	of        any
	until, at time.Time
	ids       map[model.ClaimID]bool
	version   int
}

type moved struct {
	node *cluster.Node
	at   time.Time
}

// Update looks again where something has changed. Of is what claims and pools are made of, as counters of changes.
func (q *Quiet) Update(a *agenda.Agenda, c *observed.Cluster, claims []*model.Claim, of any) {
	q.look(c.Nodes, a.Now())
	if of != q.of {
		q.of, q.stale = of, true
	}
	if !q.stale && (q.until.IsZero() || !a.Due(q.until)) || !a.Due(q.at.Add(quietEvery)) {
		return
	}
	q.stale, q.at, q.until = false, a.Now(), time.Time{}
	ids := map[model.ClaimID]bool{}
	for _, claim := range claims {
		yes, until := q.consolidatable(c, claim, a.Now())
		if yes {
			ids[claim.ID] = true
		}
		q.until = rules.Earliest(q.until, until)
	}
	a.Wake(q.until)
	if len(ids) != len(q.ids) || slices.ContainsFunc(claims, func(c *model.Claim) bool { return ids[c.ID] != q.ids[c.ID] }) {
		q.ids, q.version = ids, q.version+1
	}
}

// Consolidatable are the claims whose nodes may be consolidated as far as their pool and their pods' rest go; callers
// must not change it. Version counts its changes.
func (q *Quiet) Consolidatable() map[model.ClaimID]bool { return q.ids }

// Version counts the changes of Consolidatable.
func (q *Quiet) Version() int { return q.version }

func (q *Quiet) consolidatable(c *observed.Cluster, claim *model.Claim, now time.Time) (yes bool, until time.Time) {
	if claim.State != model.ClaimInitialized || claim.Disruption != "" {
		return false, time.Time{}
	}
	pool := c.Pool(claim.NodePool)
	if pool == nil || pool.NotReady.Code == model.CodeNodePoolInvalid || pool.Replicas != nil {
		return false, time.Time{}
	}
	why, until := rules.ConsolidateAfter(pool.ConsolidateAfter, claim.InitializeTime, q.nodes[claim.Node].at, now)
	return why.OK(), until
}

// look notes of which nodes pods have come or gone.
func (q *Quiet) look(nodes []*cluster.Node, now time.Time) {
	if len(nodes) == len(q.list) && (len(nodes) == 0 || &nodes[0] == &q.list[0]) {
		return
	}
	q.list, q.stale = nodes, true
	if q.nodes == nil {
		q.nodes = make(map[model.NodeName]moved, len(nodes))
	}
	for _, n := range nodes {
		was, known := q.nodes[n.Name]
		switch {
		case was.node == n:
			continue
		case !known:
			was.at = newest(n.Pods)
		case !samePods(was.node.Pods, n.Pods):
			was.at = now
		}
		was.node = n
		q.nodes[n.Name] = was
	}
	if len(q.nodes) == len(nodes) {
		return
	}
	there := make(map[model.NodeName]bool, len(nodes))
	for _, n := range nodes {
		there[n.Name] = true
	}
	maps.DeleteFunc(q.nodes, func(name model.NodeName, _ moved) bool { return !there[name] })
}

// newest is when the last pod began of a node that was not seen before.
func newest(pods []cluster.Pod) time.Time {
	var at time.Time
	for i := range pods {
		if counts(&pods[i]) && pods[i].StartTime.After(at) {
			at = pods[i].StartTime
		}
	}
	return at
}

// samePods says that the same pods are there, and none has begun to go, or has ended. Those of DaemonSets do not count.
// Both lists are sorted by name.
func samePods(a, b []cluster.Pod) bool {
	for {
		for len(a) > 0 && !counts(&a[0]) {
			a = a[1:]
		}
		for len(b) > 0 && !counts(&b[0]) {
			b = b[1:]
		}
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0].UID != b[0].UID || a[0].Finished != b[0].Finished || a[0].DeletionTime.IsZero() != b[0].DeletionTime.IsZero() {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

func counts(p *cluster.Pod) bool { return !p.Daemon && !p.Mirror }
