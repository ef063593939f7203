package loop

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/model"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
)

// quiet is a cluster in which nothing changes.
type quiet struct {
	*fakeKube
	state cluster.State
}

func (q quiet) Observe() (cluster.State, error) { return q.state, nil }

// BenchmarkPass is one look at 5,000 nodes of ten pods each with nothing to do: what every change in the cluster costs.
func BenchmarkPass(b *testing.B) {
	memory := storetest.New()
	term, err := memory.Campaign(b.Context(), "me")
	if err != nil {
		b.Fatal(err)
	}
	ec2 := cloudtest.New(nil, time.Now, 0)
	kube := quiet{fakeKube: newFakeKube()}
	l, err := New(Config{
		Cluster: "c", Name: "me", Store: memory, Election: memory, Cloud: ec2, Classes: ec2, Market: ec2, Kube: kube,
		Settings: func(cloud.ClassSpec) instancetype.Settings { return instancetype.Settings{} },
		Log:      slog.New(slog.DiscardHandler), Tracer: tracer(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ld := newLeader(l, term, &handle{})
	for i := range 5000 {
		id := fmt.Sprintf("c%05d", i)
		n := cluster.Node{
			Name: "n-" + id, ProviderID: "aws:///a/" + id, Ready: true,
			Labels: map[string]string{lifecycle.LabelClaim: id, lifecycle.LabelRegistered: "true", lifecycle.LabelInitialized: "true"},
		}
		for p := range 10 {
			n.Pods = append(n.Pods, pod(fmt.Sprint(id, "-", p)))
		}
		kube.state.Nodes = append(kube.state.Nodes, n)
		c := storetest.Sample().PutClaims[0]
		c.ID, c.State, c.ProviderID, c.Disruption, c.Drifted = model.ClaimID(id), model.StateInitialized, n.ProviderID, "", model.Reason{}
		ld.claims[c.ID] = &c
	}
	ld.seen, ld.observed, ld.now, ld.listed = kube.state, true, time.Now(), time.Time{}
	b.ResetTimer()
	for b.Loop() {
		ld.cfg.Kube = kube
		ld.observe(context.Background())
		writes, effects := ld.decide()
		if writes.Writes() > 0 || len(effects) > 0 {
			b.Fatalf("%d writes and %d effects where nothing is to do", writes.Writes(), len(effects))
		}
	}
}
