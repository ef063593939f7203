package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestAReasonNamesTheNearestMissOfAPendingPod(t *testing.T) {
	tests := map[string]struct {
		build    func(*world)
		class    func(*model.PodClass)
		code     model.Code
		says     string
		instance model.TypeName
	}{
		"no pool exists": {build: func(w *world) { w.Snapshot.NodePools = nil }, code: model.CodeNoNodePool, says: "no node pool"},
		"the pool is invalid": {
			build: func(w *world) { w.pool().NotReady = model.Reason{Code: model.CodeNodePoolInvalid, Message: "bad"} },
			code:  model.CodeNodePoolInvalid, says: "bad",
		},
		"the pool contradicts itself": {
			build: func(w *world) { w.pool().Requirements = append(w.pool().Requirements, in("type", "other")) },
			code:  model.CodeNodePoolInvalid, says: "type",
		},
		"the node class is missing": {build: func(w *world) { w.pool().NodeClass = "x" }, code: model.CodeNodeClassNotFound, says: "x"},
		"the node class is not ready": {
			build: func(w *world) {
				w.Snapshot.NodeClasses[0].NotReady = model.Reason{Code: model.CodeNodeClassNotReady, Message: "no subnet"}
			},
			code: model.CodeNodeClassNotReady, says: "no subnet",
		},
		"the pool that is meant is not ready, and another is not meant": {
			build: func(w *world) {
				lost := pool("lost")
				lost.NodeClass, lost.Labels = "lost", model.Labels{{Key: "team", Value: "lost"}}
				w.Snapshot.NodePools = append(w.Snapshot.NodePools, lost)
				why := model.Reason{Code: model.CodeNodeClassNotReady, Message: "no subnet of its own"}
				w.Snapshot.NodeClasses = append(w.Snapshot.NodeClasses, model.NodeClass{Name: "lost", NotReady: why})
			},
			class: func(c *model.PodClass) { c.NodeSelector = model.Labels{{Key: "team", Value: "lost"}} },
			code:  model.CodeNodeClassNotReady, says: "node pool lost: no subnet of its own",
		},
		"a taint is not tolerated": {
			build: func(w *world) { w.pool().Taints = []model.Taint{{Key: "gpu", Value: "x", Effect: model.NoSchedule}} },
			code:  model.CodeTaint, says: "gpu=x:NoSchedule",
		},
		"the pool does not define a label": {
			class: func(c *model.PodClass) { c.NodeSelector = model.Labels{{Key: "disk", Value: "fast"}} },
			code:  model.CodeLabelUndefined, says: "disk",
		},
		"the pool has another value": {
			class: func(c *model.PodClass) { c.NodeSelector = model.Labels{{Key: "type", Value: "fast"}} },
			code:  model.CodeRequirements, says: "type In [karpenter]",
		},
		"the pod wants a node of EKS Auto Mode": {
			class: func(c *model.PodClass) {
				c.NodeSelector = model.Labels{{Key: "eks.amazonaws.com/instance-category", Value: "c"}}
			},
			code: model.CodeLabelUndefined, says: "a label of EKS Auto Mode's nodes alone",
		},
		"the pod wants no pool": {
			class: func(c *model.PodClass) {
				c.NodeAffinity = []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: "karpenter.sh/nodepool", Operator: model.DoesNotExist}}}}
			},
			code: model.CodeRequirements, says: "which is a node of no pool",
		},
		"the pod wants any but this pool": {
			class: func(c *model.PodClass) {
				c.NodeAffinity = []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: "karpenter.sh/nodepool", Operator: model.NotIn, Values: []string{"default"}}}}}
			},
			code: model.CodeRequirements, says: "the pool allows only karpenter.sh/nodepool In [default]",
		},
		"the pod wants another pool": {
			class: func(c *model.PodClass) { c.NodeSelector = model.Labels{{Key: "karpenter.sh/nodepool", Value: "other"}} },
			code:  model.CodeRequirements, says: "the pool allows only karpenter.sh/nodepool In [default]",
		},
		"no type has the label": {
			class: func(c *model.PodClass) { c.NodeSelector = model.Labels{{Key: "kubernetes.io/arch", Value: "arm64"}} },
			code:  model.CodeRequirements, says: "arm64", instance: "c5.large",
		},
		"a volume is in another zone": {
			class: func(c *model.PodClass) {
				c.Volumes = []model.VolumeTopology{{Name: "shop/db", Terms: []model.NodeAffinityTerm{
					{Requirements: []model.Requirement{in("topology.kubernetes.io/zone", "us-east-1c")}},
				}}}
			},
			code: model.CodeVolumeZone, says: "shop/db", instance: "c5.large",
		},
		"no type is large enough": {
			class: func(c *model.PodClass) { c.Requests = amounts(100, 17*gib, 1) },
			code:  model.CodeResources, says: "needs 17 GiB of memory; the largest allowed type offers 14.14 GiB (r5.large", instance: "r5.large",
		},
		"no type has the device": {
			class: func(c *model.PodClass) {
				c.Requests = append(amounts(100, gib, 0)[:2], model.Amount{Resource: "nvidia.com/gpu", Value: 1}, model.Amount{Resource: "pods", Value: 1})
			},
			code: model.CodeResources, says: "nvidia.com/gpu, which no instance type of the catalogue has",
		},
		"all of a resource is reserved": {
			build: func(w *world) {
				for i := range w.Snapshot.Catalogs[0].InstanceTypes {
					w.Snapshot.Catalogs[0].InstanceTypes[i].Allocatable = amounts(1930, 0, 29)
				}
			},
			class: func(c *model.PodClass) {
				c.Requests = model.Amounts{{Resource: "cpu", Value: 100}, {Resource: "pods", Value: 1}}
			},
			code: model.CodeResources, says: "the node class reserves all 3.7 GiB of memory that the nearest allowed type has (c5.large)", instance: "c5.large",
		},
		"EC2 has none": {
			build: func(w *world) {
				for i := range w.Snapshot.Offerings {
					w.Snapshot.Offerings[i].UnavailableUntil = now().Add(time.Minute)
				}
			},
			code: model.CodeNoOffering, says: "12:01:00", instance: "c5.large",
		},
		"the limit is reached": {
			build: func(w *world) { w.pool().Limits = model.Amounts{{Resource: "cpu", Value: 1000}} },
			code:  model.CodeLimit, says: "may have 1 of cpu", instance: "c5.large",
		},
		"the pool buys reservations only": {
			build: func(w *world) {
				w.pool().Requirements = []model.Requirement{in("karpenter.sh/capacity-type", "reserved")}
			},
			code: model.CodeRequirements, says: "karpenter.sh/capacity-type In [reserved]",
		},
		"the pool allows no capacity type": {
			build: func(w *world) {
				w.pool().Requirements = []model.Requirement{in("karpenter.sh/capacity-type", "borrowed")}
			},
			code: model.CodeUnsupported, says: "borrowed",
		},
		"the pod is spread": {
			class: func(c *model.PodClass) {
				c.TopologySpread = []model.TopologySpread{{TopologyKey: "zone", MaxSkew: 1, Required: true}}
			},
			code: model.CodeTopologySpread, says: "spread",
		},
		"the pod has an affinity": {
			class: func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{{TopologyKey: "zone"}} },
			code:  model.CodePodAffinity, says: "affinity",
		},
		"another pod keeps it away": {
			build: func(w *world) {
				w.class("hermit", 100, gib, func(c *model.PodClass) {
					c.PodAntiAffinity = []model.PodAffinityTerm{{TopologyKey: "kubernetes.io/arch", Selector: &model.Selector{}, NamespaceSelector: &model.Selector{}}}
				})
				w.node("n1", "c5.large", "hermit", 1)
			},
			code: model.CodePodAntiAffinity, says: "hermit",
		},
		"the watcher knows something": {
			class: func(c *model.PodClass) { c.Unsupported = "matchFields" }, code: model.CodeUnsupported, says: "matchFields",
		},
		"nothing can be bought, and a node is nearly right": {
			build: func(w *world) {
				w.node("n1", "c5.large", "inflate", 3)
				w.pool().NotReady = model.Reason{Code: model.CodeNodePoolInvalid, Message: "bad"}
			},
			code: model.CodeResources, says: "on node/n1: needs 1 GiB of memory",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			if tt.class != nil {
				tt.class(&w.Snapshot.PodClasses[0])
			}
			if tt.build != nil {
				tt.build(w)
			}
			w.pending("inflate", 1)
			p := w.decide(t)
			if len(p.Pending) != 1 {
				t.Fatalf("%d pods stay pending, want one", len(p.Pending))
			}
			got := p.Pending[0]
			if got.Reason.Code != tt.code || !strings.Contains(got.Reason.Message, tt.says) {
				t.Errorf("the reason is %d %q, want %d with %q", got.Reason.Code, got.Reason.Message, tt.code, tt.says)
			}
			if tt.instance != "" && (len(got.Pools) != 1 || got.Pools[0].InstanceType != tt.instance) {
				t.Errorf("the nearest misses are %+v, want %s", got.Pools, tt.instance)
			}
		})
	}
}

func TestPreemptionIsLeftAlone(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.large", "inflate", 6)
	w.pending("inflate", 1)
	w.Snapshot.Pods[6].NominatedNode = "n1"
	p := w.decide(t)
	if len(p.Pending) != 1 || p.Pending[0].Reason.Code != model.CodePreemption || len(p.NodeClaims) != 0 {
		t.Errorf("want the pod left to preemption, got %+v and %v", p.Pending, types(p))
	}
	w.Snapshot.Pods[6].NominatedNode = "gone"
	if p := w.decide(t); len(p.NodeClaims) != 1 {
		t.Errorf("a pod that is nominated for a node that is gone gets %v", types(p))
	}
}
