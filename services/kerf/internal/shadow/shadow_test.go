package shadow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/shadow"
	"github.com/kerf-dev/kerf/services/planner"
	watcher "github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

func present() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

func world(t *testing.T) convert.World {
	t.Helper()
	all, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	some := *all
	some.Types = nil
	for _, ty := range all.Types {
		if strings.HasPrefix(ty.Name, "m5.") {
			some.Types = append(some.Types, ty)
		}
	}
	return convert.World{Catalog: &some}
}

// clock is the bubble's, from present on.
func clock() func() time.Time {
	begin := time.Now()
	return func() time.Time { return present().Add(time.Since(begin)) }
}

func pool() *karpenterv1.NodePool {
	p := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{
		labels.NodePoolHash: "123", labels.NodePoolHashVersion: "v3",
	}}}
	p.Spec.Template.Spec.NodeClassRef = karpenterv1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.KindEC2NodeClass, Name: "default"}
	p.Spec.Template.Spec.Requirements = []karpenterv1.Requirement{
		{Key: labels.CapacityType, Operator: karpenterv1.OpIn, Values: []string{"on-demand"}},
	}
	p.Spec.Disruption.ConsolidateAfter = "0s"
	p.SetDefaults()
	return p
}

func class() *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{
		labels.NodeClassHash: "456", labels.NodeClassHashVersion: "v4",
	}}}
	c.Spec.Role = "node"
	c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	c.Spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	c.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1a"}}
	c.Status.AMIs = []awsv1.AMI{{ID: "ami-1", Requirements: []corev1.NodeSelectorRequirement{
		{Key: labels.Arch, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
	}}}
	return c
}

// nodeClaim is one of Karpenter's, for an initialized node.
func nodeClaim(name, node, instanceType string) *karpenterv1.NodeClaim {
	c := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(present().Add(-5 * time.Hour)),
		Labels: map[string]string{
			labels.NodePool: "default", labels.InstanceType: instanceType, labels.Zone: "us-east-1a",
			labels.CapacityType: "on-demand",
		},
		Annotations: map[string]string{
			labels.NodePoolHash: "123", labels.NodePoolHashVersion: "v3",
			labels.NodeClassHash: "456", labels.NodeClassHashVersion: "v4",
		},
	}}
	c.Spec.NodeClassRef.Name, c.Spec.ExpireAfter = "default", "720h"
	c.Status.NodeName, c.Status.ProviderID, c.Status.ImageID = node, "aws:///us-east-1a/i-"+name, "ami-1"
	for _, condition := range []string{karpenterv1.ConditionLaunched, karpenterv1.ConditionRegistered, karpenterv1.ConditionInitialized} {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(present().Add(-4 * time.Hour)),
		})
	}
	return c
}

func node(name, instanceType string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3"), corev1.ResourceMemory: resource.MustParse("12Gi"), corev1.ResourcePods: resource.MustParse("58"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(present().Add(-4 * time.Hour)), Labels: map[string]string{
			labels.NodePool: "default", labels.InstanceType: instanceType, labels.Zone: "us-east-1a",
			labels.CapacityType: "on-demand", labels.Arch: "amd64", labels.OS: "linux", labels.Hostname: name,
		}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// cluster is what the watcher makes of two m5.xlarge with a small pod each, and one node that is no one's.
func cluster(t *testing.T) snapshot.Snapshot {
	t.Helper()
	events := []snapshot.Event{snapshot.Put(present(), watcher.NodePool(pool(), watcher.PoolFacts{}))}
	for _, name := range []string{"n1", "n2", "foreign"} {
		events = append(events, snapshot.Put(present(), watcher.Node(node(name, "m5.xlarge"), watcher.NodeFacts{})))
	}
	var refs manifests.Cluster
	for i, on := range []string{"n1", "n2"} {
		yes := true
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-" + string(rune('a'+i)), CreationTimestamp: metav1.NewTime(present().Add(-4 * time.Hour)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: &yes}},
		}}
		p.Spec.NodeName = on
		p.Spec.NodeSelector = map[string]string{labels.NodePool: "default"}
		p.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		}}}}
		p.Status.Phase = corev1.PodRunning
		o, ok := watcher.Pod(p, &refs)
		if !ok {
			t.Fatal("the pod does not count")
		}
		events = append(events, snapshot.Put(present(), o))
	}
	return snapshot.Fold(snapshot.Snapshot{}, events)
}

func objects() shadow.Objects {
	return shadow.Objects{
		Pools: []*karpenterv1.NodePool{pool()}, Classes: []*awsv1.EC2NodeClass{class()},
		Claims: []*karpenterv1.NodeClaim{nodeClaim("c1", "n1", "m5.xlarge"), nodeClaim("c2", "n2", "m5.xlarge")},
	}
}

func complete(t *testing.T, o shadow.Objects) (*clusterpb.Snapshot, []string) {
	t.Helper()
	s := wire.Whole(cluster(t), wire.Header{})
	before := proto.CloneOf(s)
	out, notes := shadow.Complete(s, o, world(t))
	if !proto.Equal(s, before) {
		t.Error("the cluster's snapshot was changed")
	}
	return out, notes
}

func TestNodeClaimsBecomeClaims(t *testing.T) {
	t.Parallel()
	s, notes := complete(t, objects())
	if len(notes) > 0 || len(s.GetClaims()) != 2 || len(s.GetNodeClasses()) != 1 || len(s.GetCatalogs()) != 1 || len(s.GetOfferings()) == 0 {
		t.Fatalf("%d claims, %d classes, %d catalogs, notes %q", len(s.GetClaims()), len(s.GetNodeClasses()), len(s.GetCatalogs()), notes)
	}
	c := s.GetClaims()[0]
	if c.GetId() != "c1" || c.GetNodePool() != "default" || c.GetState() != clusterpb.ClaimState_CLAIM_STATE_INITIALIZED ||
		c.GetPriceMicroUsdPerHour() != 192_000 || c.GetInstanceId() != "i-c1" || c.GetImageId() != "ami-1" ||
		!c.GetExpireTime().AsTime().Equal(present().Add(-5*time.Hour+720*time.Hour)) || !c.GetInitializeTime().AsTime().Equal(present().Add(-4*time.Hour)) {
		t.Errorf("got %v", c)
	}
	if c.GetPoolHash() == "" || c.GetPoolHash() != s.GetNodePools()[0].GetHash() || c.GetClassHash() == "" || c.GetClassHash() != s.GetNodeClasses()[0].GetHash() {
		t.Errorf("hashes %q and %q tell of drift that there is not", c.GetPoolHash(), c.GetClassHash())
	}
	for _, n := range s.GetNodes() {
		if want := map[string]string{"n1": "c1", "n2": "c2"}[n.GetName()]; n.GetClaim() != want {
			t.Errorf("node %s stands for claim %q", n.GetName(), n.GetClaim())
		}
	}
}

// drifted says whether the rule that plans go by finds a claim drifted from the pool that it was made from.
func drifted(t *testing.T, c *clusterpb.Claim) bool {
	t.Helper()
	s, _ := complete(t, objects())
	pool := model.NodePool{Hash: s.GetNodePools()[0].GetHash()}
	claim := model.Claim{PoolHash: c.GetPoolHash(), State: model.ClaimInitialized}
	r, _ := rules.Drifted(rules.DriftFacts{Claim: &claim, Pool: &pool}, present())
	return !r.OK()
}

func TestWhatKarpenterSaysOfItsClaims(t *testing.T) {
	t.Parallel()
	deleted := metav1.NewTime(present())
	condition := func(name string, status metav1.ConditionStatus) func(*karpenterv1.NodeClaim) {
		return func(c *karpenterv1.NodeClaim) {
			c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(have metav1.Condition) bool { return have.Type == name })
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: name, Status: status, Reason: "CloudProvider", Message: "AMIDrift"})
		}
	}
	tests := map[string]struct {
		change func(*karpenterv1.NodeClaim)
		wrong  func(*clusterpb.Claim) bool
	}{
		"drift": {condition(karpenterv1.ConditionDrifted, metav1.ConditionTrue), func(c *clusterpb.Claim) bool {
			return c.GetDrifted().GetMessage() != "CloudProvider: AMIDrift"
		}},
		"no drift": {condition(karpenterv1.ConditionDrifted, metav1.ConditionFalse), func(c *clusterpb.Claim) bool { return c.GetDrifted() != nil }},
		"a hash of a pool as it was": {func(c *karpenterv1.NodeClaim) { c.Annotations[labels.NodePoolHash] = "7" }, func(c *clusterpb.Claim) bool {
			return !drifted(t, c)
		}},
		"a hash of another version": {func(c *karpenterv1.NodeClaim) {
			c.Annotations[labels.NodeClassHash], c.Annotations[labels.NodeClassHashVersion] = "7", "v1"
		}, func(c *clusterpb.Claim) bool { return c.GetClassHash() != "" }},
		"a node that has joined and is not ready": {condition(karpenterv1.ConditionInitialized, metav1.ConditionFalse), func(c *clusterpb.Claim) bool {
			return c.GetState() != clusterpb.ClaimState_CLAIM_STATE_REGISTERED || c.GetInitializeTime() != nil
		}},
		"a claim that is deleted": {func(c *karpenterv1.NodeClaim) { c.DeletionTimestamp = &deleted }, func(c *clusterpb.Claim) bool {
			return c.GetState() != clusterpb.ClaimState_CLAIM_STATE_DRAINING || c.GetReached() != clusterpb.ClaimState_CLAIM_STATE_INITIALIZED
		}},
		"a claim whose instance ends": {func(c *karpenterv1.NodeClaim) {
			c.DeletionTimestamp = &deleted
			condition(karpenterv1.ConditionInstanceTerminating, metav1.ConditionTrue)(c)
		}, func(c *clusterpb.Claim) bool { return c.GetState() != clusterpb.ClaimState_CLAIM_STATE_TERMINATING }},
		"a drain with an end": {func(c *karpenterv1.NodeClaim) {
			c.Annotations[labels.TerminationTimestamp] = "2026-01-31T13:00:00Z"
		}, func(c *clusterpb.Claim) bool { return !c.GetDrainDeadline().AsTime().Equal(present().Add(time.Hour)) }},
		"spot": {func(c *karpenterv1.NodeClaim) { c.Labels[labels.CapacityType] = "spot" }, func(c *clusterpb.Claim) bool {
			return c.GetCapacityType() != clusterpb.CapacityType_CAPACITY_TYPE_SPOT || c.GetPriceMicroUsdPerHour() != 67_200
		}},
		"a node that lives for ever": {func(c *karpenterv1.NodeClaim) { c.Spec.ExpireAfter = karpenterv1.Never }, func(c *clusterpb.Claim) bool {
			return c.GetExpireTime() != nil
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objects()
			tt.change(o.Claims[0])
			s, _ := complete(t, o)
			if c := s.GetClaims()[0]; tt.wrong(c) {
				t.Errorf("got %v", c)
			}
		})
	}
}

func TestWhatKerfCantUseIsNoted(t *testing.T) {
	t.Parallel()
	o := objects()
	o.Classes[0].Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "near"}
	waiting, lone := nodeClaim("c3", "", ""), nodeClaim("c4", "", "m5.large")
	unlabeled := nodeClaim("c5", "n5", "")
	delete(waiting.Labels, labels.InstanceType)
	delete(unlabeled.Labels, labels.InstanceType)
	waiting.Status.ProviderID = ""
	delete(lone.Labels, labels.NodePool)
	o.Claims = append(o.Claims, waiting, lone, unlabeled)
	s, notes := complete(t, o)
	if len(s.GetClaims()) != 2 || s.GetNodeClasses()[0].GetNotReady() != nil {
		t.Errorf("%d claims, class %v", len(s.GetClaims()), s.GetNodeClasses()[0])
	}
	for _, want := range []string{
		"spec.placementGroupSelector", "1 NodeClaim is not launched yet, and does not count",
		"NodeClaims without the label node.kubernetes.io/instance-type do not count, as nothing says what they cost: c5", "NodeClaim c4 belongs to no pool",
	} {
		if !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("notes %q, without %q", notes, want)
		}
	}
}

// source sends one batch, and another whenever it is asked to.
type source struct {
	first snapshot.Snapshot
	fail  error
}

func (s *source) Run(ctx context.Context, out chan<- snapshot.Batch) error {
	if s.fail != nil {
		return s.fail
	}
	var events []snapshot.Event
	for _, k := range snapshot.Kinds() {
		for _, o := range s.first.Objects(k) {
			events = append(events, snapshot.Put(present(), o))
		}
	}
	select {
	case out <- snapshot.Batch{Time: present(), Events: events}:
	case <-ctx.Done():
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *source) Objects() shadow.Objects { return objects() }

func TestAShadowAddsUp(t *testing.T) {
	w := world(t)
	first := cluster(t)
	synctest.Test(t, func(t *testing.T) {
		var reports []shadow.Report
		err := shadow.Run(t.Context(), shadow.Config{
			Source: &source{first: first}, Decide: planner.Decide, World: w, Interval: time.Hour, For: 150 * time.Minute, Rounds: 5, Now: clock(),
			Report: func(r shadow.Report) error { reports = append(reports, r); return nil },
		})
		if err != nil || len(reports) != 4 {
			t.Fatalf("%d reports, %v", len(reports), err)
		}
		one, last := reports[0], reports[3]
		if one.Run.CostBefore != 384_000 || one.Run.CostAfter >= 200_000 || len(one.Run.First.GetPending()) > 0 || !one.Run.Settled {
			t.Errorf("the cost goes from %d to %d; %v", one.Run.CostBefore, one.Run.CostAfter, one.Run.First.GetNodes())
		}
		if len(one.Fresh.Disruptions) == 0 || len(last.Fresh.Disruptions)+last.Fresh.Gone > 0 {
			t.Errorf("fresh decisions %v, and in the end %v", one.Fresh, last.Fresh)
		}
		want := shadow.Total{
			Plans: 4, Watched: 150 * time.Minute, Cost: 960_000, WithKerf: one.Run.CostAfter * 5 / 2,
			Removed: last.Total.Removed, Replaced: last.Total.Replaced, Evictions: last.Total.Evictions,
		}
		if last.Total != want || last.Total.Removed < 1 || last.Total.Removed > 2 || last.Total.Evictions < 1 || last.Total.Evictions > 2 {
			t.Errorf("in sum %+v, want %+v", last.Total, want)
		}
	})
}

func TestAShadowEnds(t *testing.T) {
	w := world(t)
	first := cluster(t)
	broken := errors.New("no rights")
	stop := errors.New("the pipe is closed")
	tests := map[string]struct {
		source *source
		plans  int
		report error
		decide func(context.Context, *plannerpb.PlanRequest) (*plannerpb.PlanResponse, error)
		want   error
	}{
		"after as many plans as are wanted": {&source{first: first}, 1, nil, planner.Decide, nil},
		"when the cluster can't be read":    {&source{fail: broken}, 0, nil, planner.Decide, broken},
		"when no one hears it":              {&source{first: first}, 0, stop, planner.Decide, stop},
		"when there is no plan": {&source{first: first}, 0, nil, func(context.Context, *plannerpb.PlanRequest) (*plannerpb.PlanResponse, error) {
			return nil, broken
		}, broken},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := shadow.Run(t.Context(), shadow.Config{
					Source: tt.source, Decide: tt.decide, World: w, Interval: time.Minute, Plans: tt.plans, Rounds: 1, Now: clock(),
					Report: func(shadow.Report) error { return tt.report },
				})
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		})
	}
	t.Run("when it is interrupted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			plans := 0
			err := shadow.Run(ctx, shadow.Config{
				Source: &source{first: first}, Decide: planner.Decide, World: w, Interval: time.Minute, Rounds: 1, Now: clock(),
				Report: func(shadow.Report) error { plans++; return nil },
			})
			if err != nil || plans != 2 {
				t.Errorf("%d plans, %v", plans, err)
			}
		})
	})
}

// TestARegionThatIsNoneIsNoted: it matters only where the cluster names none.
func TestARegionThatIsNoneIsNoted(t *testing.T) {
	t.Parallel()
	w := world(t)
	w.Bundled, w.Amiss = true, errors.New("AWS_REGION local: no region of AWS")
	nowhere := &clusterpb.Snapshot{}
	if _, notes := shadow.Complete(nowhere, shadow.Objects{}, w); !slices.Contains(notes, "AWS_REGION local: no region of AWS; planned for us-east-1") {
		t.Errorf("notes %q", notes)
	}
	if _, notes := shadow.Complete(wire.Whole(cluster(t), wire.Header{}), objects(), w); strings.Contains(strings.Join(notes, "\n"), "AWS_REGION") {
		t.Errorf("notes %q", notes)
	}
}
