package advise

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// facts is what an input and its plan say about where the money goes and what stays pending. It is not changed.
type facts struct {
	in   model.Input
	base model.Plan
	// pending are the pods that stay pending.
	pending map[model.PodID]bool
	// workloads are workloads that a user could change: those with pending pods first, then the costliest.
	workloads []*workload
	// spend is what each pool's claims cost after the plan, misses why it can't help pending pods.
	spend  map[model.PoolName]int64
	misses map[model.PoolName]map[model.Code]bool
	// types are by catalog; prices are the lowest by type and capacity type.
	types  map[model.CatalogID]map[model.TypeName]*model.InstanceType
	prices map[priceKey]int64
	class  map[model.PodID]model.ClassID
}

type priceKey struct {
	instanceType model.TypeName
	capacity     model.CapacityType
}

// workload is what a user deploys: the pod classes of one owner, or one class whose pods have none.
type workload struct {
	name    string
	subject string
	classes []int // positions in Snapshot.PodClasses
	pods    []model.PodID
	// cost is its share of the price of the nodes that its pods are on.
	cost int64
	// pending says that pods of it stay pending, misses why each pool does not help them.
	pending bool
	misses  []model.PoolMiss
}

func learn(in model.Input, base model.Plan) *facts {
	f := &facts{
		in: in, base: base,
		pending: make(map[model.PodID]bool), class: make(map[model.PodID]model.ClassID, len(in.Snapshot.Pods)),
		spend: make(map[model.PoolName]int64), misses: make(map[model.PoolName]map[model.Code]bool),
		types:  make(map[model.CatalogID]map[model.TypeName]*model.InstanceType),
		prices: make(map[priceKey]int64),
	}
	for _, c := range in.Snapshot.Catalogs {
		byName := make(map[model.TypeName]*model.InstanceType, len(c.InstanceTypes))
		for i := range c.InstanceTypes {
			byName[c.InstanceTypes[i].Name] = &c.InstanceTypes[i]
		}
		f.types[c.ID] = byName
	}
	for _, o := range in.Snapshot.Offerings {
		k := priceKey{o.InstanceType, o.CapacityType}
		if was, ok := f.prices[k]; o.Price > 0 && (!ok || o.Price < was) {
			f.prices[k] = o.Price
		}
	}
	for _, p := range in.Snapshot.Pods {
		f.class[p.ID] = p.Class
	}
	for _, q := range base.Pending {
		f.pending[q.Pod] = true
		for _, m := range q.Pools {
			if f.misses[m.NodePool] == nil {
				f.misses[m.NodePool] = make(map[model.Code]bool)
			}
			f.misses[m.NodePool][m.Reason.Code] = true
		}
	}
	f.findLoads()
	return f
}

// findLoads groups the classes by owner, and shares out what the nodes cost.
func (f *facts) findLoads() {
	type owner struct{ namespace, kind, name string }
	s := &f.in.Snapshot
	byOwner := make(map[owner]*workload)
	byClass := make(map[model.ClassID]*workload)
	var all []*workload
	for i := range s.PodClasses {
		c := &s.PodClasses[i]
		if c.Daemon || c.Mirror {
			continue
		}
		key := owner{c.Namespace, c.OwnerKind, c.OwnerName}
		if c.OwnerName == "" {
			key = owner{namespace: c.Namespace, name: string(c.ID)}
		}
		l := byOwner[key]
		if l == nil {
			l = &workload{}
			if c.OwnerName != "" {
				l.name, l.subject = c.Namespace+"/"+c.OwnerName, c.OwnerKind+"/"+c.Namespace+"/"+c.OwnerName
			}
			byOwner[key] = l
			all = append(all, l)
		}
		l.classes = append(l.classes, i)
		byClass[c.ID] = l
	}
	for i := range s.Pods {
		if l := byClass[s.Pods[i].Class]; l != nil {
			l.pods = append(l.pods, s.Pods[i].ID)
			if l.name == "" {
				l.name, l.subject = string(s.Pods[i].ID), "pod/"+string(s.Pods[i].ID)
			}
		}
	}
	f.shareOut(byClass)
	all = slices.DeleteFunc(all, func(l *workload) bool { return len(l.pods) == 0 })
	slices.SortStableFunc(all, func(a, b *workload) int {
		return cmp.Or(-compareBool(a.pending, b.pending), cmp.Compare(b.cost, a.cost), cmp.Compare(a.name, b.name))
	})
	f.workloads = all
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// shareOut divides the price of each node among the workloads of its pods, and notes what stays pending.
func (f *facts) shareOut(byClass map[model.ClassID]*workload) {
	s := &f.in.Snapshot
	classes := make(map[model.ClassID]*model.PodClass, len(s.PodClasses))
	for i := range s.PodClasses {
		classes[s.PodClasses[i].ID] = &s.PodClasses[i]
	}
	divide := func(price int64, pods []model.PodID) {
		var cpu, memory int64
		for _, id := range pods {
			if c := classes[f.class[id]]; c != nil {
				cpu += c.Requests.Value(model.CPU)
				memory += mebi(c.Requests.Value(model.Memory))
			}
		}
		for _, id := range pods {
			if l := byClass[f.class[id]]; l != nil {
				r := classes[f.class[id]].Requests
				l.cost += part(price, r.Value(model.CPU), cpu)/2 + part(price, mebi(r.Value(model.Memory)), memory)/2
			}
		}
	}
	for i := range f.base.NodeClaims {
		c := &f.base.NodeClaims[i]
		f.spend[c.NodePool] += c.Price
		divide(c.Price, c.Pods)
	}
	bound := make(map[model.NodeName][]model.PodID)
	for i := range s.Pods {
		if n := s.Pods[i].Node; n != "" {
			bound[n] = append(bound[n], s.Pods[i].ID)
		}
	}
	for i := range s.Claims {
		if c := &s.Claims[i]; c.Live() && c.Disruption == "" {
			f.spend[c.NodePool] += c.Price
			divide(c.Price, bound[c.Node])
		}
	}
	for _, q := range f.base.Pending {
		if l := byClass[f.class[q.Pod]]; l != nil && !l.pending {
			l.pending, l.misses = true, q.Pools
		}
	}
}

func mebi(bytes int64) int64 { return bytes >> 20 }

func part(price, of, all int64) int64 {
	if all <= 0 {
		return 0
	}
	return price * of / all
}

// pool is the pool with a name; nil when there is none.
func (f *facts) pool(name model.PoolName) *model.NodePool {
	i := slices.IndexFunc(f.in.Snapshot.NodePools, func(p model.NodePool) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &f.in.Snapshot.NodePools[i]
}

// shapes are the instance types that a pool's node class sells, by name.
func (f *facts) shapes(p *model.NodePool) map[model.TypeName]*model.InstanceType {
	for i := range f.in.Snapshot.NodeClasses {
		if c := &f.in.Snapshot.NodeClasses[i]; c.Name == p.NodeClass {
			return f.types[c.Catalog]
		}
	}
	return nil
}

// candidates are the changes to try, most promising first: those of pools and those of workloads take turns.
func (f *facts) candidates() []candidate {
	return interleave(f.poolCandidates(), f.workloadCandidates())
}

func interleave(a, b []candidate) []candidate {
	out := make([]candidate, 0, len(a)+len(b))
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, a[i])
		}
		if i < len(b) {
			out = append(out, b[i])
		}
	}
	return out
}
