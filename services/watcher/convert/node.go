package convert

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// NodeFacts are what is known of a node beside its own object. The zero value knows nothing.
type NodeFacts struct {
	// Claim is the claim that the node stands for where its own label does not say.
	Claim string
	// CSI holds the drivers and their attach limits; nil when the node has not reported any.
	CSI *storagev1.CSINode
	// ForeignVolumes counts, by driver, attached volumes that no pod of the node uses, such as those that are still being
	// detached: they count against the limit.
	ForeignVolumes map[string]int64
	// Devices are the node's devices; see device.OfNode.
	Devices []*clusterpb.NodeDevice
	// Repair names conditions that matter beside those that Kerf knows of itself; nil names none.
	Repair *clusterpb.RepairPolicy
	// LastPodEvent is when a pod other than a DaemonSet's last came or went; zero when none is known to have.
	LastPodEvent time.Time
}

// Node converts a node.
func Node(n *corev1.Node, facts NodeFacts) snapshot.Object {
	out := &clusterpb.Node{
		Name: n.Name, ProviderId: n.Spec.ProviderID,
		Claim:            n.Labels[labels.Claim],
		Labels:           labelsOf(n.Labels),
		Taints:           taintsOf(n.Spec.Taints),
		Unschedulable:    n.Spec.Unschedulable,
		Terminating:      n.DeletionTimestamp != nil,
		DoNotDisrupt:     n.Annotations[labels.DoNotDisrupt] == "true",
		DoNotRepair:      n.Annotations[labels.DoNotRepair] == "true",
		CreateTime:       timestamp(n.CreationTimestamp),
		LastPodEventTime: stamp(facts.LastPodEvent),
		VolumeLimits:     volumeLimits(facts),
		Drivers:          drivers(facts.CSI),
		Features:         reader.SortedSet(n.Status.DeclaredFeatures),
		Devices:          facts.Devices,
		Conditions:       conditions(n, facts.Repair),
	}
	if out.GetClaim() == "" {
		out.Claim = facts.Claim
	}
	// A quantity out of bounds counts as the bound: no pod can ask for more than that.
	out.Allocatable, _ = amounts(n.Status.Allocatable)
	out.Capacity, _ = amounts(n.Status.Capacity)
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	return wire.Object(snapshot.Node, out.GetName(), out)
}

// conditions lists what may make a node unhealthy: conditions that the policy names with their status, and those of the
// default policy's types whose status is not True. Heartbeats are left out, so that a node changes only when a status
// does. A node whose kubelet has not reported yet is starting, not unhealthy: it has none.
func conditions(n *corev1.Node, repair *clusterpb.RepairPolicy) []*clusterpb.NodeCondition {
	if !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }) {
		return nil
	}
	defaults := model.DefaultRepairConditions()
	var out []*clusterpb.NodeCondition
	for _, c := range n.Status.Conditions {
		bad := c.Status != corev1.ConditionTrue &&
			slices.ContainsFunc(defaults, func(d model.RepairCondition) bool { return d.Type == string(c.Type) })
		named := slices.ContainsFunc(repair.GetConditions(), func(r *clusterpb.RepairCondition) bool {
			return r.GetType() == string(c.Type) && r.GetStatus() == string(c.Status)
		})
		since := c.LastTransitionTime
		if since.IsZero() && n.UID == "" { // of a manifest; without a date from a running node there is nothing to wait for
			since = n.CreationTimestamp
		}
		if (bad || named) && !since.IsZero() {
			out = append(out, &clusterpb.NodeCondition{Type: string(c.Type), Status: string(c.Status), TransitionTime: timestamp(since)})
		}
	}
	slices.SortFunc(out, func(a, b *clusterpb.NodeCondition) int { return strings.Compare(a.GetType(), b.GetType()) })
	return out
}

func drivers(n *storagev1.CSINode) []string {
	if n == nil {
		return nil
	}
	var out []string
	for _, d := range n.Spec.Drivers {
		out = append(out, d.Name)
	}
	return reader.SortedSet(out)
}

func volumeLimits(facts NodeFacts) []*clusterpb.Amount {
	if facts.CSI == nil {
		return nil
	}
	limits := map[string]int64{}
	for _, d := range facts.CSI.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limits[d.Name] = int64(*d.Allocatable.Count) - facts.ForeignVolumes[d.Name]
		}
	}
	return countsOf(limits)
}

// Namespace converts a namespace.
func Namespace(n *corev1.Namespace) snapshot.Object {
	return wire.Object(snapshot.Namespace, n.Name, &clusterpb.Namespace{Name: n.Name, Labels: labelsOf(n.Labels)})
}
