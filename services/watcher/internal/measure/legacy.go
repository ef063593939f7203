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

// Legacy gathers what from gathers, and Karpenter's metrics of single nodes, which exist under Karpenter's names alone: they are
// made at the scrape, and kept nowhere.
func (m *Measure) Legacy(from prometheus.Gatherer) prometheus.Gatherer {
	if m == nil {
		return from
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		if s := m.snapshot.Load(); s != nil && m.driver.Load() && s.Len(snapshot.Node) <= metrics.MostLegacyNodes {
			for _, f := range nodeFamilies(s) {
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

// nodeLabels are the labels of a node's metrics but the resource's.
func nodeLabels(n *clusterpb.Node) []*dto.LabelPair {
	has := map[string]string{}
	for _, l := range n.GetLabels() {
		has[l.GetKey()] = l.GetValue()
	}
	return []*dto.LabelPair{
		pair("arch", has[labels.Arch]), pair("capacity_type", has[labels.CapacityType]), pair("instance_type", has[labels.InstanceType]),
		pair("node_name", n.GetName()), pair("nodepool", has[labels.NodePool]), pair("os", has[labels.OS]), pair("zone", has[labels.Zone]),
	}
}

func pair(name, value string) *dto.LabelPair {
	return &dto.LabelPair{Name: new(name), Value: new(value)}
}
