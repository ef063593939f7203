package topology_test

import (
	"fmt"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/topology"
)

func TestShareOf(t *testing.T) {
	web := func(specs ...model.TopologySpread) func(*world) {
		return func(w *world) { w.class("web", func(c *model.PodClass) { c.TopologySpread = specs }) }
	}
	and := func(fs ...func(*world)) func(*world) {
		return func(w *world) {
			for _, f := range fs {
				f(w)
			}
		}
	}
	db := func(w *world) { w.class("db", nil) }
	offered := func(zone string) func(*world) { return func(w *world) { w.offer(zone) } }
	tests := map[string]struct {
		build func(*world)
		pods  int
		want  string
	}{
		"all but the emptiest domain may have the skew more": {web(spread(zone, 1, app("web"))), 10, "[a b] 5 5"},
		"what does not divide is free":                       {web(spread(zone, 1, app("web"))), 11, "[a b] 5 6"},
		"a larger skew leaves more free":                     {web(spread(zone, 3, app("web"))), 10, "[a b] 4 6"},
		"domains that could be bought count":                 {and(web(spread(zone, 1, app("web"))), offered("c")), 10, "[a b c] 3 4"},
		"the skew may be all":                                {web(spread(zone, 2, app("web"))), 2, "[a b] 0 2"},
		"of several labels that counts which binds most":     {web(spread(host, 1, app("web")), spread(zone, 1, app("web"))), 4, "[a b] 2 2"},
		"pods that are there may be where others must go": {and(web(spread(zone, 1, app("web"))), func(w *world) {
			w.bound("web", "n1", 1)
		}), 10, "[] 0 0"},
		"others that count may be anywhere": {and(db, web(spread(zone, 1, app("web", "db")))), 10, "[] 0 0"},
		"others that do not count are none": {and(db, web(spread(zone, 1, app("web")))), 10, "[a b] 5 5"},
		"an empty selector counts no pod":   {web(spread(zone, 1, &model.Selector{})), 10, "[] 0 0"},
		"pods of a DaemonSet come with new nodes": {and(web(spread(zone, 1, app("web", "agent"))), func(w *world) {
			w.class("agent", func(c *model.PodClass) { c.Daemon, c.OwnerKind = true, "DaemonSet" })
			w.s.DaemonSets = []model.DaemonSet{{ID: "ns/agent", Class: "agent"}}
		}), 10, "[] 0 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tt.build(w)
			b := w.build(t)
			counted := make(map[int32]int)
			for _, c := range b.Classes {
				for _, x := range topology.SpreadCounters(b.tally, c) {
					counted[x]++
				}
			}
			share := topology.ShareOf(b.tally, b.class("web"), tt.pods, counted)
			if got := fmt.Sprint(share.Values, share.Least, share.Most); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
