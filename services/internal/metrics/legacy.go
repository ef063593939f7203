package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Alias is one of Karpenter's metrics, and what it is made of.
type Alias struct {
	// Name is Karpenter's, Of an instrument of ours.
	Name string
	Of   ID
	// Count takes the number of a histogram's values.
	Count bool
	// Labels are kept, under Karpenter's names; over all others values are summed up.
	Labels []AliasLabel
	// Only leaves out what f does not hold for; nil leaves nothing out.
	Only func(labels map[string]string) bool
}

// AliasLabel is a label of an Alias.
type AliasLabel struct {
	Name string
	// Of is our attribute; "" stands for the value Const, always.
	Of    string
	Const string
	// Values translates; what is not in it stays. Lower makes it lower-case before.
	Values map[string]string
	Lower  bool
}

// Aliases are Karpenter's metrics that have a counterpart here.
func Aliases() []Alias {
	pool, capacity := AliasLabel{Name: "nodepool", Of: string(Pool)}, AliasLabel{Name: "capacity_type", Of: string(CapacityType)}
	zone := AliasLabel{Name: "zone", Of: string(Zone)}
	reason := AliasLabel{Name: "reason", Of: string(Disruption), Lower: true}
	provisioner := AliasLabel{Name: "controller", Const: "provisioner"}
	solver := AliasLabel{Name: "controller", Of: string(Scope), Values: map[string]string{ScopePods: "provisioner", ScopeEverything: "disruption"}}
	resource := AliasLabel{Name: "resource_type", Of: string(Resource)}
	call := []AliasLabel{
		{Name: "controller", Const: "kerf"}, {Name: "provider", Const: "aws"}, {Name: "method", Of: string(Operation), Values: map[string]string{
			"launch": "Create", "terminate": "Delete", "instances": "List", "instance_types": "GetInstanceTypes",
		}},
	}
	message := AliasLabel{Name: "message_type", Of: string(NoticeKind)}
	failed := func(l map[string]string) bool { return l[string(ErrorType)] != "" }
	voluntary := func(l map[string]string) bool {
		return slices.Contains([]string{"Empty", "Underutilized", "Drifted"}, l[string(Disruption)]) && l[string(Result)] == Completed
	}
	return []Alias{
		{Name: "karpenter_nodeclaims_created_total", Of: ClaimsCreated, Labels: []AliasLabel{{Name: "reason", Of: string(Cause), Lower: true}, pool}},
		{Name: "karpenter_nodeclaims_terminated_total", Of: ClaimsEnded, Labels: []AliasLabel{pool, capacity, zone}},
		{Name: "karpenter_nodeclaims_disrupted_total", Of: NodesDisrupted, Labels: []AliasLabel{reason, pool, capacity}},
		{Name: "karpenter_nodeclaims_instance_termination_duration_seconds", Of: TerminateDuration, Labels: []AliasLabel{pool}},
		{Name: "karpenter_nodes_created_total", Of: RegisterDuration, Count: true, Labels: []AliasLabel{pool}},
		{Name: "karpenter_nodes_terminated_total", Of: TerminateDuration, Count: true, Labels: []AliasLabel{pool}},
		{Name: "karpenter_nodepools_limit", Of: PoolLimit, Labels: []AliasLabel{pool, resource}},
		{Name: "karpenter_nodepools_usage", Of: PoolUsage, Labels: []AliasLabel{pool, resource}},
		{Name: "karpenter_nodepools_cost_total", Of: NodeCost, Labels: []AliasLabel{pool}},
		{Name: "karpenter_pods_provisioning_bound_duration_seconds", Of: PodBoundDuration},
		{Name: "karpenter_pods_eviction_requests_total", Of: Evictions, Labels: []AliasLabel{{Name: "code", Of: string(Result), Values: map[string]string{
			Evicted: "200", Blocked: "429", Failed: "500",
		}}}, Only: func(l map[string]string) bool { return l[string(Result)] != Deleted }},
		{Name: "karpenter_voluntary_disruption_decisions_total", Of: DisruptionsEnded, Labels: []AliasLabel{reason}, Only: voluntary},
		{Name: "karpenter_scheduler_scheduling_duration_seconds", Of: PlanDuration, Labels: []AliasLabel{solver}},
		{Name: "karpenter_scheduler_queue_depth", Of: PodsWaiting, Labels: []AliasLabel{provisioner}},
		{Name: "karpenter_scheduler_unschedulable_pods_count", Of: PodsLeft, Labels: []AliasLabel{provisioner}},
		{Name: "karpenter_cluster_state_node_count", Of: NodeCount},
		{Name: "karpenter_cloudprovider_duration_seconds", Of: CloudDuration, Labels: call},
		{
			Name: "karpenter_cloudprovider_errors_total", Of: CloudDuration, Count: true, Only: failed,
			Labels: append(slices.Clip(call), AliasLabel{Name: "error", Of: string(ErrorType)}),
		},
		{Name: "karpenter_interruption_received_messages_total", Of: Notices, Labels: []AliasLabel{message}},
		{Name: "karpenter_interruption_message_queue_duration_seconds", Of: NoticeDelay},
		{Name: "karpenter_build_info", Of: BuildInfo, Labels: []AliasLabel{
			{Name: "version", Of: string(Version)}, {Name: "goversion", Of: string(GoVersion)}, {Name: "commit", Of: string(Revision)},
		}},
	}
}

// LegacyNode is one of Karpenter's metrics of single nodes; it has no counterpart here.
type LegacyNode struct{ Name, Text string }

// MostLegacyNodes is up to how many nodes the metrics of single nodes are served.
const MostLegacyNodes = 1000

// LegacyNodeNames are these metrics: what a node offers pods, what its pods and its DaemonSet pods ask for, and what it
// keeps for itself, in this order.
func LegacyNodeNames() []LegacyNode {
	return []LegacyNode{
		{"karpenter_nodes_allocatable", "What a node offers to pods."},
		{"karpenter_nodes_total_pod_requests", "What the pods of a node ask for."},
		{"karpenter_nodes_total_daemon_requests", "What the DaemonSet pods of a node ask for."},
		{"karpenter_nodes_system_overhead", "What a node keeps for itself."},
	}
}

// LegacyPods is Karpenter's metric of pods, by what their nodes are: Karpenter has a series for each pod, and its
// dashboards sum them up.
func LegacyPods() LegacyNode {
	return LegacyNode{"karpenter_pods_state", "How many pods there are, by `phase`, `Pending` or `Running`, and by the other labels of their nodes."}
}

// Legacy gathers what from gathers, and Karpenter's metrics made of it.
func Legacy(from prometheus.Gatherer) prometheus.Gatherer {
	aliases, by := Aliases(), map[ID]string{}
	for _, i := range Table() {
		by[i.ID] = i.PrometheusName()
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		found := map[string]*dto.MetricFamily{}
		for _, f := range families {
			found[f.GetName()] = f
		}
		for _, a := range aliases {
			if f := found[by[a.Of]]; f != nil {
				if made := a.make(f); len(made.GetMetric()) > 0 {
					families = append(families, made)
				}
			}
		}
		slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
		return families, err
	})
}

// make makes the alias of a family.
func (a Alias) make(f *dto.MetricFamily) *dto.MetricFamily {
	out := &dto.MetricFamily{Name: new(a.Name), Help: f.Help, Type: f.Type}
	if a.Count {
		out.Type = dto.MetricType_COUNTER.Enum()
	}
	sums := map[string]*dto.Metric{}
	for _, m := range f.GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		if a.Only != nil && !a.Only(named(has)) {
			continue
		}
		labels := a.labels(has)
		var values []string
		for _, l := range labels {
			values = append(values, l.GetValue())
		}
		key := strings.Join(values, "\x00")
		sum := sums[key]
		if sum == nil {
			sum = &dto.Metric{Label: labels}
			sums[key] = sum
			out.Metric = append(out.Metric, sum)
		}
		add(sum, m, a.Count)
	}
	return out
}

// named gives attributes their own names back.
func named(labels map[string]string) map[string]string {
	out := map[string]string{}
	for _, k := range []string{string(ErrorType), string(Result), string(Disruption)} {
		out[k] = labels[label(k)]
	}
	return out
}

func (a Alias) labels(has map[string]string) []*dto.LabelPair {
	var out []*dto.LabelPair
	for _, l := range a.Labels {
		v := l.Const
		if l.Of != "" {
			v = has[label(l.Of)]
		}
		if l.Lower {
			v = strings.ToLower(v)
		}
		if to, ok := l.Values[v]; ok {
			v = to
		}
		out = append(out, &dto.LabelPair{Name: new(l.Name), Value: new(v)})
	}
	slices.SortFunc(out, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// add adds a value to a sum.
func add(sum, m *dto.Metric, count bool) {
	switch h := m.GetHistogram(); {
	case count:
		sum.Counter = &dto.Counter{Value: new(sum.GetCounter().GetValue() + float64(h.GetSampleCount()))}
	case m.Counter != nil:
		sum.Counter = &dto.Counter{Value: new(sum.GetCounter().GetValue() + m.GetCounter().GetValue())}
	case m.Gauge != nil:
		sum.Gauge = &dto.Gauge{Value: new(sum.GetGauge().GetValue() + m.GetGauge().GetValue())}
	case h != nil:
		was := sum.GetHistogram()
		now := &dto.Histogram{SampleCount: new(was.GetSampleCount() + h.GetSampleCount()), SampleSum: new(was.GetSampleSum() + h.GetSampleSum())}
		for i, b := range h.GetBucket() {
			n := b.GetCumulativeCount()
			if was != nil {
				n += was.GetBucket()[i].GetCumulativeCount()
			}
			now.Bucket = append(now.Bucket, &dto.Bucket{UpperBound: b.UpperBound, CumulativeCount: new(n)})
		}
		sum.Histogram = now
	}
}
