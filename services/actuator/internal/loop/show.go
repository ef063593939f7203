package loop

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/actuator/internal/outbox"
	"github.com/kerf-dev/kerf/services/actuator/internal/statuses"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// show shows what is new to subscribers.
func (t *term) show() {
	if t.ready && (t.classes.News() || t.agenda.Changed()) {
		t.agenda.Shown()
		t.registry.NextRevision()
		t.hub.publish(t.inventory())
	}
}

func (t *term) inventory() *inventory.Inventory {
	inv := &inventory.Inventory{Revision: t.registry.Revision(), Offerings: t.market.Offerings(), Claims: t.registry.Sorted()}
	used := map[model.CatalogID]*model.Catalog{}
	for _, c := range t.classes.All() {
		class, catalog := c.Inventory()
		inv.Classes = append(inv.Classes, class)
		if catalog != nil {
			used[catalog.ID] = catalog
		}
	}
	for _, id := range slices.Sorted(maps.Keys(used)) {
		inv.Catalogs = append(inv.Catalogs, used[id])
	}
	inv.Notices = slices.SortedFunc(maps.Values(t.registry.Notices), func(a, b *model.Notice) int { return cmp.Compare(a.ID, b.ID) })
	inv.Disruptions = slices.SortedFunc(maps.Values(t.registry.Disruptions),
		func(a, b *model.DisruptionRecord) int { return cmp.Compare(a.ID, b.ID) })
	return inv
}

// made is what a view is made of, as counters of changes.
type made struct{ writes, policy, objects, classes, quiet int }

// publish shows Kubernetes' users what they do not see yet.
func (t *term) publish(ctx context.Context) {
	of := made{t.registry.Writes(), t.cluster.Policy(), t.cluster.Objects(), t.classes.Version(), 0}
	t.quiet.Update(t.agenda, t.cluster, t.registry.Sorted(), of)
	of.quiet = t.quiet.Version()
	if !t.cluster.Known || !t.ready || !t.outbox.Due(of) {
		return
	}
	v := outbox.View{
		Claims: t.registry.Sorted(), Consolidatable: t.quiet.Consolidatable(), Objects: t.cluster.ClaimObjects,
		Pools: statuses.Pools(t.cluster.Pools, t.registry.Sorted(), t.classes.Get),
	}
	for name, c := range t.classes.All() {
		switch {
		case !c.Leaving:
			v.Classes = append(v.Classes, c.Status())
		case c.Released:
			v.ForgetClasses = append(v.ForgetClasses, name)
		}
	}
	t.outbox.Publish(ctx, of, v, func(p cluster.Publication) {
		for _, name := range p.ForgetClasses {
			if c := t.classes.Get(name); c != nil {
				c.Released = false // if its object is still there, another look is due
			}
		}
	})
}

// releaseNodes takes Kerf's finalizer off nodes that their user deletes and that no claim looks after any more. Before
// everything was asked for, claims that the store has lost are not taken up again yet: what they drain would be gone at
// once.
func (t *term) releaseNodes(ctx context.Context) {
	if !t.ready {
		return
	}
	for i := range t.cluster.Nodes {
		n := t.cluster.Nodes[i]
		if !n.Terminating {
			continue
		}
		id := model.ClaimID(n.Labels[labels.Claim])
		if id == "" {
			continue
		}
		if c := t.registry.Claims[id]; c != nil && !c.State.Ended() {
			continue
		}
		no, key := false, "node/release/"+string(n.Name)
		t.jobs.Do(ctx, jobs.Job{
			Key: key, Kind: jobs.Kube, First: time.Second, Most: time.Minute, RepeatAfter: 10 * time.Second,
			Run: func(ctx context.Context) error {
				return ignoreNotFound(t.cfg.Kube.UpdateNode(ctx, cluster.NodeChange{Node: n.Name, UID: n.UID, Finalizer: &no}))
			},
			Done: t.jobs.LogFailure(ctx, t.cfg.Log, key, "release node", slog.Any("node", n.Name)),
		})
	}
}
