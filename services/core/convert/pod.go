package convert

import (
	"strconv"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (r *reader) podClass(c *clusterpb.PodClass) model.PodClass {
	out := model.PodClass{
		ID:                model.ClassID(c.GetId()),
		Namespace:         r.required("namespace", c.GetNamespace()),
		Labels:            r.labels("labels", c.GetLabels()),
		Requests:          r.amounts("requests", c.GetRequests()),
		NodeSelector:      r.labels("node_selector", c.GetNodeSelector()),
		NodeAffinity:      r.affinity("node_affinity", c.GetNodeAffinity()),
		Tolerations:       r.tolerations("tolerations", c.GetTolerations()),
		PodAffinity:       r.podAffinity("pod_affinity", c.GetPodAffinity()),
		PodAntiAffinity:   r.podAffinity("pod_anti_affinity", c.GetPodAntiAffinity()),
		VolumeAttachments: r.amounts("volume_attachments", c.GetVolumeAttachments()),
		Priority:          c.GetPriority(),
		Preempts:          c.GetPreempts(),
		SchedulerName:     c.GetSchedulerName(),
		OwnerKind:         c.GetOwnerKind(),
		OwnerName:         c.GetOwnerName(),
		OwnerRevision:     c.GetOwnerRevision(),
		OwnerUID:          c.GetOwnerUid(),
		Daemon:            c.GetDaemon(),
		Mirror:            c.GetMirror(),
		Unsupported:       c.GetUnsupported(),
		DefaultSelector:   r.selector("default_selector", c.GetDefaultSelector()),
		NeededDrivers:     r.strings("needed_drivers", c.GetNeededDrivers()),
		NeededFeatures:    r.strings("needed_features", c.GetNeededFeatures()),

		TerminationGracePeriod: r.duration("termination_grace_period", c.GetTerminationGracePeriod()),
	}
	for i, p := range c.GetPreferredNodeAffinity() {
		at := "preferred_node_affinity[" + strconv.Itoa(i) + "]"
		r.within(at+".weight", p.GetWeight(), 1, 100)
		out.PreferredNodeAffinity = append(out.PreferredNodeAffinity, model.PreferredNodeAffinityTerm{
			Weight: p.GetWeight(), Requirements: r.requirements(at+".requirements", p.GetRequirements()),
		})
	}
	for i, s := range c.GetTopologySpread() {
		out.TopologySpread = append(out.TopologySpread, r.spread("topology_spread["+strconv.Itoa(i)+"]", s))
	}
	for i, p := range c.GetHostPorts() {
		out.HostPorts = append(out.HostPorts, r.hostPort("host_ports["+strconv.Itoa(i)+"]", p))
	}
	for i, v := range c.GetVolumes() {
		at := "volumes[" + strconv.Itoa(i) + "]"
		if v.GetExclusive() && v.GetName() == "" {
			r.bad(at+".exclusive", "a volume that each pod has one of its own of is no pod's to wait for; give it a name")
		}
		out.Volumes = append(out.Volumes, model.VolumeTopology{
			Name: v.GetName(), Terms: r.affinity(at+".terms", v.GetTerms()), Driver: v.GetDriver(), Exclusive: v.GetExclusive(),
		})
	}
	for i, d := range c.GetDeviceClaims() {
		out.DeviceClaims = append(out.DeviceClaims, r.deviceClaim("device_claims["+strconv.Itoa(i)+"]", d))
	}
	for i, q := range c.GetExtendedRequests() {
		out.ExtendedRequests = append(out.ExtendedRequests, r.extendedRequest("extended_requests["+strconv.Itoa(i)+"]", q, out.Requests))
	}
	return out
}

func (r *reader) within(field string, v, low, high int32) {
	if v < low || v > high {
		r.bad(field, "%d is not between %d and %d", v, low, high)
	}
}

func (r *reader) affinity(field string, in []*clusterpb.NodeAffinityTerm) []model.NodeAffinityTerm {
	var out []model.NodeAffinityTerm
	for i, t := range in {
		at := field + "[" + strconv.Itoa(i) + "].requirements"
		out = append(out, model.NodeAffinityTerm{Requirements: r.requirements(at, t.GetRequirements())})
	}
	return out
}

func (r *reader) spread(field string, s *clusterpb.TopologySpread) model.TopologySpread {
	if s.GetMaxSkew() < 1 {
		r.bad(field+".max_skew", "%d is below 1", s.GetMaxSkew())
	}
	if s.MinDomains != nil && s.GetMinDomains() < 1 {
		r.bad(field+".min_domains", "%d is below 1", s.GetMinDomains())
	}
	return model.TopologySpread{
		TopologyKey:        r.required(field+".topology_key", s.GetTopologyKey()),
		MaxSkew:            s.GetMaxSkew(),
		Required:           s.GetRequired(),
		Selector:           r.selector(field+".selector", s.GetSelector()),
		MinDomains:         s.GetMinDomains(),
		IgnoreNodeAffinity: r.inclusion(field+".node_affinity_policy", s.GetNodeAffinityPolicy()) == ignore,
		HonorTaints:        r.inclusion(field+".node_taints_policy", s.GetNodeTaintsPolicy()) == honor,
	}
}

const (
	honor  = clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
	ignore = clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
)

func (r *reader) inclusion(field string, p clusterpb.NodeInclusionPolicy) clusterpb.NodeInclusionPolicy {
	return optionalEnum(r, field, p, clusterpb.NodeInclusionPolicy_name)
}

func (r *reader) podAffinity(field string, in []*clusterpb.PodAffinityTerm) []model.PodAffinityTerm {
	var out []model.PodAffinityTerm
	for i, t := range in {
		at := field + "[" + strconv.Itoa(i) + "]"
		if t != nil && t.Weight != nil {
			r.within(at+".weight", t.GetWeight(), 1, 100)
		}
		if len(t.GetNamespaces()) == 0 && t.GetNamespaceSelector() == nil {
			r.bad(at+".namespaces", "are missing, and there is no namespace_selector: the term would mean no pod; name the pods' own namespace")
		}
		out = append(out, model.PodAffinityTerm{
			TopologyKey:       r.required(at+".topology_key", t.GetTopologyKey()),
			Selector:          r.selector(at+".selector", t.GetSelector()),
			Namespaces:        r.strings(at+".namespaces", t.GetNamespaces()),
			NamespaceSelector: r.selector(at+".namespace_selector", t.GetNamespaceSelector()),
			Weight:            t.GetWeight(),
		})
	}
	return out
}

func (r *reader) hostPort(field string, p *clusterpb.HostPort) model.HostPort {
	r.within(field+".port", p.GetPort(), 1, 65535)
	switch p.GetProtocol() {
	case "TCP", "UDP", "SCTP":
	default:
		r.bad(field+".protocol", "%q is not TCP, UDP or SCTP", p.GetProtocol())
	}
	return model.HostPort{Protocol: p.GetProtocol(), Port: p.GetPort(), IP: p.GetIp()}
}

func writePodClass(c model.PodClass) *clusterpb.PodClass {
	return &clusterpb.PodClass{
		Id: string(c.ID), Namespace: c.Namespace, Labels: Labels(c.Labels), Requests: Amounts(c.Requests),
		NodeSelector: Labels(c.NodeSelector), NodeAffinity: writeAffinity(c.NodeAffinity),
		PreferredNodeAffinity: write(c.PreferredNodeAffinity, func(p model.PreferredNodeAffinityTerm) *clusterpb.PreferredNodeAffinityTerm {
			return &clusterpb.PreferredNodeAffinityTerm{Weight: p.Weight, Requirements: Requirements(p.Requirements)}
		}),
		Tolerations:     Tolerations(c.Tolerations),
		TopologySpread:  write(c.TopologySpread, writeSpread),
		PodAffinity:     write(c.PodAffinity, writePodAffinity),
		PodAntiAffinity: write(c.PodAntiAffinity, writePodAffinity),
		HostPorts: write(c.HostPorts, func(p model.HostPort) *clusterpb.HostPort {
			return &clusterpb.HostPort{Protocol: p.Protocol, Port: p.Port, Ip: p.IP}
		}),
		Volumes:           Volumes(c.Volumes),
		VolumeAttachments: Amounts(c.VolumeAttachments), Priority: c.Priority, Preempts: c.Preempts,
		SchedulerName: c.SchedulerName, OwnerKind: c.OwnerKind, OwnerName: c.OwnerName, OwnerRevision: c.OwnerRevision, OwnerUid: c.OwnerUID,
		Daemon: c.Daemon, Mirror: c.Mirror, TerminationGracePeriod: span(c.TerminationGracePeriod), Unsupported: c.Unsupported,
		DefaultSelector: Selector(c.DefaultSelector), DeviceClaims: write(c.DeviceClaims, writeDeviceClaim),
		NeededDrivers: c.NeededDrivers, NeededFeatures: c.NeededFeatures,
		ExtendedRequests: write(c.ExtendedRequests, func(q model.ExtendedRequest) *clusterpb.ExtendedRequest {
			return &clusterpb.ExtendedRequest{Resource: string(q.Resource), Devices: writeDeviceOption(q.Devices)}
		}),
	}
}

// Volumes writes from where volumes can be reached.
func Volumes(in []model.VolumeTopology) []*clusterpb.VolumeTopology {
	return write(in, func(v model.VolumeTopology) *clusterpb.VolumeTopology {
		return &clusterpb.VolumeTopology{Name: v.Name, Terms: writeAffinity(v.Terms), Driver: v.Driver, Exclusive: v.Exclusive}
	})
}

func writeAffinity(in []model.NodeAffinityTerm) []*clusterpb.NodeAffinityTerm {
	return write(in, func(t model.NodeAffinityTerm) *clusterpb.NodeAffinityTerm {
		return &clusterpb.NodeAffinityTerm{Requirements: Requirements(t.Requirements)}
	})
}

func writeSpread(s model.TopologySpread) *clusterpb.TopologySpread {
	out := &clusterpb.TopologySpread{
		TopologyKey: s.TopologyKey, MaxSkew: s.MaxSkew, Required: s.Required, Selector: Selector(s.Selector),
		NodeAffinityPolicy: honor, NodeTaintsPolicy: ignore,
	}
	if s.IgnoreNodeAffinity {
		out.NodeAffinityPolicy = ignore
	}
	if s.HonorTaints {
		out.NodeTaintsPolicy = honor
	}
	if s.MinDomains > 0 {
		out.MinDomains = &s.MinDomains
	}
	return out
}

func writePodAffinity(t model.PodAffinityTerm) *clusterpb.PodAffinityTerm {
	out := &clusterpb.PodAffinityTerm{
		TopologyKey: t.TopologyKey, Selector: Selector(t.Selector), Namespaces: t.Namespaces,
		NamespaceSelector: Selector(t.NamespaceSelector),
	}
	if t.Weight != 0 {
		out.Weight = &t.Weight
	}
	return out
}

func (r *reader) pod(p *clusterpb.Pod) model.Pod {
	r.namespaced(p.GetId())
	out := model.Pod{
		ID:                  model.PodID(p.GetId()),
		UID:                 p.GetUid(),
		Class:               model.ClassID(p.GetClassId()),
		Node:                model.NodeName(p.GetNode()),
		Phase:               model.PodPhase(enum(r, "phase", p.GetPhase(), clusterpb.PodPhase_name)),
		CreateTime:          r.time("create_time", p.GetCreateTime()),
		BindTime:            r.time("bind_time", p.GetBindTime()),
		UnschedulableTime:   r.time("unschedulable_time", p.GetUnschedulableTime()),
		NominatedNode:       model.NodeName(p.GetNominatedNode()),
		ExpectedNode:        model.NodeName(p.GetExpectedNode()),
		Terminating:         p.GetTerminating(),
		TerminationDeadline: r.time("termination_deadline", p.GetTerminationDeadline()),
		Ready:               p.GetReady(),
		DoNotDisrupt:        p.GetDoNotDisrupt(),
		DoNotDisruptUntil:   r.time("do_not_disrupt_until", p.GetDoNotDisruptUntil()),
		DeletionCost:        p.GetDeletionCost(),
		Devices:             r.deviceRefs("devices", p.GetDevices()),
	}
	if !out.DoNotDisrupt && p.GetDoNotDisruptUntil() != nil {
		r.bad("do_not_disrupt_until", "is set and do_not_disrupt is not: set both, or neither")
	}
	if !out.Terminating && p.GetTerminationDeadline() != nil {
		r.bad("termination_deadline", "is set and terminating is not: set both, or neither")
	}
	switch out.Phase {
	case model.PodWaiting, model.PodUnschedulable:
		if out.Node != "" {
			r.bad("node", "%q contradicts the phase %s: such a pod is not bound", p.GetNode(), p.GetPhase())
		}
	case model.PodStarting, model.PodRunning:
		if out.Node == "" {
			r.bad("node", "is missing: a pod of the phase %s is bound", p.GetPhase())
		}
	}
	return out
}

func writePod(p model.Pod) *clusterpb.Pod {
	return &clusterpb.Pod{
		Id: string(p.ID), Uid: p.UID, ClassId: string(p.Class), Node: string(p.Node), Phase: clusterpb.PodPhase(p.Phase),
		CreateTime: stamp(p.CreateTime), BindTime: stamp(p.BindTime), UnschedulableTime: stamp(p.UnschedulableTime),
		NominatedNode: string(p.NominatedNode), ExpectedNode: string(p.ExpectedNode), Terminating: p.Terminating,
		TerminationDeadline: stamp(p.TerminationDeadline), Ready: p.Ready, DoNotDisrupt: p.DoNotDisrupt,
		DoNotDisruptUntil: stamp(p.DoNotDisruptUntil), DeletionCost: p.DeletionCost,
		Devices: write(p.Devices, writeDeviceRef),
	}
}

func (r *reader) daemonSet(d *clusterpb.DaemonSet) model.DaemonSet {
	r.namespaced(d.GetId())
	return model.DaemonSet{ID: d.GetId(), Class: model.ClassID(d.GetClassId())}
}

func writeDaemonSet(d model.DaemonSet) *clusterpb.DaemonSet {
	return &clusterpb.DaemonSet{Id: d.ID, ClassId: string(d.Class)}
}

func (r *reader) budget(b *clusterpb.PodDisruptionBudget) model.PodDisruptionBudget {
	r.namespaced(b.GetId())
	r.notNegative("disruptions_allowed", int64(b.GetDisruptionsAllowed()))
	return model.PodDisruptionBudget{
		ID:                 b.GetId(),
		Namespace:          r.required("namespace", b.GetNamespace()),
		Selector:           r.selector("selector", b.GetSelector()),
		DisruptionsAllowed: b.GetDisruptionsAllowed(),
		AllowsUnhealthy:    b.GetAlwaysAllowUnhealthy(),
		NeverAllows:        b.GetNeverAllows(),
	}
}

func writeBudget(b model.PodDisruptionBudget) *clusterpb.PodDisruptionBudget {
	return &clusterpb.PodDisruptionBudget{
		Id: b.ID, Namespace: b.Namespace, Selector: Selector(b.Selector), DisruptionsAllowed: b.DisruptionsAllowed,
		AlwaysAllowUnhealthy: b.AllowsUnhealthy, NeverAllows: b.NeverAllows,
	}
}

// Buffer is the capacity buffer whose virtual pod has the id in a message; not ok where none has.
func Buffer(pod string) (id string, ok bool) {
	b, ok := model.PodID(pod).Buffer()
	return string(b), ok
}
