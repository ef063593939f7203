package convert

import (
	"slices"
	"strconv"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// offering is what an offering and a reference to one have in common.
type offering interface {
	GetInstanceType() string
	GetZone() string
	GetCapacityType() clusterpb.CapacityType
	GetReservationId() string
}

// OfferingID names an offering within a snapshot: "instance-type/zone/capacity-type/reservation".
func OfferingID(o *clusterpb.Offering) string { return offeringID(o) }

func offeringID(o offering) string {
	ct := model.CapacityType(o.GetCapacityType()).String()
	return strings.Join([]string{o.GetInstanceType(), o.GetZone(), ct, o.GetReservationId()}, "/")
}

// OfferingRef is the offering that an OfferingID names.
func OfferingRef(id string) *clusterpb.OfferingRef {
	out := &clusterpb.OfferingRef{}
	instanceType, rest, _ := strings.Cut(id, "/")
	zone, rest, _ := strings.Cut(rest, "/")
	rest, reservation, _ := strings.Cut(rest, "/")
	out.InstanceType, out.Zone, out.ReservationId = instanceType, zone, reservation
	for n := range clusterpb.CapacityType_name {
		if n != 0 && model.CapacityType(n).String() == rest {
			out.CapacityType = clusterpb.CapacityType(n)
		}
	}
	return out
}

// RemovedOfferings are the OfferingIDs of offerings that are no more.
func RemovedOfferings(r *clusterpb.Removed) []string {
	return write(r.GetOfferings(), func(o *clusterpb.OfferingRef) string { return offeringID(o) })
}

func (r *reader) snapshot(s *clusterpb.Snapshot) model.Snapshot {
	out := r.lists(s)
	r.references(&out)
	return out
}

// lists reads a snapshot without looking at where references lead.
func (r *reader) lists(s *clusterpb.Snapshot) model.Snapshot {
	r.at("snapshot", "snapshot", "")
	out := model.Snapshot{
		Revision: s.GetRevision(), InventoryRevision: s.GetInventoryRevision(), Cluster: s.GetCluster(),
		ObserveTime: r.time("observe_time", s.GetObserveTime()),
	}
	out.PodClasses = each(r, kind{"pod_classes", "pod class"}, s.GetPodClasses(), (*clusterpb.PodClass).GetId, r.podClass)
	out.Pods = each(r, kind{"pods", "pod"}, s.GetPods(), (*clusterpb.Pod).GetId, r.pod)
	out.DaemonSets = each(r, kind{"daemon_sets", "daemon set"}, s.GetDaemonSets(), (*clusterpb.DaemonSet).GetId, r.daemonSet)
	out.Nodes = each(r, kind{"nodes", "node"}, s.GetNodes(), (*clusterpb.Node).GetName, r.node)
	out.Namespaces = each(r, kind{"namespaces", "namespace"}, s.GetNamespaces(), (*clusterpb.Namespace).GetName,
		func(n *clusterpb.Namespace) model.Namespace {
			return model.Namespace{Name: n.GetName(), Labels: r.labels("labels", n.GetLabels())}
		})
	out.PodDisruptionBudgets = each(r, kind{"pod_disruption_budgets", "pod disruption budget"}, s.GetPodDisruptionBudgets(),
		(*clusterpb.PodDisruptionBudget).GetId, r.budget)
	out.NodePools = each(r, kind{"node_pools", "node pool"}, s.GetNodePools(), (*clusterpb.NodePool).GetName, r.pool)
	out.NodeClasses = each(r, kind{"node_classes", "node class"}, s.GetNodeClasses(), (*clusterpb.NodeClass).GetName, r.nodeClass)
	out.Catalogs = each(r, kind{"catalogs", "catalog"}, s.GetCatalogs(), (*clusterpb.Catalog).GetId, r.catalog)
	out.Offerings = each(r, kind{"offerings", "offering"}, s.GetOfferings(), OfferingID, r.offering)
	out.Claims = each(r, kind{"claims", "claim"}, s.GetClaims(), (*clusterpb.Claim).GetId, r.claim)
	out.Notices = each(r, kind{"notices", "notice"}, s.GetNotices(), (*clusterpb.Notice).GetId, r.notice)
	out.Disruptions = each(r, kind{"disruptions", "disruption"}, s.GetDisruptions(), (*clusterpb.DisruptionRecord).GetId, r.record)
	out.NodeOverlays = each(r, kind{"node_overlays", "node overlay"}, s.GetNodeOverlays(), (*clusterpb.NodeOverlay).GetName, r.overlay)
	out.CapacityBuffers = each(r, kind{"capacity_buffers", "capacity buffer"}, s.GetCapacityBuffers(),
		(*clusterpb.CapacityBuffer).GetId, r.buffer)
	return out
}

// kind is a list of the snapshot: its field and what one of its objects is called.
type kind struct{ field, object string }

// each reads one list in the order of its ids, whatever order it came in.
func each[P, M any](r *reader, k kind, in []P, id func(P) string, read func(P) M) []M {
	if len(in) == 0 {
		return nil
	}
	less := func(a, b P) int { return strings.Compare(id(a), id(b)) }
	if !slices.IsSortedFunc(in, less) {
		in = slices.Clone(in)
		slices.SortStableFunc(in, less)
	}
	out := make([]M, len(in))
	last := ""
	for i, p := range in {
		name := id(p)
		r.at("snapshot."+k.field, k.object, name)
		switch {
		case name == "":
			r.bad("", "one without an id")
		case i > 0 && name == last:
			r.bad("", "is there twice")
		}
		last = name
		out[i] = read(p)
	}
	return out
}

// references checks that what classes, catalogs and pods are looked up by is there. Other references may lead nowhere:
// a pod may outlive its node, a node its claim, a claim its pool, and a pool may be made before its node class.
func (r *reader) references(s *model.Snapshot) {
	classes := make(map[model.ClassID]*model.PodClass, len(s.PodClasses))
	for i := range s.PodClasses {
		classes[s.PodClasses[i].ID] = &s.PodClasses[i]
	}
	for i := range s.Pods {
		if p := &s.Pods[i]; classes[p.Class] == nil {
			r.at("snapshot.pods", "pod", string(p.ID))
			r.bad("class_id", "%q is not in the snapshot", p.Class)
		}
	}
	for _, d := range s.DaemonSets {
		r.at("snapshot.daemon_sets", "daemon set", d.ID)
		switch class := classes[d.Class]; {
		case class == nil:
			r.bad("class_id", "%q is not in the snapshot", d.Class)
		case !class.Daemon:
			r.bad("class_id", "%q is not the class of a DaemonSet: it has no daemon mark", d.Class)
		}
	}
	for _, b := range s.CapacityBuffers {
		if b.NotReady.OK() && classes[b.Class] == nil {
			r.at("snapshot.capacity_buffers", "capacity buffer", string(b.ID))
			r.bad("class_id", "%q is not in the snapshot", b.Class)
		}
	}
	for _, c := range s.NodeClasses {
		known := slices.ContainsFunc(s.Catalogs, func(cat model.Catalog) bool { return cat.ID == c.Catalog })
		if c.NotReady.OK() && !known {
			r.at("snapshot.node_classes", "node class", string(c.Name))
			r.bad("catalog_id", "%q is not in the snapshot", c.Catalog)
		}
	}
}

func writeSnapshot(s model.Snapshot) *clusterpb.Snapshot {
	return &clusterpb.Snapshot{
		Revision: s.Revision, InventoryRevision: s.InventoryRevision, Cluster: s.Cluster, ObserveTime: stamp(s.ObserveTime),
		PodClasses: write(s.PodClasses, writePodClass),
		Pods:       write(s.Pods, writePod),
		DaemonSets: write(s.DaemonSets, writeDaemonSet),
		Nodes:      write(s.Nodes, writeNode),
		Namespaces: write(s.Namespaces, func(n model.Namespace) *clusterpb.Namespace {
			return &clusterpb.Namespace{Name: n.Name, Labels: Labels(n.Labels)}
		}),
		PodDisruptionBudgets: write(s.PodDisruptionBudgets, writeBudget),
		NodePools:            write(s.NodePools, NodePool),
		NodeClasses:          write(s.NodeClasses, writeNodeClass),
		Catalogs:             write(s.Catalogs, Catalog),
		Offerings:            write(s.Offerings, writeOffering),
		Claims:               write(s.Claims, Claim),
		Notices:              write(s.Notices, Notice),
		Disruptions:          write(s.Disruptions, Record),
		NodeOverlays:         write(s.NodeOverlays, writeOverlay),
		CapacityBuffers:      write(s.CapacityBuffers, writeCapacityBuffer),
	}
}

func (r *reader) notice(n *clusterpb.Notice) model.Notice {
	return model.Notice{
		ID:         n.GetId(),
		Kind:       model.NoticeKind(enum(r, "kind", n.GetKind(), clusterpb.NoticeKind_name)),
		InstanceID: r.required("instance_id", n.GetInstanceId()),
		Claim:      model.ClaimID(n.GetClaim()),
		EventTime:  r.time("event_time", n.GetEventTime()),
		Deadline:   r.time("deadline", n.GetDeadline()),
		StartTime:  r.time("start_time", n.GetStartTime()),

		InstanceState: n.GetInstanceState(),
	}
}

// Notice writes a notice.
func Notice(n model.Notice) *clusterpb.Notice {
	return &clusterpb.Notice{
		Id: n.ID, Kind: clusterpb.NoticeKind(n.Kind), InstanceId: n.InstanceID, Claim: string(n.Claim),
		EventTime: stamp(n.EventTime), Deadline: stamp(n.Deadline), InstanceState: n.InstanceState,
		StartTime: stamp(n.StartTime),
	}
}

func (r *reader) record(d *clusterpb.DisruptionRecord) model.DisruptionRecord {
	reason := enum(r, "disruption_reason", d.GetDisruptionReason(), clusterpb.DisruptionReason_name)
	return model.DisruptionRecord{
		ID:           model.DisruptionID(d.GetId()),
		Reason:       model.DisruptionReason(reason),
		Candidates:   names[model.ClaimID](r, "candidates", d.GetCandidates()),
		Replacements: names[model.ClaimID](r, "replacements", d.GetReplacements()),
		Pods:         names[model.PodID](r, "pods", d.GetPods()),
		AcceptTime:   r.time("accept_time", d.GetAcceptTime()),
		EndTime:      r.time("end_time", d.GetEndTime()),
		RolledBack:   d.GetRolledBack(),
		Saving:       d.GetSavingMicroUsdPerHour(),
		Workloads:    r.workloads(d.GetWorkloads()),
		Staged:       d.GetStaged(),
	}
}

// Record writes the record of a disruption.
func Record(d model.DisruptionRecord) *clusterpb.DisruptionRecord {
	return &clusterpb.DisruptionRecord{
		Id: string(d.ID), DisruptionReason: clusterpb.DisruptionReason(d.Reason), Candidates: texts(d.Candidates),
		Replacements: texts(d.Replacements), Pods: texts(d.Pods), AcceptTime: stamp(d.AcceptTime), EndTime: stamp(d.EndTime),
		RolledBack: d.RolledBack, SavingMicroUsdPerHour: d.Saving, Workloads: write(d.Workloads, writeWorkload),
		Staged: d.Staged,
	}
}

func (r *reader) workloads(in []*clusterpb.WorkloadEvictions) []model.WorkloadEvictions {
	var out []model.WorkloadEvictions
	for i, w := range in {
		at := "workloads[" + strconv.Itoa(i) + "]"
		if (w.GetKind() == "") != (w.GetName() == "") {
			r.untidy(at+".kind", "%q and name %q: want both, or neither for pods without an owner", w.GetKind(), w.GetName())
		}
		if w.GetPods() < 0 {
			r.untidy(at+".pods", "%d is negative", w.GetPods())
		}
		out = append(out, model.WorkloadEvictions{
			Namespace: w.GetNamespace(), Kind: w.GetKind(), Name: w.GetName(), UID: w.GetUid(), Revision: w.GetRevision(),
			Pods: int(w.GetPods()),
		})
	}
	if !slices.IsSortedFunc(out, model.WorkloadEvictions.Compare) {
		slices.SortFunc(out, model.WorkloadEvictions.Compare)
	}
	return out
}

func writeWorkload(w model.WorkloadEvictions) *clusterpb.WorkloadEvictions {
	return &clusterpb.WorkloadEvictions{
		Namespace: w.Namespace, Kind: w.Kind, Name: w.Name, Uid: w.UID, Revision: w.Revision, Pods: clamp(w.Pods),
	}
}
