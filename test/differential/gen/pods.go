package gen

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// mostPods keeps cases small: what can go wrong does so among few pods.
const mostPods = 24

func (b *builder) class(id string) {
	c := model.PodClass{
		ID: model.ClassID(id), Namespace: b.namespace(), OwnerKind: "ReplicaSet", OwnerName: id,
		SchedulerName: "default-scheduler",
	}
	c.Labels = b.podLabels()
	gpus := int64(0)
	if b.has(Extended) && b.one(3) {
		gpus = int64(1 + b.IntN(2))
	}
	c.Requests = amounts(pick[int64](b, 0, 100, 250, 900, 1500, 3000), pick[int64](b, 0, 1, 4, 12, 28)*gib/4, 1, gpus)
	b.nodeRules(&c)
	b.neighbourRules(&c)
	b.ease(&c)
	if b.has(Ports) && b.one(3) {
		c.HostPorts = []model.HostPort{{
			Protocol: pick(b, "TCP", "TCP", "UDP"), Port: int32(8080 + b.IntN(2)), IP: pick(b, "", "", "10.0.0.1", "10.0.0.2"),
		}}
	}
	if b.has(Priority) {
		c.Priority = int32(b.IntN(3)) * 100
	}
	if b.has(Volumes) && b.one(3) {
		b.stateful(c)
		return
	}
	if b.has(Volumes) && b.one(6) {
		name := pick(b, c.Namespace+"/"+string(c.ID)+"-shared", "") // without a name each pod has one of its own
		c.Volumes = []model.VolumeTopology{b.volume(name)}
		c.VolumeAttachments = model.Amounts{{Resource: EBS, Value: 1}}
	}
	b.add(c)
}

// single says whether a class has one pod at most: it has volumes that are not shared.
func single(c *model.PodClass) bool { return len(c.Volumes) > 0 && c.OwnerKind == "StatefulSet" }

func (b *builder) add(c model.PodClass) {
	b.in.Snapshot.PodClasses = append(b.in.Snapshot.PodClasses, c)
	b.classes = append(b.classes, c.ID)
}

func (b *builder) namespace() string {
	if b.has(Namespaces) {
		return pick(b, "aux", "lab", "shop")
	}
	return "shop"
}

func (b *builder) podLabels() model.Labels {
	ls := model.Labels{{Key: "app", Value: pick(b, "api", "db", "web")}}
	if b.one(2) {
		ls = append(ls, model.Label{Key: "rev", Value: pick(b, "1", "2")})
	}
	return ls
}

// stateful makes a class for each of a few pods, which differ in their volumes only.
func (b *builder) stateful(c model.PodClass) {
	id := c.ID
	c.OwnerKind, c.OwnerName = "StatefulSet", string(id)
	for i := range 1 + b.IntN(3) {
		c.ID, c.Volumes = model.ClassID(fmt.Sprintf("%s-v%d", id, i)), nil
		for j := range 1 + b.IntN(2) {
			c.Volumes = append(c.Volumes, b.volume(fmt.Sprintf("%s/%s-%d", c.Namespace, c.ID, j)))
		}
		c.VolumeAttachments = model.Amounts{{Resource: EBS, Value: int64(len(c.Volumes))}}
		b.add(c)
	}
}

func (b *builder) volume(name string) model.VolumeTopology {
	v := model.VolumeTopology{Name: name, Driver: EBS}
	switch b.IntN(4) {
	case 0:
		return v
	case 1:
		v.Terms = []model.NodeAffinityTerm{
			{Requirements: []model.Requirement{{Key: keyEBSZone, Operator: model.In, Values: []string{pick(b, b.zones...)}}}},
			{Requirements: []model.Requirement{{Key: keyEBSZone, Operator: model.In, Values: []string{pick(b, b.zones...)}}}},
		}
		return v
	}
	key := pick(b, keyEBSZone, labels.Zone)
	v.Terms = []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: key, Operator: model.In, Values: []string{pick(b, b.zones...)}}}}}
	return v
}

// nodeRules are the rules on nodes alone.
func (b *builder) nodeRules(c *model.PodClass) {
	if b.has(Selector) && b.one(2) {
		l := pick(b,
			model.Label{Key: "team", Value: pick(b, "a", "b")}, model.Label{Key: "rack", Value: "r1"},
			model.Label{Key: labels.Zone, Value: pick(b, b.zones...)}, model.Label{Key: labels.CapacityType, Value: pick(b, "spot", "on-demand")},
			model.Label{Key: labels.Arch, Value: pick(b, "amd64", "amd64", "arm64")}, model.Label{Key: labels.NodePool, Value: "pool-0"},
			model.Label{Key: labels.InstanceType, Value: pick(b, "large", "medium")},
		)
		c.NodeSelector = model.Labels{l}
	}
	if b.has(Affinity) && b.one(2) {
		for range 1 + b.IntN(2) {
			c.NodeAffinity = append(c.NodeAffinity, b.nodeTerm())
		}
	}
	if b.has(Preferred) && b.one(2) {
		c.PreferredNodeAffinity = []model.PreferredNodeAffinityTerm{{Weight: 1 + int32(b.IntN(100)), Requirements: b.nodeTerm().Requirements}}
	}
	if b.has(Taints) && b.one(2) {
		c.Tolerations = []model.Toleration{pick(b,
			model.Toleration{Key: "dedicated", Value: "a"},
			model.Toleration{Key: "dedicated", Value: "b", Effect: model.NoSchedule},
			model.Toleration{Key: "dedicated", Exists: true},
			model.Toleration{Key: "dedicated", Exists: true, Effect: model.NoExecute},
			model.Toleration{Exists: true},
			model.Toleration{Key: "soft", Exists: true},
		)}
	}
}

func (b *builder) nodeTerm() model.NodeAffinityTerm {
	var t model.NodeAffinityTerm
	for range 1 + b.IntN(2) {
		t.Requirements = append(t.Requirements, b.nodeRequirement())
	}
	return t
}

func (b *builder) nodeRequirement() model.Requirement {
	key := pick(b, "team", "team", "rack", labels.Zone, labels.Zone, labels.CapacityType, labels.InstanceType, labels.InstanceCPU, labels.Arch)
	if b.has(HostAffinity) && b.one(6) {
		key = labels.Hostname
	}
	op := pick(b, model.In, model.In, model.NotIn, model.Exists, model.DoesNotExist)
	r := model.Requirement{Key: key, Operator: op}
	switch {
	case key == labels.InstanceCPU:
		r.Operator, r.Values = pick(b, model.Gt, model.Lt), []string{pick(b, "1", "2", "4")}
	case op == model.Exists || op == model.DoesNotExist:
	case key == "team":
		r.Values = some(b, "a", "b", "c")
	case key == "rack":
		r.Values = some(b, "r1", "r2", "r3")
	case key == labels.Zone:
		r.Values = some(b, b.zones...)
	case key == labels.CapacityType:
		r.Values = some(b, "on-demand", "spot")
	case key == labels.InstanceType:
		r.Values = some(b, "large", "medium", "small")
	case key == labels.Arch:
		r.Values = some(b, "amd64", "arm64")
	case key == labels.Hostname:
		r.Values = some(b, "n0", "n1")
	}
	return r
}

// neighbourRules are the rules that tie pods to pods.
func (b *builder) neighbourRules(c *model.PodClass) {
	if b.has(Spread) && b.one(2) {
		for range 1 + b.IntN(2) {
			s := b.spread(c)
			clash := func(o model.TopologySpread) bool { return o.TopologyKey == s.TopologyKey && o.Required == s.Required }
			if !slices.ContainsFunc(c.TopologySpread, clash) {
				c.TopologySpread = append(c.TopologySpread, s)
			}
		}
	}
	if b.has(PodAffinity) && b.one(3) {
		c.PodAffinity = append(c.PodAffinity, b.podTerm(c, 0))
	}
	if b.has(PodAntiAffinity) && b.one(3) {
		c.PodAntiAffinity = append(c.PodAntiAffinity, b.podTerm(c, 0))
	}
	if b.has(Preferred) && b.one(3) {
		c.PodAffinity = append(c.PodAffinity, b.podTerm(c, 1+int32(b.IntN(100))))
	}
	if b.has(Preferred) && b.one(3) {
		c.PodAntiAffinity = append(c.PodAntiAffinity, b.podTerm(c, 1+int32(b.IntN(100))))
	}
}

func (b *builder) topologyKey() string {
	return pick(b, labels.Zone, labels.Zone, labels.Hostname, labels.Hostname, labels.CapacityType, "rack")
}

func (b *builder) spread(c *model.PodClass) model.TopologySpread {
	s := model.TopologySpread{
		TopologyKey: b.topologyKey(), MaxSkew: 1 + int32(b.IntN(3)), Required: true, Selector: b.selector(c),
		IgnoreNodeAffinity: b.one(4), HonorTaints: b.one(4),
	}
	if b.one(4) {
		s.MinDomains = 1 + int32(b.IntN(4))
	}
	if b.has(Preferred) && b.one(3) {
		s.Required, s.MinDomains = false, 0
	}
	return s
}

// selector mostly picks the class's own pods.
func (b *builder) selector(c *model.PodClass) *model.Selector {
	is := func(key string, op model.Operator, values ...string) *model.Selector {
		return &model.Selector{Requirements: []model.Requirement{{Key: key, Operator: op, Values: values}}}
	}
	switch b.IntN(8) {
	case 0:
		return is("app", model.In, some(b, "api", "db", "web")...)
	case 1:
		return is("rev", pick(b, model.Exists, model.DoesNotExist))
	case 2:
		return is("app", model.NotIn, pick(b, "api", "db"))
	case 3:
		return &model.Selector{}
	}
	own, _ := c.Labels.Get("app")
	return is("app", model.In, own)
}

func (b *builder) podTerm(c *model.PodClass, weight int32) model.PodAffinityTerm {
	t := model.PodAffinityTerm{
		TopologyKey: b.topologyKey(), Selector: b.selector(c), Namespaces: []string{c.Namespace}, Weight: weight,
	}
	if !b.has(Namespaces) {
		return t
	}
	switch b.IntN(5) {
	case 0:
		t.Namespaces = some(b, "aux", "lab", "shop")
	case 1:
		t.Namespaces = nil
		t.NamespaceSelector = &model.Selector{Requirements: []model.Requirement{{Key: "env", Operator: pick(b, model.Exists, model.DoesNotExist)}}}
		if b.has(DaemonTies) || !b.has(Daemons) {
			t.NamespaceSelector = &model.Selector{}
		} else if t.NamespaceSelector.Requirements[0].Operator == model.DoesNotExist {
			t.NamespaceSelector.Requirements = append(t.NamespaceSelector.Requirements, model.Requirement{Key: "system", Operator: model.DoesNotExist})
		}
	case 2:
		t.Namespaces = nil
		t.NamespaceSelector = &model.Selector{Requirements: []model.Requirement{{Key: "env", Operator: model.In, Values: []string{pick(b, "dev", "prod")}}}}
	}
	return t
}

// daemons draws DaemonSets.
func (b *builder) daemons() {
	for i := range 1 + b.IntN(2) {
		id, namespace := fmt.Sprintf("d%d", i), "system"
		if b.has(DaemonTies) {
			namespace = "aux"
		}
		c := model.PodClass{
			ID: model.ClassID(id), Namespace: namespace, Labels: model.Labels{{Key: "app", Value: pick(b, "agent", "web")}}, Daemon: true,
			Requests: amounts(pick[int64](b, 0, 100, 300), pick[int64](b, 0, 1)*gib/4, 1, 0), OwnerKind: "DaemonSet", OwnerName: id,
			SchedulerName: "default-scheduler", Priority: 2000,
		}
		switch b.IntN(4) {
		case 0:
			c.NodeSelector = model.Labels{{Key: labels.CapacityType, Value: "spot"}}
		case 1:
			c.NodeAffinity = []model.NodeAffinityTerm{b.nodeTerm()}
		}
		// The DaemonSet controller adds it.
		c.Tolerations = []model.Toleration{{Key: "node.kubernetes.io/unschedulable", Exists: true, Effect: model.NoSchedule}}
		if b.one(2) {
			c.Tolerations = []model.Toleration{{Exists: true}}
		}
		if b.has(Ports) && b.one(3) {
			c.HostPorts = []model.HostPort{{Protocol: "TCP", Port: 8080}}
		}
		b.in.Snapshot.PodClasses = append(b.in.Snapshot.PodClasses, c)
		b.in.Snapshot.DaemonSets = append(b.in.Snapshot.DaemonSets, model.DaemonSet{ID: namespace + "/" + id, Class: c.ID})
	}
}

// lookup finds a class.
func (b *builder) lookup(id model.ClassID) *model.PodClass {
	i := slices.IndexFunc(b.in.Snapshot.PodClasses, func(c model.PodClass) bool { return c.ID == id })
	return &b.in.Snapshot.PodClasses[i]
}

func (b *builder) newPod(c *model.PodClass) model.Pod {
	b.pods++
	id := fmt.Sprintf("%s/%s-%02d", c.Namespace, c.ID, b.pods)
	return model.Pod{ID: model.PodID(id), UID: id, Class: c.ID, Phase: model.PodUnschedulable, CreateTime: Now().Add(-time.Minute)}
}

// pending draws the pods that need a home. A class with volumes has one pod in all.
func (b *builder) pending() {
	left := 1 + b.IntN(mostPods)
	for _, id := range b.classes {
		c := b.lookup(id)
		n := min(left, b.IntN(8))
		if single(c) {
			n = min(n, 1)
			taken := slices.ContainsFunc(b.in.Snapshot.Pods, func(p model.Pod) bool { return p.Class == id })
			if taken {
				n = 0
			}
		}
		left -= n
		for range n {
			b.in.Snapshot.Pods = append(b.in.Snapshot.Pods, b.newPod(c))
		}
	}
	slices.SortFunc(b.in.Snapshot.Pods, func(x, y model.Pod) int { return cmp.Compare(x.ID, y.ID) })
}
