package loop

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// quiet is a cluster in which nothing changes.
type quiet struct {
	*fakeKube
	state *cluster.State
}

func (q quiet) Observe() (cluster.State, error) { return *q.state, nil }

// BenchmarkPass is one look at 5,000 nodes of ten pods each with nothing to do: what every change in the cluster costs.
func BenchmarkPass(b *testing.B) {
	memory := storetest.New()
	term, err := memory.Campaign(b.Context(), "me")
	if err != nil {
		b.Fatal(err)
	}
	bundled, err := catalog.Bundled()
	if err != nil {
		b.Fatal(err)
	}
	ec2 := cloudtest.New(bundled, time.Now, 0)
	kube := quiet{fakeKube: newFakeKube(), state: &cluster.State{}}
	*kube.state, _ = kube.fakeKube.Observe()
	l, err := New(Config{
		Cluster: "c", Name: "me", Store: memory, Election: memory, Cloud: ec2, Classes: ec2, Market: ec2, Kube: kube,
		Settings: func(s cloud.ClassSpec) instancetype.Settings { return instancetype.Settings{AMIFamily: s.AMIFamily} },
		Log:      slog.New(slog.DiscardHandler), Tracer: tracer(),
	})
	if err != nil {
		b.Fatal(err)
	}
	t := newTerm(l.cfg, &l.hub, term, &handle{})
	for !t.ready || !t.market.Known() {
		if err := t.pass(b.Context()); err != nil {
			b.Fatal(err)
		}
		(<-t.jobs.Results())()
	}
	t.fill(b, kube.state)
	b.ResetTimer()
	for b.Loop() {
		t.agenda.Begin(time.Now())
		t.cluster.Look(context.Background())
		writes, effects := t.decide()
		if writes.Writes() > 0 || len(effects) > 0 {
			b.Fatalf("%d writes and %d effects where nothing is to do", writes.Writes(), len(effects))
		}
	}
}

// fill gives the term 5,000 claims, and the cluster their nodes.
func (t *term) fill(b *testing.B, s *cluster.State) {
	b.Helper()
	pool := &s.Pools[0]
	pool.Requirements = []model.Requirement{
		{Key: labels.CapacityType, Operator: model.In, Values: []string{"on-demand", "spot"}},
		{Key: labels.InstanceFamily, Operator: model.Exists},
		{Key: labels.InstanceCPU, Operator: model.Gt, Values: []string{"1"}},
		{Key: labels.Arch, Operator: model.In, Values: []string{"amd64"}},
	}
	sample := model.Claim{
		NodePool: pool.Name, NodeClass: pool.NodeClass, PoolHash: pool.Hash, ClassHash: s.Classes[0].Spec.Hash,
		State: model.ClaimInitialized, Reached: model.ClaimInitialized, LaunchTime: time.Now(), CreateTime: time.Now(),
	}
	for i := range 5000 {
		c := sample
		c.ID = model.ClaimID(fmt.Sprintf("c%05d", i))
		c.InstanceID, c.ProviderID = "i-"+string(c.ID), "aws:///a/"+string(c.ID)
		r := t.claims.record(&c, cloud.Instance{ID: c.InstanceID, InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand})
		c.LaunchedAs(r.Offering)
		c.Labels, c.Capacity, c.Allocatable = r.Labels, r.Capacity, r.Allocatable
		n := &cluster.Node{
			Name: model.NodeName("n-" + string(c.ID)), ProviderID: c.ProviderID, Ready: true,
			Labels: map[string]string{labels.Claim: string(c.ID), labels.Registered: "true", labels.Initialized: "true"},
		}
		for p := range 10 {
			n.Pods = append(n.Pods, pod(fmt.Sprint(c.ID, "-", p)))
		}
		s.Nodes = append(s.Nodes, n)
		t.registry.Claims[c.ID] = &c
	}
}
