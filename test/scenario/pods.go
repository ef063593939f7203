package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// podClass reads what scheduling looks at. Pods that say nothing of their labels carry app=NAME, NAME being their owner's.
func (s *statement) podClass(namespace, name string) model.PodClass {
	requests := sortAmounts(append(s.resources(), model.Amount{Resource: model.Pods, Value: 1}))
	c := model.PodClass{
		Namespace: namespace, Labels: s.labels("labels"), Requests: requests, NodeSelector: s.labels("select"),
		Tolerations: s.tolerations("tolerate"), SchedulerName: s.text("scheduler", model.DefaultScheduler), Priority: int32(s.number("priority", 0)),
		Preempts: s.is("preempts"), Unsupported: s.text("unsupported", ""),
	}
	s.owner(&c, name)
	if c.Labels == nil && !s.is("unlabelled") {
		c.Labels = model.Labels{{Key: "app", Value: c.OwnerName}}
		if c.OwnerName == "" {
			c.Labels[0].Value = name
		}
	}
	s.nodes(&c)
	for _, text := range s.texts("spread") {
		s.sub("spread", text, func(in *statement) { c.TopologySpread = append(c.TopologySpread, in.spread(own(c.Labels))) })
	}
	for _, text := range s.texts("near") {
		s.sub("near", text, func(in *statement) { c.PodAffinity = append(c.PodAffinity, in.podTerm(&c)) })
	}
	for _, text := range s.texts("apart") {
		s.sub("apart", text, func(in *statement) { c.PodAntiAffinity = append(c.PodAntiAffinity, in.podTerm(&c)) })
	}
	if text := s.text("default-selector", ""); text != "" {
		c.DefaultSelector = s.selector(text)
	}
	for _, port := range s.list("port") {
		c.HostPorts = append(c.HostPorts, s.hostPort(port))
	}
	for _, text := range s.texts("volume") {
		c.Volumes = append(c.Volumes, s.volume(namespace, text))
	}
	c.VolumeAttachments = attachments(c.Volumes, s.amounts("attach"))
	c.NeededDrivers, c.NeededFeatures = s.list("needs-drivers"), s.list("needs-features")
	for _, text := range s.texts("devices") {
		c.DeviceClaims = append(c.DeviceClaims, s.deviceClaim(namespace, text))
	}
	c.ExtendedRequests = s.extendedRequests(c.Requests)
	return c
}

// owner reads KIND or KIND/NAME, or none; a pod of a DaemonSet tolerates everything unless it says what, as that does.
func (s *statement) owner(c *model.PodClass, name string) {
	c.OwnerKind, c.OwnerName, _ = strings.Cut(s.text("owner", "ReplicaSet"), "/")
	switch {
	case s.verb == "daemonset":
		c.OwnerKind, c.OwnerName = "DaemonSet", name
	case c.OwnerKind == "none":
		c.OwnerKind = ""
	case c.OwnerName == "":
		c.OwnerName = name
	}
	c.OwnerRevision, c.OwnerUID = s.text("revision", ""), s.text("owner-uid", "")
	c.Daemon, c.Mirror = c.OwnerKind == "DaemonSet", c.OwnerKind == "Node"
	if c.Daemon && c.Tolerations == nil {
		c.Tolerations = []model.Toleration{{Exists: true}}
	}
}

// nodes reads which nodes will do, and which are liked.
func (s *statement) nodes(c *model.PodClass) {
	if z := s.text("zone", ""); z != "" {
		c.NodeSelector = append(c.NodeSelector, model.Label{Key: labels.Zone, Value: zone(z)})
	}
	if ct := s.text("capacity", ""); ct != "" {
		c.NodeSelector = append(c.NodeSelector, model.Label{Key: labels.CapacityType, Value: ct})
	}
	sortLabels(c.NodeSelector)
	for _, term := range s.texts("affinity") {
		c.NodeAffinity = append(c.NodeAffinity, s.term(term))
	}
	for _, text := range s.texts("prefer") {
		weight, term, ok := strings.Cut(text, ":")
		n, err := atoi(weight)
		if !ok || err != nil || n < 1 || n > 100 {
			s.fail("prefer=%q is not a weight from 1 to 100 and a requirement: \"50: zone In a\"", text)
			continue
		}
		c.PreferredNodeAffinity = append(c.PreferredNodeAffinity, model.PreferredNodeAffinityTerm{
			Weight: int32(n), Requirements: s.term(term).Requirements,
		})
	}
}

// term reads requirements that must all hold.
func (s *statement) term(text string) model.NodeAffinityTerm {
	var t model.NodeAffinityTerm
	for r := range strings.SplitSeq(text, "&&") {
		t.Requirements = append(t.Requirements, s.requirement(r))
	}
	return t
}

// own selects pods with the same labels.
func own(labels model.Labels) *model.Selector {
	out := &model.Selector{}
	for _, l := range labels {
		out.Requirements = append(out.Requirements, model.Requirement{Key: l.Key, Operator: model.In, Values: []string{l.Value}})
	}
	return out
}

// spread reads KEY skew=1 of=SELECTOR soft min-domains=3 ignore-affinity honor-taints.
func (s *statement) spread(selector *model.Selector) model.TopologySpread {
	out := model.TopologySpread{
		TopologyKey: labelKey(s.name), MaxSkew: int32(s.number("skew", 1)), Required: !s.is("soft"), Selector: selector,
		MinDomains: int32(s.number("min-domains", 0)), IgnoreNodeAffinity: s.is("ignore-affinity"), HonorTaints: s.is("honor-taints"),
	}
	if s.name == "" {
		s.fail("want a label's key")
	}
	if out.MaxSkew < 1 || out.MinDomains < 0 {
		s.fail("skew is at least 1, min-domains at least 0")
	}
	if of := s.text("of", ""); of != "" {
		out.Selector = s.selector(of)
	}
	return out
}

// podTerm reads KEY of=SELECTOR in=NAMESPACES in-labelled=SELECTOR weight=50.
func (s *statement) podTerm(c *model.PodClass) model.PodAffinityTerm {
	out := model.PodAffinityTerm{TopologyKey: labelKey(s.name), Selector: own(c.Labels), Weight: int32(s.number("weight", 0))}
	if out.Weight < 0 || out.Weight > 100 {
		s.fail("weight is from 1 to 100")
	}
	if of := s.text("of", ""); of != "" {
		out.Selector = s.selector(of)
	}
	out.Namespaces = s.list("in")
	slices.Sort(out.Namespaces)
	if of := s.text("in-labelled", ""); of != "" {
		out.NamespaceSelector = s.selector(of)
	}
	if out.Namespaces == nil && out.NamespaceSelector == nil {
		out.Namespaces = []string{c.Namespace}
	}
	return out
}

// hostPort reads [PROTOCOL/][IP:]PORT.
func (s *statement) hostPort(text string) model.HostPort {
	out := model.HostPort{Protocol: "TCP"}
	rest := text
	if protocol, after, ok := strings.Cut(rest, "/"); ok {
		out.Protocol, rest = protocol, after
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		out.IP, rest = rest[:i], rest[i+1:]
	}
	n, err := strconv.ParseUint(rest, 10, 16)
	if err != nil || n == 0 || !slices.Contains([]string{"TCP", "UDP", "SCTP"}, out.Protocol) {
		s.fail("port=%s is not of the form 80, UDP/53 or 10.0.0.1:80", text)
	}
	out.Port = int32(n)
	return out
}

// attachments are the volumes' and more.
func attachments(volumes []model.VolumeTopology, more model.Amounts) model.Amounts {
	by := map[model.Resource]int64{}
	for _, v := range volumes {
		if v.Driver != "" {
			by[model.Resource(v.Driver)]++
		}
	}
	for _, a := range more {
		by[a.Resource] += a.Value
	}
	var out model.Amounts
	for _, driver := range slices.Sorted(maps.Keys(by)) {
		out = append(out, model.Amount{Resource: driver, Value: by[driver]})
	}
	return out
}

// volume reads "NAME@DRIVER exclusive: requirement && requirement || requirement", where each part may be missing.
func (s *statement) volume(namespace, text string) model.VolumeTopology {
	name, terms, ok := strings.Cut(text, ":")
	if !ok {
		s.fail("volume=%q is not of the form \"data@ebs.csi.aws.com: zone In a\"", text)
	}
	var out model.VolumeTopology
	name, out.Exclusive = strings.CutSuffix(name, " exclusive")
	name, out.Driver, _ = strings.Cut(name, "@")
	if name != "" {
		out.Name = namespace + "/" + name
	}
	if strings.TrimSpace(terms) == "" {
		return out
	}
	for term := range strings.SplitSeq(terms, "||") {
		out.Terms = append(out.Terms, s.term(term))
	}
	return out
}

// intern files a class under its hash.
func (b *builder) intern(c model.PodClass) model.ClassID {
	c.ID = classID(c)
	if !b.classes[c.ID] {
		b.classes[c.ID] = true
		b.in.Snapshot.PodClasses = append(b.in.Snapshot.PodClasses, c)
	}
	return c.ID
}

// pod is one pod that nothing was found for yet, or with copies several: web-0, web-1 and so on. Lines of nodes bind
// them.
func (b *builder) pod(s *statement) {
	id := podID(s.name)
	namespace, name, _ := strings.Cut(string(id), "/")
	p := model.Pod{
		Class: b.intern(s.podClass(namespace, name)),
		Phase: model.PodUnschedulable, CreateTime: b.in.Now.Add(-time.Minute), UnschedulableTime: b.in.Now.Add(-s.duration("unschedulable", "1s")),
		NominatedNode: model.NodeName(s.text("nominated", "")), ExpectedNode: model.NodeName(s.text("expected", "")), Terminating: s.is("terminating"), Ready: !s.is("unready"),
		DoNotDisrupt: s.is("do-not-disrupt"), DeletionCost: int32(s.number("deletion-cost", 0)),
	}
	if until := s.duration("protected-for", "0s"); until != 0 {
		p.DoNotDisrupt, p.DoNotDisruptUntil = true, b.in.Now.Add(until)
	}
	if end := s.duration("ends-in", "-1h"); end > -time.Hour {
		p.Terminating, p.TerminationDeadline = true, b.in.Now.Add(end)
	}
	for _, name := range s.list("given") {
		p.Devices = append(p.Devices, model.DeviceRef{Driver: deviceDriver, Name: name})
	}
	if s.is("waiting") {
		p.Phase, p.UnschedulableTime = model.PodWaiting, time.Time{}
	}
	var since *time.Duration
	if s.has("bound") {
		since = new(s.duration("bound", ""))
	}
	copies := s.number("copies", 1)
	if copies < 1 || copies > maxCopies {
		s.fail("copies=%d is not between 1 and %d", copies, maxCopies)
		return
	}
	for i := range copies {
		p.ID = id
		if s.has("copies") {
			p.ID = model.PodID(fmt.Sprintf("%s-%d", id, i))
		}
		p.Devices = slices.Clone(p.Devices)
		if !b.addPod(p) {
			s.fail("pod %s is there twice", p.ID)
			return
		}
		if since != nil {
			b.bound[p.ID] = *since
		}
	}
}

func (b *builder) addPod(p model.Pod) bool {
	if _, again := b.pods[p.ID]; again {
		return false
	}
	b.pods[p.ID] = len(b.in.Snapshot.Pods)
	b.in.Snapshot.Pods = append(b.in.Snapshot.Pods, p)
	return true
}

// daemonSet rides along on every node that it tolerates; that is all unless it says otherwise.
func (b *builder) daemonSet(s *statement) {
	id := string(podID(s.name))
	namespace, name, _ := strings.Cut(id, "/")
	b.in.Snapshot.DaemonSets = append(b.in.Snapshot.DaemonSets, model.DaemonSet{ID: id, Class: b.intern(s.podClass(namespace, name))})
}

func (b *builder) namespace(s *statement) {
	b.in.Snapshot.Namespaces = append(b.in.Snapshot.Namespaces, model.Namespace{Name: s.name, Labels: s.labels("labels")})
}
