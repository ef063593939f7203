package loop

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/store"
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

// BenchmarkPass is what passes cost in clusters of so many nodes with ten pods each: one that finds nothing new, one in
// which a node's pods have changed, one that looks at all claims, one while nodes drift, and a plan of one claim that
// is checked.
func BenchmarkPass(b *testing.B) {
	for name, event := range map[string]func(*testing.B, *term, *cluster.State, int){
		"nothing": func(*testing.B, *term, *cluster.State, int) {},
		"pod": func(_ *testing.B, t *term, s *cluster.State, i int) {
			n := *s.Nodes[i%len(s.Nodes)]
			n.Pods = slices.Clone(n.Pods)
			n.Pods[0].Ready = !n.Pods[0].Ready
			s.Nodes = slices.Clone(s.Nodes)
			s.Nodes[i%len(s.Nodes)] = &n
		},
		"drift": func(_ *testing.B, t *term, s *cluster.State, i int) { // as many records as nodes, a tenth under way
			now := time.Now()
			for k := range s.Nodes {
				if i > 0 {
					return
				}
				d := &model.DisruptionRecord{
					ID: model.DisruptionID(fmt.Sprintf("d%05d", k)), Reason: model.ReasonDrifted, AcceptTime: now, Candidates: []model.ClaimID{model.ClaimID(fmt.Sprintf("c%05d", k))},
				}
				if k%10 > 0 {
					d.EndTime = now
				}
				t.registry.Disruptions[d.ID] = d
			}
		},
		"all": func(_ *testing.B, t *term, _ *cluster.State, _ int) { t.claims.allAt = time.Time{} },
		"plan": func(b *testing.B, t *term, _ *cluster.State, i int) {
			b.Helper()
			w := nodeClaim(fmt.Sprint("new", i), "m5.large")
			p := model.Plan{ID: "p", InventoryRevision: t.registry.Revision(), Now: time.Now(), NodeClaims: []model.NodeClaim{w}}
			if a, err := t.apply(b.Context(), p, nil, true); err != nil || !a.Verdicts[0].Accepted {
				b.Fatalf("%+v, %v", a, err)
			}
		},
	} {
		for _, nodes := range []int{500, 1000, 2000, 4000} {
			b.Run(fmt.Sprint(name, "/", nodes), func(b *testing.B) { benchmarkPass(b, nodes, event) })
		}
	}
}

func benchmarkPass(b *testing.B, nodes int, event func(*testing.B, *term, *cluster.State, int)) {
	b.Helper()
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
	t := newTerm(l.cfg, &l.hub)
	if err := t.registry.Load(b.Context(), term.Fence); err != nil {
		b.Fatal(err)
	}
	t.claims.begun = time.Now()
	t.classes.Lead()
	t.nominations.Begin(b.Context())
	for !t.ready || !t.market.Known() {
		if err := t.pass(b.Context()); err != nil {
			b.Fatal(err)
		}
		(<-t.jobs.Results())()
	}
	t.fill(b, kube.state, nodes, 10)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		event(b, t, kube.state, i)
		i++
		if err := t.pass(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// fill gives the term claims, and the cluster their nodes, each with pods.
func (t *term) fill(b *testing.B, s *cluster.State, nodes, pods int) {
	b.Helper()
	pool := &s.Pools[0]
	pool.Limits = nil
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
	var claims []model.Claim
	for i := range nodes {
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
		for p := range pods {
			n.Pods = append(n.Pods, pod(fmt.Sprint(c.ID, "-", p)))
		}
		s.Nodes = append(s.Nodes, n)
		claims = append(claims, c)
	}
	if _, err := t.registry.Write(b.Context(), store.Batch{PutClaims: claims}); err != nil {
		b.Fatal(err)
	}
}
