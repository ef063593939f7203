package loop

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/model"
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
	benchWorld(ld)
	kube.state.Pools = []cluster.Pool{{NodePool: model.NodePool{
		Name: "default", NodeClass: "default", Hash: "1",
		Requirements: []model.Requirement{
			{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"on-demand", "spot"}},
			{Key: "karpenter.k8s.aws/instance-key-07", Operator: model.Exists},
			{Key: "karpenter.k8s.aws/instance-key-23", Operator: model.Gt, Values: []string{"2"}},
			{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}},
		},
	}}}
	for i := range 5000 {
		id := fmt.Sprintf("c%05d", i)
		n := cluster.Node{
			Name: model.NodeName("n-" + id), ProviderID: "aws:///a/" + id, Ready: true,
			Labels: map[string]string{lifecycle.LabelClaim: id, lifecycle.LabelRegistered: "true", lifecycle.LabelInitialized: "true"},
		}
		for p := range 10 {
			n.Pods = append(n.Pods, pod(fmt.Sprint(id, "-", p)))
		}
		kube.state.Nodes = append(kube.state.Nodes, n)
		c := storetest.Sample().PutClaims[0]
		c.ID, c.State, c.ProviderID, c.Disruption, c.Drifted = model.ClaimID(id), model.ClaimInitialized, n.ProviderID, "", model.Reason{}
		c.Labels = ld.world.classes["default"].catalogue.shapes["m5.large"].Labels
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

// benchWorld gives the leader a class with one type of forty labels, and what the type costs.
func benchWorld(l *leader) {
	shape := apply.Shape{}
	for i := range 40 {
		shape.Labels = append(shape.Labels, model.Label{Key: fmt.Sprintf("karpenter.k8s.aws/instance-key-%02d", i), Value: "3"})
	}
	shape.Labels = append(shape.Labels, model.Label{Key: "karpenter.sh/capacity-type", Value: "spot"}, model.Label{Key: "kubernetes.io/arch", Value: "amd64"})
	c := &class{resolved: time.Now(), catalogue: &catalogue{shapes: map[model.TypeName]apply.Shape{"m5.large": shape}}, zones: map[string]string{"us-east-1a": ""}}
	c.spec.Hash = "2"
	c.class.Images = []cloud.Image{{ID: "ami-1", Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}}}}}
	l.world.classes["default"] = c
	l.world.typesAt, l.world.spotAt = time.Now(), time.Now()
	l.world.prices = map[apply.OfferingKey]apply.Offering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot}: {}}
}
