package measure

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// Legacy gathers what from gathers, and Karpenter's metrics of single nodes and of pods by their nodes, which exist
// under Karpenter's names alone: they are made at the scrape, and kept nowhere.
func (m *Measure) Legacy(from prometheus.Gatherer) prometheus.Gatherer {
	if m == nil {
		return from
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		if s := m.snapshot.Load(); s != nil && m.driver.Load() {
			few := s.Len(snapshot.Node) <= metrics.MostLegacyNodes
			made := []*dto.MetricFamily{podFamily(s, few)}
			if few {
				made = append(made, nodeFamilies(s)...)
			}
			for _, f := range made {
				if len(f.GetMetric()) > 0 { // without nodes there is nothing to serve, and an empty family is an error
					families = append(families, f)
				}
			}
			slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
		}
		return families, err
	})
}

// load is what the pods of a node ask for.
type load struct{ all, daemons map[string]int64 }

func nodeFamilies(s *snapshot.Snapshot) []*dto.MetricFamily {
	loads := map[string]load{}
	s.Each(snapshot.Pod, func(o snapshot.Object) {
		p, ok := o.Payload.(*clusterpb.Pod)
		if !ok || p.GetNode() == "" || o.Class == nil {
			return
		}
		class, ok := o.Class.Payload.(*clusterpb.PodClass)
		if !ok {
			return
		}
		l, known := loads[p.GetNode()]
		if !known {
			l = load{all: map[string]int64{}, daemons: map[string]int64{}}
			loads[p.GetNode()] = l
		}
		for _, a := range class.GetRequests() {
			l.all[a.GetResource()] += a.GetValue()
			if class.GetDaemon() {
				l.daemons[a.GetResource()] += a.GetValue()
			}
		}
	})
	names := metrics.LegacyNodeNames()
	out := make([]*dto.MetricFamily, len(names))
	for i, name := range names {
		out[i] = &dto.MetricFamily{Name: new(name.Name), Help: new(name.Text), Type: dto.MetricType_GAUGE.Enum()}
	}
	for _, o := range s.Objects(snapshot.Node) {
		n, ok := o.Payload.(*clusterpb.Node)
		if !ok {
			continue
		}
		of, l := nodeLabels(n), loads[n.GetName()]
		capacity := map[string]int64{}
		for _, a := range n.GetCapacity() {
			capacity[a.GetResource()] = a.GetValue()
		}
		for _, a := range n.GetAllocatable() {
			r := a.GetResource()
			for i, v := range []int64{a.GetValue(), l.all[r], l.daemons[r], max(0, capacity[r]-a.GetValue())} {
				out[i].Metric = append(out[i].Metric, &dto.Metric{
					Label: append(slices.Clip(of), pair("resource_type", r)), Gauge: &dto.Gauge{Value: new(amount(r, v))},
				})
			}
		}
	}
	return out
}

// podKey is what pods are told apart by: their phase, and labels of their node.
type podKey struct {
	running                                          bool
	arch, capacityType, instanceType, nodePool, zone string
}

// podFamily counts pods; where there are many nodes, by their phase alone.
func podFamily(s *snapshot.Snapshot, byNode bool) *dto.MetricFamily {
	of := map[string]podKey{}
	if byNode {
		s.Each(snapshot.Node, func(o snapshot.Object) {
			if n, ok := o.Payload.(*clusterpb.Node); ok {
				has := labelsOf(n)
				of[n.GetName()] = podKey{
					arch: has[labels.Arch], capacityType: has[labels.CapacityType], instanceType: has[labels.InstanceType],
					nodePool: has[labels.NodePool], zone: has[labels.Zone],
				}
			}
		})
	}
	counts := map[podKey]int{}
	s.Each(snapshot.Pod, func(o snapshot.Object) {
		if p, ok := o.Payload.(*clusterpb.Pod); ok {
			key := of[p.GetNode()]
			key.running = p.GetPhase() == clusterpb.PodPhase_POD_PHASE_RUNNING
			counts[key]++
		}
	})
	name := metrics.LegacyPods()
	out := &dto.MetricFamily{Name: new(name.Name), Help: new(name.Text), Type: dto.MetricType_GAUGE.Enum()}
	for key, n := range counts {
		phase := "Pending"
		if key.running {
			phase = "Running"
		}
		out.Metric = append(out.Metric, &dto.Metric{Gauge: &dto.Gauge{Value: new(float64(n))}, Label: []*dto.LabelPair{
			pair("arch", key.arch), pair("capacity_type", key.capacityType), pair("instance_type", key.instanceType),
			pair("nodepool", key.nodePool), pair("phase", phase), pair("zone", key.zone),
		}})
	}
	return out
}

// nodeLabels are the labels of a node's metrics but the resource's.
func nodeLabels(n *clusterpb.Node) []*dto.LabelPair {
	has := labelsOf(n)
	return []*dto.LabelPair{
		pair("arch", has[labels.Arch]), pair("capacity_type", has[labels.CapacityType]), pair("instance_type", has[labels.InstanceType]),
		pair("node_name", n.GetName()), pair("nodepool", has[labels.NodePool]), pair("os", has[labels.OS]), pair("region", has[labels.Region]), pair("zone", has[labels.Zone]),
	}
}

func labelsOf(n *clusterpb.Node) map[string]string {
	has := map[string]string{}
	for _, l := range n.GetLabels() {
		has[l.GetKey()] = l.GetValue()
	}
	return has
}

func pair(name, value string) *dto.LabelPair {
	return &dto.LabelPair{Name: new(name), Value: new(value)}
}
